/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Playing a script against the gate's state machine: what a side says, what
 * a side then gets, how time goes on. Used by the machine tests of the gate.
 */
#include "tests/support/gate_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct mcp_hash_key gate_script_key = {5, 6};

void
gate_script_step(struct gate_script *test, enum gate_event_kind kind,
    enum gate_stream stream, const char *bytes, size_t len)
{
	struct gate_event event = {.kind = kind,
	    .stream = stream,
	    .bytes = bytes,
	    .len = len,
	    .text = bytes,
	    .now_ms = test->now};

	gate_step(&test->gate, &event);
}

void
gate_script_open(struct gate_script *test, struct gate_options options)
{
	size_t i;

	memset(test, 0, sizeof(*test));
	test->now = 1000;
	if (options.line_max == 0)
		options.line_max = 4096;
	options.grace_ms = GATE_SCRIPT_GRACE;
	options.policy.package = "demo";
	options.policy.resources = options.policy.prompts = true;
	assert_int_equal(
	    gate_init(&test->gate, &options, &gate_script_key), RESULT_OK);
	for (i = 0; i < GATE_STREAM_COUNT; i++)
		test->gate.present[i] = true;
	gate_script_step(test, GATE_EVENT_START, GATE_STREAM_COUNT, NULL, 0);
}

struct gate_options
gate_script_mcp(void)
{
	struct gate_options options = {.mode = GATE_MCP};

	options.policy.community = true;
	return options;
}

void
gate_script_say(
    struct gate_script *test, enum gate_stream stream, const char *text)
{
	size_t at, part, len = strlen(text);

	for (at = 0; at < len; at += part) {
		assert_true(gate_view_wants(&test->gate, stream));
		part = len - at < MCP_LINE_CHUNK ? len - at : MCP_LINE_CHUNK;
		gate_script_step(
		    test, GATE_EVENT_BYTES, stream, text + at, part);
	}
}

/* Take what is waiting for an output and compare it. */
void
gate_script_expect(
    struct gate_script *test, enum gate_stream stream, const char *text)
{
	struct buffer *out = gate_view_output(&test->gate, stream);
	char *got = malloc(out->len + 1);

	assert_non_null(got);
	memcpy(got, buffer_bytes_borrow(out), out->len);
	got[out->len] = '\0';
	buffer_clear(out);
	assert_string_equal(got, text);
	free(got);
	gate_script_step(test, GATE_EVENT_ROOM, stream, NULL, 0);
}

/* The same, but only that it holds each of some parts. */
void
gate_script_expect_part(
    struct gate_script *test, enum gate_stream stream, const char *part)
{
	struct buffer *out = gate_view_output(&test->gate, stream);

	if (memmem(buffer_bytes_borrow(out), out->len, part, strlen(part)) ==
	    NULL)
		fail_msg("no %s in %.*s", part, (int)out->len,
		    (const char *)buffer_bytes_borrow(out));
}

void
gate_script_drop(struct gate_script *test, enum gate_stream stream)
{
	buffer_clear(gate_view_output(&test->gate, stream));
	gate_script_step(test, GATE_EVENT_ROOM, stream, NULL, 0);
}

void
gate_script_end(struct gate_script *test, enum gate_stream stream)
{
	gate_script_step(test, GATE_EVENT_EOF, stream, NULL, 0);
}

void
gate_script_time(struct gate_script *test, uint64_t ms)
{
	test->now += ms;
	gate_script_step(test, GATE_EVENT_TIME, GATE_STREAM_COUNT, NULL, 0);
}
