/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Error replies in the shapes of the providers' SDKs. Called by call.c for
 * every call that is not served. It must never put a byte of a provider or
 * an agent into a reply, but the detail that call_request.c made.
 */
#include "llm-broker/call_reply.h"

#include <stdio.h>
#include <string.h>

#include "common/log.h"

#define CALL_REPLY_MESSAGE_MAX 1280U
#define CALL_REPLY_BODY_MAX 2560U
#define CALL_REPLY_RETRY_MAX_S 60U /* clients wait no longer by themselves */

/* How the shapes name a status. */
struct call_reply_words {
	unsigned status;
	const char *phrase, *openai, *anthropic, *gemini;
};

static const struct call_reply_words call_reply_words[] = {
    {400, "Bad Request", "invalid_request_error", "invalid_request_error",
	"INVALID_ARGUMENT"},
    {403, "Forbidden", "permission_error", "permission_error",
	"PERMISSION_DENIED"},
    {404, "Not Found", "invalid_request_error", "not_found_error", "NOT_FOUND"},
    {405, "Method Not Allowed", "invalid_request_error",
	"invalid_request_error", "UNIMPLEMENTED"},
    {408, "Request Timeout", "timeout", "timeout_error", "DEADLINE_EXCEEDED"},
    {413, "Content Too Large", "invalid_request_error", "request_too_large",
	"OUT_OF_RANGE"},
    {415, "Unsupported Media Type", "invalid_request_error",
	"invalid_request_error", "INVALID_ARGUMENT"},
    {421, "Misdirected Request", "invalid_request_error",
	"invalid_request_error", "FAILED_PRECONDITION"},
    {429, "Too Many Requests", "rate_limit_error", "rate_limit_error",
	"RESOURCE_EXHAUSTED"},
    {499, "Client Closed Request", "cancelled", "api_error", "CANCELLED"},
    {502, "Bad Gateway", "server_error", "api_error", "UNAVAILABLE"},
    {503, "Service Unavailable", "server_error", "api_error", "UNAVAILABLE"},
    {504, "Gateway Timeout", "server_error", "timeout_error",
	"DEADLINE_EXCEEDED"},
    {505, "HTTP Version Not Supported", "invalid_request_error",
	"invalid_request_error", "INVALID_ARGUMENT"},
};

static const struct call_reply_words *
call_reply_find(unsigned status)
{
	static const struct call_reply_words other = {
	    0, "Refused", "server_error", "api_error", "UNKNOWN"};
	size_t i;

	for (i = 0; i < sizeof(call_reply_words) / sizeof(call_reply_words[0]);
	     i++)
		if (call_reply_words[i].status == status)
			return &call_reply_words[i];
	return &other;
}

static unsigned
call_reply_status(const struct call_reply *reply)
{
	return reply->status != 0 ? reply->status
				  : call_code_status(reply->code);
}

/* The fixed texts that the reference's agents know. */
static const char *
call_reply_llm_text(enum call_code code)
{
	switch (code) {
	case CALL_PROVIDER_NOT_ALLOWED:
	case CALL_POLICY_UNAVAILABLE:
		return "LLM access is not granted";
	case CALL_BUDGET_EXCEEDED:
	case CALL_TOO_MANY_CALLS:
		return "LLM call limit reached";
	case CALL_TOO_LARGE:
		return "messages exceed the input size";
	case CALL_OUTPUT_LIMIT:
		return "completion exceeds the output size";
	case CALL_MODEL_NOT_ALLOWED:
		return "model not allowed";
	case CALL_BAD_REQUEST:
	case CALL_METHOD_REFUSED:
	case CALL_MISDIRECTED:
	case CALL_UPGRADE_REFUSED:
	case CALL_PATH_NOT_ALLOWED:
	case CALL_FIELD_NOT_ALLOWED:
	case CALL_HEADER_NOT_ALLOWED:
		return "messages are malformed";
	case CALL_OK:
	case CALL_CREDENTIAL_UNAVAILABLE:
	case CALL_KEY_REFUSED:
	case CALL_LOOKUP_FAILED:
	case CALL_ADDRESS_NOT_ALLOWED:
	case CALL_DIAL_FAILED:
	case CALL_UPSTREAM_TLS:
	case CALL_UPSTREAM_BAD:
	case CALL_UPSTREAM_CLOSED:
	case CALL_UPSTREAM_ERROR:
	case CALL_REDIRECT_REFUSED:
	case CALL_TIMEOUT:
	case CALL_CANCELLED:
	case CALL_CODE_COUNT:
		break;
	}
	return "LLM provider call failed";
}

/* May the same call succeed when it is sent again soon? */
static bool
call_reply_retry_helps(const struct call_reply *reply)
{
	switch (reply->code) {
	case CALL_TOO_MANY_CALLS:
	case CALL_LOOKUP_FAILED:
	case CALL_DIAL_FAILED:
	case CALL_UPSTREAM_CLOSED:
	case CALL_TIMEOUT:
		return true;
	case CALL_UPSTREAM_ERROR:
		/* The provider's own: as an SDK would judge it itself. */
		return reply->retry_after_s <= CALL_REPLY_RETRY_MAX_S &&
		       (reply->status == 429 || reply->status >= 500);
	case CALL_BUDGET_EXCEEDED:
		return reply->retry_after_s > 0 &&
		       reply->retry_after_s <= CALL_REPLY_RETRY_MAX_S;
	case CALL_OK:
	case CALL_BAD_REQUEST:
	case CALL_METHOD_REFUSED:
	case CALL_MISDIRECTED:
	case CALL_UPGRADE_REFUSED:
	case CALL_PATH_NOT_ALLOWED:
	case CALL_PROVIDER_NOT_ALLOWED:
	case CALL_MODEL_NOT_ALLOWED:
	case CALL_FIELD_NOT_ALLOWED:
	case CALL_HEADER_NOT_ALLOWED:
	case CALL_TOO_LARGE:
	case CALL_CREDENTIAL_UNAVAILABLE:
	case CALL_KEY_REFUSED:
	case CALL_POLICY_UNAVAILABLE:
	case CALL_ADDRESS_NOT_ALLOWED:
	case CALL_UPSTREAM_TLS:
	case CALL_UPSTREAM_BAD:
	case CALL_REDIRECT_REFUSED:
	case CALL_CANCELLED:
	case CALL_OUTPUT_LIMIT:
	case CALL_CODE_COUNT:
		break;
	}
	return false;
}

/* "code: sentence (detail)", ready to stand in a JSON string. */
static void
call_reply_message(
    const struct call_reply *reply, char message_r[CALL_REPLY_MESSAGE_MAX])
{
	const char *detail = reply->detail == NULL ? "" : reply->detail;
	char text[CALL_REPLY_MESSAGE_MAX / 2];
	bool has = detail[0] != '\0';

	(void)snprintf(text, sizeof(text), "%s: %s%s%s%s",
	    call_code_text(reply->code), call_code_sentence(reply->code),
	    has ? " (" : "", detail, has ? ")" : "");
	log_escape(text, strlen(text), message_r, CALL_REPLY_MESSAGE_MAX);
}

static enum result
call_reply_body(const struct call_reply *reply, struct buffer *out)
{
	const struct call_reply_words *words =
	    call_reply_find(call_reply_status(reply));
	const char *code = call_code_text(reply->code);
	char message[CALL_REPLY_MESSAGE_MAX];

	call_reply_message(reply, message);
	switch (reply->shape) {
	case PROVIDER_ERRORS_ANTHROPIC:
		return buffer_printf(out,
		    "{\"type\":\"error\",\"error\":{\"type\":\"%s\","
		    "\"message\":"
		    "\"%s\",\"details\":{\"error_code\":\"%s\"}},"
		    "\"request_id\":null}",
		    words->anthropic, message, code);
	case PROVIDER_ERRORS_GEMINI:
		return buffer_printf(out,
		    "{\"error\":{\"code\":%u,\"message\":\"%s\",\"status\":"
		    "\"%s\",\"details\":[{\"@type\":\"type.googleapis.com/"
		    "google.rpc.ErrorInfo\",\"reason\":\"%s\",\"domain\":"
		    "\"agentnode\"}]}}",
		    call_reply_status(reply), message, words->gemini, code);
	case PROVIDER_ERRORS_CALL_LLM:
		return buffer_printf(out,
		    "{\"ok\":false,\"error\":\"%s\",\"code\":\"%s\"}",
		    call_reply_llm_text(reply->code), code);
	case PROVIDER_ERRORS_OPENAI:
		break;
	}
	return buffer_printf(out,
	    "{\"error\":{\"message\":\"%s\",\"type\":\"%s\",\"param\":null,"
	    "\"code\":\"%s\"}}",
	    message, words->openai, code);
}

static enum result
call_reply_head(
    const struct call_reply *reply, size_t length, struct buffer *out)
{
	unsigned status = call_reply_status(reply);
	enum result result;

	result = buffer_printf(out,
	    "HTTP/1.1 %u %s\r\n"
	    "X-AgentNode-Reason: %s\r\n"
	    "Content-Type: application/json\r\n"
	    "Content-Length: %zu\r\n"
	    "Cache-Control: no-store\r\n",
	    status, call_reply_find(status)->phrase,
	    call_code_text(reply->code), length);
	if (result == RESULT_OK && status == 405)
		result = buffer_append_text(out, "Allow: GET, POST\r\n");
	if (result == RESULT_OK && !call_reply_retry_helps(reply))
		result = buffer_append_text(out, "x-should-retry: false\r\n");
	if (result == RESULT_OK && reply->retry_after_s > 0)
		result = buffer_printf(
		    out, "Retry-After: %u\r\n", reply->retry_after_s);
	if (result == RESULT_OK)
		result = buffer_printf(out, "Connection: %s\r\n\r\n",
		    reply->keep_alive ? "keep-alive" : "close");
	return result;
}

enum result
call_reply_error(const struct call_reply *reply, struct buffer *out)
{
	struct buffer body, whole;
	enum result result;

	buffer_init(&body, CALL_REPLY_BODY_MAX);
	buffer_init(&whole, 2 * CALL_REPLY_BODY_MAX);
	result = call_reply_body(reply, &body);
	if (result == RESULT_OK)
		result = call_reply_head(reply, body.len, &whole);
	if (result == RESULT_OK)
		result =
		    buffer_append(&whole, buffer_bytes_borrow(&body), body.len);
	if (result == RESULT_OK)
		result =
		    buffer_append(out, buffer_bytes_borrow(&whole), whole.len);
	buffer_free(&body);
	buffer_free(&whole);
	return result;
}

/* What stands around the JSON of an event. Gemini's SDK takes an error only
 * when a read holds nothing but its JSON. */
static void
call_reply_frame(
    enum provider_errors shape, const char **before_r, const char **behind_r)
{
	*before_r = "data: ";
	*behind_r = "\n\n";
	switch (shape) {
	case PROVIDER_ERRORS_ANTHROPIC:
		*before_r = "event: error\ndata: ";
		break;
	case PROVIDER_ERRORS_GEMINI:
	case PROVIDER_ERRORS_CALL_LLM:
		*before_r = "";
		break;
	case PROVIDER_ERRORS_OPENAI:
		break;
	}
}

enum result
call_reply_event(const struct call_reply *reply, struct buffer *out)
{
	const char *before, *behind;
	struct buffer whole;
	enum result result;

	call_reply_frame(reply->shape, &before, &behind);
	buffer_init(&whole, CALL_REPLY_BODY_MAX);
	result = buffer_append_text(&whole, before);
	if (result == RESULT_OK)
		result = call_reply_body(reply, &whole);
	if (result == RESULT_OK)
		result = buffer_append_text(&whole, behind);
	if (result == RESULT_OK)
		result =
		    buffer_append(out, buffer_bytes_borrow(&whole), whole.len);
	buffer_free(&whole);
	return result;
}
