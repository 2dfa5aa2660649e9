/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of a connection, played: the ways through, and each refusal
 * with its code, in the order of the checks.
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

/* --- the three ways through --- */

static void
test_session_way_connect(void **unused)
{
	struct session_script *test = session_script_reach(SESSION_TUNNEL);

	(void)unused;
	assert_string_equal(test->trace, "resolve dial say tunnel");
	assert_non_null(strstr(test->said, "HTTP/1.1 200 "));
	assert_false(test->last);
	assert_null(test->session.work);
	assert_string_equal(test->session.host, SESSION_SCRIPT_NAME);
	assert_string_equal(test->session.rule, SESSION_SCRIPT_NAME ":443");
	session_step(&test->session, SESSION_EVENT_MOVED_ALL);
	session_script_expect(
	    test, "end", SESSION_CLOSED, SESSION_REASON_DONE, DENY_NONE);
	assert_false(test->reset);
	session_script_free(test);
}

static void
test_session_way_direct(void **unused)
{
	struct session_script *test =
	    session_script_new_direct(SESSION_SCRIPT_NAME);

	(void)unused;
	session_step(&test->session, SESSION_EVENT_ACCEPTED);
	assert_int_equal(test->session.state, SESSION_HELLO);
	assert_string_equal(test->trace, "");
	session_script_say_hello(test, SESSION_SCRIPT_NAME, false);
	assert_string_equal(test->trace, "resolve");
	session_script_resolved(test);
	session_script_dialed(test);
	assert_string_equal(test->trace, "resolve dial tunnel");
	session_script_free(test);
}

static void
test_session_way_plain(void **unused)
{
	struct session_script *test = session_script_reach(SESSION_EXCHANGE);

	(void)unused;
	assert_string_equal(test->trace, "resolve dial exchange");
	session_step(&test->session, SESSION_EVENT_MOVED_ALL);
	session_script_expect(
	    test, "end", SESSION_LINGER, SESSION_REASON_DONE, DENY_NONE);
	session_step(&test->session, SESSION_EVENT_CLIENT_END);
	session_script_expect(
	    test, "gone", SESSION_CLOSED, SESSION_REASON_DONE, DENY_NONE);
	session_script_free(test);
}

static void
test_session_way_raw(void **unused)
{
	struct session_script *test =
	    session_script_new("tcp://10.1.2.0/24:5432");

	(void)unused;
	session_step(&test->session, SESSION_EVENT_ACCEPTED);
	session_script_text(test,
	    "CONNECT 10.1.2.7:5432 HTTP/1.1\r\nHost: 10.1.2.7:5432\r\n\r\n");
	assert_string_equal(test->trace, "dial");
	session_script_dialed(test);
	assert_string_equal(test->trace, "dial say tunnel");
	session_script_free(test);
}

/* A hello that came with the head is used, not waited for. */
static void
test_session_way_eager(void **unused)
{
	struct session_script *test = session_script_new(SESSION_SCRIPT_NAME);
	char bytes[300];
	size_t len = session_script_hello(bytes, SESSION_SCRIPT_NAME, false);

	(void)unused;
	session_step(&test->session, SESSION_EVENT_ACCEPTED);
	assert_int_equal(
	    buffer_append_text(&test->session.work->in, session_script_connect),
	    RESULT_OK);
	session_script_bytes(test, bytes, len);
	session_script_resolved(test);
	session_script_dialed(test);
	assert_int_equal(test->session.state, SESSION_TUNNEL);
	session_script_free(test);
}

/* Byte by byte, head and hello: the same story. */
static void
test_session_way_trickled(void **unused)
{
	struct session_script *test = session_script_new(SESSION_SCRIPT_NAME);
	char bytes[300];
	size_t len = session_script_hello(bytes, SESSION_SCRIPT_NAME, false);

	(void)unused;
	session_step(&test->session, SESSION_EVENT_ACCEPTED);
	for (const char *at = session_script_connect; *at != '\0'; at++)
		session_script_bytes(test, at, 1);
	session_script_resolved(test);
	session_script_dialed(test);
	for (size_t i = 0; i < len; i++) {
		assert_int_equal(test->session.state, SESSION_HELLO);
		session_script_bytes(test, bytes + i, 1);
	}
	assert_int_equal(test->session.state, SESSION_TUNNEL);
	session_script_free(test);
}

/* --- refusals --- */

struct test_session_head {
	const char *text;
	enum deny_code code;
	const char *status;
};

/* Before any lookup: the trace has a reply and nothing else. */
static void
test_session_heads(void **unused)
{
	static const struct test_session_head rows[] = {
	    {"CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n",
		DENY_HOST_NOT_ALLOWED, "403"},
	    {"CONNECT evilapi.example.test:443 HTTP/1.1\r\n"
	     "Host: evilapi.example.test:443\r\n\r\n",
		DENY_HOST_NOT_ALLOWED, "403"},
	    {"CONNECT api.example.test:444 HTTP/1.1\r\n"
	     "Host: api.example.test:444\r\n\r\n",
		DENY_PORT_NOT_ALLOWED, "403"},
	    {"CONNECT 93.184.215.14:443 HTTP/1.1\r\n"
	     "Host: 93.184.215.14:443\r\n\r\n",
		DENY_IP_LITERAL, "403"},
	    {"CONNECT api.example.test HTTP/1.1\r\n"
	     "Host: api.example.test\r\n\r\n",
		DENY_BAD_REQUEST, "400"},
	    {"CONNECT api.example.test:443 HTTP/1.1\n\n", DENY_BAD_REQUEST,
		"400"},
	    {"CONNECT api.example.test:443 HTTP/2.0\r\n\r\n", DENY_BAD_REQUEST,
		"505"},
	    {"TRACE http://api.example.test/ HTTP/1.1\r\n"
	     "Host: api.example.test\r\n\r\n",
		DENY_METHOD_REFUSED, "405"},
	    {"CONNECT api.example.test:443 HTTP/1.1\r\nHost: other.test\r\n"
	     "\r\n",
		DENY_MISDIRECTED, "421"},
	    {"GET http://api.example.test/ HTTP/1.1\r\n"
	     "Host: api.example.test\r\n\r\n",
		DENY_PORT_NOT_ALLOWED, "403"},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct session_script *test =
		    session_script_new(SESSION_SCRIPT_NAME);

		session_step(&test->session, SESSION_EVENT_ACCEPTED);
		session_script_text(test, rows[i].text);
		session_script_expect(test, rows[i].text, SESSION_LINGER,
		    SESSION_REASON_REFUSED, rows[i].code);
		assert_string_equal(test->trace, "say linger");
		assert_true(test->last);
		assert_memory_equal(test->said + 9, rows[i].status, 3);
		assert_non_null(strstr(test->said, deny_text(rows[i].code)));
		session_script_free(test);
	}
}

static void
test_session_answers(void **unused)
{
	static const char *const bad[] = {"10.0.0.7", "127.0.0.1",
	    "169.254.169.254", "::1", "::ffff:10.0.0.7", "64:ff9b::a00:7",
	    "0.0.0.0", "100.64.0.1", "fd00::1"};

	(void)unused;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct session_script *test =
		    session_script_reach(SESSION_RESOLVE);

		/* A good one before it does not help. */
		session_script_answer(test, "93.184.215.14");
		session_script_answer(test, bad[i]);
		session_step(&test->session, SESSION_EVENT_RESOLVED);
		session_script_expect(test, bad[i], SESSION_LINGER,
		    SESSION_REASON_REFUSED, DENY_ADDRESS_NOT_ALLOWED);
		assert_null(strstr(test->trace, "dial"));
		session_script_free(test);
	}
}

/* Hellos after the 200: nothing may go upstream; TLS hears an alert. */
static void
test_session_hellos(void **unused)
{
	static const struct {
		const char *name;
		bool ech;
		enum deny_code code;
	} rows[] = {{"other.test", false, DENY_SNI_MISMATCH},
	    {"", false, DENY_SNI_MISSING},
	    {SESSION_SCRIPT_NAME, true, DENY_ECH_REFUSED},
	    {"xapi.example.test", false, DENY_SNI_MISMATCH}};

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct session_script *test =
		    session_script_reach(SESSION_HELLO);

		session_script_say_hello(test, rows[i].name, rows[i].ech);
		session_script_expect(test, rows[i].name, SESSION_LINGER,
		    SESSION_REASON_REFUSED, rows[i].code);
		assert_int_equal(test->said[0], 21); /* alert record */
		assert_true(test->last);
		assert_null(strstr(test->trace, "tunnel"));
		session_script_free(test);
	}
}

static void
test_session_not_tls(void **unused)
{
	static const char *const first[] = {
	    "SSH-2.0-x\r\n", "GET / HTTP/1.1\r\n\r\n", "\x80\x2e\x01\x03\x01"};

	(void)unused;
	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
		struct session_script *test =
		    session_script_reach(SESSION_HELLO);

		session_script_text(test, first[i]);
		session_script_expect(test, first[i], SESSION_CLOSED,
		    SESSION_REASON_REFUSED, DENY_NOT_TLS);
		session_script_free(test);
	}
}

/* Direct: a wrong name is refused before anything was looked up. */
static void
test_session_direct_mismatch(void **unused)
{
	struct session_script *test =
	    session_script_new_direct(SESSION_SCRIPT_NAME);

	(void)unused;
	session_step(&test->session, SESSION_EVENT_ACCEPTED);
	session_script_say_hello(test, "other.test", false);
	session_script_expect(test, "direct", SESSION_LINGER,
	    SESSION_REASON_REFUSED, DENY_SNI_MISMATCH);
	assert_string_equal(test->trace, "say linger");
	session_script_free(test);
}

static void
test_session_direct_not_allowed(void **unused)
{
	struct session_script *test = session_script_new_direct("other.test");

	(void)unused;
	session_step(&test->session, SESSION_EVENT_ACCEPTED);
	session_script_say_hello(test, SESSION_SCRIPT_NAME, false);
	session_script_expect(test, "direct", SESSION_LINGER,
	    SESSION_REASON_REFUSED, DENY_HOST_NOT_ALLOWED);
	assert_string_equal(test->trace, "say linger");
	session_script_free(test);
}

static void
test_session_no_policy(void **unused)
{
	struct session_script *test = session_script_new(NULL);

	(void)unused;
	host_policy_free(&test->sandbox.policy);
	session_step(&test->session, SESSION_EVENT_ACCEPTED);
	session_script_text(test, session_script_connect);
	session_script_expect(test, "no policy", SESSION_LINGER,
	    SESSION_REASON_REFUSED, DENY_POLICY_UNAVAILABLE);
	session_script_free(test);
}

static void
test_session_failures(void **unused)
{
	static const struct {
		enum session_state state;
		enum session_event event;
		enum result fault;
		enum deny_code code;
		const char *status;
	} rows[] = {
	    {SESSION_RESOLVE, SESSION_EVENT_LOOKUP_FAILED, RESULT_NOT_FOUND,
		DENY_LOOKUP_FAILED, "502"},
	    {SESSION_RESOLVE, SESSION_EVENT_LOOKUP_FAILED, RESULT_TIMEOUT,
		DENY_TIMEOUT, "504"},
	    {SESSION_DIAL, SESSION_EVENT_DIAL_FAILED, RESULT_SYSTEM,
		DENY_DIAL_FAILED, "502"},
	    {SESSION_DIAL, SESSION_EVENT_DIAL_FAILED, RESULT_TIMEOUT,
		DENY_TIMEOUT, "504"},
	    {SESSION_EXCHANGE, SESSION_EVENT_BAD_RESPONSE, RESULT_OK,
		DENY_DIAL_FAILED, "502"},
	    {SESSION_EXCHANGE, SESSION_EVENT_BAD_REQUEST_BODY, RESULT_OK,
		DENY_BAD_REQUEST, "400"},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct session_script *test =
		    session_script_reach(rows[i].state);

		if (test->session.work != NULL)
			test->session.work->fault = rows[i].fault;
		session_step(&test->session, rows[i].event);
		session_script_expect(test, session_text_event(rows[i].event),
		    SESSION_LINGER, SESSION_REASON_REFUSED, rows[i].code);
		assert_memory_equal(test->said + 9, rows[i].status, 3);
		session_script_free(test);
	}
}

/* --- a second hello --- */

/* Asked for, with the same name: the tunnel goes on, as often as it is. */
static void
test_session_retry_same(void **unused)
{
	struct session_script *test = session_script_reach(SESSION_RETRY);

	(void)unused;
	assert_non_null(test->session.work);
	session_script_say_hello(test, SESSION_SCRIPT_NAME, false);
	session_script_expect(
	    test, "same", SESSION_TUNNEL, SESSION_REASON_NONE, DENY_NONE);
	assert_null(test->session.work);
	assert_string_equal(
	    test->trace, "resolve dial say tunnel take_back resume");
	session_step(&test->session, SESSION_EVENT_RETRY);
	assert_int_equal(test->session.state, SESSION_RETRY);
	session_script_say_hello(test, "evil.example.test", false);
	session_script_expect(test, "third", SESSION_LINGER,
	    SESSION_REASON_REFUSED, DENY_SNI_MISMATCH);
	session_script_free(test);
}

/* The name, its absence, ECH, and what is no hello: judged as the first. */
static void
test_session_retry_other(void **unused)
{
	static const struct {
		const char *name;
		bool ech;
		enum deny_code code;
	} rows[] = {
	    {"evil.example.test", false, DENY_SNI_MISMATCH},
	    {"", false, DENY_SNI_MISSING},
	    {SESSION_SCRIPT_NAME, true, DENY_ECH_REFUSED},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct session_script *test =
		    session_script_reach(SESSION_RETRY);

		session_script_say_hello(test, rows[i].name, rows[i].ech);
		session_script_expect(test, rows[i].name, SESSION_LINGER,
		    SESSION_REASON_REFUSED, rows[i].code);
		assert_string_equal(test->trace,
		    "resolve dial say tunnel take_back say linger");
		assert_memory_equal(test->said, "\x15\x03\x03\0\2\2\x31", 7);
		session_script_free(test);
	}
}

/* What came with the first hello is judged at once. */
static void
test_session_retry_eager(void **unused)
{
	struct session_script *test = session_script_reach(SESSION_TUNNEL);
	char bytes[300];

	(void)unused;
	test->behind_len =
	    session_script_hello(bytes, "evil.example.test", false);
	test->behind = bytes;
	session_step(&test->session, SESSION_EVENT_RETRY);
	session_script_expect(test, "eager", SESSION_LINGER,
	    SESSION_REASON_REFUSED, DENY_SNI_MISMATCH);
	assert_string_equal(test->session.sni, "evil.example.test");
	session_script_free(test);
}

/* Other ends of one that is awaited; and one that nobody asked for. */
static void
test_session_retry_ends(void **unused)
{
	struct session_script *test = session_script_reach(SESSION_RETRY);

	(void)unused;
	session_script_bytes(test, "\x16\x03\x03\0\4\x0b\0\0\0", 9);
	session_script_expect(test, "no hello", SESSION_LINGER,
	    SESSION_REASON_REFUSED, DENY_TLS_PARSE);
	session_script_free(test);
	test = session_script_reach(SESSION_RETRY);
	session_step(&test->session, SESSION_EVENT_CLIENT_END);
	session_script_expect(
	    test, "end", SESSION_CLOSED, SESSION_REASON_CLIENT_GONE, DENY_NONE);
	session_script_free(test);
	test = session_script_reach(SESSION_RETRY);
	session_step(&test->session, SESSION_EVENT_MOVE_BROKEN);
	session_script_expect(
	    test, "reset", SESSION_CLOSED, SESSION_REASON_RESET, DENY_NONE);
	session_script_free(test);
	test = session_script_reach(SESSION_TUNNEL);
	session_step(&test->session, SESSION_EVENT_SECOND_HELLO);
	session_script_expect(test, "unasked", SESSION_CLOSED,
	    SESSION_REASON_REFUSED, DENY_TLS_PARSE);
	session_script_free(test);
}

/* A sandbox without bytes left dials nothing. */
static void
test_session_no_bytes(void **unused)
{
	struct session_script *test = session_script_new(SESSION_SCRIPT_NAME);

	(void)unused;
	egress_quota_init(&test->sandbox.quota, 0, 10, 0);
	egress_quota_spend(&test->sandbox.quota, 10);
	session_step(&test->session, SESSION_EVENT_ACCEPTED);
	session_script_text(test, session_script_connect);
	session_script_expect(test, "used up", SESSION_CLOSED,
	    SESSION_REASON_BYTE_LIMIT, DENY_NONE);
	assert_string_equal(test->trace, "release");
	session_script_free(test);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_session_way_connect),
	    cmocka_unit_test(test_session_way_direct),
	    cmocka_unit_test(test_session_way_plain),
	    cmocka_unit_test(test_session_way_raw),
	    cmocka_unit_test(test_session_way_eager),
	    cmocka_unit_test(test_session_way_trickled),
	    cmocka_unit_test(test_session_heads),
	    cmocka_unit_test(test_session_answers),
	    cmocka_unit_test(test_session_hellos),
	    cmocka_unit_test(test_session_not_tls),
	    cmocka_unit_test(test_session_direct_mismatch),
	    cmocka_unit_test(test_session_direct_not_allowed),
	    cmocka_unit_test(test_session_no_policy),
	    cmocka_unit_test(test_session_failures),
	    cmocka_unit_test(test_session_retry_same),
	    cmocka_unit_test(test_session_retry_other),
	    cmocka_unit_test(test_session_retry_eager),
	    cmocka_unit_test(test_session_retry_ends),
	    cmocka_unit_test(test_session_no_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
