/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rewrites response heads of plain HTTP. Called by exchange.c with heads
 * that http_head has parsed strictly. Must never copy a field that concerns
 * only one hop.
 */
#include "egress-proxy/response_head.h"

#include <string.h>

/* RFC 9110 sections 7.6.1 and 11.7. Transfer-Encoding is stated again. The
 * last one is the proxy's word in its own replies (deny.c), no server's. */
static const char *const response_head_hops[] = {"connection",
    "proxy-connection", "keep-alive", "te", "trailer", "transfer-encoding",
    "upgrade", "proxy-authenticate", "proxy-authentication-info",
    "x-agentnode-reason", NULL};

/* Is name one of the comma-separated tokens of a Connection value? */
static bool
response_head_names(struct http_text value, struct http_text name)
{
	size_t at = 0;

	while (at < value.len) {
		size_t len = 0;

		while (at < value.len && strchr(", \t", value.bytes[at]))
			at++;
		while (at + len < value.len &&
		       !strchr(", \t", value.bytes[at + len]))
			len++;
		if (len > 0 && len == name.len &&
		    strncasecmp(value.bytes + at, name.bytes, len) == 0)
			return true;
		at += len;
	}
	return false;
}

static bool
response_head_is_hop(
    const struct http_head *head, const struct http_field *field)
{
	for (size_t i = 0; response_head_hops[i] != NULL; i++)
		if (http_head_text_is_nocase(
			field->name, response_head_hops[i]))
			return true;
	for (size_t i = 0; i < head->field_count; i++) {
		const struct http_field *other = &head->fields[i];

		if (http_head_text_is_nocase(other->name, "connection") &&
		    response_head_names(other->value, field->name))
			return true;
	}
	return false;
}

static enum result
response_head_field(const struct http_field *field, struct buffer *out)
{
	return buffer_printf(out, "%.*s: %.*s\r\n", (int)field->name.len,
	    field->name.bytes, (int)field->value.len, field->value.bytes);
}

enum result
response_head_rewrite(
    const struct http_head *head, bool chunked, struct buffer *out)
{
	enum result result;

	result = buffer_printf(out, "HTTP/1.1 %u \r\n", head->status);
	for (size_t i = 0; i < head->field_count && result == RESULT_OK; i++)
		if (!response_head_is_hop(head, &head->fields[i]))
			result = response_head_field(&head->fields[i], out);
	if (result == RESULT_OK && chunked)
		result =
		    buffer_append_text(out, "Transfer-Encoding: chunked\r\n");
	if (result != RESULT_OK)
		return result;
	return buffer_append_text(out, "Connection: close\r\n\r\n");
}
