/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes to and from one socket. Called with ciphertext by upstream_tls.c and
 * with a proxy's CONNECT by upstream.c. Must never block or keep more than
 * its bound.
 */
#include "llm-broker/key/upstream_wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/event_loop.h"
#include "common/fd.h"

void
upstream_wire_init(struct upstream_wire *wire, int fd)
{
	memset(wire, 0, sizeof(*wire));
	wire->fd = fd;
	buffer_init(&wire->unsent, UPSTREAM_WIRE_UNSENT_MAX);
}

void
upstream_wire_close(struct upstream_wire *wire)
{
	fd_close(&wire->fd);
	buffer_free(&wire->unsent);
}

void
upstream_wire_note(struct upstream_wire *wire, bool hung_up)
{
	wire->is_drained = wire->is_short = false;
	wire->is_hung_up = wire->is_hung_up || hung_up;
}

bool
upstream_wire_doubt(struct upstream_wire *wire)
{
	if (!wire->is_short)
		return false;
	wire->is_drained = wire->is_short = false;
	return true;
}

static void
upstream_wire_drained(struct upstream_wire *wire, bool is_short)
{
	wire->is_drained = true;
	wire->is_short = is_short;
	wire->drained_ms = event_loop_now_ms();
}

void
upstream_wire_look(struct upstream_wire *wire)
{
	char byte;
	ssize_t got;

	do
		got = recv(wire->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		upstream_wire_drained(wire, false);
	else
		wire->is_drained = wire->is_short = false;
}

/* As much as the kernel takes. */
static enum result
upstream_wire_put(
    struct upstream_wire *wire, const void *bytes, size_t len, size_t *len_r)
{
	ssize_t got;

	*len_r = 0;
	do
		got = send(wire->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK
			   ? RESULT_NEED_MORE
			   : RESULT_CLOSED;
	*len_r = (size_t)got;
	wire->sent += (uint64_t)got;
	return RESULT_OK;
}

enum result
upstream_wire_send(struct upstream_wire *wire, const void *bytes, size_t len)
{
	enum result result = RESULT_OK;
	size_t put = 0;

	if (wire->unsent.len == 0)
		result = upstream_wire_put(wire, bytes, len, &put);
	if (result == RESULT_CLOSED)
		return result;
	if (put == len)
		return RESULT_OK;
	return buffer_append(
	    &wire->unsent, (const uint8_t *)bytes + put, len - put);
}

enum result
upstream_wire_flush(struct upstream_wire *wire)
{
	enum result result = RESULT_OK;
	size_t put;

	while (wire->unsent.len > 0 && result == RESULT_OK) {
		result = upstream_wire_put(wire,
		    buffer_bytes_borrow(&wire->unsent), wire->unsent.len, &put);
		buffer_consume(&wire->unsent, put);
	}
	if (wire->unsent.len == 0)
		buffer_free(&wire->unsent);
	return result;
}

enum result
upstream_wire_receive(
    struct upstream_wire *wire, void *bytes, size_t size, size_t *len_r)
{
	ssize_t got;

	*len_r = 0;
	wire->is_dry = wire->is_drained;
	if (wire->is_drained)
		return RESULT_NEED_MORE;
	do
		got = recv(wire->fd, bytes, size, MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
		upstream_wire_drained(wire, false);
		wire->is_dry = true;
		return RESULT_NEED_MORE;
	}
	if (got < 0)
		return RESULT_CLOSED;
	if (got == 0) {
		wire->is_ended = true;
		return RESULT_EOF;
	}
	wire->received += (uint64_t)got;
	if ((size_t)got < size && !wire->is_hung_up)
		upstream_wire_drained(wire, true);
	*len_r = (size_t)got;
	return RESULT_OK;
}
