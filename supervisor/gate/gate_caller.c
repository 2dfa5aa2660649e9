/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate as the client of a tool package. Called by gate.c in caller
 * mode; it must never send a tool's name or arguments that were not checked
 * by themselves, nor take an answer for another job's.
 */
#include "supervisor/gate/gate_caller.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/gate/gate_caller_wire.h"

void
gate_caller_enter(struct gate_caller *caller, enum gate_caller_state state)
{
	caller->state = state;
}

void
gate_caller_init(struct gate_caller *caller,
    const struct gate_caller_limits *limits, const struct mcp_hash_key *key)
{
	memset(caller, 0, sizeof(*caller));
	caller->limits = *limits;
	caller->code = "";
	caller->last_rpc = GATE_CALLER_WIRE_INITIALIZE;
	mcp_json_init(&caller->checker, key);
}

void
gate_caller_free(struct gate_caller *caller)
{
	for (size_t i = 0; i < GATE_CALLER_JOBS_MAX; i++)
		gate_caller_forget(&caller->jobs[i]);
	mcp_json_free(&caller->checker);
}

/* --- answers ------------------------------------------------------------ */

void
gate_caller_answer(
    struct gate_caller_job *job, const char *code, const char *detail)
{
	if (code[0] != '\0')
		buffer_free(&job->bytes);
	buffer_free(&job->pages);
	job->step = GATE_CALLER_ANSWERED;
	job->code = code;
	(void)snprintf(job->detail, sizeof(job->detail), "%s", detail);
}

struct gate_caller_job *
gate_caller_answered(struct gate_caller *caller)
{
	for (size_t i = 0; i < GATE_CALLER_JOBS_MAX; i++) {
		if (caller->jobs[i].step == GATE_CALLER_ANSWERED)
			return &caller->jobs[i];
	}
	return NULL;
}

void
gate_caller_forget(struct gate_caller_job *job)
{
	buffer_free(&job->bytes);
	buffer_free(&job->pages);
	memset(job, 0, sizeof(*job));
}

void
gate_caller_end(
    struct gate_caller *caller, const char *code, const char *detail)
{
	if (caller->state == GATE_CALLER_ENDED)
		return;
	caller->code = code;
	(void)snprintf(caller->detail, sizeof(caller->detail), "%s", detail);
	gate_caller_enter(caller, GATE_CALLER_ENDED);
	for (size_t i = 0; i < GATE_CALLER_JOBS_MAX; i++) {
		struct gate_caller_job *job = &caller->jobs[i];

		if (job->step != GATE_CALLER_FREE &&
		    job->step != GATE_CALLER_ANSWERED)
			gate_caller_answer(job, code, detail);
	}
}

/* --- jobs --------------------------------------------------------------- */

static bool
gate_caller_is_name(const char *tool)
{
	size_t len = 0;

	for (; tool[len] != '\0'; len++) {
		if (tool[len] <= 0x20 || tool[len] > 0x7e)
			return false;
	}
	return len > 0 && len <= MCP_POLICY_TOOL_MAX;
}

/* By themselves, so that they cannot end the object they go into. */
static bool
gate_caller_are_arguments(
    struct gate_caller *caller, const char *bytes, size_t len)
{
	size_t position;

	return len <= caller->limits.arguments_max &&
	       mcp_json_check(&caller->checker, bytes, len, &position) ==
		   MCP_JSON_OK &&
	       mcp_cursor_kind(mcp_cursor_value(bytes, len)) ==
		   MCP_VALUE_OBJECT;
}

static struct gate_caller_job *
gate_caller_free_job(struct gate_caller *caller)
{
	for (size_t i = 0; i < GATE_CALLER_JOBS_MAX; i++) {
		if (caller->jobs[i].step == GATE_CALLER_FREE)
			return &caller->jobs[i];
	}
	return NULL;
}

/* A call whose tool is not named: the one that is allowed, or known. */
static void
gate_caller_guess(const struct gate_caller *caller,
    const struct mcp_policy *policy, struct gate_caller_job *job)
{
	const char *tool = caller->only;

	if (policy->has_tools && policy->tool_count == 1)
		tool = policy->tools[0];
	(void)snprintf(job->tool, sizeof(job->tool), "%s", tool);
}

static void
gate_caller_judge(struct gate_caller *caller, const struct mcp_policy *policy,
    struct gate_caller_job *job, const char *tool, const char *arguments,
    size_t len)
{
	char detail[GATE_CALLER_DETAIL_MAX];

	if (tool != NULL && !gate_caller_is_name(tool)) {
		gate_caller_answer(
		    job, "bad_request", "the tool's name is no plain name");
	} else if (tool != NULL && !mcp_policy_tool_allowed(policy, tool)) {
		mcp_policy_sentence(
		    policy, MCP_DENIED_TOOL, tool, detail, sizeof(detail));
		gate_caller_answer(job, "tool_not_allowed", detail);
	} else if (!gate_caller_are_arguments(caller, arguments, len) ||
		   buffer_append(&job->bytes, arguments, len) != RESULT_OK) {
		gate_caller_answer(job, "bad_request",
		    "the arguments are no JSON object within arguments_max");
	} else if (tool != NULL) {
		(void)snprintf(job->tool, sizeof(job->tool), "%s", tool);
	} else {
		gate_caller_guess(caller, policy, job);
	}
}

void
gate_caller_job(struct gate_caller *caller, const struct mcp_session *session,
    uint64_t id, bool list, const char *tool, const char *arguments, size_t len)
{
	struct gate_caller_job *job = gate_caller_free_job(caller);

	/* The link asks only when there is one. */
	if (job == NULL)
		return;
	job->step = GATE_CALLER_WAITING;
	job->id = id;
	job->list = list;
	buffer_init(&job->bytes, caller->limits.arguments_max);
	buffer_init(&job->pages, GATE_CALLER_LIST_MAX);
	if (caller->state == GATE_CALLER_ENDED)
		gate_caller_answer(job, caller->code, caller->detail);
	else if (!list)
		gate_caller_judge(
		    caller, &session->policy, job, tool, arguments, len);
}

static bool
gate_caller_is_asked(const struct gate_caller_job *job)
{
	return job->step == GATE_CALLER_LISTING ||
	       job->step == GATE_CALLER_CALLING;
}

void
gate_caller_cancel(struct gate_caller *caller, struct mcp_session *session,
    uint64_t id, uint64_t now_ms)
{
	for (size_t i = 0; i < GATE_CALLER_JOBS_MAX; i++) {
		struct gate_caller_job *job = &caller->jobs[i];

		if (job->step == GATE_CALLER_FREE || job->id != id)
			continue;
		if (gate_caller_is_asked(job))
			gate_caller_wire_cancel(
			    session, job, "cancelled", now_ms);
		gate_caller_forget(job);
	}
}

/* --- time --------------------------------------------------------------- */

static void
gate_caller_give_up(struct gate_caller *caller, struct mcp_session *session,
    struct gate_caller_job *job, uint64_t now_ms)
{
	char detail[80];

	(void)snprintf(detail, sizeof(detail), "no answer within %" PRIu64 " s",
	    caller->limits.call_ms / 1000);
	if (gate_caller_is_asked(job))
		gate_caller_wire_cancel(session, job, "timeout", now_ms);
	gate_caller_answer(job, "tool_timeout", detail);
}

void
gate_caller_pump(
    struct gate_caller *caller, struct mcp_session *session, uint64_t now_ms)
{
	if (caller->state == GATE_CALLER_INITIALIZING &&
	    caller->deadline_ms != 0 && now_ms >= caller->deadline_ms)
		gate_caller_end(caller, "tool_start_failed",
		    "the server did not answer initialize in time");
	for (size_t i = 0; i < GATE_CALLER_JOBS_MAX; i++) {
		struct gate_caller_job *job = &caller->jobs[i];
		bool waits = job->step == GATE_CALLER_WAITING &&
			     caller->state == GATE_CALLER_READY;

		if ((gate_caller_is_asked(job) || waits) &&
		    job->deadline_ms != 0 && now_ms >= job->deadline_ms)
			gate_caller_give_up(caller, session, job, now_ms);
		else if (waits && mcp_session_may_take(session, MCP_CLIENT))
			gate_caller_wire_send(caller, session, job, now_ms);
		else if (waits && job->deadline_ms == 0 &&
			 caller->limits.call_ms > 0)
			job->deadline_ms = now_ms + caller->limits.call_ms;
	}
}

uint64_t
gate_caller_next_ms(const struct gate_caller *caller)
{
	uint64_t next = 0;

	if (caller->state == GATE_CALLER_INITIALIZING)
		next = caller->deadline_ms;
	for (size_t i = 0; i < GATE_CALLER_JOBS_MAX; i++) {
		const struct gate_caller_job *job = &caller->jobs[i];

		if ((gate_caller_is_asked(job) ||
			job->step == GATE_CALLER_WAITING) &&
		    job->deadline_ms != 0 &&
		    (next == 0 || job->deadline_ms < next))
			next = job->deadline_ms;
	}
	return next;
}
