/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz: a trunk whose other end was taken over. The first byte says in what
 * pieces the others come, the second how many messages are heard, and after
 * how many pieces. Nothing may be handed on that is longer than a record, of
 * a lane without a seat, or behind the end.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "llm-broker/lane_trunk.h"

#define SEATS 4U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool fuzz_lane_trunk_ended;

static void
fuzz_lane_trunk_on_bytes(struct lane_seat *seat, const char *bytes, size_t len)
{
	if (fuzz_lane_trunk_ended || seat->number == 0 ||
	    seat->number > SEATS || len == 0 || len > LANE_TRUNK_RECORD_MAX)
		abort();
	if (bytes[len - 1] == 'x')
		lane_trunk_unseat(seat);
}

static void
fuzz_lane_trunk_on_end(const char *what, void *context)
{
	(void)what;
	(void)context;
	if (fuzz_lane_trunk_ended)
		abort();
	fuzz_lane_trunk_ended = true;
}

static const struct lane_trunk_handlers fuzz_lane_trunk_handlers = {
    .on_bytes = fuzz_lane_trunk_on_bytes, .on_end = fuzz_lane_trunk_on_end};

static void
fuzz_lane_trunk_feed(
    struct lane_trunk *trunk, int other, const uint8_t *data, size_t size)
{
	size_t piece = (size_t)data[0] * 16 + 1, hear = data[1] >> 4;
	size_t every = (data[1] & 15U) + 1;

	for (size_t at = 2, turn = 0; at < size; at += piece) {
		size_t count = size - at < piece ? size - at : piece;

		if (send(other, data + at, count,
			MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)count)
			return; /* it ended, or waits for what never comes */
		lane_trunk_drain(trunk);
		if (++turn % every == 0 && hear > 0) {
			hear--;
			lane_trunk_heard(trunk);
		}
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct event_base *base;
	static struct lane_trunk trunk;
	struct lane_seat seats[SEATS];
	int pair[2];

	if (size < 3 || size > 65536)
		return 0;
	if (base == NULL && event_loop_new(&base) != RESULT_OK)
		abort();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) != 0)
		abort();
	fuzz_lane_trunk_ended = false;
	lane_trunk_init(&trunk, base, &fuzz_lane_trunk_handlers, NULL);
	if (lane_trunk_open(&trunk, pair[0], 0) != RESULT_OK)
		abort();
	for (size_t i = 0; i < SEATS; i++)
		lane_trunk_seat(&trunk, &seats[i]);
	fuzz_lane_trunk_feed(&trunk, pair[1], data, size);
	(void)close(pair[1]);
	lane_trunk_drain(&trunk);
	for (size_t i = 0; i < SEATS; i++)
		lane_trunk_unseat(&seats[i]);
	lane_trunk_close(&trunk);
	return 0;
}
