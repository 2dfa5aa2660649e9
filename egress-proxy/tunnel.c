/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves the bytes of a tunnel. Called by session_io.c when an end became
 * ready. A direction reads only when all it read before was written: the
 * receiver's pace is the sender's pace. Must never block, never grow, and
 * never let one tunnel keep the loop longer than its turn.
 */
#include "egress-proxy/tunnel.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "egress-proxy/tunnel_hello.h"

/* A read at least this large makes a direction a stream: below it a copy
 * costs less than two splices. So many smaller ones in a row end that; a
 * stream has a small rest between large reads now and then. */
#define TUNNEL_STREAM_MIN 16384U
#define TUNNEL_STREAM_KEEP 7U

/* How one attempt to move went. */
enum tunnel_step {
	TUNNEL_MOVED,   /* something moved: try again */
	TUNNEL_BLOCKED, /* no more until an event */
	TUNNEL_FAILED   /* errno */
};

void
tunnel_start(struct tunnel *tunnel, int client_fd, int upstream_fd)
{
	memset(tunnel, 0, sizeof(*tunnel));
	tunnel->ends[0].fd = client_fd;
	tunnel->ends[1].fd = upstream_fd;
	tunnel->ends[0].writable = 1;
	tunnel->ends[1].writable = 1;
	tunnel->ends[0].prompt = 1; /* inherited from its listener */
}

static enum result
tunnel_hold_bytes(struct tunnel_end *from, const void *bytes, size_t count)
{
	from->held_bytes = malloc(count);
	if (from->held_bytes == NULL)
		return RESULT_NO_MEMORY;
	memcpy(from->held_bytes, bytes, count);
	from->held = (uint32_t)count;
	from->held_from = 0;
	return RESULT_OK;
}

enum result
tunnel_preload(
    struct tunnel *tunnel, unsigned end, const void *bytes, size_t count)
{
	if (count == 0)
		return RESULT_OK;
	tunnel->ends[end].unpaid += (uint32_t)count;
	return tunnel_hello_keep(&tunnel->ends[end], bytes, count);
}

enum result
tunnel_hello(struct tunnel *tunnel, const void *bytes, size_t hello,
    size_t count, size_t paid)
{
	struct tunnel_end *client = &tunnel->ends[0];
	bool again = tunnel->retry;

	tunnel->retry = tunnel->told = false;
	tunnel_hello_drop(client);
	memset(&client->watch, 0, sizeof(client->watch));
	client->watch.answered = again && !tunnel->ends[1].watched;
	client->watched = 1;
	client->stopped = 0;
	if (!again)
		tunnel->ends[1].watched = 1;
	client->unpaid += (uint32_t)(count - paid);
	if (tunnel_hold_bytes(client, bytes, hello) != RESULT_OK)
		return RESULT_NO_MEMORY;
	if (count == hello)
		return RESULT_OK;
	return tunnel_hello_keep(
	    client, (const uint8_t *)bytes + hello, count - hello);
}

const uint8_t *
tunnel_behind_borrow(const struct tunnel *tunnel, size_t *count_r)
{
	*count_r = tunnel->ends[0].behind_len;
	return tunnel->ends[0].behind;
}

static enum tunnel_step
tunnel_no(void)
{
	return errno == EAGAIN || errno == EINTR ? TUNNEL_BLOCKED
						 : TUNNEL_FAILED;
}

/* Nothing is held any more: the pipe goes back at once. */
static void
tunnel_release(struct tunnel_end *from, struct tunnel_shared *shared)
{
	splice_pipe_give(&shared->pipes, &from->pipe, from->held == 0);
	free(from->held_bytes);
	from->held_bytes = NULL;
	from->held = 0;
}

/* From the second write on, small pieces must not wait for an answer; many
 * connections never come that far. */
static void
tunnel_prompt(const struct tunnel_end *from, struct tunnel_end *to)
{
	int on = 1;

	if (to->prompt || from->moved == 0)
		return;
	to->prompt = 1;
	(void)setsockopt(to->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/* Write what is held. */
static enum tunnel_step
tunnel_flush(struct tunnel_end *from, struct tunnel_end *to,
    struct tunnel_shared *shared)
{
	ssize_t count;

	tunnel_prompt(from, to);
	if (from->pipe != NULL)
		count = splice(from->pipe->read_fd, NULL, to->fd, NULL,
		    from->held, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	else
		count = send(to->fd, from->held_bytes + from->held_from,
		    from->held, MSG_NOSIGNAL);
	if (count < 0) {
		if (errno == EINTR)
			return TUNNEL_MOVED;
		to->writable = errno != EAGAIN;
		return tunnel_no();
	}
	from->held -= (uint32_t)count;
	from->held_from += (uint32_t)count;
	from->moved += (uint64_t)count;
	if (from->held == 0)
		tunnel_release(from, shared);
	return TUNNEL_MOVED;
}

/* Keep bytes that the other side did not take. */
static enum tunnel_step
tunnel_hold(struct tunnel_end *from, const uint8_t *bytes, size_t count,
    struct tunnel_shared *shared)
{
	ssize_t stored;

	if (!shared->no_splice &&
	    splice_pipe_take(&shared->pipes, &from->pipe) == RESULT_OK) {
		stored = write(from->pipe->write_fd, bytes, count);
		if (stored == (ssize_t)count) {
			from->held = (uint32_t)count;
			return TUNNEL_MOVED;
		}
		splice_pipe_give(&shared->pipes, &from->pipe, stored <= 0);
	}
	if (tunnel_hold_bytes(from, bytes, count) == RESULT_OK)
		return TUNNEL_MOVED;
	errno = ENOMEM;
	return TUNNEL_FAILED;
}

/* All was read of this side: its FIN, unless it was passed to us and its
 * reset is said in another way than by read(2). */
static enum tunnel_step
tunnel_note_end(struct tunnel_end *from)
{
	if (fd_was_reset(from->fd)) {
		errno = ECONNRESET;
		return TUNNEL_FAILED;
	}
	from->eof = 1;
	return TUNNEL_MOVED;
}

/* The read side said how much came. */
static void
tunnel_note_read(struct tunnel_end *from, size_t count, size_t want)
{
	/* A short read emptied the socket: the next edge will tell. With a
	 * FIN behind it there is no next edge, so read on. */
	if (count < want && !from->hung_up)
		from->readable = 0;
}

static void
tunnel_note_stream(struct tunnel_end *from, size_t count)
{
	if (count >= TUNNEL_STREAM_MIN)
		from->stream = TUNNEL_STREAM_KEEP;
	else if (from->stream > 0)
		from->stream--;
}

static enum tunnel_step
tunnel_copy(struct tunnel *tunnel, struct tunnel_end *from,
    struct tunnel_end *to, struct tunnel_shared *shared, size_t want,
    size_t *count_r)
{
	ssize_t count, sent;
	size_t pass;

	if (want > TUNNEL_SCRATCH)
		want = TUNNEL_SCRATCH;
	count = recv(from->fd, shared->scratch, want, 0);
	if (count < 0) {
		from->readable = errno != EAGAIN;
		return errno == EINTR ? TUNNEL_MOVED : tunnel_no();
	}
	if (count == 0)
		return tunnel_note_end(from);
	tunnel_note_read(from, (size_t)count, want);
	*count_r = (size_t)count;
	tunnel_note_stream(from, (size_t)count);
	pass = tunnel_hello_look(tunnel, from, shared->scratch, (size_t)count);
	if (pass < (size_t)count &&
	    tunnel_hello_keep(from, shared->scratch + pass,
		(size_t)count - pass) != RESULT_OK) {
		errno = ENOMEM;
		return TUNNEL_FAILED;
	}
	if (pass == 0)
		return TUNNEL_MOVED;
	tunnel_prompt(from, to);
	sent = send(to->fd, shared->scratch, pass, MSG_NOSIGNAL);
	if (sent < 0 && errno != EAGAIN && errno != EINTR)
		return TUNNEL_FAILED;
	if (sent < 0) {
		to->writable = errno == EINTR;
		sent = 0;
	}
	from->moved += (uint64_t)sent;
	if ((size_t)sent == pass)
		return TUNNEL_MOVED;
	return tunnel_hold(
	    from, shared->scratch + sent, pass - (size_t)sent, shared);
}

/* Take bytes into a pipe; *ok_r is false when this way is not open and the
 * bytes have to be copied. */
static enum tunnel_step
tunnel_splice(struct tunnel_end *from, struct tunnel_shared *shared,
    size_t want, size_t *count_r, bool *ok_r)
{
	ssize_t count;

	*ok_r = false;
	if (splice_pipe_take(&shared->pipes, &from->pipe) != RESULT_OK)
		return TUNNEL_MOVED;
	if (want > from->pipe->capacity)
		want = from->pipe->capacity;
	count = splice(from->fd, NULL, from->pipe->write_fd, NULL, want,
	    SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (count <= 0) {
		splice_pipe_give(&shared->pipes, &from->pipe, 1);
		if (count < 0 && errno == EINVAL) {
			shared->no_splice = true;
			return TUNNEL_MOVED;
		}
		*ok_r = true;
		if (count == 0)
			return tunnel_note_end(from);
		from->readable = errno != EAGAIN;
		return errno == EINTR ? TUNNEL_MOVED : tunnel_no();
	}
	*ok_r = true;
	*count_r = (size_t)count;
	from->held = (uint32_t)count;
	tunnel_note_stream(from, (size_t)count);
	return TUNNEL_MOVED;
}

/* Read once, in the way that fits. */
static enum tunnel_step
tunnel_fill(struct tunnel *tunnel, struct tunnel_end *from,
    struct tunnel_end *to, struct tunnel_shared *shared, size_t want,
    size_t *count_r)
{
	enum tunnel_step step;
	bool ok;

	if (from->stream > 0 && !from->watched && !shared->no_splice) {
		step = tunnel_splice(from, shared, want, count_r, &ok);
		if (ok)
			return step;
	}
	return tunnel_copy(tunnel, from, to, shared, want, count_r);
}

/* What was kept becomes what is held, as far as it may pass. */
static enum tunnel_step
tunnel_take_behind(struct tunnel *tunnel, struct tunnel_end *from)
{
	uint8_t *bytes = from->behind;
	size_t count = from->behind_len, pass;
	enum result result = RESULT_OK;

	from->behind = NULL;
	from->behind_len = 0;
	pass = tunnel_hello_look(tunnel, from, bytes, count);
	if (pass > 0)
		result = tunnel_hold_bytes(from, bytes, pass);
	if (result == RESULT_OK && pass < count)
		result = tunnel_hello_keep(from, bytes + pass, count - pass);
	free(bytes);
	errno = ENOMEM;
	return result == RESULT_OK ? TUNNEL_MOVED : TUNNEL_FAILED;
}

/* The quota is asked for what was read before: one that has anything left
 * goes into debt. */
static bool
tunnel_pay(struct tunnel_end *from, struct egress_quota *quota)
{
	if (from->unpaid == 0)
		return true;
	if (egress_quota_ask(quota, from->unpaid) == 0)
		return false;
	egress_quota_spend(quota, from->unpaid);
	from->unpaid = 0;
	return true;
}

/* from ended and all of it was written: pass the FIN on. When the other way
 * has ended before, closing the descriptors says the same at once. */
static void
tunnel_pass_end(const struct tunnel_end *from, struct tunnel_end *to)
{
	if (to->shut)
		return;
	to->shut = 1;
	if (from->shut)
		return;
	/* ENOTCONN: already reset, which its own event will tell. */
	(void)shutdown(to->fd, SHUT_WR);
}

/* What goes before anything is read. *step_r is how it went. */
static bool
tunnel_move_kept(struct tunnel *tunnel, struct tunnel_end *from,
    struct tunnel_end *to, struct tunnel_shared *shared,
    enum tunnel_step *step_r)
{
	if (from->held > 0)
		*step_r = to->writable ? tunnel_flush(from, to, shared)
				       : TUNNEL_BLOCKED;
	else if (from->stopped || tunnel->refused)
		*step_r = TUNNEL_BLOCKED;
	else if (from->behind_len > 0)
		*step_r = tunnel_take_behind(tunnel, from);
	else
		return false;
	return true;
}

/* Move one direction for one turn. */
static enum tunnel_status
tunnel_move(struct tunnel *tunnel, unsigned end, struct tunnel_shared *shared,
    struct egress_quota *quota)
{
	struct tunnel_end *from = &tunnel->ends[end];
	struct tunnel_end *to = &tunnel->ends[1 - end];
	size_t turn = TUNNEL_TURN;
	enum tunnel_step step = TUNNEL_MOVED;

	if (!tunnel_pay(from, quota))
		return TUNNEL_THROTTLED;
	while (step == TUNNEL_MOVED) {
		size_t count = 0, want;

		if (tunnel_move_kept(tunnel, from, to, shared, &step))
			continue;
		if (from->eof) {
			tunnel_pass_end(from, to);
			return TUNNEL_WAIT;
		}
		if (!from->readable)
			return TUNNEL_WAIT;
		if (turn == 0)
			return TUNNEL_AGAIN;
		want = egress_quota_ask(quota, turn);
		if (want == 0)
			return TUNNEL_THROTTLED;
		step = tunnel_fill(tunnel, from, to, shared, want, &count);
		egress_quota_spend(quota, count);
		turn -= count;
	}
	return step == TUNNEL_FAILED ? TUNNEL_BROKEN : TUNNEL_WAIT;
}

/* The answer may have let the client go on. */
static bool
tunnel_let_go(const struct tunnel *tunnel)
{
	const struct tunnel_end *client = &tunnel->ends[0];

	return !client->stopped && client->behind_len > 0;
}

enum tunnel_status
tunnel_continue(struct tunnel *tunnel, struct tunnel_shared *shared,
    struct egress_quota *quota)
{
	struct tunnel_end *a = &tunnel->ends[0], *b = &tunnel->ends[1];
	enum tunnel_status up, down;

	up = tunnel_move(tunnel, 0, shared, quota);
	if (up == TUNNEL_BROKEN)
		return TUNNEL_BROKEN;
	down = tunnel_move(tunnel, 1, shared, quota);
	if (down == TUNNEL_BROKEN)
		return TUNNEL_BROKEN;
	tunnel_hello_ended(tunnel);
	if (tunnel_let_go(tunnel) && a->held == 0)
		up = TUNNEL_AGAIN;
	if (tunnel->refused)
		return TUNNEL_REFUSED;
	if (tunnel_hello_due(tunnel))
		return TUNNEL_RETRY;
	if (a->shut && b->shut)
		return TUNNEL_DONE;
	if (up == TUNNEL_AGAIN || down == TUNNEL_AGAIN)
		return TUNNEL_AGAIN;
	if (up == TUNNEL_THROTTLED || down == TUNNEL_THROTTLED)
		return TUNNEL_THROTTLED;
	return TUNNEL_WAIT;
}

void
tunnel_note(struct tunnel *tunnel, unsigned end, unsigned can)
{
	struct tunnel_end *at = &tunnel->ends[end];

	if (can & TUNNEL_HUNG_UP)
		at->hung_up = 1;
	if (can & (TUNNEL_CAN_READ | TUNNEL_HUNG_UP))
		at->readable = 1;
	if (can & TUNNEL_CAN_WRITE)
		at->writable = 1;
}

bool
tunnel_stuck(const struct tunnel *tunnel, unsigned end)
{
	return tunnel->ends[end].held > 0 && !tunnel->ends[1 - end].writable;
}

bool
tunnel_drained(const struct tunnel *tunnel, unsigned end)
{
	return !tunnel->ends[end].readable;
}

void
tunnel_stop(struct tunnel *tunnel, struct tunnel_shared *shared)
{
	for (int i = 0; i < 2; i++) {
		tunnel_release(&tunnel->ends[i], shared);
		tunnel_hello_drop(&tunnel->ends[i]);
	}
}
