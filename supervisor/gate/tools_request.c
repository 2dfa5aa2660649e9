/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads of the tools port. Called by tools_conn; it must never let through
 * a request that a page of another origin could have made.
 */
#include "supervisor/gate/tools_request.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define TOOLS_REQUEST_JSON "application/json"
#define TOOLS_REQUEST_DIGITS 18U /* of a session: no overflow */

static const char *const tools_request_paths[] = {
    [TOOLS_PATH_RPC] = "/agentnode/rpc",
    [TOOLS_PATH_RESULT] = "/agentnode/result",
    [TOOLS_PATH_MCP] = "/mcp",
};

const char *
tools_request_path_text(enum tools_path path)
{
	return tools_request_paths[path];
}

enum tools_fault
tools_request_head_fault(enum http_head_status status)
{
	switch (status) {
	case HTTP_HEAD_OK:
	case HTTP_HEAD_NEED_MORE:
		return TOOLS_FAULT_NONE;
	case HTTP_HEAD_BAD_VERSION:
		return TOOLS_FAULT_VERSION;
	case HTTP_HEAD_TOO_LONG:
	case HTTP_HEAD_TOO_MANY_FIELDS:
		return TOOLS_FAULT_HEAD_LONG;
	case HTTP_HEAD_BAD_LINE:
	case HTTP_HEAD_BAD_LINE_END:
	case HTTP_HEAD_BAD_FIELD_NAME:
	case HTTP_HEAD_BAD_FIELD_VALUE:
	case HTTP_HEAD_FOLDED:
	case HTTP_HEAD_HOST_MISSING:
	case HTTP_HEAD_HOST_REPEATED:
	case HTTP_HEAD_BAD_LENGTH:
	case HTTP_HEAD_BAD_CODING:
	case HTTP_HEAD_LENGTH_AND_CODING:
	case HTTP_HEAD_STATUS_COUNT:
		break;
	}
	return TOOLS_FAULT_HEAD;
}

/* "127.0.0.1:4101", "localhost", with prefix before and nothing behind. */
static bool
tools_request_is_ours(struct http_text text, const char *prefix, uint16_t port)
{
	static const char *const names[] = {"127.0.0.1", "localhost"};
	char own[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(
		    own, sizeof(own), "%s%s:%u", prefix, names[i], port);
		if (http_head_text_is_nocase(text, own))
			return true;
		(void)snprintf(own, sizeof(own), "%s%s", prefix, names[i]);
		if (http_head_text_is_nocase(text, own))
			return true;
	}
	return false;
}

/* The next element of a comma list, blanks around it left out; false at
 * the end. */
static bool
tools_request_next(struct http_text *rest, struct http_text *element_r)
{
	const char *comma;
	struct http_text one = *rest;

	if (rest->bytes == NULL)
		return false;
	comma = memchr(rest->bytes, ',', rest->len);
	if (comma != NULL) {
		one.len = (size_t)(comma - rest->bytes);
		rest->bytes = comma + 1;
		rest->len -= one.len + 1;
	} else {
		rest->bytes = NULL;
	}
	while (one.len > 0 && (*one.bytes == ' ' || *one.bytes == '\t')) {
		one.bytes++;
		one.len--;
	}
	while (one.len > 0 && (one.bytes[one.len - 1] == ' ' ||
				  one.bytes[one.len - 1] == '\t'))
		one.len--;
	*element_r = one;
	return true;
}

/* A media type or range without its parameters. */
static struct http_text
tools_request_type(struct http_text text)
{
	const char *end = memchr(text.bytes, ';', text.len);

	if (end != NULL)
		text.len = (size_t)(end - text.bytes);
	while (text.len > 0 && text.bytes[text.len - 1] == ' ')
		text.len--;
	return text;
}

static bool
tools_request_is_json(const struct http_head *head)
{
	const struct http_field *type = http_head_find(head, "Content-Type");
	const struct http_field *coding =
	    http_head_find(head, "Content-Encoding");

	if (coding != NULL &&
	    !http_head_text_is_nocase(coding->value, "identity"))
		return false;
	return type != NULL &&
	       http_head_text_is_nocase(
		   tools_request_type(type->value), TOOLS_REQUEST_JSON);
}

static bool
tools_request_takes_json(const struct http_head *head)
{
	static const char *const ranges[] = {
	    TOOLS_REQUEST_JSON, "application/*", "*/*"};
	const struct http_field *accept = http_head_find(head, "Accept");
	struct http_text rest, one;

	if (accept == NULL)
		return true;
	rest = accept->value;
	while (tools_request_next(&rest, &one)) {
		for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]);
		     i++) {
			if (http_head_text_is_nocase(
				tools_request_type(one), ranges[i]))
				return true;
		}
	}
	return false;
}

/* Absent: an older client, or one that has not heard ours yet. */
static bool
tools_request_speaks(const struct http_head *head)
{
	static const char *const versions[] = {
	    "2025-03-26", "2025-06-18", "2025-11-25"};
	const struct http_field *field =
	    http_head_find(head, "MCP-Protocol-Version");

	if (field == NULL)
		return true;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		if (http_head_text_is(field->value, versions[i]))
			return true;
	}
	return false;
}

/* A client's requests and what it cancels go together by this number; what
 * is none of ours is the same as none. */
static uint64_t
tools_request_session(const struct http_head *head)
{
	const struct http_field *field =
	    http_head_find(head, TOOLS_REQUEST_SESSION);
	uint64_t session = 0;

	if (field == NULL || field->value.len > TOOLS_REQUEST_DIGITS)
		return 0;
	for (size_t i = 0; i < field->value.len; i++) {
		char c = field->value.bytes[i];

		if (c < '0' || c > '9')
			return 0;
		session = session * 10 + (uint64_t)(c - '0');
	}
	return session;
}

static bool
tools_request_keeps(const struct http_head *head)
{
	const struct http_field *field = http_head_find(head, "Connection");
	struct http_text rest, one;

	if (field == NULL)
		return true;
	rest = field->value;
	while (tools_request_next(&rest, &one)) {
		if (http_head_text_is_nocase(one, "close"))
			return false;
	}
	return true;
}

/* A second one of a field that decides: another reader may take that. */
static bool
tools_request_repeats(const struct http_head *head)
{
	static const char *const names[] = {"Origin", "Content-Type",
	    "Content-Encoding", "MCP-Protocol-Version", TOOLS_REQUEST_SESSION};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		unsigned count = 0;

		for (size_t j = 0; j < head->field_count; j++)
			count += http_head_text_is_nocase(
			    head->fields[j].name, names[i]);
		if (count > 1)
			return true;
	}
	return false;
}

static bool
tools_request_path(const struct http_head *head, enum tools_path *path_r)
{
	for (size_t i = 0; i <= TOOLS_PATH_MCP; i++) {
		if (http_head_text_is(head->target, tools_request_paths[i])) {
			*path_r = (enum tools_path)i;
			return true;
		}
	}
	return false;
}

static enum tools_fault
tools_request_fields(const struct http_head *head, uint16_t port,
    const struct tools_request *request)
{
	const struct http_field *origin = http_head_find(head, "Origin");

	if (tools_request_repeats(head))
		return TOOLS_FAULT_REPEATED;
	if (!tools_request_is_ours(head->host, "", port))
		return TOOLS_FAULT_HOST;
	if (origin != NULL &&
	    !tools_request_is_ours(origin->value, "http://", port))
		return TOOLS_FAULT_ORIGIN;
	if (!http_head_text_is(head->method, "POST"))
		return TOOLS_FAULT_METHOD;
	if (!tools_request_is_json(head))
		return TOOLS_FAULT_MEDIA;
	if (!tools_request_takes_json(head))
		return TOOLS_FAULT_ACCEPT;
	if (request->path == TOOLS_PATH_MCP && !tools_request_speaks(head))
		return TOOLS_FAULT_PROTOCOL;
	return head->has_length || head->chunked ? TOOLS_FAULT_NONE
						 : TOOLS_FAULT_BODY;
}

enum tools_fault
tools_request_judge(const struct http_head *head, uint16_t port,
    struct tools_request *request_r)
{
	enum tools_fault fault = TOOLS_FAULT_NONE;

	memset(request_r, 0, sizeof(*request_r));
	if (head->minor_version != 1)
		return TOOLS_FAULT_VERSION;
	if (!tools_request_path(head, &request_r->path))
		fault = TOOLS_FAULT_PATH;
	if (fault == TOOLS_FAULT_NONE)
		fault = tools_request_fields(head, port, request_r);
	if (fault != TOOLS_FAULT_NONE)
		return fault;
	request_r->keep = tools_request_keeps(head);
	request_r->expects = head->expect_continue;
	request_r->session = tools_request_session(head);
	if (head->chunked)
		http_body_init_unwrap(&request_r->body);
	else
		http_body_init(&request_r->body, head);
	return TOOLS_FAULT_NONE;
}
