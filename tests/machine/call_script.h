/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call in a script: the world around call_step, with a fake clock and
 * actions that only write down that they were asked. Requests and responses
 * are real bytes. Used by test_call.c and test_call_ends.c.
 */
#ifndef TESTS_MACHINE_CALL_SCRIPT_H
#define TESTS_MACHINE_CALL_SCRIPT_H

#include "llm-broker/call.h"
#include "llm-broker/call_data.h"

/* One connection and the world around it. */
struct call_script {
	struct call call; /* first */
	struct call_run run;
	struct call_limits limits;
	struct deadline_wheel wheel;
	struct call_relay_space space;
	struct provider *providers[4];
	struct key_table *keys;
	uint64_t now_ms, number;
	enum result reserve_result, ask_result;
	char trace[1024];  /* the actions, in order */
	char said[262144]; /* what the agent took */
	size_t said_len;
	bool stalled;              /* the agent takes nothing */
	struct call_charge charge; /* of the last report */
	enum call_code code;       /* of the last report */
	unsigned reports, pushes;
};

/* limits: NULL, or the inside of "limits" of a grant. */
struct call_script *call_script_new(const char *limits, bool ledger);
/* Ends it if it is open, and checks that every call was reported once, no
 * place is taken and no deadline armed. */
void call_script_free(struct call_script *test);

/* The agent sent something; the agent takes what waits for it, which may
 * let the next call begin. */
void call_script_send(struct call_script *test, const char *text);
void call_script_take(struct call_script *test);
/* A chat request; fields are more of its body ("" or ",\"stream\":true"). */
void call_script_chat(struct call_script *test, const char *fields);
/* Through the lane. */
void call_script_sent(struct call_script *test);
void call_script_answer(struct call_script *test, const char *text);
void call_script_event(struct call_script *test, enum call_event event);
void call_script_failed(struct call_script *test, enum lane_failure failure);
/* Time passes, tick by tick. */
void call_script_wait(struct call_script *test, uint64_t ms);

/* llm-key has another key for openai. */
void call_script_key(struct call_script *test, const char *key);

/* Narrow the grant to no model that is in use. */
void call_script_narrow(struct call_script *test);

/* In that state, on the way of one chat call that streams. */
struct call_script *call_script_reach(enum call_state state, bool ledger);

/* Fails, naming what, unless both hold. */
void call_script_expect(const struct call_script *test, const char *what,
    enum call_state state, enum call_code code);

extern const char call_script_whole[];  /* a response with its body */
extern const char call_script_stream[]; /* a head and one event */
extern const char call_script_rest[];   /* what completes it */

#endif
