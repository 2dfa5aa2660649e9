/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes listeners (see the header). Called by init before `go`; an address
 * that is not loopback is refused even though the supervisor named it.
 */
#include "supervisor/init/init_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "supervisor/init/init_channel.h"
#include "supervisor/init/init_layers.h"

#define INIT_LISTEN_LOOPBACK 127U
#define INIT_LISTEN_UNIX_BACKLOG 64
/* Since Linux 6.16: no descriptors through this socket. */
#define INIT_LISTEN_SO_PASSRIGHTS 83

static int
init_listen_tcp(const struct init_listener *listener)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
	    .sin_port = listener->port,
	    .sin_addr.s_addr = listener->address};
	int fd;

	if (ntohl(listener->address) >> 24 != INIT_LISTEN_LOOPBACK ||
	    listener->port == 0) {
		errno = EADDRNOTAVAIL;
		return -1;
	}
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
	    listen(fd, listener->backlog) != 0) {
		int error = errno;

		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

int
init_listen_all(const struct init_setup *setup)
{
	if (setup->listener_count > INIT_LISTENERS_MAX)
		return EINVAL;
	for (uint32_t i = 0; i < setup->listener_count; i++) {
		int fd = init_listen_tcp(&setup->listeners[i]);
		int error;

		if (fd < 0)
			return errno;
		error = init_channel_tell(INIT_LISTENER, i, fd);
		close(fd);
		if (error != 0)
			return error;
	}
	return 0;
}

int
init_listen_unix(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int pass = init_layers.pass_rights;
	int fd;

	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(address.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	/* Older kernels do not know it; the relay alone can be delayed then,
	 * and no host process shares this socket. */
	(void)setsockopt(
	    fd, SOL_SOCKET, INIT_LISTEN_SO_PASSRIGHTS, &pass, sizeof(pass));
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
	    chmod(path, 0666) != 0 ||
	    listen(fd, INIT_LISTEN_UNIX_BACKLOG) != 0) {
		int error = errno;

		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}
