/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of the mux wiring as bytes: each type there and back, and what each
 * byte that is wrong makes of one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "supervisor/mux/mux_frame.h"

#define TEST_ROWS(rows) (sizeof(rows) / sizeof((rows)[0]))

static void
test_mux_frame_there_and_back(void **state)
{
	static const struct mux_frame frames[] = {
	    {.type = MUX_FRAME_HELLO, .version = 1, .window = 65536},
	    {.type = MUX_FRAME_OPEN,
		.stream = 1,
		.kind = MUX_KIND_CONNECTION,
		.number = 71},
	    {.type = MUX_FRAME_OPEN, .stream = 2, .kind = MUX_KIND_TREE_OUT},
	    {.type = MUX_FRAME_WINDOW, .stream = 0xfffffffe, .window = 1},
	    {.type = MUX_FRAME_EOF, .stream = 7},
	    {.type = MUX_FRAME_RESET, .stream = 7, .code = 2},
	    {.type = MUX_FRAME_RESET, .stream = 7, .flags = MUX_FRAME_DONE},
	    {.type = MUX_FRAME_PING},
	    {.type = MUX_FRAME_PONG},
	};
	uint8_t bytes[MUX_FRAME_CONTROL_MAX];
	struct mux_frame back;
	size_t len, used;

	(void)state;
	for (size_t i = 0; i < TEST_ROWS(frames); i++) {
		len = mux_frame_encode(&frames[i], bytes);
		assert_int_equal(
		    mux_frame_decode(bytes, len, &back, &used), MUX_FRAME_OK);
		assert_int_equal(used, len);
		assert_int_equal(back.type, frames[i].type);
		assert_int_equal(back.stream, frames[i].stream);
		assert_int_equal(back.flags, frames[i].flags);
		assert_int_equal(back.version, frames[i].version);
		assert_int_equal(back.window, frames[i].window);
		assert_int_equal(back.code, frames[i].code);
		assert_int_equal(back.kind, frames[i].kind);
		assert_int_equal(back.number, frames[i].number);
		/* No part of it is one. */
		for (size_t cut = 0; cut < len; cut++)
			assert_int_equal(
			    mux_frame_decode(bytes, cut, &back, &used),
			    MUX_FRAME_MORE);
	}
}

static void
test_mux_frame_byte_order(void **state)
{
	static const uint8_t want[] = {
	    MUX_FRAME_WINDOW, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 4, 0, 1, 0, 2};
	const struct mux_frame frame = {.type = MUX_FRAME_WINDOW,
	    .stream = 0x01020304,
	    .window = 0x00010002};
	uint8_t bytes[MUX_FRAME_CONTROL_MAX];

	(void)state;
	assert_int_equal(mux_frame_encode(&frame, bytes), sizeof(want));
	assert_memory_equal(bytes, want, sizeof(want));
}

struct test_mux_frame_bad {
	uint8_t head[12], payload[12];
	enum mux_frame_result want;
};

#define HEAD(type, flags, zero, stream, length)                           \
	{                                                                 \
		type, flags, zero, 0, 0, 0, 0, stream, 0, (length) >> 16, \
		    ((length) >> 8) & 0xff, (length)&0xff                 \
	}

static void
test_mux_frame_refused(void **state)
{
	static const struct test_mux_frame_bad rows[] = {
	    {HEAD(0, 0, 0, 0, 0), {0}, MUX_FRAME_BAD_TYPE},
	    {HEAD(11, 0, 0, 0, 0), {0}, MUX_FRAME_BAD_TYPE},
	    {HEAD(255, 0, 0, 0, 0), {0}, MUX_FRAME_BAD_TYPE},
	    {HEAD(MUX_FRAME_PING, 1, 0, 0, 0), {0}, MUX_FRAME_BAD_FLAGS},
	    {HEAD(MUX_FRAME_PING, 0, 1, 0, 0), {0}, MUX_FRAME_BAD_FLAGS},
	    {HEAD(MUX_FRAME_RECORD, 3, 0, 0, 1), {0}, MUX_FRAME_BAD_FLAGS},
	    {HEAD(MUX_FRAME_ATTACH, 2, 0, 0, 1), {0}, MUX_FRAME_BAD_FLAGS},
	    {HEAD(MUX_FRAME_PING, 0, 0, 1, 0), {0}, MUX_FRAME_BAD_STREAM},
	    {HEAD(MUX_FRAME_DATA, 0, 0, 0, 1), {0}, MUX_FRAME_BAD_STREAM},
	    {HEAD(MUX_FRAME_ATTACH, 0, 0, 9, 1), {0}, MUX_FRAME_BAD_STREAM},
	    {HEAD(MUX_FRAME_EOF, 0, 0, 1, 1), {0}, MUX_FRAME_BAD_LENGTH},
	    {HEAD(MUX_FRAME_DATA, 0, 0, 1, 0), {0}, MUX_FRAME_BAD_LENGTH},
	    {HEAD(MUX_FRAME_DATA, 0, 0, 1, 65537), {0}, MUX_FRAME_BAD_LENGTH},
	    {HEAD(MUX_FRAME_RECORD, 0, 0, 0, 16385), {0}, MUX_FRAME_BAD_LENGTH},
	    {HEAD(MUX_FRAME_WINDOW, 0, 0, 1, 4), {0}, MUX_FRAME_BAD_VALUE},
	    {HEAD(MUX_FRAME_OPEN, 0, 0, 1, 4), {0, 0}, MUX_FRAME_BAD_VALUE},
	    {HEAD(MUX_FRAME_OPEN, 0, 0, 1, 4), {0, 7}, MUX_FRAME_BAD_VALUE},
	    {HEAD(MUX_FRAME_OPEN, 0, 0, 2, 4), {0, 2, 0, 1},
		MUX_FRAME_BAD_VALUE},
	    {HEAD(MUX_FRAME_HELLO, 0, 0, 0, 12), {'A', 'N', 'X', '2'},
		MUX_FRAME_BAD_VALUE},
	};
	struct mux_frame frame;
	uint8_t bytes[24];
	size_t used;

	(void)state;
	for (size_t i = 0; i < TEST_ROWS(rows); i++) {
		memcpy(bytes, rows[i].head, 12);
		memcpy(bytes + 12, rows[i].payload, 12);
		assert_int_equal(
		    mux_frame_decode(bytes, sizeof(bytes), &frame, &used),
		    rows[i].want);
		assert_true(strlen(mux_frame_text(rows[i].want)) > 0);
		/* A header is enough to refuse what it says of itself. */
		if (rows[i].want != MUX_FRAME_BAD_VALUE)
			assert_int_equal(
			    mux_frame_decode(bytes, 12, &frame, &used),
			    rows[i].want);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_mux_frame_there_and_back),
	    cmocka_unit_test(test_mux_frame_byte_order),
	    cmocka_unit_test(test_mux_frame_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
