/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the gate says to a tool package and hears from it. Called by gate.c
 * and gate_caller; it must never take an answer for another job's, nor keep
 * more of one than its bounds.
 */
#include "supervisor/gate/gate_caller_wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/gate/mcp_reply.h"

#define GATE_CALLER_HEAD 1024U /* around the arguments */
#define GATE_CALLER_SERVER "the server's error: "
#define GATE_CALLER_INITIALIZE                                        \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\","    \
	"\"params\":{\"protocolVersion\":\"2025-11-25\","             \
	"\"capabilities\":{},\"clientInfo\":{\"name\":\"agentnode\"," \
	"\"version\":\"1\"}}}"
#define GATE_CALLER_INITIALIZED \
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"

/* --- to the server ------------------------------------------------------ */

static void
gate_caller_wire_say(
    struct mcp_session *session, const struct buffer *line, uint64_t now_ms)
{
	mcp_session_line(session, MCP_CLIENT,
	    (const char *)buffer_bytes_borrow(line), line->len, now_ms);
}

void
gate_caller_wire_begin(
    struct gate_caller *caller, struct mcp_session *session, uint64_t now_ms)
{
	gate_caller_enter(caller, GATE_CALLER_INITIALIZING);
	if (caller->limits.start_ms > 0)
		caller->deadline_ms = now_ms + caller->limits.start_ms;
	mcp_session_line(session, MCP_CLIENT, GATE_CALLER_INITIALIZE,
	    strlen(GATE_CALLER_INITIALIZE), now_ms);
}

static void
gate_caller_wire_sent(struct gate_caller *caller, struct gate_caller_job *job,
    enum gate_caller_step step, uint64_t now_ms)
{
	job->step = step;
	job->deadline_ms =
	    caller->limits.call_ms == 0 ? 0 : now_ms + caller->limits.call_ms;
}

static void
gate_caller_wire_number(struct gate_caller *caller, struct gate_caller_job *job)
{
	job->rpc = ++caller->last_rpc;
	job->denial = MCP_ALLOWED;
}

static void
gate_caller_wire_send_call(struct gate_caller *caller,
    struct mcp_session *session, struct gate_caller_job *job, uint64_t now_ms)
{
	struct buffer line;
	enum result result;

	buffer_init(&line, job->bytes.len + GATE_CALLER_HEAD);
	gate_caller_wire_number(caller, job);
	result = buffer_printf(&line,
	    "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64
	    ",\"method\":\"tools/call\",\"params\":{\"name\":\"",
	    job->rpc);
	if (result == RESULT_OK)
		result = mcp_reply_text(&line, job->tool);
	if (result == RESULT_OK)
		result = buffer_append_text(&line, "\",\"arguments\":");
	if (result == RESULT_OK)
		result = buffer_append(
		    &line, buffer_bytes_borrow(&job->bytes), job->bytes.len);
	if (result == RESULT_OK)
		result = buffer_append_text(&line, "}}");
	if (result == RESULT_OK) {
		gate_caller_wire_say(session, &line, now_ms);
		gate_caller_wire_sent(caller, job, GATE_CALLER_CALLING, now_ms);
		buffer_free(&job->bytes);
	} else {
		gate_caller_answer(job, "no_memory", "out of memory");
	}
	buffer_free(&line);
}

/* Ask for a page; the cursor goes back as the server wrote it. */
static void
gate_caller_wire_send_list(struct gate_caller *caller,
    struct mcp_session *session, struct gate_caller_job *job,
    struct mcp_span cursor, uint64_t now_ms)
{
	struct buffer line;
	enum result result;

	if (++job->page > GATE_CALLER_PAGES_MAX) {
		gate_caller_answer(
		    job, "tool_failed", "the list of tools has too many pages");
		return;
	}
	buffer_init(&line, GATE_CALLER_LIST_MAX);
	gate_caller_wire_number(caller, job);
	result = buffer_printf(&line,
	    "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64
	    ",\"method\":\"tools/list\"%s",
	    job->rpc, cursor.bytes == NULL ? "" : ",\"params\":{\"cursor\":");
	if (result == RESULT_OK && cursor.bytes != NULL)
		result = buffer_append(&line, cursor.bytes, cursor.len);
	if (result == RESULT_OK)
		result = buffer_append_text(
		    &line, cursor.bytes == NULL ? "}" : "}}");
	if (result == RESULT_OK) {
		gate_caller_wire_say(session, &line, now_ms);
		gate_caller_wire_sent(caller, job, GATE_CALLER_LISTING, now_ms);
	} else {
		gate_caller_answer(
		    job, "tool_failed", "the server's cursor is too long");
	}
	buffer_free(&line);
}

void
gate_caller_wire_send(struct gate_caller *caller, struct mcp_session *session,
    struct gate_caller_job *job, uint64_t now_ms)
{
	const struct mcp_span first = {NULL, 0};

	if (!job->list && job->tool[0] == '\0' && caller->only[0] != '\0')
		(void)snprintf(
		    job->tool, sizeof(job->tool), "%s", caller->only);
	if (job->list || job->tool[0] == '\0')
		gate_caller_wire_send_list(caller, session, job, first, now_ms);
	else
		gate_caller_wire_send_call(caller, session, job, now_ms);
}

void
gate_caller_wire_cancel(struct mcp_session *session,
    const struct gate_caller_job *job, const char *reason, uint64_t now_ms)
{
	char line[160];

	(void)snprintf(line, sizeof(line),
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
	    "\"params\":{\"requestId\":%" PRIu64 ",\"reason\":\"%s\"}}",
	    job->rpc, reason);
	mcp_session_line(session, MCP_CLIENT, line, strlen(line), now_ms);
}

/* --- from the server ---------------------------------------------------- */

/* The server asks back: whether we are there, it is told; anything else a
 * client without capabilities does not do. */
static void
gate_caller_wire_asked(
    struct mcp_session *session, const struct mcp_entry *entry, uint64_t now_ms)
{
	struct buffer line;
	enum result result;

	buffer_init(&line, MCP_REPLY_MAX);
	result = buffer_append_text(&line, "{\"jsonrpc\":\"2.0\",\"id\":");
	if (result == RESULT_OK)
		result = buffer_append(&line, entry->id.bytes, entry->id.len);
	if (result == RESULT_OK)
		result = buffer_append_text(
		    &line, strcmp(entry->method, "ping") == 0
			       ? ",\"result\":{}}"
			       : ",\"error\":{\"code\":-32601,\"message\":"
				 "\"not supported by this client\"}}");
	if (result == RESULT_OK)
		gate_caller_wire_say(session, &line, now_ms);
	buffer_free(&line);
}

/* Our ids are plain numbers; whatever else it is, it is not ours: 0. */
static uint64_t
gate_caller_wire_rpc(struct mcp_span id)
{
	uint64_t rpc = 0;

	if (id.len == 0 || id.len > 16)
		return 0;
	for (size_t i = 0; i < id.len; i++) {
		if (id.bytes[i] < '0' || id.bytes[i] > '9')
			return 0;
		rpc = rpc * 10 + (uint64_t)(id.bytes[i] - '0');
	}
	return rpc;
}

static struct gate_caller_job *
gate_caller_wire_job(struct gate_caller *caller, struct mcp_span id)
{
	uint64_t rpc = gate_caller_wire_rpc(id);

	for (size_t i = 0; rpc != 0 && i < GATE_CALLER_JOBS_MAX; i++) {
		struct gate_caller_job *job = &caller->jobs[i];

		if (job->rpc == rpc && (job->step == GATE_CALLER_LISTING ||
					   job->step == GATE_CALLER_CALLING))
			return job;
	}
	return NULL;
}

/* It may be refused while it is sent, before its step says so. */
void
gate_caller_wire_refused(
    struct mcp_span id, enum mcp_denial denial, void *context)
{
	struct gate_caller *caller = context;
	uint64_t rpc = gate_caller_wire_rpc(id);

	for (size_t i = 0; rpc != 0 && i < GATE_CALLER_JOBS_MAX; i++) {
		struct gate_caller_job *job = &caller->jobs[i];

		if (job->rpc == rpc && job->step != GATE_CALLER_FREE &&
		    job->step != GATE_CALLER_ANSWERED)
			job->denial = denial;
	}
}

static void
gate_caller_wire_initialized(struct gate_caller *caller,
    struct mcp_session *session, const struct mcp_entry *entry, uint64_t now_ms)
{
	char detail[GATE_CALLER_DETAIL_MAX - 32], text[GATE_CALLER_DETAIL_MAX];

	if (entry->kind == MCP_RESULT) {
		mcp_session_line(session, MCP_CLIENT, GATE_CALLER_INITIALIZED,
		    strlen(GATE_CALLER_INITIALIZED), now_ms);
		gate_caller_enter(caller, GATE_CALLER_READY);
		return;
	}
	mcp_cursor_excerpt(
	    mcp_cursor_find(entry->outcome, "message"), detail, sizeof(detail));
	(void)snprintf(text, sizeof(text), "the server refused: %s", detail);
	gate_caller_end(caller, "tool_start_failed", text);
}

/* Names are counted, and the first is kept: it may be the only one. */
static enum result
gate_caller_wire_page(
    struct gate_caller_job *job, struct mcp_span tools, char *first)
{
	enum result result = RESULT_OK;
	struct mcp_cursor cursor;
	struct mcp_span item;

	if (!mcp_cursor_enter(tools, &cursor))
		return RESULT_OK;
	while (result == RESULT_OK && mcp_cursor_item(&cursor, &item)) {
		if (job->tools++ == 0)
			(void)mcp_policy_tool_name(
			    mcp_cursor_find(item, "name"), first);
		if (job->pages.len > 0)
			result = buffer_append(&job->pages, ",", 1);
		if (result == RESULT_OK)
			result =
			    buffer_append(&job->pages, item.bytes, item.len);
	}
	return result;
}

static void
gate_caller_wire_told(struct gate_caller *caller, struct gate_caller_job *job)
{
	size_t max = caller->limits.result_max;
	enum result result;

	buffer_free(&job->bytes);
	buffer_init(&job->bytes, max);
	result = buffer_append_text(&job->bytes, "{\"tools\":[");
	if (result == RESULT_OK)
		result = buffer_append(&job->bytes,
		    buffer_bytes_borrow(&job->pages), job->pages.len);
	if (result == RESULT_OK)
		result = buffer_append_text(&job->bytes, "]}");
	gate_caller_answer(job, result == RESULT_OK ? "" : "too_long",
	    result == RESULT_OK ? "" : "the list of tools is too long");
}

/* All pages are there. */
static void
gate_caller_wire_listed(struct gate_caller *caller, struct mcp_session *session,
    struct gate_caller_job *job, const char *first)
{
	char detail[GATE_CALLER_DETAIL_MAX];

	if (job->tools == 1)
		(void)snprintf(caller->only, sizeof(caller->only), "%s", first);
	if (job->list) {
		gate_caller_wire_told(caller, job);
	} else if (job->tools == 1) {
		/* Its turn comes: another call may wait for Guard. */
		buffer_free(&job->pages);
		job->step = GATE_CALLER_WAITING;
	} else {
		(void)snprintf(detail, sizeof(detail),
		    "%s has %zu tools: say which one", session->policy.package,
		    job->tools);
		gate_caller_answer(job, "bad_request", detail);
	}
}

static void
gate_caller_wire_on_list(struct gate_caller *caller,
    struct mcp_session *session, struct gate_caller_job *job,
    const struct mcp_entry *entry, uint64_t now_ms)
{
	struct mcp_span cursor = mcp_cursor_find(entry->outcome, "nextCursor");

	if (gate_caller_wire_page(job, mcp_cursor_find(entry->outcome, "tools"),
		job->first) != RESULT_OK)
		gate_caller_answer(
		    job, "too_long", "the list of tools is too long");
	else if (mcp_cursor_kind(cursor) == MCP_VALUE_STRING)
		gate_caller_wire_send_list(
		    caller, session, job, cursor, now_ms);
	else
		gate_caller_wire_listed(caller, session, job, job->first);
}

static void
gate_caller_wire_on_result(struct gate_caller *caller,
    struct gate_caller_job *job, const struct mcp_entry *entry)
{
	buffer_free(&job->bytes);
	buffer_init(&job->bytes, caller->limits.result_max);
	if (buffer_append(&job->bytes, entry->outcome.bytes,
		entry->outcome.len) == RESULT_OK)
		gate_caller_answer(job, "", "");
	else
		gate_caller_answer(job, "too_long",
		    "the tool's result is longer than tool_result_max");
}

/* The session's own refusals carry Guard's code; what a server wrote is
 * told as the server's, whatever code it holds. */
static void
gate_caller_wire_on_error(
    struct gate_caller_job *job, const struct mcp_entry *entry)
{
	char said[GATE_CALLER_DETAIL_MAX - sizeof(GATE_CALLER_SERVER)];
	char detail[GATE_CALLER_DETAIL_MAX];
	bool ours = job->denial != MCP_ALLOWED;

	mcp_cursor_excerpt(
	    mcp_cursor_find(entry->outcome, "message"), said, sizeof(said));
	(void)snprintf(detail, sizeof(detail), "%s%s",
	    ours ? "" : GATE_CALLER_SERVER,
	    ours ? mcp_reply_without_name(said) : said);
	gate_caller_answer(job,
	    ours && mcp_guard_explains(job->denial)
		? mcp_policy_reason(job->denial)
		: "tool_failed",
	    detail);
}

static void
gate_caller_wire_on_answer(struct gate_caller *caller,
    struct mcp_session *session, const struct mcp_entry *entry, uint64_t now_ms)
{
	struct gate_caller_job *job;

	if (caller->state == GATE_CALLER_INITIALIZING) {
		gate_caller_wire_initialized(caller, session, entry, now_ms);
		return;
	}
	job = gate_caller_wire_job(caller, entry->id);
	if (job == NULL)
		return; /* it came too late */
	if (entry->kind == MCP_ERROR) {
		gate_caller_wire_on_error(job, entry);
	} else if (job->step == GATE_CALLER_LISTING) {
		gate_caller_wire_on_list(caller, session, job, entry, now_ms);
	} else {
		gate_caller_wire_on_result(caller, job, entry);
	}
}

void
gate_caller_wire_line(struct gate_caller *caller, struct mcp_session *session,
    const char *bytes, size_t len, uint64_t now_ms)
{
	struct mcp_message *message = &caller->message;
	enum mcp_json_fault json;
	size_t i, position;

	if (mcp_message_parse(&caller->checker, bytes, len, message, &json,
		&position) != MCP_FAULT_NONE)
		return; /* an error without an id: nobody's answer */
	for (i = 0; i < message->count; i++) {
		const struct mcp_entry *entry = &message->entries[i];

		if (entry->kind == MCP_REQUEST)
			gate_caller_wire_asked(session, entry, now_ms);
		else if (entry->kind != MCP_NOTIFICATION)
			gate_caller_wire_on_answer(
			    caller, session, entry, now_ms);
	}
}
