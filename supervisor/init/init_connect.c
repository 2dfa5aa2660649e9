/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects to the supervisor (see the header). Called by init.c before its
 * first word; must never take a peer that is inside the container or not
 * root outside.
 */
#include "supervisor/init/init_connect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "supervisor/init/init_channel.h"
#include "supervisor/init/init_protocol.h"

#define INIT_CONNECT_HIGH 16 /* above every number that has a meaning */

/* A process outside of this pid namespace has no number in it. */
static bool
init_connect_is_supervisor(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       peer.pid == 0 && peer.uid == 0;
}

/* fd becomes the number to, close-on-exec; the old one is closed. */
static int
init_connect_move(int fd, int to)
{
	int moved;

	if (fd == to)
		return 0;
	moved = dup3(fd, to, O_CLOEXEC);
	(void)close(fd);
	return moved < 0 ? errno : 0;
}

static int
init_connect_socket(void)
{
	struct sockaddr_un address = {
	    .sun_family = AF_UNIX, .sun_path = INIT_WIRING_SOCKET};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno;
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) !=
	    0)
		return errno;
	if (!init_connect_is_supervisor(fd))
		return EPERM;
	return init_connect_move(fd, INIT_CONTROL_FD);
}

/* First above all numbers, then to their own: one may have another's. */
static int
init_connect_streams(void)
{
	struct init_channel_message message;
	int lifted[3], error = 0;

	if (init_channel_receive(&message) != INIT_CHANNEL_MESSAGE)
		return EPROTO;
	if (message.body.record.type != INIT_STREAMS) {
		init_channel_drop(&message);
		return EPROTO;
	}
	for (int i = 0; i < 3; i++) {
		lifted[i] =
		    fcntl(message.fds[i], F_DUPFD_CLOEXEC, INIT_CONNECT_HIGH);
		if (lifted[i] < 0)
			return errno;
	}
	init_channel_drop(&message);
	for (int i = 0; i < 3 && error == 0; i++)
		error = init_connect_move(lifted[i], INIT_STDIN_FD + i);
	return error;
}

int
init_connect(void)
{
	int error = init_connect_socket();

	return error != 0 ? error : init_connect_streams();
}
