/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hop between agent and broker. Called by call_request.c once per head.
 * It must never let a request pass that another reader could take for one
 * to another host, of another length or in another coding.
 */
#include "llm-broker/call_head.h"

#include <stdio.h>
#include <string.h>

static size_t
call_head_count(const struct http_head *head, const char *name)
{
	size_t i, count = 0;

	for (i = 0; i < head->field_count; i++)
		count += http_head_text_is_nocase(head->fields[i].name, name);
	return count;
}

void
call_head_refuse(enum http_head_status status, struct call_fault *fault)
{
	call_fault_set(fault, CALL_BAD_REQUEST,
	    status == HTTP_HEAD_BAD_VERSION ? 505 : 0, "%s",
	    http_head_status_text(status));
}

static void
call_head_method(const struct http_head *head, struct call_fault *fault)
{
	if (!http_head_text_is(head->method, "GET") &&
	    !http_head_text_is(head->method, "POST"))
		call_fault_set(fault, CALL_METHOD_REFUSED, 0,
		    "only GET and POST are served");
}

/* A name of the broker's, with its port. */
static void
call_head_host(
    const struct http_head *head, uint16_t port, struct call_fault *fault)
{
	static const char *const names[] = {"127.0.0.1", "localhost"};
	struct http_text name = head->host;
	char text[8];
	size_t i, len;

	len = (size_t)snprintf(text, sizeof(text), ":%u", (unsigned)port);
	if (name.len > len &&
	    memcmp(name.bytes + name.len - len, text, len) == 0)
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			name.len = head->host.len - len;
			if (http_head_text_is_nocase(name, names[i]))
				return;
		}
	if (!http_head_text_is_nocase(head->host, "localhost"))
		call_fault_set(fault, CALL_MISDIRECTED, 0,
		    "Host must be 127.0.0.1:%u or localhost", (unsigned)port);
}

/* The next word of a list; false behind the last. */
static bool
call_head_next(struct http_text *rest, struct http_text *word_r)
{
	const char *at = rest->bytes, *end = at + rest->len, *comma;

	if (rest->len == 0)
		return false;
	comma = memchr(at, ',', rest->len);
	word_r->bytes = at;
	word_r->len = (size_t)((comma == NULL ? end : comma) - at);
	rest->bytes = comma == NULL ? end : comma + 1;
	rest->len = (size_t)(end - rest->bytes);
	while (word_r->len > 0 &&
	       (*word_r->bytes == ' ' || *word_r->bytes == '\t')) {
		word_r->bytes++;
		word_r->len--;
	}
	while (word_r->len > 0 && (word_r->bytes[word_r->len - 1] == ' ' ||
				      word_r->bytes[word_r->len - 1] == '\t'))
		word_r->len--;
	return true;
}

/* One word of Connection. Names of fields to drop are refused: a client has
 * no say in what goes on. */
static void
call_head_connection_word(
    struct http_text word, struct call_head *head_r, struct call_fault *fault)
{
	if (http_head_text_is_nocase(word, "close"))
		head_r->keep_alive = false;
	else if (word.len != 0 &&
		 !http_head_text_is_nocase(word, "keep-alive") &&
		 !http_head_text_is_nocase(word, "te") &&
		 !http_head_text_is_nocase(word, "upgrade") &&
		 !http_head_text_is_nocase(word, "http2-settings"))
		call_fault_set(fault, CALL_BAD_REQUEST, 0,
		    "Connection may say close or keep-alive alone");
}

/* An offer of cleartext HTTP/2 is ignored, as RFC 9110 lets a server do:
 * some clients make it with every first request. All else wants a tunnel. */
static void
call_head_connection(const struct http_head *head, struct call_head *head_r,
    struct call_fault *fault)
{
	struct http_text rest, word;
	size_t i;

	for (i = 0; i < head->field_count; i++) {
		rest = head->fields[i].value;
		if (http_head_text_is_nocase(head->fields[i].name, "upgrade") &&
		    !http_head_text_is_nocase(rest, "h2c"))
			call_fault_set(fault, CALL_UPGRADE_REFUSED, 0,
			    "Upgrade was asked for");
		if (!http_head_text_is_nocase(
			head->fields[i].name, "connection"))
			continue;
		while (call_head_next(&rest, &word))
			call_head_connection_word(word, head_r, fault);
	}
}

/* application/json, with charset=utf-8 or without. */
static bool
call_head_type_fits(struct http_text value)
{
	static const char type[] = "application/json";
	const size_t len = sizeof(type) - 1;
	struct http_text first, rest;

	first.bytes = value.bytes;
	first.len = value.len < len ? value.len : len;
	if (!http_head_text_is_nocase(first, type))
		return false;
	rest.bytes = value.bytes + len;
	rest.len = value.len - len;
	if (rest.len == 0)
		return true;
	while (rest.len > 0 && (*rest.bytes == ' ' || *rest.bytes == ';')) {
		rest.bytes++;
		rest.len--;
	}
	return http_head_text_is_nocase(rest, "charset=utf-8");
}

static void
call_head_content(const struct http_head *head, struct call_head *head_r,
    struct call_fault *fault)
{
	const struct http_field *type = http_head_find(head, "content-type");
	const struct http_field *coding =
	    http_head_find(head, "content-encoding");

	head_r->coding = BODY_DECODE_IDENTITY;
	if (call_head_count(head, "content-type") > 1 ||
	    call_head_count(head, "content-encoding") > 1)
		call_fault_set(fault, CALL_BAD_REQUEST, 0,
		    "Content-Type or Content-Encoding is repeated");
	if (coding != NULL)
		head_r->coding = body_decode_coding(coding->value);
	if (head_r->coding == BODY_DECODE_UNKNOWN)
		call_fault_set(fault, CALL_BAD_REQUEST, 415,
		    "Content-Encoding must be identity, gzip or zstd; turn "
		    "request compression off in the client, for instance with "
		    "features.enable_request_compression=false");
	if (head_r->has_body && type != NULL &&
	    !call_head_type_fits(type->value))
		call_fault_set(fault, CALL_BAD_REQUEST, 415,
		    "Content-Type must be application/json");
}

void
call_head_judge(const struct http_head *head, uint16_t port,
    struct call_head *head_r, struct call_fault *fault)
{
	memset(head_r, 0, sizeof(*head_r));
	head_r->keep_alive = true;
	head_r->has_body = head->chunked || head->content_length > 0;
	if (head->minor_version == 0) {
		head_r->keep_alive = false;
		call_fault_set(fault, CALL_BAD_REQUEST, 505,
		    "HTTP/1.1 is needed: answers are sent in chunks");
	}
	call_head_method(head, fault);
	call_head_connection(head, head_r, fault);
	if (head->target.bytes[0] != '/')
		call_fault_set(fault, CALL_MISDIRECTED, 0,
		    "the broker is no proxy: the target must begin with /");
	call_head_host(head, port, fault);
	call_head_content(head, head_r, fault);
	if (head->expect_continue && !head_r->has_body)
		call_fault_set(
		    fault, CALL_BAD_REQUEST, 0, "Expect stands without a body");
}
