/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hello_watch: the verdict and what may pass do not depend on how the bytes
 * arrive, and a byte of a handshake record never passes before the answer.
 */
#include <stdint.h>
#include <stdlib.h>

#include "egress-proxy/hello_watch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_hello_watch_end {
	enum hello_watch_verdict verdict;
	bool open;
	size_t passed;
};

static struct fuzz_hello_watch_end
fuzz_hello_watch_server(const uint8_t *data, size_t size, size_t step)
{
	struct fuzz_hello_watch_end end = {HELLO_WATCH_MORE, false, 0};
	struct hello_watch watch = {0};
	enum hello_watch_verdict verdict;

	for (size_t at = 0, len; at < size && !end.open; at += len) {
		len = size - at < step ? size - at : step;
		verdict = hello_watch_server(&watch, data + at, len, &end.open);
		if (end.open && verdict == HELLO_WATCH_MORE)
			abort();
		if (end.verdict != HELLO_WATCH_RETRY &&
		    verdict != HELLO_WATCH_MORE)
			end.verdict = verdict;
	}
	return end;
}

static struct fuzz_hello_watch_end
fuzz_hello_watch_client(
    const uint8_t *data, size_t size, size_t step, bool answered)
{
	struct fuzz_hello_watch_end end = {HELLO_WATCH_MORE, false, 0};
	struct hello_watch watch = {.answered = answered};
	size_t pass;

	for (size_t at = 0, len; at < size && end.verdict == HELLO_WATCH_MORE;
	     at += len) {
		len = size - at < step ? size - at : step;
		end.verdict = hello_watch_client(&watch, data + at, len, &pass);
		if (pass > len ||
		    (pass < len && end.verdict < HELLO_WATCH_STOP))
			abort();
		end.passed += pass;
	}
	if (end.verdict == HELLO_WATCH_STOP && data[end.passed] != 22)
		abort();
	if (end.verdict == HELLO_WATCH_OPEN)
		end.passed = size;
	return end;
}

static void
fuzz_hello_watch_same(
    struct fuzz_hello_watch_end a, struct fuzz_hello_watch_end b)
{
	if (a.verdict != b.verdict || a.open != b.open || a.passed != b.passed)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_hello_watch_same(fuzz_hello_watch_server(data, size, size + 1),
	    fuzz_hello_watch_server(data, size, 1));
	for (int i = 0; i < 2; i++)
		fuzz_hello_watch_same(
		    fuzz_hello_watch_client(data, size, size + 1, i != 0),
		    fuzz_hello_watch_client(data, size, 1, i != 0));
	return 0;
}
