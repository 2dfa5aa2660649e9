/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of a connection, played: deadlines by a fake clock, full
 * tables, and each thing that can happen in every state.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "egress-proxy/session_text.h"
#include "tests/machine/session_script.h"

/* --- limits --- */

static void
test_session_limits_fire(struct deadline *deadline, void *context)
{
	struct session_script *test = context;

	assert_ptr_equal(deadline, &test->session.deadline);
	session_step(&test->session, SESSION_EVENT_DEADLINE);
}

static void
test_session_limits_pass(struct session_script *test, uint64_t ms)
{
	test->now_ms += ms;
	deadline_wheel_tick(
	    &test->wheel, test->now_ms, test_session_limits_fire, test);
}

/* Nothing happens before a deadline; at it, the state's own end. */
static void
test_session_limits_deadlines(void **unused)
{
	static const struct {
		enum session_state state;
		uint64_t ms;
		enum session_state then;
		enum session_reason reason;
		const char *status;
	} rows[] = {
	    {SESSION_HEAD, 10000, SESSION_LINGER, SESSION_REASON_REFUSED,
		"408"},
	    {SESSION_HELLO, 9000, SESSION_CLOSED, SESSION_REASON_REFUSED, NULL},
	    {SESSION_RESOLVE, 5000, SESSION_LINGER, SESSION_REASON_REFUSED,
		"504"},
	    {SESSION_DIAL, 8000, SESSION_LINGER, SESSION_REASON_REFUSED, "504"},
	    {SESSION_TUNNEL, 300000, SESSION_CLOSED, SESSION_REASON_IDLE, NULL},
	    {SESSION_RETRY, 9000, SESSION_LINGER, SESSION_REASON_REFUSED, NULL},
	    {SESSION_EXCHANGE, 300000, SESSION_LINGER, SESSION_REASON_IDLE,
		"504"},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct session_script *test =
		    session_script_reach(rows[i].state);

		test_session_limits_pass(test, rows[i].ms - 200);
		assert_int_equal(test->session.state, rows[i].state);
		test_session_limits_pass(test, 400);
		session_script_expect(test, session_text_state(rows[i].state),
		    rows[i].then, rows[i].reason, DENY_TIMEOUT);
		if (rows[i].status != NULL)
			assert_memory_equal(test->said + 9, rows[i].status, 3);
		session_script_free(test);
	}
}

static void
test_session_limits_linger_ends(void **unused)
{
	struct session_script *test = session_script_reach(SESSION_LINGER);

	(void)unused;
	test_session_limits_pass(test, SESSION_LINGER_MS + 200);
	session_script_expect(test, "linger", SESSION_CLOSED,
	    SESSION_REASON_REFUSED, DENY_METHOD_REFUSED);
	assert_false(test->reset);
	session_script_free(test);
}

/* Activity moves the idle limit, but not the total one. */
static void
test_session_limits_total(void **unused)
{
	struct session_script *test = session_script_reach(SESSION_TUNNEL);

	(void)unused;
	for (unsigned i = 0; i < 143; i++) {
		test_session_limits_pass(test, 200000);
		assert_int_equal(test->session.state, SESSION_TUNNEL);
		test->session.active_ms = test->now_ms;
	}
	test_session_limits_pass(test, 200400);
	session_script_expect(
	    test, "total", SESSION_CLOSED, SESSION_REASON_TOTAL, DENY_TIMEOUT);
	assert_true(test->reset);
	session_script_free(test);
}

/* Neither a lookup nor a dial that cannot even be started hangs. */
static void
test_session_limits_stuck(void **unused)
{
	struct session_script *test = session_script_new(SESSION_SCRIPT_NAME);

	(void)unused;
	test->stuck = true;
	session_step(&test->session, SESSION_EVENT_ACCEPTED);
	session_script_text(test, session_script_connect);
	session_script_expect(test, "lookup", SESSION_LINGER,
	    SESSION_REASON_REFUSED, DENY_LOOKUP_FAILED);
	session_script_free(test);
	test = session_script_reach(SESSION_RESOLVE);
	test->stuck = true;
	session_script_resolved(test);
	session_script_expect(test, "dial", SESSION_LINGER,
	    SESSION_REASON_REFUSED, DENY_DIAL_FAILED);
	session_script_free(test);
}

/* A total limit below the idle one holds, too. */
static void
test_session_limits_short_total(void **unused)
{
	struct session_script *test = session_script_reach(SESSION_HELLO);

	(void)unused;
	test->limits.total_ms = 5000;
	session_script_say_hello(test, SESSION_SCRIPT_NAME, false);
	assert_int_equal(test->session.state, SESSION_TUNNEL);
	test_session_limits_pass(test, 5200);
	session_script_expect(
	    test, "total", SESSION_CLOSED, SESSION_REASON_TOTAL, DENY_TIMEOUT);
	session_script_free(test);
}

static void
test_session_limits_full(void **unused)
{
	struct session_script *test = session_script_new(SESSION_SCRIPT_NAME);

	(void)unused;
	test->sandbox.counts[SESSION_LIST_OPEN] = 2;
	session_step(&test->session, SESSION_EVENT_ACCEPTED);
	session_script_text(test, session_script_connect);
	session_script_expect(test, "full", SESSION_LINGER,
	    SESSION_REASON_REFUSED, DENY_TOO_MANY_TUNNELS);
	assert_string_equal(test->trace, "make_room say linger");
	test->sandbox.counts[SESSION_LIST_OPEN] = 0;
	session_script_free(test);
}

static void
test_session_limits_full_makes_room(void **unused)
{
	struct session_script *test = session_script_new(SESSION_SCRIPT_NAME);

	(void)unused;
	test->sandbox.counts[SESSION_LIST_OPENING] = 2;
	test->room = true;
	session_step(&test->session, SESSION_EVENT_ACCEPTED);
	session_script_text(test, session_script_connect);
	assert_int_equal(test->session.state, SESSION_RESOLVE);
	test->sandbox.counts[SESSION_LIST_OPENING] -= 2;
	session_script_free(test);
}

/* --- what can happen in every state --- */

static const enum session_state test_session_limits_states[] = {SESSION_NEW,
    SESSION_HEAD, SESSION_HELLO, SESSION_RESOLVE, SESSION_DIAL, SESSION_TUNNEL,
    SESSION_RETRY, SESSION_EXCHANGE, SESSION_LINGER};
#define TEST_SESSION_STATES                   \
	(sizeof(test_session_limits_states) / \
	    sizeof(test_session_limits_states[0]))

static void
test_session_limits_every_sandbox_closed(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < TEST_SESSION_STATES; i++) {
		struct session_script *test =
		    session_script_reach(test_session_limits_states[i]);

		session_step(&test->session, SESSION_EVENT_SANDBOX_CLOSED);
		assert_int_equal(test->session.state, SESSION_CLOSED);
		assert_true(test->reset);
		session_script_free(test);
	}
}

static void
test_session_limits_every_client_lost(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < TEST_SESSION_STATES; i++) {
		struct session_script *test =
		    session_script_reach(test_session_limits_states[i]);

		session_step(&test->session, SESSION_EVENT_CLIENT_LOST);
		assert_int_equal(test->session.state, SESSION_CLOSED);
		session_script_free(test);
	}
}

static void
test_session_limits_every_evicted(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < TEST_SESSION_STATES; i++) {
		struct session_script *test =
		    session_script_reach(test_session_limits_states[i]);
		/* In a retry there is an alert to tell. */
		bool answered = test->session.answered &&
				test->session.state != SESSION_RETRY;

		session_step(&test->session, SESSION_EVENT_EVICTED);
		assert_int_equal(test->session.state,
		    answered ? SESSION_CLOSED : SESSION_LINGER);
		if (test_session_limits_states[i] != SESSION_LINGER)
			assert_int_equal(
			    test->session.reason, SESSION_REASON_EVICTED);
		session_script_free(test);
	}
}

/* An orderly end before a whole head or hello is nobody's fault. */
static void
test_session_limits_every_client_end(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < TEST_SESSION_STATES; i++) {
		enum session_state state = test_session_limits_states[i];
		struct session_script *test = session_script_reach(state);
		bool ends = state == SESSION_HEAD || state == SESSION_HELLO ||
			    state == SESSION_LINGER || state == SESSION_RETRY;

		session_step(&test->session, SESSION_EVENT_CLIENT_END);
		assert_int_equal(
		    test->session.state, ends ? SESSION_CLOSED : state);
		session_script_free(test);
	}
}

/* A narrower policy: what no longer matches ends, told where possible. */
static void
test_session_limits_every_policy(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < TEST_SESSION_STATES; i++) {
		enum session_state state = test_session_limits_states[i];
		struct session_script *test = session_script_reach(state);
		bool judged = state != SESSION_NEW && state != SESSION_HEAD &&
			      state != SESSION_LINGER;
		bool open = state == SESSION_TUNNEL || state == SESSION_RETRY ||
			    state == SESSION_EXCHANGE || state == SESSION_HELLO;

		session_step(&test->session, SESSION_EVENT_POLICY);
		assert_int_equal(test->session.state, state); /* still fits */
		host_policy_free(&test->sandbox.policy);
		test->sandbox.policy =
		    session_script_policy("other.test", NULL);
		session_step(&test->session, SESSION_EVENT_POLICY);
		if (judged)
			session_script_expect(test, session_text_state(state),
			    open ? SESSION_CLOSED : SESSION_LINGER,
			    SESSION_REASON_NARROWED, DENY_HOST_NOT_ALLOWED);
		else
			assert_int_equal(test->session.state, state);
		session_script_free(test);
	}
}

static void
test_session_limits_policy_denies(void **unused)
{
	struct session_script *test = session_script_reach(SESSION_TUNNEL);

	(void)unused;
	host_policy_free(&test->sandbox.policy);
	test->sandbox.policy =
	    session_script_policy(SESSION_SCRIPT_NAME, SESSION_SCRIPT_NAME);
	session_step(&test->session, SESSION_EVENT_POLICY);
	session_script_expect(test, "denied", SESSION_CLOSED,
	    SESSION_REASON_NARROWED, DENY_HOST_DENIED);
	assert_true(test->reset);
	session_script_free(test);
}

/* After the end nothing has an effect, whatever comes late. */
static void
test_session_limits_every_late_event(void **unused)
{
	(void)unused;
	for (unsigned event = 0; event < SESSION_EVENT_COUNT; event++) {
		struct session_script *test =
		    session_script_reach(SESSION_RESOLVE);

		session_step(&test->session, SESSION_EVENT_CLIENT_LOST);
		test->trace[0] = '\0';
		session_step(&test->session, (enum session_event)event);
		assert_int_equal(test->session.state, SESSION_CLOSED);
		assert_string_equal(test->trace, "");
		session_script_free(test);
	}
}

/* Every event in every state: no crash, no lost place, one report. */
static void
test_session_limits_every_event(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < TEST_SESSION_STATES; i++) {
		for (unsigned event = 0; event < SESSION_EVENT_COUNT; event++) {
			struct session_script *test =
			    session_script_reach(test_session_limits_states[i]);

			session_step(&test->session, (enum session_event)event);
			session_script_free(test);
		}
	}
}

/* A client that cannot be told is closed all the same. */
static void
test_session_limits_deaf(void **unused)
{
	struct session_script *test = session_script_new(SESSION_SCRIPT_NAME);

	(void)unused;
	test->deaf = true;
	session_step(&test->session, SESSION_EVENT_ACCEPTED);
	session_script_text(test,
	    "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n"
	    "\r\n");
	session_script_expect(test, "deaf", SESSION_CLOSED,
	    SESSION_REASON_REFUSED, DENY_HOST_NOT_ALLOWED);
	session_script_free(test);
}

static void
test_session_limits_byte_limit(void **unused)
{
	struct session_script *test = session_script_reach(SESSION_TUNNEL);

	(void)unused;
	session_step(&test->session, SESSION_EVENT_BYTE_LIMIT);
	session_script_expect(test, "bytes", SESSION_CLOSED,
	    SESSION_REASON_BYTE_LIMIT, DENY_NONE);
	assert_true(test->reset);
	session_script_free(test);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_session_limits_deadlines),
	    cmocka_unit_test(test_session_limits_linger_ends),
	    cmocka_unit_test(test_session_limits_total),
	    cmocka_unit_test(test_session_limits_stuck),
	    cmocka_unit_test(test_session_limits_short_total),
	    cmocka_unit_test(test_session_limits_full),
	    cmocka_unit_test(test_session_limits_full_makes_room),
	    cmocka_unit_test(test_session_limits_every_sandbox_closed),
	    cmocka_unit_test(test_session_limits_every_client_lost),
	    cmocka_unit_test(test_session_limits_every_evicted),
	    cmocka_unit_test(test_session_limits_every_client_end),
	    cmocka_unit_test(test_session_limits_every_policy),
	    cmocka_unit_test(test_session_limits_policy_denies),
	    cmocka_unit_test(test_session_limits_every_late_event),
	    cmocka_unit_test(test_session_limits_every_event),
	    cmocka_unit_test(test_session_limits_deaf),
	    cmocka_unit_test(test_session_limits_byte_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
