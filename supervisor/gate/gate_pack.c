/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One tool's answer, judged and written anew. Called by gate.c; it must
 * never take anything for a result that is not exactly one, nor pass on a
 * byte that was not checked.
 */
#include "supervisor/gate/gate_pack.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/gate/gate_text.h"

#define GATE_PACK_GROWTH 6U       /* bytes of a \u escape for one */
#define GATE_PACK_LINE_MAX 16384U /* of the line besides the result */

void
gate_pack_init(struct gate_pack *pack, const struct gate_pack_limits *limits,
    const struct mcp_hash_key *key)
{
	memset(pack, 0, sizeof(*pack));
	pack->limits = *limits;
	buffer_init(&pack->request, limits->request_max);
	buffer_init(&pack->answer, limits->result_max + GATE_PACK_ENVELOPE);
	buffer_init(&pack->line,
	    GATE_PACK_GROWTH * (limits->result_max + GATE_PACK_ENVELOPE) +
		GATE_PACK_LINE_MAX);
	mcp_json_init(&pack->checker, key);
}

void
gate_pack_free(struct gate_pack *pack)
{
	buffer_free(&pack->request);
	buffer_free(&pack->answer);
	buffer_free(&pack->line);
	mcp_json_free(&pack->checker);
}

enum result
gate_pack_request(struct gate_pack *pack, const char *bytes, size_t len)
{
	if (pack->has_request)
		return RESULT_EXISTS;
	pack->has_request = true;
	return buffer_append(&pack->request, bytes, len);
}

enum result
gate_pack_feed(struct gate_pack *pack, const char *bytes, size_t len)
{
	enum result result;

	if (pack->too_long)
		return RESULT_OK;
	result = buffer_append(&pack->answer, bytes, len);
	if (result != RESULT_TOO_LONG)
		return result;
	pack->too_long = true;
	buffer_free(&pack->answer);
	return RESULT_OK;
}

/* --- the judgement ------------------------------------------------------ */

static void
gate_pack_say(struct gate_pack *pack, const char *code, const char *detail)
{
	(void)snprintf(pack->code, sizeof(pack->code), "%s", code);
	(void)snprintf(pack->detail, sizeof(pack->detail), "%s", detail);
}

/* It gave no result: how it ended says why. */
static void
gate_pack_nothing(struct gate_pack *pack)
{
	const struct gate_pack_facts *facts = &pack->facts;
	char how[64];

	if (facts->oom_kills > 0) {
		gate_pack_say(pack, "out_of_memory",
		    "the tool needed more memory than it may have");
		return;
	}
	if (facts->signal != 0)
		(void)snprintf(how, sizeof(how), "signal %d", facts->signal);
	else
		(void)snprintf(how, sizeof(how), "exit %d", facts->exit_code);
	(void)snprintf(pack->detail, sizeof(pack->detail),
	    "the tool ended without a result (%s)", how);
	(void)snprintf(pack->code, sizeof(pack->code), "no_result");
}

/* {"type","message"}, texts of any length: they are cut. */
static bool
gate_pack_error(struct gate_pack *pack, struct mcp_span error)
{
	struct mcp_span type = mcp_cursor_find(error, "type");
	struct mcp_span message = mcp_cursor_find(error, "message");
	char text[GATE_PACK_DETAIL_MAX - GATE_PACK_TYPE_MAX - 2];

	if (mcp_cursor_kind(type) != MCP_VALUE_STRING ||
	    mcp_cursor_kind(message) != MCP_VALUE_STRING)
		return false;
	mcp_cursor_excerpt(type, pack->type, sizeof(pack->type));
	mcp_cursor_excerpt(message, text, sizeof(text));
	(void)snprintf(
	    pack->detail, sizeof(pack->detail), "%s: %s", pack->type, text);
	(void)snprintf(pack->code, sizeof(pack->code), "tool_failed");
	pack->message = message;
	return true;
}

/* Exactly ok and result, or ok and error. */
static bool
gate_pack_members(struct gate_pack *pack, struct mcp_span object)
{
	struct mcp_span ok = mcp_cursor_find(object, "ok"), key, value;
	struct mcp_span error = mcp_cursor_find(object, "error");
	struct mcp_cursor cursor;
	size_t count = 0;

	if (mcp_cursor_kind(object) != MCP_VALUE_OBJECT ||
	    !mcp_cursor_enter(object, &cursor))
		return false;
	while (mcp_cursor_member(&cursor, &key, &value))
		count++;
	pack->result = mcp_cursor_find(object, "result");
	if (count != 2 || mcp_cursor_kind(ok) != MCP_VALUE_LITERAL)
		return false;
	if (ok.len == 4 && memcmp(ok.bytes, "true", 4) == 0)
		return pack->result.bytes != NULL;
	return ok.len == 5 && memcmp(ok.bytes, "false", 5) == 0 &&
	       gate_pack_error(pack, error);
}

static void
gate_pack_read(struct gate_pack *pack)
{
	const char *bytes = (const char *)buffer_bytes_borrow(&pack->answer);
	size_t len = pack->answer.len, position = 0;
	enum mcp_json_fault fault;
	char detail[160];

	/* Its end may be the end of a line. */
	if (bytes[len - 1] == '\n')
		len--;
	fault = mcp_json_check(&pack->checker, bytes, len, &position);
	if (fault != MCP_JSON_OK) {
		(void)snprintf(detail, sizeof(detail),
		    "what the tool gave is no strict JSON: %s at byte %zu",
		    mcp_json_fault_text(fault), position);
		gate_pack_say(pack, "bad_result", detail);
	} else if (!gate_pack_members(pack, mcp_cursor_value(bytes, len))) {
		gate_pack_say(pack, "bad_result",
		    "what the tool gave is no {\"ok\", \"result\" or "
		    "\"error\"}");
	} else if (pack->code[0] == '\0' &&
		   (pack->facts.signal != 0 || pack->facts.exit_code != 0)) {
		gate_pack_say(pack, "bad_result",
		    "the tool gave a result and did not end well");
	}
}

/* --- the line ----------------------------------------------------------- */

/* Checked JSON without the blanks between its parts. */
static enum result
gate_pack_copy(struct buffer *out, struct mcp_span value)
{
	const unsigned char *p = (const unsigned char *)value.bytes;
	const unsigned char *end = p + value.len;
	bool in_string = false, escaped = false;
	enum result result = RESULT_OK;
	size_t step;

	for (; p < end && result == RESULT_OK; p += step) {
		step = mcp_json_utf8(p, end);
		if (step == 0)
			return RESULT_BAD;
		if (!in_string && (*p == ' ' || *p == '\t' || *p == '\n'))
			continue;
		if (*p == '"' && !escaped)
			in_string = !in_string;
		escaped = in_string && *p == '\\' && !escaped;
		result = gate_text_json(p, step, out);
	}
	return result;
}

/* A text of ours as a JSON string. */
static enum result
gate_pack_text(struct buffer *out, const char *text)
{
	enum result result = buffer_append(out, "\"", 1);

	for (; *text != '\0' && result == RESULT_OK; text++) {
		if (*text == '"' || *text == '\\')
			result = buffer_printf(out, "\\%c", *text);
		else if ((unsigned char)*text < 0x20)
			result =
			    buffer_printf(out, "\\u%04x", (unsigned char)*text);
		else
			result = buffer_append(out, text, 1);
	}
	return result == RESULT_OK ? buffer_append(out, "\"", 1) : result;
}

/* The tool's own message as far as it may go, else our sentence. */
static enum result
gate_pack_message(struct gate_pack *pack)
{
	char text[GATE_PACK_TEXT_MAX];

	if (pack->message.bytes == NULL)
		return gate_pack_text(&pack->line, pack->detail);
	if (pack->message.len <= GATE_PACK_TEXT_MAX)
		return gate_pack_copy(&pack->line, pack->message);
	mcp_cursor_excerpt(pack->message, text, sizeof(text));
	return gate_pack_text(&pack->line, text);
}

static enum result
gate_pack_failure(struct gate_pack *pack)
{
	struct buffer *line = &pack->line;
	enum result result =
	    buffer_append_text(line, "{\"ok\":false,\"error\":{\"code\":");

	if (result == RESULT_OK)
		result = gate_pack_text(line, pack->code);
	if (result == RESULT_OK)
		result = buffer_append_text(line, ",\"type\":");
	if (result == RESULT_OK)
		result = gate_pack_text(line, pack->type);
	if (result == RESULT_OK)
		result = buffer_append_text(line, ",\"message\":");
	if (result == RESULT_OK)
		result = gate_pack_message(pack);
	if (result == RESULT_OK)
		result = buffer_append_text(line, "}");
	return result;
}

static enum result
gate_pack_numbers(struct gate_pack *pack)
{
	const struct gate_pack_facts *facts = &pack->facts;

	return buffer_printf(&pack->line,
	    ",\"exit\":%d,\"duration_ms\":%" PRId64 ",\"peak_memory\":%" PRId64
	    ",\"truncated\":%s,\"place\":%s}\n",
	    facts->signal != 0 || facts->code[0] != '\0' ? -1
							 : facts->exit_code,
	    facts->duration_ms, facts->peak_memory,
	    pack->too_long ? "true" : "false",
	    pack->limits.on_host
		? "\"host\",\"boundary\":\"policy, not a boundary\""
		: "\"sandbox\"");
}

/* A failure without --json is a sentence of the supervisor's. */
static enum result
gate_pack_write(struct gate_pack *pack)
{
	enum result result = RESULT_OK;

	if (!pack->limits.json) {
		if (pack->code[0] == '\0')
			result = gate_pack_copy(&pack->line, pack->result);
		if (pack->code[0] == '\0' && result == RESULT_OK)
			result = buffer_append(&pack->line, "\n", 1);
		return result;
	}
	if (pack->code[0] != '\0') {
		result = gate_pack_failure(pack);
	} else {
		result =
		    buffer_append_text(&pack->line, "{\"ok\":true,\"result\":");
		if (result == RESULT_OK)
			result = gate_pack_copy(&pack->line, pack->result);
	}
	return result == RESULT_OK ? gate_pack_numbers(pack) : result;
}

enum result
gate_pack_judge(struct gate_pack *pack)
{
	const struct gate_pack_facts *facts = &pack->facts;

	if (pack->judged)
		return RESULT_OK;
	pack->judged = true;
	if (pack->too_long)
		gate_pack_say(pack, "result_too_long",
		    "the tool's result is longer than packs.result_max");
	else if (facts->code[0] != '\0')
		gate_pack_say(pack, facts->code, facts->detail);
	else if (pack->answer.len == 0)
		gate_pack_nothing(pack);
	else
		gate_pack_read(pack);
	return gate_pack_write(pack);
}
