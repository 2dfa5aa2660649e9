/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict parser of an HTTP/1 request or response head (RFC 9112). It
 * accepts less than the RFC allows a lenient server to: CRLF only, no
 * obs-fold, no space before the colon, token header names without '_',
 * one Host, one Content-Length or "chunked" alone, printable values.
 * Pure: bytes in, enum out; the parsed head points into the caller's bytes.
 * Used by egress-proxy, llm-broker and llm-key.
 */
#ifndef COMMON_HTTP_HEAD_H
#define COMMON_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_HEAD_FIELDS_MAX 64U
#define HTTP_HEAD_BYTES_MAX 16384U
#define HTTP_HEAD_TARGET_MAX 4096U

enum http_head_status {
	HTTP_HEAD_OK = 0,
	HTTP_HEAD_NEED_MORE,
	HTTP_HEAD_BAD_LINE,     /* malformed start line */
	HTTP_HEAD_BAD_VERSION,  /* 505: not HTTP/1.1, nor 1.0 with Host */
	HTTP_HEAD_BAD_LINE_END, /* bare LF, lone CR, NUL */
	HTTP_HEAD_BAD_FIELD_NAME,
	HTTP_HEAD_BAD_FIELD_VALUE,
	HTTP_HEAD_FOLDED,
	HTTP_HEAD_TOO_LONG,
	HTTP_HEAD_TOO_MANY_FIELDS,
	HTTP_HEAD_HOST_MISSING,
	HTTP_HEAD_HOST_REPEATED,
	HTTP_HEAD_BAD_LENGTH, /* Content-Length repeated or not digits */
	HTTP_HEAD_BAD_CODING, /* Transfer-Encoding other than chunked */
	HTTP_HEAD_LENGTH_AND_CODING,
	HTTP_HEAD_STATUS_COUNT
};

/* A run of bytes inside the caller's buffer; not NUL-terminated. */
struct http_text {
	const char *bytes;
	size_t len;
};

struct http_field {
	struct http_text name;  /* as spelled */
	struct http_text value; /* outer blanks removed */
};

struct http_head {
	struct http_text method; /* requests */
	struct http_text target; /* requests */
	unsigned status;         /* responses: 100..999 */
	unsigned minor_version;  /* 0 or 1 */
	struct http_field fields[HTTP_HEAD_FIELDS_MAX];
	size_t field_count;
	struct http_text host; /* requests: the one Host, may be empty;
				* bytes is NULL only for CONNECT HTTP/1.0 */
	bool has_length;
	uint64_t content_length;
	bool chunked;
	bool expect_continue;
	size_t head_len; /* bytes up to and with the empty line */
};

/* Parse a request head at the start of bytes. NEED_MORE until the empty
 * line is there; every other status is final. A fault is found as early as
 * the bytes show it. */
enum http_head_status http_head_parse_request(
    const char *bytes, size_t len, struct http_head *head_r);
enum http_head_status http_head_parse_response(
    const char *bytes, size_t len, struct http_head *head_r);

/* First field of that name (ASCII case-insensitive) or NULL. */
const struct http_field *http_head_find(
    const struct http_head *head, const char *name);

bool http_head_text_is(struct http_text text, const char *literal);
bool http_head_text_is_nocase(struct http_text text, const char *literal);

const char *http_head_status_text(enum http_head_status status);

#endif
