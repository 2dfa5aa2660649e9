/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session in a script: the world around session_step, with a fake clock
 * and actions that only write down that they were asked. Used by
 * test_session.c and test_session_limits.c.
 */
#ifndef TESTS_MACHINE_SESSION_SCRIPT_H
#define TESTS_MACHINE_SESSION_SCRIPT_H

#include "egress-proxy/session.h"
#include "egress-proxy/session_data.h"

#define SESSION_SCRIPT_NAME "api.example.test"

/* One session and the world around it. */
struct session_script {
	struct session session; /* first */
	struct session_sandbox sandbox;
	struct session_limits limits;
	struct deadline_wheel wheel;
	uint64_t now_ms;
	char trace[512]; /* the actions, in order */
	char said[4096]; /* to the client */
	bool stuck;      /* neither lookup nor dial can be started */
	bool room, deaf; /* make_room's answer; send_client fails */
	bool last;       /* as send_client was told */
	bool reset;      /* of the release */
	unsigned reports;
	const char *behind; /* what take_back finds, or NULL */
	size_t behind_len;
};

extern const char session_script_connect[]; /* CONNECT to the usual name */
extern const char session_script_get[];     /* plain GET of it */

struct host_policy *session_script_policy(const char *allow, const char *deny);

/* Begun on a proxy listener, or on a direct one for the usual name. */
struct session_script *session_script_new(const char *allow);
struct session_script *session_script_new_direct(const char *allow);

/* Ends it if it is open, and checks that it reported once, left no place
 * taken and no deadline armed. */
void session_script_free(struct session_script *test);

/* The client sent something. */
void session_script_bytes(
    struct session_script *test, const void *bytes, size_t len);
void session_script_text(struct session_script *test, const char *text);

/* A small TLS 1.3 hello with this name ("": none), and ECH or not. */
size_t session_script_hello(char *at, const char *name, bool ech);
void session_script_say_hello(
    struct session_script *test, const char *name, bool ech);

/* An address of the answer; the whole usual answer; the dial's success. */
void session_script_answer(struct session_script *test, const char *address);
void session_script_resolved(struct session_script *test);
void session_script_dialed(struct session_script *test);

/* In that state, on its way through a CONNECT (EXCHANGE: a plain GET). */
struct session_script *session_script_reach(enum session_state state);

/* Fails, naming what, unless all three hold. */
void session_script_expect(const struct session_script *test, const char *what,
    enum session_state state, enum session_reason reason, enum deny_code code);

#endif
