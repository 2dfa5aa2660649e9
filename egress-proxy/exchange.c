/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relays one plain HTTP request. Called by session_io.c. Each direction
 * reads only when its output buffer is empty, so that memory is bounded and
 * the slower side sets the pace. Must never send the upstream a byte the
 * body parser has not passed, nor the client a head that was not parsed.
 */
#include "egress-proxy/exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/fd.h"
#include "egress-proxy/response_head.h"
#include "egress-proxy/tunnel.h"

#define EXCHANGE_IN 16384U
#define EXCHANGE_TURN 16U /* reads of a direction per turn */

struct exchange_end {
	int fd; /* the session's */
	unsigned readable : 1, writable : 1, eof : 1,
	    hung : 1; /* it ended or was reset, not yet asked which */
	uint64_t written;
};

struct exchange {
	struct exchange_end client, upstream;
	struct http_body body;
	struct http_body answer; /* the response's, when it is framed */
	bool body_done;          /* all of the request was taken */
	bool head_done;          /* the final response head was passed on */
	bool old_client;         /* HTTP/1.0: knows no chunks and no 100 */
	bool answer_done;        /* without the parser: no body, or a length */
	bool bare;               /* HEAD: the response has no body */
	bool framed;             /* it says where it ends: answer is in use */
	bool unwrap;             /* and its chunks lose their framing */
	size_t unpaid;           /* read before, and the quota was not asked */
	struct buffer in;        /* client's bytes before the body parser */
	struct buffer up;        /* for the upstream */
	struct buffer head;      /* the response head; then framed bytes */
	struct buffer down;      /* for the client */
};

enum result
exchange_new(int client_fd, int upstream_fd,
    const struct connect_request *request, const void *rest, size_t rest_len,
    struct exchange **exchange_r)
{
	struct exchange *exchange = calloc(1, sizeof(*exchange));
	enum result result;

	*exchange_r = NULL;
	if (exchange == NULL)
		return RESULT_NO_MEMORY;
	exchange->client = (struct exchange_end){client_fd, 1, 1, 0, 0, 0};
	exchange->upstream = (struct exchange_end){upstream_fd, 1, 1, 0, 0, 0};
	buffer_init(&exchange->in, rest_len + EXCHANGE_IN);
	buffer_init(&exchange->up, EXCHANGE_BUFFER);
	buffer_init(&exchange->head, HTTP_HEAD_BYTES_MAX + 1);
	buffer_init(&exchange->down, EXCHANGE_BUFFER);
	exchange->old_client = request->head.minor_version == 0;
	exchange->bare = http_head_text_is(request->head.method, "HEAD");
	http_body_init(&exchange->body, &request->head);
	exchange->body_done = exchange->body.state == HTTP_BODY_STATE_DONE;
	result = connect_request_rewrite(request, &exchange->up);
	if (result == RESULT_OK && !exchange->body_done)
		result = buffer_append(&exchange->in, rest, rest_len);
	exchange->unpaid = exchange->up.len + exchange->in.len;
	if (result == RESULT_OK && request->head.expect_continue &&
	    !exchange->old_client)
		result = buffer_append_text(
		    &exchange->down, "HTTP/1.1 100 Continue\r\n\r\n");
	if (result != RESULT_OK)
		exchange_free(&exchange);
	*exchange_r = exchange;
	return result;
}

void
exchange_free(struct exchange **exchange)
{
	struct exchange *gone = *exchange;

	*exchange = NULL;
	if (gone == NULL)
		return;
	buffer_free(&gone->in);
	buffer_free(&gone->up);
	buffer_free(&gone->head);
	buffer_free(&gone->down);
	free(gone);
}

/* One read into a buffer. */
static enum exchange_status
exchange_read(struct exchange_end *end, struct buffer *buffer, size_t want,
    struct egress_quota *quota)
{
	uint8_t *space;
	size_t room;
	ssize_t count;

	want = egress_quota_ask(quota, want);
	if (want == 0)
		return EXCHANGE_THROTTLED;
	if (buffer_reserve(buffer, want, &space, &room) != RESULT_OK)
		return EXCHANGE_BROKEN;
	count = recv(end->fd, space, room < want ? room : want, 0);
	if (count < 0) {
		end->readable = errno != EAGAIN;
		return errno == EAGAIN  ? EXCHANGE_WAIT
		       : errno == EINTR ? EXCHANGE_AGAIN
					: EXCHANGE_BROKEN;
	}
	end->eof = count == 0;
	buffer_commit(buffer, (size_t)count);
	egress_quota_spend(quota, (size_t)count);
	return EXCHANGE_AGAIN;
}

/* Write what the buffer holds. */
static enum exchange_status
exchange_write(struct exchange_end *end, struct buffer *buffer)
{
	ssize_t count;

	if (!end->writable)
		return EXCHANGE_WAIT;
	count = send(
	    end->fd, buffer_bytes_borrow(buffer), buffer->len, MSG_NOSIGNAL);
	if (count < 0) {
		end->writable = errno != EAGAIN;
		return errno == EAGAIN  ? EXCHANGE_WAIT
		       : errno == EINTR ? EXCHANGE_AGAIN
					: EXCHANGE_BROKEN;
	}
	end->written += (uint64_t)count;
	buffer_consume(buffer, (size_t)count);
	return EXCHANGE_AGAIN;
}

/* Body bytes through the parser. */
static enum exchange_status
exchange_frame(struct exchange *exchange)
{
	enum http_body_status status;
	size_t used;

	status = http_body_feed(&exchange->body,
	    (const char *)buffer_bytes_borrow(&exchange->in), exchange->in.len,
	    &used, &exchange->up);
	buffer_consume(&exchange->in, used);
	if (status == HTTP_BODY_BAD)
		return EXCHANGE_BAD_REQUEST;
	exchange->body_done = status == HTTP_BODY_DONE;
	return EXCHANGE_AGAIN;
}

/* One step of the request: write, frame or read. */
static enum exchange_status
exchange_step_up(struct exchange *exchange, struct egress_quota *quota)
{
	struct exchange_end *client = &exchange->client;

	if (exchange->up.len > 0)
		return exchange_write(&exchange->upstream, &exchange->up);
	if (exchange->body_done)
		return EXCHANGE_WAIT;
	if (exchange->in.len > 0)
		return exchange_frame(exchange);
	if (client->eof)
		return EXCHANGE_BROKEN;
	if (!client->readable)
		return EXCHANGE_WAIT;
	return exchange_read(client, &exchange->in, EXCHANGE_IN, quota);
}

/* A final head. 204 and 304 have no body, whatever it says. */
static enum exchange_status
exchange_answer(struct exchange *exchange, const struct http_head *head)
{
	bool old = exchange->old_client;
	bool none =
	    exchange->bare || head->status == 204 || head->status == 304;

	exchange->head_done = true;
	exchange->framed = none || head->chunked || head->has_length;
	exchange->unwrap = old && head->chunked && !none;
	if (exchange->unwrap)
		http_body_init_unwrap(&exchange->answer);
	else if (exchange->framed && !none)
		http_body_init(&exchange->answer, head);
	exchange->answer_done = none;
	if (response_head_rewrite(
		head, head->chunked && !old, &exchange->down) != RESULT_OK)
		return EXCHANGE_BAD_RESPONSE;
	return EXCHANGE_AGAIN;
}

/* The response head: interim responses are dropped (a 100 was answered
 * here), 101 would be another protocol and was not asked for. */
static enum exchange_status
exchange_head(struct exchange *exchange)
{
	struct buffer *bytes = &exchange->head;
	struct http_head head;
	enum http_head_status status;

	status = http_head_parse_response(
	    (const char *)buffer_bytes_borrow(bytes), bytes->len, &head);
	if (status == HTTP_HEAD_NEED_MORE)
		return exchange->upstream.eof ? EXCHANGE_BAD_RESPONSE
					      : EXCHANGE_WAIT;
	if (status != HTTP_HEAD_OK || head.status == 101)
		return EXCHANGE_BAD_RESPONSE;
	if (head.status >= 200 &&
	    exchange_answer(exchange, &head) != EXCHANGE_AGAIN)
		return EXCHANGE_BAD_RESPONSE;
	buffer_consume(bytes, head.head_len);
	return EXCHANGE_AGAIN;
}

/* Collect and pass the head; bytes behind it are the body's first. */
static enum exchange_status
exchange_step_head(struct exchange *exchange, struct egress_quota *quota)
{
	struct exchange_end *upstream = &exchange->upstream;
	enum exchange_status status = EXCHANGE_WAIT;

	if (exchange->head.len > 0 || upstream->eof)
		status = exchange_head(exchange);
	if (status != EXCHANGE_WAIT || !upstream->readable)
		return status;
	if (exchange->head.len >= HTTP_HEAD_BYTES_MAX)
		return EXCHANGE_BAD_RESPONSE;
	return exchange_read(upstream, &exchange->head,
	    HTTP_HEAD_BYTES_MAX - exchange->head.len, quota);
}

/* So many bytes of a Content-Length go as they come. */
static enum exchange_status
exchange_pass_length(struct exchange *exchange, struct egress_quota *quota)
{
	struct http_body *answer = &exchange->answer;
	size_t want =
	    answer->left < EXCHANGE_BUFFER ? answer->left : EXCHANGE_BUFFER;
	enum exchange_status status;

	status =
	    exchange_read(&exchange->upstream, &exchange->down, want, quota);
	answer->left -= exchange->down.len;
	exchange->answer_done = answer->left == 0;
	return status;
}

/* An answer that says where it ends is over there, whatever the upstream
 * does with its connection. One that breaks off says so itself, unless its
 * chunks are unwrapped: then the client is reset, so that it does not look
 * like a whole one. */
static enum exchange_status
exchange_step_framed(struct exchange *exchange, struct egress_quota *quota)
{
	struct exchange_end *upstream = &exchange->upstream;
	struct buffer *chunks = &exchange->head;
	size_t used;

	if (exchange->answer_done ||
	    exchange->answer.state == HTTP_BODY_STATE_DONE)
		return EXCHANGE_DONE;
	if (chunks->len == 0) {
		if (upstream->eof)
			return exchange->unwrap ? EXCHANGE_BROKEN
						: EXCHANGE_DONE;
		if (!upstream->readable)
			return EXCHANGE_WAIT;
		if (exchange->answer.state == HTTP_BODY_STATE_LENGTH)
			return exchange_pass_length(exchange, quota);
		return exchange_read(
		    upstream, chunks, HTTP_HEAD_BYTES_MAX, quota);
	}
	if (http_body_feed(&exchange->answer,
		(const char *)buffer_bytes_borrow(chunks), chunks->len, &used,
		&exchange->down) == HTTP_BODY_BAD)
		return EXCHANGE_BROKEN;
	buffer_consume(chunks, used);
	return EXCHANGE_AGAIN;
}

/* One step of the response. */
static enum exchange_status
exchange_step_down(struct exchange *exchange, struct egress_quota *quota)
{
	struct exchange_end *upstream = &exchange->upstream;
	struct buffer *rest = &exchange->head;

	if (exchange->down.len > 0)
		return exchange_write(&exchange->client, &exchange->down);
	if (!exchange->head_done)
		return exchange_step_head(exchange, quota);
	if (exchange->framed)
		return exchange_step_framed(exchange, quota);
	if (rest->len > 0) {
		if (buffer_append(&exchange->down, buffer_bytes_borrow(rest),
			rest->len) != RESULT_OK)
			return EXCHANGE_BROKEN;
		buffer_free(rest);
		return EXCHANGE_AGAIN;
	}
	if (upstream->eof)
		return EXCHANGE_DONE;
	if (!upstream->readable)
		return EXCHANGE_WAIT;
	return exchange_read(upstream, &exchange->down, EXCHANGE_BUFFER, quota);
}

typedef enum exchange_status exchange_step(
    struct exchange *exchange, struct egress_quota *quota);

static enum exchange_status
exchange_turn(
    struct exchange *exchange, struct egress_quota *quota, exchange_step *step)
{
	enum exchange_status status = EXCHANGE_AGAIN;

	for (unsigned i = 0; i < EXCHANGE_TURN; i++) {
		status = step(exchange, quota);
		if (status != EXCHANGE_AGAIN)
			break;
	}
	return status;
}

static bool
exchange_is_end(enum exchange_status status)
{
	return status >= EXCHANGE_DONE;
}

/* The head, and what came behind it, are paid for when they go. */
static bool
exchange_pay(struct exchange *exchange, struct egress_quota *quota)
{
	if (exchange->unpaid == 0)
		return true;
	if (egress_quota_ask(quota, exchange->unpaid) == 0)
		return false;
	egress_quota_spend(quota, exchange->unpaid);
	exchange->unpaid = 0;
	return true;
}

/* Whether the client was reset. Its FIN alone may be a half-close of one
 * that still reads, so that is left to the writes and the limits of time. */
static bool
exchange_client_gone(struct exchange *exchange)
{
	socklen_t size = sizeof(int);
	int error = 0;

	if (!exchange->client.hung)
		return false;
	exchange->client.hung = 0;
	return fd_was_reset(exchange->client.fd) ||
	       getsockopt(exchange->client.fd, SOL_SOCKET, SO_ERROR, &error,
		   &size) != 0 ||
	       error != 0;
}

enum exchange_status
exchange_continue(struct exchange *exchange, struct egress_quota *quota)
{
	enum exchange_status up, down;

	if (exchange_client_gone(exchange))
		return EXCHANGE_BROKEN;
	if (!exchange_pay(exchange, quota))
		return EXCHANGE_THROTTLED;
	down = exchange_turn(exchange, quota, exchange_step_down);
	if (exchange_is_end(down))
		return down;
	up = exchange_turn(exchange, quota, exchange_step_up);
	if (up == EXCHANGE_BROKEN && exchange->upstream.readable &&
	    down != EXCHANGE_WAIT)
		up = EXCHANGE_WAIT; /* an early answer may still be there */
	if (exchange_is_end(up))
		return up;
	if (up == EXCHANGE_AGAIN || down == EXCHANGE_AGAIN)
		return EXCHANGE_AGAIN;
	if (up == EXCHANGE_THROTTLED || down == EXCHANGE_THROTTLED)
		return EXCHANGE_THROTTLED;
	return EXCHANGE_WAIT;
}

void
exchange_note(struct exchange *exchange, unsigned end, unsigned can)
{
	struct exchange_end *at =
	    end == 0 ? &exchange->client : &exchange->upstream;

	if (can & (TUNNEL_CAN_READ | TUNNEL_HUNG_UP))
		at->readable = 1;
	if (can & TUNNEL_CAN_WRITE)
		at->writable = 1;
	if (can & TUNNEL_HUNG_UP)
		at->hung = 1;
}

uint64_t
exchange_up_bytes(const struct exchange *exchange)
{
	return exchange->upstream.written;
}

uint64_t
exchange_down_bytes(const struct exchange *exchange)
{
	return exchange->client.written;
}
