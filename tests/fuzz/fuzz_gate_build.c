/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of a build. The first byte chooses how the rest is cut into
 * reads: whatever the cut, the same is shown and kept, bounded, and neither
 * holds a control byte.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/gate/gate_build.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
fuzz_gate_build_run(struct gate_build *build, const uint8_t *data, size_t size,
    size_t step, bool failed)
{
	size_t at, part;

	gate_build_init(build, "build");
	for (at = 0; at < size; at += part) {
		part = size - at < step ? size - at : step;
		gate_build_feed(build, (const char *)data + at, part, 1);
	}
	gate_build_end(build, failed, 1);
}

static void
fuzz_gate_build_clean(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((bytes[i] < 0x20 && bytes[i] != '\n') || bytes[i] == 0x7f)
			abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct gate_build whole, cut;
	bool failed;

	if (size < 1)
		return 0;
	failed = (data[0] & 1) != 0;
	fuzz_gate_build_run(&whole, data + 1, size - 1, size, failed);
	fuzz_gate_build_run(
	    &cut, data + 1, size - 1, (size_t)(data[0] >> 1) + 1, failed);
	if (whole.count != cut.count || whole.full != cut.full ||
	    whole.out.len != cut.out.len ||
	    strcmp(whole.reason, cut.reason) != 0)
		abort();
	if (whole.out.len > 0 &&
	    memcmp(buffer_bytes_borrow(&whole.out),
		buffer_bytes_borrow(&cut.out), whole.out.len) != 0)
		abort();
	fuzz_gate_build_clean(buffer_bytes_borrow(&cut.out), cut.out.len);
	fuzz_gate_build_clean((const uint8_t *)cut.reason, strlen(cut.reason));
	gate_build_free(&whole);
	gate_build_free(&cut);
	return 0;
}
