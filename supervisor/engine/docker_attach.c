/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connecting to Docker's daemon, and the request to attach (see the header).
 * Called by wiring_mux.c and docker_info.c; must never read from the
 * connection, nor ask for a container by anything but its id.
 */
#include "supervisor/engine/docker_attach.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/fd.h"

#define DOCKER_ATTACH_MAX 512U
#define DOCKER_ATTACH_BUFFER (1 << 20) /* less is slower only */

enum result
docker_attach_connect(const char *path, int *fd_r)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const int buffer = DOCKER_ATTACH_BUFFER;

	*fd_r = -1;
	if (strlen(path) >= sizeof(address.sun_path))
		return RESULT_TOO_LONG;
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	*fd_r = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd_r >= 0 &&
	    connect(*fd_r, (const struct sockaddr *)&address,
		sizeof(address)) == 0 &&
	    fd_set_nonblocking(*fd_r, false) == RESULT_OK) {
		(void)setsockopt(
		    *fd_r, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
		return RESULT_OK;
	}
	fd_close(fd_r);
	return RESULT_SYSTEM;
}

enum result
docker_attach_ask(int fd, const char *id)
{
	char request[DOCKER_ATTACH_MAX];
	int len;

	if (strlen(id) != DOCKER_ATTACH_ID ||
	    strspn(id, "0123456789abcdef") != DOCKER_ATTACH_ID)
		return RESULT_BAD;
	len = snprintf(request, sizeof(request),
	    "POST /containers/%s/attach?stream=1&stdin=1&stdout=1 HTTP/1.1\r\n"
	    "Host: docker\r\n"
	    "Connection: Upgrade\r\n"
	    "Upgrade: tcp\r\n"
	    "Content-Length: 0\r\n"
	    "\r\n",
	    id);
	if (len < 0 || (size_t)len >= sizeof(request))
		return RESULT_TOO_LONG;
	/* Nothing was sent before: it goes as a whole, or not at all. */
	return send(fd, request, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT) ==
		       (ssize_t)len
		   ? RESULT_OK
		   : RESULT_SYSTEM;
}
