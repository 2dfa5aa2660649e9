/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges response heads. Called by call_relay.c with bytes of an upstream.
 * Must never pass on a field that is not on the list, nor anything of a
 * redirect: the agent is not told where a provider would have it go.
 */
#include "llm-broker/response_filter.h"

#include <string.h>

#define RESPONSE_FILTER_RETRY_MAX 86400U

/* Whole names, since a name is not looked through for keys. What SDKs read:
 * request ids, limits, pacing. */
static const char *const response_filter_allowed[] = {"content-type",
    "content-language", "retry-after", "retry-after-ms", "request-id",
    "x-request-id", "anthropic-organization-tier", "openai-processing-ms",
    "openai-version", "openai-model", "x-goog-request-id", "x-should-retry",
    "x-ratelimit-limit-requests", "x-ratelimit-limit-tokens",
    "x-ratelimit-remaining-requests", "x-ratelimit-remaining-tokens",
    "x-ratelimit-reset-requests", "x-ratelimit-reset-tokens",
    "anthropic-ratelimit-requests-limit",
    "anthropic-ratelimit-requests-remaining",
    "anthropic-ratelimit-requests-reset", "anthropic-ratelimit-tokens-limit",
    "anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset",
    "anthropic-ratelimit-input-tokens-limit",
    "anthropic-ratelimit-input-tokens-remaining",
    "anthropic-ratelimit-input-tokens-reset",
    "anthropic-ratelimit-output-tokens-limit",
    "anthropic-ratelimit-output-tokens-remaining",
    "anthropic-ratelimit-output-tokens-reset", NULL};

static bool
response_filter_passes(struct http_text name)
{
	for (size_t i = 0; response_filter_allowed[i] != NULL; i++)
		if (http_head_text_is_nocase(name, response_filter_allowed[i]))
			return true;
	return false;
}

/* Lower case, so that no spelling of a provider's reaches the agent. */
static enum result
response_filter_name(struct http_text name, struct buffer *fields)
{
	uint8_t *space;
	size_t room;
	enum result result = buffer_reserve(fields, name.len, &space, &room);

	if (result != RESULT_OK || room < name.len)
		return RESULT_TOO_LONG;
	for (size_t i = 0; i < name.len; i++) {
		char byte = name.bytes[i];

		space[i] =
		    (uint8_t)(byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a'
							 : byte);
	}
	buffer_commit(fields, name.len);
	return RESULT_OK;
}

static enum result
response_filter_field(const struct http_field *field,
    const struct redact_set *patterns, struct buffer *fields)
{
	size_t at;
	enum result result = response_filter_name(field->name, fields);

	if (result == RESULT_OK)
		result = buffer_append_text(fields, ": ");
	if (result == RESULT_OK)
		result =
		    buffer_append(fields, field->value.bytes, field->value.len);
	if (result != RESULT_OK)
		return result;
	at = fields->start + fields->len - field->value.len;
	(void)redact_text(
	    patterns, (char *)fields->data + at, field->value.len);
	return buffer_append_text(fields, "\r\n");
}

static bool
response_filter_fields(const struct http_head *head,
    const struct redact_set *patterns, struct buffer *fields)
{
	for (size_t i = 0; i < head->field_count; i++)
		if (response_filter_passes(head->fields[i].name) &&
		    response_filter_field(&head->fields[i], patterns, fields) !=
			RESULT_OK)
			return false;
	return true;
}

/* The one field of that name; a repeated one is not understood. */
static bool
response_filter_one(
    const struct http_head *head, const char *name, struct http_text *value_r)
{
	size_t found = 0;

	value_r->bytes = "";
	value_r->len = 0;
	for (size_t i = 0; i < head->field_count; i++) {
		if (!http_head_text_is_nocase(head->fields[i].name, name))
			continue;
		*value_r = head->fields[i].value;
		found++;
	}
	return found <= 1;
}

/* No coding, or "identity": what is packed cannot be looked through. */
static bool
response_filter_is_plain(const struct http_head *head)
{
	struct http_text coding;

	return response_filter_one(head, "content-encoding", &coding) &&
	       (coding.len == 0 ||
		   http_head_text_is_nocase(coding, "identity"));
}

/* Media type without its parameters. */
static struct http_text
response_filter_media_type(struct http_text value)
{
	const char *end = memchr(value.bytes, ';', value.len);

	if (end != NULL)
		value.len = (size_t)(end - value.bytes);
	while (value.len > 0 && (value.bytes[value.len - 1] == ' ' ||
				    value.bytes[value.len - 1] == '\t'))
		value.len--;
	return value;
}

static bool
response_filter_type_is_listed(
    const struct provider_path *path, struct http_text type)
{
	for (size_t i = 0; i < json_array_size(path->content_types); i++) {
		const char *row =
		    json_string_value(json_array_get(path->content_types, i));

		if (row != NULL && http_head_text_is_nocase(type, row))
			return true;
	}
	return false;
}

static bool
response_filter_type(const struct http_head *head,
    const struct provider_path *path, struct response_filter_head *head_r)
{
	struct http_text value, type;

	if (!response_filter_one(head, "content-type", &value))
		return false;
	type = response_filter_media_type(value);
	head_r->event_stream =
	    http_head_text_is_nocase(type, "text/event-stream");
	if (type.len == 0)
		return head_r->framing == RESPONSE_FILTER_LENGTH &&
		       head_r->length == 0;
	return response_filter_type_is_listed(path, type);
}

/* Seconds in plain digits; a date is not worth a clock. */
static unsigned
response_filter_retry(const struct http_head *head)
{
	struct http_text value;
	unsigned seconds = 0;

	if (!response_filter_one(head, "retry-after", &value) ||
	    value.len == 0 || value.len > 5)
		return 0;
	for (size_t i = 0; i < value.len; i++) {
		if (value.bytes[i] < '0' || value.bytes[i] > '9')
			return 0;
		seconds = seconds * 10 + (unsigned)(value.bytes[i] - '0');
	}
	return seconds < RESPONSE_FILTER_RETRY_MAX ? seconds
						   : RESPONSE_FILTER_RETRY_MAX;
}

static bool
response_filter_says_close(const struct http_head *head)
{
	for (size_t i = 0; i < head->field_count; i++)
		if (http_head_text_is_nocase(
			head->fields[i].name, "connection") &&
		    !http_head_text_is_nocase(
			head->fields[i].value, "keep-alive"))
			return true;
	return false;
}

static void
response_filter_frame(
    const struct http_head *head, struct response_filter_head *head_r)
{
	bool empty = head->status == 204 || head->status == 205;

	head_r->framing = RESPONSE_FILTER_CLOSE;
	if (head->chunked && !empty)
		head_r->framing = RESPONSE_FILTER_CHUNKED;
	else if (head->has_length || empty)
		head_r->framing = RESPONSE_FILTER_LENGTH;
	head_r->length = empty ? 0 : head->content_length;
	head_r->reusable = head->minor_version == 1 &&
			   head_r->framing != RESPONSE_FILTER_CLOSE &&
			   !response_filter_says_close(head);
}

static enum response_filter_status
response_filter_refuse(struct response_filter_head *head_r, enum call_code code)
{
	head_r->code = code;
	head_r->reusable = false;
	return RESPONSE_FILTER_REFUSED;
}

/* A whole and well-formed head. */
static enum response_filter_status
response_filter_judge(const struct http_head *head,
    const struct provider_path *path, const struct redact_set *patterns,
    struct response_filter_head *head_r, struct buffer *fields)
{
	if (head->status == 101)
		return response_filter_refuse(head_r, CALL_UPSTREAM_BAD);
	if (head->status < 200)
		return RESPONSE_FILTER_INTERIM;
	if (head->status >= 300 && head->status < 400)
		return response_filter_refuse(head_r, CALL_REDIRECT_REFUSED);
	if (head->status > 599 || !response_filter_is_plain(head))
		return response_filter_refuse(head_r, CALL_UPSTREAM_BAD);
	response_filter_frame(head, head_r);
	head_r->retry_after_s = response_filter_retry(head);
	if (head->status >= 400)
		return RESPONSE_FILTER_OK;
	if (!response_filter_type(head, path, head_r) ||
	    !response_filter_fields(head, patterns, fields)) {
		buffer_clear(fields);
		return response_filter_refuse(head_r, CALL_UPSTREAM_BAD);
	}
	return RESPONSE_FILTER_OK;
}

enum response_filter_status
response_filter_read(const char *bytes, size_t len,
    const struct provider_path *path, const struct redact_set *patterns,
    struct response_filter_head *head_r, struct buffer *fields)
{
	struct http_head head;
	enum http_head_status status;

	memset(head_r, 0, sizeof(*head_r));
	status = http_head_parse_response(bytes, len, &head);
	if (status == HTTP_HEAD_NEED_MORE)
		return RESPONSE_FILTER_MORE;
	if (status != HTTP_HEAD_OK)
		return response_filter_refuse(head_r, CALL_UPSTREAM_BAD);
	head_r->status = head.status;
	head_r->head_len = head.head_len;
	return response_filter_judge(&head, path, patterns, head_r, fields);
}
