/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to the kernel about a received descriptor; nothing is read
 * from it. Called by wiring.c for each listener; must never accept on
 * it or pass on one that differs.
 */
#include "supervisor/engine/listener_check.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "common/fd.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

static enum result
listener_check_fault(char *detail_r, size_t size, const char *what)
{
	(void)snprintf(detail_r, size,
	    "a listener of the container is not what was asked for: %s", what);
	return RESULT_MISMATCH;
}

enum result
listener_check_space(pid_t init, struct listener_space *space_r, char *detail_r,
    size_t detail_size)
{
	struct stat theirs, ours;
	char path[64];

	space_r->cookie = 0;
	(void)snprintf(path, sizeof(path), "/proc/%ld/ns/net", (long)init);
	if (stat(path, &theirs) != 0 || stat("/proc/self/ns/net", &ours) != 0) {
		(void)snprintf(detail_r, detail_size,
		    "cannot look at the container's network namespace: %m");
		return RESULT_SYSTEM;
	}
	space_r->dev = theirs.st_dev;
	space_r->ino = theirs.st_ino;
	if (theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev)
		return listener_check_fault(detail_r, detail_size,
		    "the container shares the host's network namespace");
	return RESULT_OK;
}

static int
listener_check_option(int fd, int option)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 ? value
								     : -1;
}

/* The cookie is the same as the other listeners', and the namespace it
 * names is init's. The second question needs rights over that namespace,
 * which its owner has. */
static enum result
listener_check_namespace(
    int fd, struct listener_space *space, char *detail_r, size_t size)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);
	struct stat info;
	int space_fd FD_CLEANUP = -1;

	if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len) != 0 ||
	    cookie == 0)
		return listener_check_fault(
		    detail_r, size, "it has no namespace cookie");
	if (space->cookie != 0)
		return cookie == space->cookie
			   ? RESULT_OK
			   : listener_check_fault(
				 detail_r, size, "it is in another namespace");
	space_fd = ioctl(fd, SIOCGSKNS);
	if (space_fd < 0 || fstat(space_fd, &info) != 0)
		return listener_check_fault(
		    detail_r, size, "its namespace cannot be asked for");
	if (info.st_ino != space->ino || info.st_dev != space->dev)
		return listener_check_fault(
		    detail_r, size, "it is not in init's namespace");
	space->cookie = cookie;
	return RESULT_OK;
}

enum result
listener_check(int fd, uint32_t address, uint16_t port,
    struct listener_space *space, char *detail_r, size_t detail_size)
{
	struct sockaddr_in name = {0};
	socklen_t len = sizeof(name);

	if (listener_check_option(fd, SO_DOMAIN) != AF_INET ||
	    listener_check_option(fd, SO_TYPE) != SOCK_STREAM ||
	    listener_check_option(fd, SO_PROTOCOL) != IPPROTO_TCP)
		return listener_check_fault(
		    detail_r, detail_size, "it is not TCP over IPv4");
	if (listener_check_option(fd, SO_ACCEPTCONN) != 1)
		return listener_check_fault(
		    detail_r, detail_size, "it does not listen");
	if (getsockname(fd, (struct sockaddr *)&name, &len) != 0 ||
	    len != sizeof(name) || name.sin_addr.s_addr != address ||
	    name.sin_port != port)
		return listener_check_fault(
		    detail_r, detail_size, "it has another address");
	return listener_check_namespace(fd, space, detail_r, detail_size);
}

enum result
listener_check_pair(int fd, char *detail_r, size_t detail_size)
{
	if (listener_check_option(fd, SO_DOMAIN) != AF_UNIX ||
	    !fd_is_listener(fd))
		return listener_check_fault(detail_r, detail_size,
		    "connections cannot be passed over it");
	return RESULT_OK;
}
