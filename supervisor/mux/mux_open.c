/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a new stream leads to: accepted connections inside, sockets for
 * whoever serves them on the host, the workload's streams, trees. Called by
 * mux_bridge; must never connect a stream to anything this end was not
 * given or did not make for it.
 */
#include "supervisor/mux/mux_open.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/mux/mux_end.h"

#define MUX_OPEN_ACCEPTS 16U /* of one listener in a turn */

static const enum mux_frame_kind mux_open_kinds[3] = {
    MUX_KIND_STDIN, MUX_KIND_STDOUT, MUX_KIND_STDERR};

void
mux_open_accept(struct mux_bridge *bridge, unsigned index)
{
	int on = 1;

	for (unsigned i = 0;
	     i < MUX_OPEN_ACCEPTS && bridge->link.used < MUX_LINK_CONNECTIONS;
	     i++) {
		int fd = accept4(bridge->listeners[index], NULL, NULL,
		    SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return; /* comes again, if there is one */
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		(void)mux_end_open(
		    bridge, MUX_KIND_CONNECTION, (uint16_t)index, fd, fd);
	}
}

/* Host: the lent end to whoever serves the listener, who is told nothing that
 * the container says. Where that cannot be now, it waits. */
static void
mux_open_lend(struct mux_bridge *bridge, struct mux_stream *stream)
{
	struct mux_end *end = mux_end_of(bridge, stream);
	enum result result =
	    fd_send(bridge->listeners[stream->number], "c", 1, &end->lend, 1);

	if (result == RESULT_NEED_MORE) {
		bridge->crowded = true;
		return;
	}
	fd_close(&end->lend);
	if (result == RESULT_OK)
		return;
	mux_link_reset(stream, MUX_LINK_GONE);
	mux_end_gone(bridge, stream);
}

void
mux_open_again(struct mux_bridge *bridge, struct mux_stream *stream)
{
	if (bridge->link.side == MUX_LINK_HOST && stream->id != 0 &&
	    mux_end_of(bridge, stream)->lend >= 0)
		mux_open_lend(bridge, stream);
}

/* Host: a pair for a connection. */
static void
mux_open_pass(struct mux_bridge *bridge, struct mux_stream *stream)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		pair) != 0) {
		mux_link_reset(stream, MUX_LINK_GONE);
		return;
	}
	mux_end_attach(bridge, stream, pair[0], pair[0]);
	mux_end_of(bridge, stream)->lend = pair[1];
	mux_open_lend(bridge, stream);
}

/* Inside: a pipe of which init's child gets one end. */
static void
mux_open_tree(struct mux_bridge *bridge, struct mux_stream *stream)
{
	bool import = stream->kind == MUX_KIND_TREE_IN;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0) {
		mux_bridge_close(
		    bridge, MUX_BRIDGE_FAILED, "no pipe can be made");
		return;
	}
	mux_end_attach(
	    bridge, stream, import ? -1 : ends[0], import ? ends[1] : -1);
	mux_end_of(bridge, stream)->lend = import ? ends[0] : ends[1];
}

/* Inside: the workload's, each once. */
static bool
mux_open_standard(struct mux_bridge *bridge, struct mux_stream *stream)
{
	unsigned index = stream->kind - MUX_KIND_STDIN;
	int fd = bridge->streams[index];

	if (fd < 0)
		return false;
	bridge->streams[index] = -1;
	mux_end_attach(
	    bridge, stream, index == 0 ? -1 : fd, index == 0 ? fd : -1);
	return true;
}

void
mux_open_take(struct mux_bridge *bridge, struct mux_stream *stream)
{
	bool good = true;

	switch (stream->kind) {
	case MUX_KIND_CONNECTION:
		good = stream->number < INIT_LISTENERS_MAX &&
		       bridge->listeners[stream->number] >= 0;
		if (good)
			mux_open_pass(bridge, stream);
		break;
	case MUX_KIND_STDIN:
	case MUX_KIND_STDOUT:
	case MUX_KIND_STDERR:
		good = mux_open_standard(bridge, stream);
		break;
	case MUX_KIND_TREE_IN:
	case MUX_KIND_TREE_OUT:
		mux_open_tree(bridge, stream);
		break;
	}
	if (!good)
		mux_bridge_close(bridge, MUX_BRIDGE_BROKEN,
		    "a stream of something that is not there");
}

/* Host: the workload's streams are ours to open. */
void
mux_open_greet(struct mux_bridge *bridge)
{
	for (unsigned i = 0; i < 3 && bridge->link.side == MUX_LINK_HOST; i++) {
		int fd = bridge->streams[i];

		bridge->streams[i] = -1;
		if (mux_end_open(bridge, mux_open_kinds[i], 0, i == 0 ? fd : -1,
			i == 0 ? -1 : fd) == NULL)
			mux_bridge_close(
			    bridge, MUX_BRIDGE_FAILED, "no stream is free");
	}
}
