/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of one plain HTTP message. What goes out is written by us:
 * exactly Content-Length bytes, or chunks framed anew, or the content of
 * chunks alone, with extensions and trailers dropped (RFC 9112 sections 6
 * and 7). Pure: bytes in, bytes out; used by egress-proxy's plain exchanges and
 * llm-broker.
 */
#ifndef COMMON_HTTP_BODY_H
#define COMMON_HTTP_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "common/http_head.h"

#define HTTP_BODY_LINE_MAX 256U     /* chunk size line, extensions included */
#define HTTP_BODY_TRAILER_MAX 8192U /* all trailer fields together */

enum http_body_status {
	HTTP_BODY_MORE, /* all input used, the body goes on */
	HTTP_BODY_FULL, /* no room left in the output: drain it first */
	HTTP_BODY_DONE, /* the body ended; what follows is not part of it */
	HTTP_BODY_BAD   /* broken framing, or a bound passed */
};

enum http_body_state {
	HTTP_BODY_STATE_LENGTH,    /* left bytes of Content-Length */
	HTTP_BODY_STATE_SIZE,      /* in a chunk size */
	HTTP_BODY_STATE_EXTENSION, /* behind the size, before CR */
	HTTP_BODY_STATE_SIZE_LF,
	HTTP_BODY_STATE_DATA,
	HTTP_BODY_STATE_DATA_CR,
	HTTP_BODY_STATE_DATA_LF,
	HTTP_BODY_STATE_TRAILER, /* at the start of a trailer line */
	HTTP_BODY_STATE_TRAILER_LINE,
	HTTP_BODY_STATE_TRAILER_LF, /* after the CR of a trailer line */
	HTTP_BODY_STATE_LAST_LF,    /* after the CR of the empty line */
	HTTP_BODY_STATE_DONE
};

struct http_body {
	enum http_body_state state;
	bool unwrap;           /* chunks lose their framing */
	uint64_t left;         /* of Content-Length or of this chunk */
	size_t line, trailers; /* bytes so far, against the bounds */
	size_t digits;         /* of the chunk size */
};

/* From a checked request head; no body at all is DONE at once. */
void http_body_init(struct http_body *body, const struct http_head *head);

/* A chunked body whose receiver does not know chunks (HTTP/1.0): only the
 * content comes out. DONE is the one sign that all of it was there. */
void http_body_init_unwrap(struct http_body *body);

/* Read from bytes, append to out; *used_r gets how much was taken. */
enum http_body_status http_body_feed(struct http_body *body, const char *bytes,
    size_t len, size_t *used_r, struct buffer *out);

#endif
