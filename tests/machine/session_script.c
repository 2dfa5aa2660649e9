/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scripted world of a session: no sockets, no waiting. Each action adds
 * its word to the trace.
 */
#include "tests/machine/session_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "egress-proxy/session_actions.h"
#include "egress-proxy/session_text.h"
#include "egress-proxy/session_work.h"

static struct session_script *
session_script_of(struct session *session)
{
	return (struct session_script *)(void *)session;
}

static void
session_script_note(struct session *session, const char *what)
{
	struct session_script *test = session_script_of(session);
	size_t len = strlen(test->trace);

	(void)snprintf(test->trace + len, sizeof(test->trace) - len, "%s%s",
	    len > 0 ? " " : "", what);
}

static uint64_t
session_script_now(struct session *session)
{
	return session_script_of(session)->now_ms;
}

static enum result
session_script_resolve(struct session *session)
{
	session_script_note(session, "resolve");
	return session_script_of(session)->stuck ? RESULT_TOO_LONG : RESULT_OK;
}

static enum result
session_script_dial(struct session *session)
{
	session_script_note(session, "dial");
	return session_script_of(session)->stuck ? RESULT_TOO_LONG : RESULT_OK;
}

static bool
session_script_make_room(struct session *session)
{
	session_script_note(session, "make_room");
	return session_script_of(session)->room;
}

static void
session_script_cancel(struct session *session)
{
	(void)session;
}

static enum result
session_script_send_client(
    struct session *session, const void *bytes, size_t len, bool last)
{
	struct session_script *test = session_script_of(session);

	if (test->deaf)
		return RESULT_CLOSED;
	test->last = last;
	assert_true(len < sizeof(test->said));
	memcpy(test->said, bytes, len);
	test->said[len] = '\0';
	session_script_note(session, "say");
	return RESULT_OK;
}

static enum result
session_script_start_tunnel(struct session *session)
{
	session_script_note(session, "tunnel");
	return RESULT_OK;
}

/* What came behind the first hello, if the test says so. */
static enum result
session_script_take_back(struct session *session)
{
	struct session_script *test = session_script_of(session);

	session_script_note(session, "take_back");
	return test->behind == NULL ? RESULT_OK
				    : buffer_append(&session->work->in,
					  test->behind, test->behind_len);
}

static enum result
session_script_resume_tunnel(struct session *session)
{
	session_script_note(session, "resume");
	return RESULT_OK;
}

static enum result
session_script_start_exchange(struct session *session)
{
	session_script_note(session, "exchange");
	return RESULT_OK;
}

static void
session_script_linger(struct session *session)
{
	session_script_note(session, "linger");
}

static void
session_script_release(struct session *session, bool reset)
{
	session_script_of(session)->reset = reset;
	session_script_note(session, "release");
}

static void
session_script_report(struct session *session)
{
	session_script_of(session)->reports++;
}

static const struct session_actions session_script_actions = {
    session_script_now, session_script_resolve, session_script_dial,
    session_script_make_room, session_script_cancel, session_script_send_client,
    session_script_start_tunnel, session_script_take_back,
    session_script_resume_tunnel, session_script_start_exchange,
    session_script_linger, session_script_release, session_script_report};

struct host_policy *
session_script_policy(const char *allow, const char *deny)
{
	struct host_policy *policy;
	enum domain_fault fault;

	assert_int_equal(host_policy_new(&policy), RESULT_OK);
	if (allow != NULL)
		assert_int_equal(host_policy_add_allow(policy, allow, &fault),
		    POLICY_ENTRY_OK);
	if (deny != NULL)
		assert_int_equal(host_policy_add_deny(policy, deny, &fault),
		    POLICY_ENTRY_OK);
	return policy;
}

static const struct session_limits session_script_limits = {.max_tunnels = 2,
    .head_ms = 10000,
    .hello_ms = 9000,
    .lookup_ms = 5000,
    .dial_ms = 8000,
    .idle_ms = 300000,
    .total_ms = 28800000};

struct session_script *
session_script_new(const char *allow)
{
	struct session_script *test = calloc(1, sizeof(*test));
	struct session *session = &test->session;

	assert_non_null(test);
	test->now_ms = 1000000;
	test->limits = session_script_limits;
	(void)strcpy(test->sandbox.id, "test");
	test->sandbox.policy = session_script_policy(allow, NULL);
	for (int i = 0; i < SESSION_LIST_COUNT; i++)
		TAILQ_INIT(&test->sandbox.lists[i]);
	deadline_wheel_init(&test->wheel, test->now_ms);
	session->actions = &session_script_actions;
	session->limits = &test->limits;
	session->wheel = &test->wheel;
	session->sandbox = &test->sandbox;
	assert_int_equal(session_work_new(NULL, &session->work), RESULT_OK);
	session_begin(session);
	return test;
}

/* A direct listener's session for the usual name. */
struct session_script *
session_script_new_direct(const char *allow)
{
	struct session_script *test = session_script_new(allow);

	test->session.kind = SESSION_KIND_DIRECT;
	test->session.port = 443;
	test->session.host = strdup(SESSION_SCRIPT_NAME);
	assert_int_equal(
	    domain_parse(SESSION_SCRIPT_NAME, strlen(SESSION_SCRIPT_NAME),
		&test->session.work->name),
	    DOMAIN_OK);
	return test;
}

void
session_script_free(struct session_script *test)
{
	if (test->session.state != SESSION_CLOSED)
		session_step(&test->session, SESSION_EVENT_SANDBOX_CLOSED);
	assert_int_equal(test->session.state, SESSION_CLOSED);
	assert_int_equal(test->reports, 1); /* one line per connection */
	session_end(&test->session);
	for (int i = 0; i < SESSION_LIST_COUNT; i++)
		assert_int_equal(test->sandbox.counts[i], 0);
	assert_int_equal(test->wheel.armed, 0);
	host_policy_free(&test->sandbox.policy);
	free(test);
}

void
session_script_bytes(struct session_script *test, const void *bytes, size_t len)
{
	assert_int_equal(
	    buffer_append(&test->session.work->in, bytes, len), RESULT_OK);
	session_step(&test->session, SESSION_EVENT_CLIENT_BYTES);
}

void
session_script_text(struct session_script *test, const char *text)
{
	session_script_bytes(test, text, strlen(text));
}

/* A small TLS 1.3 hello with this name ("": none), and ECH or not. */
size_t
session_script_hello(char *at, const char *name, bool ech)
{
	size_t len = strlen(name), names = len > 0 ? len + 9 : 0;
	size_t extensions = names + (ech ? 8 : 0), body = 43 + extensions;
	char *start = at;

	memcpy(at, "\x16\x03\x01\x00", 4);
	at[4] = (char)(body + 4);
	memcpy(at + 5, "\x01\x00\x00", 3);
	at[8] = (char)body;
	memcpy(at + 9, "\x03\x03", 2);
	memset(at + 11, 7, 32);
	memcpy(at + 43, "\x00\x00\x02\x13\x01\x01\x00\x00", 8);
	at[51] = (char)extensions;
	at += 52;
	if (len > 0) {
		const char head[] = {0, 0, 0, (char)(len + 5), 0,
		    (char)(len + 3), 0, 0, (char)len};

		memcpy(at, head, 9);
		memcpy(at + 9, name, len);
		at += 9 + len;
	}
	if (ech) {
		memcpy(at, "\xfe\x0d\x00\x04\x01\x02\x03\x04", 8);
		at += 8;
	}
	return (size_t)(at - start);
}

void
session_script_say_hello(
    struct session_script *test, const char *name, bool ech)
{
	char bytes[300];

	session_script_bytes(
	    test, bytes, session_script_hello(bytes, name, ech));
}

void
session_script_answer(struct session_script *test, const char *address)
{
	struct session_work *work = test->session.work;

	assert_int_equal(ip_addr_parse(address, strlen(address),
			     &work->answers[work->answer_count++]),
	    RESULT_OK);
}

void
session_script_resolved(struct session_script *test)
{
	session_script_answer(test, "93.184.215.14");
	session_step(&test->session, SESSION_EVENT_RESOLVED);
}

void
session_script_dialed(struct session_script *test)
{
	test->session.address = test->session.work->answers[0];
	session_step(&test->session, SESSION_EVENT_DIALED);
}

const char session_script_connect[] =
    "CONNECT api.example.test:443 HTTP/1.1\r\n"
    "Host: api.example.test:443\r\n\r\n";
const char session_script_get[] = "GET http://api.example.test/x HTTP/1.1\r\n"
				  "Host: api.example.test\r\n\r\n";

/* A session in that state, on its way through a CONNECT (or a plain GET). */
struct session_script *
session_script_reach(enum session_state state)
{
	bool plain = state == SESSION_EXCHANGE;
	struct session_script *test = session_script_new(
	    plain ? "http://" SESSION_SCRIPT_NAME : SESSION_SCRIPT_NAME);

	if (state > SESSION_NEW)
		session_step(&test->session, SESSION_EVENT_ACCEPTED);
	if (state == SESSION_LINGER) {
		session_script_text(
		    test, "TRACE / HTTP/1.1\r\nHost: x\r\n\r\n");
	} else if (state > SESSION_HEAD) {
		session_script_text(
		    test, plain ? session_script_get : session_script_connect);
		if (state != SESSION_RESOLVE)
			session_script_resolved(test);
		if (state != SESSION_RESOLVE && state != SESSION_DIAL)
			session_script_dialed(test);
		if (state == SESSION_TUNNEL || state == SESSION_RETRY)
			session_script_say_hello(
			    test, SESSION_SCRIPT_NAME, false);
		if (state == SESSION_RETRY)
			session_step(&test->session, SESSION_EVENT_RETRY);
	}
	if (test->session.state != state)
		fail_msg("state %s instead of %s",
		    session_text_state(test->session.state),
		    session_text_state(state));
	return test;
}

void
session_script_expect(const struct session_script *test, const char *what,
    enum session_state state, enum session_reason reason, enum deny_code code)
{
	const struct session *session = &test->session;

	if (session->state == state && session->reason == reason &&
	    session->code == code)
		return;
	fail_msg("%s: %s/%s/%s instead of %s/%s/%s, trace: %s", what,
	    session_text_state(session->state),
	    session_text_reason(session->reason), deny_text(session->code),
	    session_text_state(state), session_text_reason(reason),
	    deny_text(code), test->trace);
}
