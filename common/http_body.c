/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Body framing of plain HTTP, one state per place in the grammar. Called
 * by exchange.c with what a client sent, or an upstream for a client of
 * HTTP/1.0. Must never pass on a byte of framing that somebody else wrote,
 * nor a byte behind the body's end.
 */
#include "common/http_body.h"

#include <string.h>

#define HTTP_BODY_FRAME 24U /* size line and CRLF around one piece */

void
http_body_init(struct http_body *body, const struct http_head *head)
{
	memset(body, 0, sizeof(*body));
	if (head->chunked) {
		body->state = HTTP_BODY_STATE_SIZE;
		return;
	}
	body->left = head->has_length ? head->content_length : 0;
	body->state =
	    body->left > 0 ? HTTP_BODY_STATE_LENGTH : HTTP_BODY_STATE_DONE;
}

void
http_body_init_unwrap(struct http_body *body)
{
	memset(body, 0, sizeof(*body));
	body->state = HTTP_BODY_STATE_SIZE;
	body->unwrap = true;
}

static size_t
http_body_least(uint64_t a, size_t b)
{
	return a < b ? (size_t)a : b;
}

/* Content as it is; next is the state behind it. */
static enum http_body_status
http_body_pass(struct http_body *body, const char *bytes, size_t len,
    size_t *used, struct buffer *out, enum http_body_state next)
{
	size_t count = http_body_least(body->left, len - *used);

	count = http_body_least(count, out->max - out->len);
	if (count == 0)
		return HTTP_BODY_FULL;
	if (buffer_append(out, bytes + *used, count) != RESULT_OK)
		return HTTP_BODY_BAD;
	*used += count;
	body->left -= count;
	if (body->left == 0)
		body->state = next;
	return HTTP_BODY_MORE;
}

/* Content of a chunk: as a chunk of ours, or bare. */
static enum http_body_status
http_body_data(struct http_body *body, const char *bytes, size_t len,
    size_t *used, struct buffer *out)
{
	size_t count = http_body_least(body->left, len - *used);
	size_t room = out->max - out->len;

	if (body->unwrap)
		return http_body_pass(
		    body, bytes, len, used, out, HTTP_BODY_STATE_DATA_CR);
	if (room <= HTTP_BODY_FRAME)
		return HTTP_BODY_FULL;
	count = http_body_least(count, room - HTTP_BODY_FRAME);
	if (buffer_printf(out, "%zx\r\n", count) != RESULT_OK ||
	    buffer_append(out, bytes + *used, count) != RESULT_OK ||
	    buffer_append_text(out, "\r\n") != RESULT_OK)
		return HTTP_BODY_BAD;
	*used += count;
	body->left -= count;
	if (body->left == 0)
		body->state = HTTP_BODY_STATE_DATA_CR;
	return HTTP_BODY_MORE;
}

static int
http_body_hex(char byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	if (byte >= 'a' && byte <= 'f')
		return byte - 'a' + 10;
	if (byte >= 'A' && byte <= 'F')
		return byte - 'A' + 10;
	return -1;
}

/* One byte of the size: at most 15 digits, so that left cannot overflow. */
static enum http_body_status
http_body_size(struct http_body *body, char byte)
{
	int digit = http_body_hex(byte);

	if (digit >= 0) {
		if (++body->digits > 15)
			return HTTP_BODY_BAD;
		body->left = body->left * 16 + (uint64_t)digit;
		return HTTP_BODY_MORE;
	}
	if (body->digits == 0)
		return HTTP_BODY_BAD;
	if (byte == '\r')
		body->state = HTTP_BODY_STATE_SIZE_LF;
	else if (byte == ';')
		body->state = HTTP_BODY_STATE_EXTENSION;
	else
		return HTTP_BODY_BAD;
	return HTTP_BODY_MORE;
}

static bool
http_body_printable(char byte)
{
	return byte == '\t' || (byte >= ' ' && byte <= '~');
}

/* Behind the ';': dropped, within the bound of the line. */
static enum http_body_status
http_body_extension(struct http_body *body, char byte)
{
	if (byte == '\r')
		body->state = HTTP_BODY_STATE_SIZE_LF;
	else if (!http_body_printable(byte))
		return HTTP_BODY_BAD;
	return HTTP_BODY_MORE;
}

static enum http_body_status
http_body_size_end(struct http_body *body, struct buffer *out)
{
	if (body->left > 0) {
		body->state = HTTP_BODY_STATE_DATA;
	} else {
		if (!body->unwrap &&
		    buffer_append_text(out, "0\r\n\r\n") != RESULT_OK)
			return HTTP_BODY_FULL;
		body->state = HTTP_BODY_STATE_TRAILER;
	}
	body->line = 0;
	body->digits = 0;
	return HTTP_BODY_MORE;
}

/* A byte that must be the given one. */
static enum http_body_status
http_body_expect(
    struct http_body *body, char byte, char wanted, enum http_body_state next)
{
	if (byte != wanted)
		return HTTP_BODY_BAD;
	body->state = next;
	return HTTP_BODY_MORE;
}

static enum http_body_status
http_body_trailer(struct http_body *body, char byte)
{
	if (++body->trailers > HTTP_BODY_TRAILER_MAX)
		return HTTP_BODY_BAD;
	if (byte == '\r')
		body->state = body->state == HTTP_BODY_STATE_TRAILER
				  ? HTTP_BODY_STATE_LAST_LF
				  : HTTP_BODY_STATE_TRAILER_LF;
	else if (http_body_printable(byte))
		body->state = HTTP_BODY_STATE_TRAILER_LINE;
	else
		return HTTP_BODY_BAD;
	return HTTP_BODY_MORE;
}

/* One byte of framing. */
static enum http_body_status
http_body_byte(struct http_body *body, char byte, struct buffer *out)
{
	switch (body->state) {
	case HTTP_BODY_STATE_SIZE:
	case HTTP_BODY_STATE_EXTENSION:
		if (++body->line > HTTP_BODY_LINE_MAX)
			return HTTP_BODY_BAD;
		return body->state == HTTP_BODY_STATE_SIZE
			   ? http_body_size(body, byte)
			   : http_body_extension(body, byte);
	case HTTP_BODY_STATE_SIZE_LF:
		if (byte != '\n')
			return HTTP_BODY_BAD;
		return http_body_size_end(body, out);
	case HTTP_BODY_STATE_DATA_CR:
		return http_body_expect(
		    body, byte, '\r', HTTP_BODY_STATE_DATA_LF);
	case HTTP_BODY_STATE_DATA_LF:
		return http_body_expect(body, byte, '\n', HTTP_BODY_STATE_SIZE);
	case HTTP_BODY_STATE_TRAILER:
	case HTTP_BODY_STATE_TRAILER_LINE:
		return http_body_trailer(body, byte);
	case HTTP_BODY_STATE_TRAILER_LF:
		return http_body_expect(
		    body, byte, '\n', HTTP_BODY_STATE_TRAILER);
	case HTTP_BODY_STATE_LAST_LF:
		return http_body_expect(body, byte, '\n', HTTP_BODY_STATE_DONE);
	case HTTP_BODY_STATE_LENGTH:
	case HTTP_BODY_STATE_DATA:
	case HTTP_BODY_STATE_DONE:
		break;
	}
	return HTTP_BODY_BAD;
}

enum http_body_status
http_body_feed(struct http_body *body, const char *bytes, size_t len,
    size_t *used_r, struct buffer *out)
{
	enum http_body_status status = HTTP_BODY_MORE;
	size_t used = 0;

	while (used < len && body->state != HTTP_BODY_STATE_DONE &&
	       status == HTTP_BODY_MORE) {
		if (body->state == HTTP_BODY_STATE_LENGTH) {
			status = http_body_pass(
			    body, bytes, len, &used, out, HTTP_BODY_STATE_DONE);
		} else if (body->state == HTTP_BODY_STATE_DATA) {
			status = http_body_data(body, bytes, len, &used, out);
		} else {
			status = http_body_byte(body, bytes[used], out);
			used += status == HTTP_BODY_MORE;
		}
	}
	*used_r = used;
	if (status == HTTP_BODY_MORE && body->state == HTTP_BODY_STATE_DONE)
		return HTTP_BODY_DONE;
	return status;
}
