/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of a call, played: its order, however the bytes are cut; its
 * ends in every state; when it is tried twice and when never; deadlines; and
 * the frames that break the rules.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "llm-broker/lane_trunk.h"
#include "tests/machine/lane_script.h"

#define HEAD_LEN (sizeof(LANE_SCRIPT_HEAD) - 1)
#define SAID(type, value) "say(" #type "," #value ") "

/* Everything a broker says of one call, RELEASE included. */
static size_t
test_key_lane_call(char *at, uint32_t call, enum lane_release release)
{
	size_t len = lane_script_open(at, call);

	return len + lane_script_frame(at + len, LANE_RELEASE, release, call);
}

static void
test_key_lane_expect(const struct lane_script *script,
    enum key_lane_state state, const char *trace)
{
	if (script->lane.state != state || strcmp(script->trace, trace) != 0)
		fail_msg("state %s, trace \"%s\"; expected %s, \"%s\"",
		    key_lane_state_text(script->lane.state), script->trace,
		    key_lane_state_text(state), trace);
}

/* In that state, on the usual way; what was noted so far is forgotten. */
static void
test_key_lane_reach(struct lane_script *script, enum key_lane_state state)
{
	char bytes[512];
	size_t len = lane_script_open(bytes, 7);
	size_t part = sizeof(struct lane_open) + HEAD_LEN + 2, taken;

	lane_script_init(script);
	if (state == KEY_LANE_KEY)
		script->admit = KEY_LANE_WAIT;
	if (state == KEY_LANE_HEAD)
		part = sizeof(struct lane_open) + 10;
	taken =
	    state == KEY_LANE_FREE ? 0 : lane_script_give(script, bytes, part);
	if (state == KEY_LANE_BODY || state == KEY_LANE_ANSWER ||
	    state == KEY_LANE_OVER) {
		assert_int_equal(script->lane.state, KEY_LANE_CONNECT);
		key_lane_ready(&script->lane);
		taken += lane_script_give(script, bytes + taken,
		    (state == KEY_LANE_BODY ? part : len) - taken);
	}
	if (state == KEY_LANE_OVER)
		key_lane_upstream_ended(&script->lane, false);
	assert_int_equal(script->lane.state, state);
	script->trace[0] = '\0';
}

static void
test_key_lane_story(void **state)
{
	struct lane_script script;
	char bytes[512];
	size_t len = test_key_lane_call(bytes, 1, LANE_RELEASE_KEEP);
	size_t request = len - sizeof(struct lane_frame), taken;

	(void)state;
	lane_script_init(&script);
	/* The head waits with the caller until there is a connection. */
	taken = lane_script_give(&script, bytes, request);
	assert_int_equal(taken, sizeof(struct lane_open));
	test_key_lane_expect(&script, KEY_LANE_CONNECT, "admit connect ");
	assert_false(key_lane_wants(&script.lane));
	key_lane_ready(&script.lane);
	taken += lane_script_give(&script, bytes + taken, request - taken);
	assert_int_equal(taken, request);
	test_key_lane_expect(
	    &script, KEY_LANE_ANSWER, "admit connect admit inject(5) ");
	assert_int_equal(script.deadline_ms, 1700);
	assert_int_equal(script.sent_len, HEAD_LEN + 5);
	assert_memory_equal(
	    script.sent, LANE_SCRIPT_HEAD "12345", script.sent_len);
	script.now_ms = 1500;
	key_lane_received(&script.lane, 100);
	assert_int_equal(script.deadline_ms, 1800);
	assert_int_equal(lane_script_give(&script, bytes + taken, len - taken),
	    sizeof(struct lane_frame));
	test_key_lane_expect(
	    &script, KEY_LANE_FREE, "admit connect admit inject(5) keep ");
	assert_int_equal(script.verdict, KEY_LANE_SUCCEEDED);
	assert_int_equal(script.deadline_ms, 0);
	assert_int_equal(script.reports, 1);
	/* And the next one, over a connection that rested. */
	script.connect = RESULT_OK;
	script.trace[0] = '\0';
	len = lane_script_open(bytes, 2);
	assert_int_equal(lane_script_give(&script, bytes, len), len);
	test_key_lane_expect(
	    &script, KEY_LANE_ANSWER, "admit connect admit inject(5) ");
	assert_int_equal(script.requests, 2);
}

/* Two calls in pieces of every size: the same is sent, nothing is lost. */
static void
test_key_lane_pieces(void **state)
{
	char bytes[1024];
	size_t len = test_key_lane_call(bytes, 1, LANE_RELEASE_CLOSE);

	(void)state;
	len += test_key_lane_call(bytes + len, 2, LANE_RELEASE_CLOSE);
	for (size_t piece = 1; piece <= len; piece++) {
		struct lane_script script;
		size_t from = 0, to = 0;

		lane_script_init(&script);
		script.connect = RESULT_OK;
		while (from < len) {
			to = to + piece < len ? to + piece : len;
			from +=
			    lane_script_give(&script, bytes + from, to - from);
		}
		assert_int_equal(script.lane.state, KEY_LANE_FREE);
		assert_int_equal(script.requests, 2);
		assert_int_equal(script.reports, 2);
		assert_int_equal(script.sent_len, 2 * (HEAD_LEN + 5));
	}
}

static void
test_key_lane_not_admitted(void **state)
{
	static const struct {
		enum key_lane_admit admit;
		const char *trace;
	} rows[] = {
	    {KEY_LANE_NO_KEY, "admit close " SAID(5, 1)},
	    {KEY_LANE_BREAKER, "admit close " SAID(5, 2)},
	};
	char bytes[512];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct lane_script script;
		size_t len = test_key_lane_call(bytes, 1, LANE_RELEASE_CLOSE);

		lane_script_init(&script);
		script.admit = rows[i].admit;
		/* The request is dropped, the lane is free afterwards. */
		assert_int_equal(lane_script_give(&script, bytes, len), len);
		assert_memory_equal(
		    script.trace, rows[i].trace, strlen(rows[i].trace));
		assert_int_equal(script.lane.state, KEY_LANE_FREE);
		assert_int_equal(script.requests, 0);
		assert_int_equal(script.verdict, KEY_LANE_UNKNOWN);
	}
}

static void
test_key_lane_waits_for_key(void **state)
{
	struct lane_script script;

	(void)state;
	test_key_lane_reach(&script, KEY_LANE_KEY);
	key_lane_key_changed(&script.lane);
	test_key_lane_expect(&script, KEY_LANE_KEY, "admit ");
	script.admit = KEY_LANE_GO;
	key_lane_key_changed(&script.lane);
	test_key_lane_expect(&script, KEY_LANE_CONNECT, "admit admit connect ");
	test_key_lane_reach(&script, KEY_LANE_KEY);
	script.admit = KEY_LANE_NO_KEY;
	key_lane_deadline(&script.lane);
	test_key_lane_expect(&script, KEY_LANE_OVER, "admit close " SAID(5, 1));
}

/* The key goes while the connection is made: it rests, the call waits. */
static void
i02_key_lane_key_goes(void **state)
{
	struct lane_script script;
	char bytes[512];
	size_t len = lane_script_open(bytes, 1), taken;

	(void)state;
	lane_script_init(&script);
	taken = lane_script_give(&script, bytes, len);
	script.admit = KEY_LANE_WAIT;
	key_lane_ready(&script.lane);
	assert_int_equal(
	    lane_script_give(&script, bytes + taken, len - taken), 0);
	test_key_lane_expect(
	    &script, KEY_LANE_KEY, "admit connect admit keep admit ");
	script.admit = KEY_LANE_GO;
	script.connect = RESULT_OK;
	key_lane_key_changed(&script.lane);
	taken += lane_script_give(&script, bytes + taken, len - taken);
	assert_int_equal(taken, len);
	assert_int_equal(script.requests, 1);
}

/* Only what was not sent at all is tried again, and only once. */
static void
test_key_lane_retries(void **state)
{
	struct lane_script script;
	char bytes[512];
	size_t len = lane_script_open(bytes, 1);

	(void)state;
	lane_script_init(&script);
	script.connect = RESULT_OK;
	script.inject = RESULT_CLOSED;
	lane_script_give(&script, bytes, len);
	assert_int_equal(script.lane.state, KEY_LANE_OVER);
	assert_string_equal(script.trace,
	    "admit connect admit inject(5) close "
	    "admit connect admit inject(5) close close " SAID(5, 8));
	lane_script_init(&script);
	script.connect = RESULT_OK;
	script.inject = RESULT_CLOSED;
	script.inject_sent = true;
	lane_script_give(&script, bytes, len);
	assert_string_equal(script.trace,
	    "admit connect admit inject(5) close close " SAID(5, 8));
	/* A connection that closed before it was ready. */
	test_key_lane_reach(&script, KEY_LANE_CONNECT);
	script.has_connection = false;
	key_lane_failed(&script.lane, LANE_FAILED_CLOSED, "closed");
	test_key_lane_expect(&script, KEY_LANE_CONNECT, "close admit connect ");
	script.has_connection = false;
	key_lane_failed(&script.lane, LANE_FAILED_CLOSED, "closed");
	assert_int_equal(script.lane.state, KEY_LANE_OVER);
	/* Other faults are not. */
	test_key_lane_reach(&script, KEY_LANE_CONNECT);
	key_lane_failed(&script.lane, LANE_FAILED_TLS, "expired");
	test_key_lane_expect(&script, KEY_LANE_OVER, "close " SAID(5, 6));
	assert_string_equal(script.lane.detail, "expired");
}

static void
test_key_lane_upstream_ends(void **state)
{
	struct lane_script script;

	(void)state;
	test_key_lane_reach(&script, KEY_LANE_ANSWER);
	key_lane_upstream_ended(&script.lane, true);
	test_key_lane_expect(&script, KEY_LANE_OVER, "close " SAID(5, 8));
	test_key_lane_reach(&script, KEY_LANE_ANSWER);
	key_lane_received(&script.lane, 1);
	key_lane_upstream_ended(&script.lane, true);
	test_key_lane_expect(&script, KEY_LANE_OVER, "close " SAID(4, 0));
	test_key_lane_reach(&script, KEY_LANE_ANSWER);
	key_lane_received(&script.lane, 1);
	key_lane_upstream_ended(&script.lane, false);
	test_key_lane_expect(&script, KEY_LANE_OVER, "close " SAID(5, 8));
}

/* In the middle of the body: the rest is dropped, then RELEASE comes. */
static void
test_key_lane_body_dropped(void **state)
{
	struct lane_script script;
	char bytes[64] = "345";
	size_t len = 3 + lane_script_frame(
			     bytes + 3, LANE_RELEASE, LANE_RELEASE_CLOSE, 7);

	(void)state;
	test_key_lane_reach(&script, KEY_LANE_BODY);
	key_lane_upstream_ended(&script.lane, false);
	assert_int_equal(lane_script_give(&script, bytes, len), len);
	test_key_lane_expect(
	    &script, KEY_LANE_FREE, "close " SAID(5, 8) "close ");
}

static void
test_key_lane_deadlines(void **state)
{
	struct lane_script script;

	(void)state;
	test_key_lane_reach(&script, KEY_LANE_ANSWER);
	key_lane_deadline(&script.lane);
	test_key_lane_expect(&script, KEY_LANE_OVER, "close " SAID(5, 7));
	/* While the broker does not read, nobody waits for the upstream. */
	test_key_lane_reach(&script, KEY_LANE_ANSWER);
	key_lane_received(&script.lane, 10);
	key_lane_stalled(&script.lane, true);
	assert_int_equal(script.deadline_ms, 0);
	script.now_ms = 5000;
	key_lane_stalled(&script.lane, false);
	assert_int_equal(script.deadline_ms, 5300);
}

static void
test_key_lane_verdicts(void **state)
{
	static const struct {
		enum lane_release release;
		size_t down;
		enum key_lane_verdict verdict;
		const char *trace;
	} rows[] = {
	    {LANE_RELEASE_KEEP, 9, KEY_LANE_SUCCEEDED, "keep "},
	    {LANE_RELEASE_KEEP, 0, KEY_LANE_UNKNOWN, "close "},
	    {LANE_RELEASE_CLOSE, 9, KEY_LANE_SUCCEEDED, "close "},
	    {LANE_RELEASE_CLOSE, 0, KEY_LANE_UNKNOWN, "close "},
	    {LANE_RELEASE_KEY_REFUSED, 9, KEY_LANE_KEY_REFUSED, "close "},
	};
	char bytes[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct lane_script script;

		test_key_lane_reach(&script, KEY_LANE_ANSWER);
		if (rows[i].down > 0)
			key_lane_received(&script.lane, rows[i].down);
		lane_script_give(&script, bytes,
		    lane_script_frame(bytes, LANE_RELEASE, rows[i].release, 7));
		test_key_lane_expect(&script, KEY_LANE_FREE, rows[i].trace);
		assert_int_equal(script.verdict, rows[i].verdict);
	}
}

/* A RELEASE of another call, and every frame that does not belong. */
static void
i05_key_lane_broken(void **unused)
{
	static const enum key_lane_state states[] = {
	    KEY_LANE_FREE, KEY_LANE_ANSWER, KEY_LANE_OVER};
	static const struct lane_frame frames[] = {
	    {LANE_MAGIC, LANE_DATA, 1, 7}, {LANE_MAGIC, LANE_EOF, 0, 7},
	    {LANE_MAGIC, LANE_FAILED, 1, 7}, {LANE_MAGIC, 0, 0, 7},
	    {LANE_MAGIC, 6, 0, 7}, {1, LANE_RELEASE, 1, 7},
	    {LANE_MAGIC, LANE_RELEASE, 0, 7}, {LANE_MAGIC, LANE_RELEASE, 4, 7},
	    {LANE_MAGIC, LANE_RELEASE, 1, 6}};

	(void)unused;
	for (size_t s = 0; s < 3; s++)
		for (size_t f = 0; f < sizeof(frames) / sizeof(frames[0]);
		     f++) {
			struct lane_script script;

			test_key_lane_reach(&script, states[s]);
			lane_script_give(&script, (const char *)&frames[f],
			    sizeof(frames[f]));
			assert_int_equal(script.lane.state, KEY_LANE_CLOSED);
			assert_true(script.lane.is_broken);
			assert_false(script.has_connection);
		}
}

static void
i05_key_lane_open_that_cannot_be(void **unused)
{
	struct lane_open open;

	(void)unused;
	for (unsigned i = 0; i < 5; i++) {
		struct lane_script script;
		char bytes[512];

		lane_script_init(&script);
		(void)lane_script_open(bytes, 1);
		memcpy(&open, bytes, sizeof(open));
		if (i == 0)
			open.frame.value = 0;
		else if (i == 1)
			open.frame.value = LANE_HEAD_MAX + 1;
		else if (i == 2)
			open.body_len = UINT64_MAX;
		else if (i == 3)
			memset(open.provider, 'x', sizeof(open.provider));
		else
			open.frame.magic++;
		memcpy(bytes, &open, sizeof(open));
		lane_script_give(&script, bytes, sizeof(open));
		assert_int_equal(script.lane.state, KEY_LANE_CLOSED);
		assert_true(script.lane.is_broken);
	}
}

/* A long body: its beginning comes by the trunk, the rest in the lane, and
 * what stands behind it in the trunk waits for that. */
static void
test_key_lane_apart(void **unused)
{
	static char bytes[LANE_TRUNK_BODY_MAX + 512], rest[300];
	struct lane_script script;
	struct lane_open open;
	size_t len, taken;

	(void)unused;
	lane_script_init(&script);
	script.connect = RESULT_OK;
	(void)lane_script_open(bytes, 1);
	memcpy(&open, bytes, sizeof(open));
	open.body_len = LANE_TRUNK_BODY_MAX + sizeof(rest);
	memcpy(bytes, &open, sizeof(open));
	len = sizeof(open) +
	      (size_t)snprintf(bytes + sizeof(open), 256,
		  "POST /v1/x HTTP/1.1\r\nHost: api.example.test\r\n"
		  "Content-Length: %zu\r\n",
		  LANE_TRUNK_BODY_MAX + sizeof(rest));
	open.frame.value = (uint32_t)(len - sizeof(open));
	memcpy(bytes, &open, sizeof(open));
	memset(bytes + len, 'b', LANE_TRUNK_BODY_MAX);
	len += LANE_TRUNK_BODY_MAX;
	len +=
	    lane_script_frame(bytes + len, LANE_RELEASE, LANE_RELEASE_CLOSE, 1);
	assert_false(key_lane_is_apart(&script.lane));
	taken = lane_script_give(&script, bytes, len);
	assert_int_equal(taken, len - sizeof(struct lane_frame));
	assert_int_equal(script.lane.state, KEY_LANE_BODY);
	assert_true(key_lane_is_apart(&script.lane));
	key_lane_take_apart(&script.lane, rest, 100);
	assert_int_equal(
	    lane_script_give(&script, bytes + taken, len - taken), 0);
	key_lane_take_apart(&script.lane, rest, sizeof(rest) - 100);
	assert_int_equal(script.lane.state, KEY_LANE_ANSWER);
	assert_false(key_lane_is_apart(&script.lane));
	assert_int_equal(script.lane.up, LANE_TRUNK_BODY_MAX + sizeof(rest));
	assert_int_equal(lane_script_give(&script, bytes + taken, len - taken),
	    sizeof(struct lane_frame));
	assert_int_equal(script.lane.state, KEY_LANE_FREE);
}

/* Its end comes while the rest of the body does: that is dropped. */
static void
test_key_lane_apart_over(void **unused)
{
	struct lane_script script;
	char bytes[512], rest[64] = "";

	(void)unused;
	test_key_lane_reach(&script, KEY_LANE_BODY);
	script.lane.left = script.lane.apart = sizeof(rest);
	key_lane_upstream_ended(&script.lane, false);
	assert_int_equal(script.lane.state, KEY_LANE_OVER);
	assert_true(key_lane_is_apart(&script.lane));
	(void)lane_script_frame(bytes, LANE_RELEASE, LANE_RELEASE_CLOSE, 7);
	assert_int_equal(
	    lane_script_give(&script, bytes, sizeof(struct lane_frame)), 0);
	key_lane_take_apart(&script.lane, rest, sizeof(rest));
	assert_int_equal(
	    lane_script_give(&script, bytes, sizeof(struct lane_frame)),
	    sizeof(struct lane_frame));
	assert_int_equal(script.lane.state, KEY_LANE_FREE);
}

/* The broker goes in every state: nothing is left, one report per call. */
static void
test_key_lane_gone(void **unused)
{
	static const enum key_lane_state states[] = {KEY_LANE_FREE,
	    KEY_LANE_HEAD, KEY_LANE_KEY, KEY_LANE_CONNECT, KEY_LANE_BODY,
	    KEY_LANE_ANSWER, KEY_LANE_OVER};

	(void)unused;
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		struct lane_script script;

		test_key_lane_reach(&script, states[i]);
		key_lane_gone(&script.lane, "gone");
		key_lane_gone(&script.lane, "gone again");
		assert_int_equal(script.lane.state, KEY_LANE_CLOSED);
		assert_false(script.lane.is_broken);
		assert_false(script.has_connection);
		assert_int_equal(
		    script.reports, states[i] == KEY_LANE_FREE ? 0 : 1);
		assert_int_equal(script.lane.is_cancelled,
		    states[i] != KEY_LANE_FREE && states[i] != KEY_LANE_OVER);
		assert_int_equal(script.deadline_ms, 0);
	}
}

/* Whatever is told in a state where it means nothing changes nothing. */
static void
test_key_lane_out_of_turn(void **unused)
{
	struct lane_script script;

	(void)unused;
	test_key_lane_reach(&script, KEY_LANE_FREE);
	key_lane_ready(&script.lane);
	key_lane_failed(&script.lane, LANE_FAILED_DIAL, "x");
	key_lane_upstream_ended(&script.lane, true);
	key_lane_stalled(&script.lane, false);
	key_lane_key_changed(&script.lane);
	key_lane_deadline(&script.lane);
	test_key_lane_expect(&script, KEY_LANE_FREE, "");
	test_key_lane_reach(&script, KEY_LANE_OVER);
	key_lane_ready(&script.lane);
	key_lane_failed(&script.lane, LANE_FAILED_DIAL, "x");
	key_lane_upstream_ended(&script.lane, true);
	key_lane_stalled(&script.lane, false);
	key_lane_deadline(&script.lane);
	test_key_lane_expect(&script, KEY_LANE_OVER, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_key_lane_story),
	    cmocka_unit_test(test_key_lane_pieces),
	    cmocka_unit_test(test_key_lane_not_admitted),
	    cmocka_unit_test(test_key_lane_waits_for_key),
	    cmocka_unit_test(i02_key_lane_key_goes),
	    cmocka_unit_test(test_key_lane_retries),
	    cmocka_unit_test(test_key_lane_upstream_ends),
	    cmocka_unit_test(test_key_lane_body_dropped),
	    cmocka_unit_test(test_key_lane_deadlines),
	    cmocka_unit_test(test_key_lane_verdicts),
	    cmocka_unit_test(i05_key_lane_broken),
	    cmocka_unit_test(test_key_lane_apart),
	    cmocka_unit_test(test_key_lane_apart_over),
	    cmocka_unit_test(i05_key_lane_open_that_cannot_be),
	    cmocka_unit_test(test_key_lane_gone),
	    cmocka_unit_test(test_key_lane_out_of_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
