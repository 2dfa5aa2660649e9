/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judging and passing lines. Called by gate.c; it must never put a byte of
 * one side into the other side's buffer before every entry of the line was
 * allowed.
 */
#include "supervisor/gate/mcp_session.h"

#include <stdio.h>
#include <string.h>

#include "supervisor/gate/mcp_claim.h"
#include "supervisor/gate/mcp_refusal.h"
#include "supervisor/gate/mcp_reply.h"
#include "supervisor/gate/mcp_report.h"

enum result
mcp_session_init(struct mcp_session *session, const struct mcp_policy *policy,
    size_t line_max, const struct mcp_session_limits *limits,
    const struct mcp_hash_key *key)
{
	size_t i, max = MCP_SESSION_LOW + line_max + MCP_SESSION_RESERVE;
	enum result result = RESULT_OK;

	memset(session, 0, sizeof(*session));
	session->policy = *policy;
	session->line_max = line_max;
	session->limits = *limits;
	mcp_json_init(&session->json, key);
	mcp_guard_init(&session->guard, line_max);
	for (i = 0; i < 2; i++) {
		buffer_init(&session->out[i], max);
		if (result == RESULT_OK)
			result = mcp_pending_init(&session->asked[i], key);
	}
	if (result == RESULT_OK)
		result = mcp_tools_init(&session->tools, key);
	return result;
}

void
mcp_session_free(struct mcp_session *session)
{
	size_t i;

	mcp_json_free(&session->json);
	mcp_guard_free(&session->guard);
	mcp_tools_free(&session->tools);
	for (i = 0; i < 2; i++) {
		mcp_pending_free(&session->asked[i]);
		buffer_free(&session->out[i]);
	}
}

bool
mcp_session_may_take(const struct mcp_session *session, enum mcp_side from)
{
	const struct buffer *out = &session->out[mcp_session_other(from)];
	const struct buffer *back = &session->out[from];

	if (from == MCP_CLIENT && session->guard.waits)
		return false;
	return session->result == RESULT_OK && out->len <= MCP_SESSION_LOW &&
	       back->len <= MCP_SESSION_LOW + session->line_max +
				MCP_SESSION_RESERVE / 2;
}

/* --- judging ------------------------------------------------------------ */

/* True when an earlier entry of this line has the same id and direction. */
static bool
mcp_session_id_repeats(const struct mcp_message *message, size_t index)
{
	const struct mcp_entry *entry = &message->entries[index];
	bool answer = entry->kind != MCP_REQUEST;
	size_t i;

	for (i = 0; i < index; i++) {
		const struct mcp_entry *other = &message->entries[i];

		if (other->kind != MCP_NOTIFICATION &&
		    (other->kind != MCP_REQUEST) == answer &&
		    mcp_pending_same_id(entry->id, other->id))
			return true;
	}
	return false;
}

static enum mcp_denial
mcp_session_judge_request(
    struct mcp_session *session, enum mcp_side from, size_t index)
{
	const struct mcp_message *message = &session->message;
	struct mcp_pending *asked = &session->asked[from];

	if (mcp_pending_find(asked, message->entries[index].id) != NULL ||
	    mcp_session_id_repeats(message, index))
		return MCP_DENIED_ID_IN_USE;
	if (!mcp_pending_has_room(asked, message->count))
		return MCP_DENIED_BUSY;
	return MCP_ALLOWED;
}

static enum mcp_denial
mcp_session_judge_answer(
    struct mcp_session *session, enum mcp_side from, size_t index)
{
	const struct mcp_entry *entry = &session->message.entries[index];
	const struct mcp_pending_row *row = mcp_pending_find(
	    &session->asked[mcp_session_other(from)], entry->id);

	if (row == NULL || mcp_session_id_repeats(&session->message, index))
		return MCP_DENIED_UNASKED;
	if (row->rule == MCP_RULE_TOOLS_LIST && entry->kind == MCP_RESULT &&
	    mcp_tools_list(entry->outcome).bytes == NULL)
		return MCP_DENIED_TOOL_LIST;
	return MCP_ALLOWED;
}

static enum mcp_denial
mcp_session_judge(struct mcp_session *session, enum mcp_side from, size_t index)
{
	const struct mcp_entry *entry = &session->message.entries[index];
	enum mcp_denial denial;

	if (entry->kind == MCP_RESULT || entry->kind == MCP_ERROR)
		return mcp_session_judge_answer(session, from, index);
	denial = mcp_policy_judge(
	    &session->policy, from, session->message.batch, entry);
	if (denial == MCP_ALLOWED && entry->kind == MCP_REQUEST)
		denial = mcp_session_judge_request(session, from, index);
	return denial;
}

/* --- passing ------------------------------------------------------------ */

static uint64_t
mcp_session_page(const struct mcp_session *session, struct mcp_span cursor)
{
	return mcp_hash_of(&session->json.key,
	    cursor.bytes == NULL ? "" : cursor.bytes, cursor.len);
}

static void
mcp_session_pass_request(struct mcp_session *session, enum mcp_side from,
    const struct mcp_entry *entry, uint64_t now_ms)
{
	const struct mcp_method *method =
	    mcp_method_find(entry->method, from, true);
	struct mcp_pending_row *row;
	struct mcp_span cursor;

	session->result =
	    mcp_pending_add(&session->asked[from], entry->id, &row);
	if (session->result != RESULT_OK)
		return;
	row->rule = method->rule;
	row->since_ms = now_ms;
	row->ask = session->guard.passing;
	row->limit_ms = row->rule == MCP_RULE_INITIALIZE
			    ? session->limits.initialize_ms
			    : session->limits.request_ms;
	row->bytes = entry->whole.len;
	snprintf(row->method, sizeof(row->method), "%s", entry->method);
	if (row->rule == MCP_RULE_TOOLS_CALL)
		mcp_policy_tool_name(
		    mcp_cursor_find(entry->params, "name"), row->tool);
	if (row->rule == MCP_RULE_TOOLS_LIST) {
		cursor = mcp_cursor_find(entry->params, "cursor");
		row->first_page = cursor.bytes == NULL;
		row->cursor_hash = mcp_session_page(session, cursor);
	}
}

static void
mcp_session_pass_cancelled(struct mcp_session *session, enum mcp_side from,
    const struct mcp_entry *entry)
{
	struct mcp_span id = mcp_cursor_find(entry->params, "requestId");
	const struct mcp_guard *guard = &session->guard;
	struct mcp_span held = {guard->id, guard->id_len};
	struct mcp_pending_row *row = NULL;

	if (from == MCP_CLIENT && guard->waits && guard->id_len > 0 &&
	    mcp_message_id_shape(id) && mcp_pending_same_id(held, id))
		session->guard.dropped = true;
	if (mcp_message_id_shape(id))
		row = mcp_pending_find(&session->asked[from], id);
	if (row != NULL)
		row->cancelled = true;
}

/* Members of the client's capabilities that a community server may see:
 * everything that is not named here would let it ask the client. */
static bool
mcp_session_keep_capability(
    struct mcp_span key, struct mcp_span value, void *context)
{
	(void)value;
	(void)context;
	if (mcp_cursor_is(key, "experimental"))
		return true;
	mcp_report_capability(key);
	return false;
}

static void
mcp_session_edit_tools(struct mcp_session *session, struct mcp_edit *edit,
    const struct mcp_pending_row *row, const struct mcp_entry *entry)
{
	struct mcp_tools *tools = &session->tools;

	mcp_tools_filter(tools, &session->policy, row->first_page,
	    row->cursor_hash, mcp_tools_list(entry->outcome), edit);
	session->counts.filtered += tools->not_allowed + tools->bad_name +
				    tools->duplicate + tools->too_many;
	mcp_report_tools(tools);
}

static void
mcp_session_pass_answer(struct mcp_session *session, enum mcp_side from,
    const struct mcp_entry *entry, struct mcp_edit *edit, uint64_t now_ms)
{
	struct mcp_pending *asked = &session->asked[mcp_session_other(from)];
	struct mcp_pending_row *row = mcp_pending_find(asked, entry->id);

	if (row->rule == MCP_RULE_TOOLS_LIST && entry->kind == MCP_RESULT)
		mcp_session_edit_tools(session, edit, row, entry);
	if (from == MCP_SERVER) {
		if (entry->kind == MCP_ERROR)
			mcp_report_claim(
			    row, mcp_claim_mark(edit, entry->outcome));
		if (session->counts.calls++ == 0)
			session->counts.first_ms = now_ms;
		mcp_report_call(row, entry->whole.len, now_ms,
		    entry->kind == MCP_RESULT ? "result" : "error");
	}
	mcp_pending_remove(asked, row);
}

static void
mcp_session_pass_entry(struct mcp_session *session, enum mcp_side from,
    const struct mcp_entry *entry, struct mcp_edit *edit, uint64_t now_ms)
{
	const struct mcp_method *method;

	switch (entry->kind) {
	case MCP_REQUEST:
		mcp_session_pass_request(session, from, entry, now_ms);
		if (strcmp(entry->method, "initialize") == 0 &&
		    session->policy.community)
			mcp_edit_filter(edit,
			    mcp_cursor_find(entry->params, "capabilities"),
			    mcp_session_keep_capability, NULL);
		break;
	case MCP_NOTIFICATION:
		method = mcp_method_find(entry->method, from, false);
		if (method->rule == MCP_RULE_CANCELLED)
			mcp_session_pass_cancelled(session, from, entry);
		break;
	case MCP_RESULT:
	case MCP_ERROR:
		mcp_session_pass_answer(session, from, entry, edit, now_ms);
		break;
	}
}

static void
mcp_session_pass(struct mcp_session *session, enum mcp_side from,
    const char *bytes, size_t len, uint64_t now_ms)
{
	struct buffer *out = &session->out[mcp_session_other(from)];
	struct mcp_edit edit;
	size_t i;

	mcp_edit_start(&edit, out, bytes, len);
	for (i = 0; i < session->message.count; i++)
		mcp_session_pass_entry(
		    session, from, &session->message.entries[i], &edit, now_ms);
	if (mcp_edit_finish(&edit) != RESULT_OK ||
	    buffer_append(out, "\n", 1) != RESULT_OK)
		session->result = RESULT_NO_MEMORY;
}

/* --- one line ----------------------------------------------------------- */

/* Guard is asked; without an answer nothing of the line passes. */
static void
mcp_session_hold(struct mcp_session *session, const char *bytes, size_t len)
{
	enum mcp_denial denials[MCP_MESSAGE_BATCH_MAX];
	enum result result =
	    mcp_guard_hold(&session->guard, &session->message, bytes, len);

	if (result == RESULT_OK)
		return;
	if (result != RESULT_REFUSED) {
		session->result = RESULT_NO_MEMORY;
		return;
	}
	for (size_t i = 0; i < session->message.count; i++)
		denials[i] = session->guard.denial;
	mcp_refusal_denied(session, MCP_CLIENT, denials);
}

void
mcp_session_line(struct mcp_session *session, enum mcp_side from,
    const char *bytes, size_t len, uint64_t now_ms)
{
	enum mcp_denial denials[MCP_MESSAGE_BATCH_MAX];
	struct mcp_message *message = &session->message;
	enum mcp_json_fault json;
	enum mcp_fault fault;
	size_t i, position, denied = 0;

	fault = mcp_message_parse(
	    &session->json, bytes, len, message, &json, &position);
	if (fault == MCP_FAULT_BLANK)
		return;
	if (fault != MCP_FAULT_NONE) {
		mcp_refusal_malformed(
		    session, from, bytes, len, fault, json, position);
		return;
	}
	for (i = 0; i < message->count; i++) {
		denials[i] = mcp_session_judge(session, from, i);
		denied += denials[i] != MCP_ALLOWED;
	}
	if (denied > 0)
		mcp_refusal_denied(session, from, denials);
	else if (from == MCP_CLIENT &&
		 mcp_guard_concerns(&session->guard, message))
		mcp_session_hold(session, bytes, len);
	else
		mcp_session_pass(session, from, bytes, len, now_ms);
}

/* The line that was kept: as it came, or refused. The id of a request may be
 * in use by now. */
static void
mcp_session_release(
    struct mcp_session *session, const char *bytes, size_t len, uint64_t now_ms)
{
	enum mcp_denial denials[MCP_MESSAGE_BATCH_MAX];
	struct mcp_message *message = &session->message;
	enum mcp_denial denial = session->guard.denial;
	enum mcp_json_fault json;
	size_t position, denied = 0;

	if (mcp_message_parse(&session->json, bytes, len, message, &json,
		&position) != MCP_FAULT_NONE) {
		session->result = RESULT_NO_MEMORY; /* it was parsed before */
		return;
	}
	for (size_t i = 0; i < message->count; i++) {
		denials[i] = denial != MCP_ALLOWED
				 ? denial
				 : mcp_session_judge(session, MCP_CLIENT, i);
		denied += denials[i] != MCP_ALLOWED;
	}
	if (denied > 0)
		mcp_refusal_denied(session, MCP_CLIENT, denials);
	else
		mcp_session_pass(session, MCP_CLIENT, bytes, len, now_ms);
}

void
mcp_session_guarded(struct mcp_session *session, uint64_t id, const char *code,
    const char *detail, uint64_t now_ms)
{
	struct buffer *line = &session->guard.line;

	if (!mcp_guard_answered(&session->guard, id, code, detail))
		return;
	session->guard.passing = id;
	if (!session->guard.dropped)
		mcp_session_release(session,
		    (const char *)buffer_bytes_borrow(line), line->len, now_ms);
	session->guard.passing = 0;
	buffer_clear(line);
}

void
mcp_session_too_long(struct mcp_session *session, enum mcp_side from,
    const struct mcp_peek *peek, uint64_t len)
{
	char cap[32];

	session->counts.too_long++;
	mcp_report_too_long(from, len, session->line_max);
	snprintf(cap, sizeof(cap), "%zu bytes", session->line_max);
	mcp_refusal_line(session, from, peek, MCP_DENIED_TOO_LONG, cap);
}

/* --- time and the end --------------------------------------------------- */

static void
mcp_session_give_up(struct mcp_session *session, struct mcp_pending_row *row,
    enum mcp_denial denial, const char *subject, uint64_t now_ms)
{
	struct mcp_span id = {row->id, row->id_len};

	if (!row->cancelled) {
		mcp_report_call(row, 0, now_ms, mcp_policy_reason(denial));
		mcp_refusal_error(session, MCP_CLIENT, id, denial, subject);
	}
	if (denial == MCP_DENIED_TIMEOUT && session->result == RESULT_OK)
		session->result = mcp_reply_cancelled(
		    &session->out[MCP_SERVER], id, "timeout");
	mcp_pending_remove(&session->asked[MCP_CLIENT], row);
}

void
mcp_session_tick(struct mcp_session *session, uint64_t now_ms)
{
	struct mcp_pending_row *row;
	char subject[32];
	size_t index = 0;

	if (!mcp_session_may_take(session, MCP_CLIENT))
		return;
	while ((row = mcp_pending_next(&session->asked[MCP_CLIENT], &index)) !=
	       NULL) {
		if (row->limit_ms == 0 ||
		    now_ms - row->since_ms < row->limit_ms)
			continue;
		snprintf(subject, sizeof(subject), "%llu s",
		    (unsigned long long)(row->limit_ms / 1000));
		mcp_session_give_up(
		    session, row, MCP_DENIED_TIMEOUT, subject, now_ms);
	}
}

void
mcp_session_server_ended(struct mcp_session *session, const char *how)
{
	struct mcp_pending_row *row;
	size_t index = 0;

	if (session->guard.waits)
		mcp_session_guarded(session, session->guard.last_id,
		    "guard_unavailable", "the server ended before the call", 0);
	while ((row = mcp_pending_next(&session->asked[MCP_CLIENT], &index)) !=
	       NULL)
		mcp_session_give_up(
		    session, row, MCP_DENIED_ENDED, how, row->since_ms);
}
