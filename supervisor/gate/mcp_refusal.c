/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors for what was refused. Called by mcp_session; it must never answer
 * a request the gate does not know to be waiting, except to its sender.
 */
#include "supervisor/gate/mcp_refusal.h"

#include <stdio.h>
#include <string.h>

#include "supervisor/gate/mcp_reply.h"
#include "supervisor/gate/mcp_report.h"

#define MCP_REFUSAL_SENTENCE 512U

static void
mcp_refusal_put(struct mcp_session *session, enum mcp_side to,
    struct mcp_span id, enum mcp_denial denial, const char *subject)
{
	char sentence[MCP_REFUSAL_SENTENCE];

	mcp_policy_sentence(
	    &session->policy, denial, subject, sentence, sizeof(sentence));
	if (session->result == RESULT_OK)
		session->result =
		    mcp_reply_error(&session->out[to], id, denial, sentence);
	if (to == MCP_CLIENT && session->refused != NULL)
		session->refused(id, denial, session->refused_context);
}

static void
mcp_refusal_text(
    struct mcp_session *session, enum mcp_side to, const char *text)
{
	if (session->result == RESULT_OK)
		session->result = buffer_append_text(&session->out[to], text);
}

void
mcp_refusal_error(struct mcp_session *session, enum mcp_side to,
    struct mcp_span id, enum mcp_denial denial, const char *subject)
{
	mcp_refusal_put(session, to, id, denial, subject);
	mcp_refusal_text(session, to, "\n");
}

/* What a sentence about this entry names: the tool, else the method. Guard
 * has its own sentence. */
static void
mcp_refusal_subject(const struct mcp_session *session,
    const struct mcp_entry *entry, enum mcp_denial denial,
    char subject_r[MCP_REFUSAL_SENTENCE])
{
	const char *text =
	    mcp_guard_explains(denial) ? session->guard.detail : entry->method;

	snprintf(subject_r, MCP_REFUSAL_SENTENCE, "%s", text);
	if (denial == MCP_DENIED_TOOL)
		mcp_policy_tool_name(
		    mcp_cursor_find(entry->params, "name"), subject_r);
}

/* Tell the side that waits for this answer. */
static void
mcp_refusal_awaited(struct mcp_session *session, enum mcp_side waiter,
    struct mcp_span id, enum mcp_denial denial, const char *subject)
{
	struct mcp_pending *asked = &session->asked[waiter];
	struct mcp_pending_row *row = mcp_pending_find(asked, id);
	struct mcp_span copy;

	if (row == NULL)
		return;
	copy.bytes = row->id;
	copy.len = row->id_len;
	if (!row->cancelled)
		mcp_refusal_error(session, waiter, copy, denial, subject);
	mcp_pending_remove(asked, row);
}

/* Requests of a denied line, answered in the form they came in. */
static void
mcp_refusal_answer_requests(struct mcp_session *session, enum mcp_side from,
    const enum mcp_denial *denials)
{
	const struct mcp_message *message = &session->message;
	char subject[MCP_REFUSAL_SENTENCE];
	size_t i, count = 0;

	for (i = 0; i < message->count; i++) {
		const struct mcp_entry *entry = &message->entries[i];
		enum mcp_denial denial = denials[i];

		if (entry->kind != MCP_REQUEST)
			continue;
		if (denial == MCP_ALLOWED)
			denial = MCP_DENIED_BATCH;
		mcp_refusal_subject(session, entry, denial, subject);
		if (message->batch)
			mcp_refusal_text(session, from, count == 0 ? "[" : ",");
		mcp_refusal_put(session, from, entry->id, denial, subject);
		count++;
	}
	if (count > 0)
		mcp_refusal_text(session, from, message->batch ? "]\n" : "\n");
}

void
mcp_refusal_denied(struct mcp_session *session, enum mcp_side from,
    const enum mcp_denial *denials)
{
	const struct mcp_message *message = &session->message;
	char subject[MCP_REFUSAL_SENTENCE];
	size_t i;

	mcp_refusal_answer_requests(session, from, denials);
	for (i = 0; i < message->count; i++) {
		const struct mcp_entry *entry = &message->entries[i];
		enum mcp_denial denial = denials[i];

		session->counts.denied++;
		if (denial == MCP_ALLOWED)
			denial = MCP_DENIED_BATCH;
		mcp_refusal_subject(session, entry, denial, subject);
		mcp_report_denied(from, entry, subject, denial,
		    from == MCP_CLIENT ? session->guard.passing : 0);
		if (entry->kind != MCP_REQUEST)
			session->counts.dropped++;
		if (denial != MCP_DENIED_UNASKED &&
		    (entry->kind == MCP_RESULT || entry->kind == MCP_ERROR))
			mcp_refusal_awaited(session, mcp_session_other(from),
			    entry->id, denial, subject);
	}
}

void
mcp_refusal_line(struct mcp_session *session, enum mcp_side from,
    const struct mcp_peek *peek, enum mcp_denial denial, const char *subject)
{
	struct mcp_span id = {peek->id, peek->id_len};
	struct mcp_span none = {NULL, 0};
	bool known = mcp_message_id_ok(&session->json, id);

	session->counts.denied++;
	if (known && !peek->has_method)
		mcp_refusal_awaited(session, mcp_session_other(from), id,
		    denial == MCP_DENIED_MALFORMED ? MCP_DENIED_ANSWER : denial,
		    subject);
	else if (known)
		mcp_refusal_error(session, from, id, denial, subject);
	else if (from == MCP_CLIENT)
		mcp_refusal_error(session, from, none, denial, subject);
}

void
mcp_refusal_malformed(struct mcp_session *session, enum mcp_side from,
    const char *bytes, size_t len, enum mcp_fault fault,
    enum mcp_json_fault json, size_t position)
{
	struct mcp_peek peek;
	char subject[128];

	if (fault == MCP_FAULT_JSON)
		snprintf(subject, sizeof(subject), "%s at byte %zu",
		    mcp_json_fault_text(json), position);
	else
		snprintf(subject, sizeof(subject), "%s",
		    mcp_message_fault_text(fault));
	mcp_peek_start(&peek);
	mcp_peek_feed(&peek, bytes, len);
	if (from == MCP_SERVER && peek.id_len == 0 && !peek.has_method) {
		session->counts.noise++;
		mcp_report_noise(bytes, len, subject, session->counts.noise);
		return;
	}
	mcp_report_malformed(from, len, subject);
	mcp_refusal_line(session, from, &peek, MCP_DENIED_MALFORMED, subject);
}
