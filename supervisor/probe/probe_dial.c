/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dialling for the network probes and the report (see the header).
 */
#include "supervisor/probe/probe_dial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "supervisor/probe/probe_try.h"

#define PROBE_DIAL_HOSTS 32768U

static int
probe_dial_wait(int fd, short events)
{
	struct pollfd entry = {fd, events, 0};
	int ready = poll(&entry, 1, PROBE_DIAL_TIMEOUT_MS);

	if (ready == 0)
		errno = ETIMEDOUT;
	return ready == 1 ? 0 : -1;
}

static int
probe_dial_connect(const struct sockaddr *address, socklen_t len)
{
	int fd = socket(
	    address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int error = 0;
	socklen_t size = sizeof(error);

	if (fd < 0)
		return -1;
	if (connect(fd, address, len) != 0) {
		error = errno;
		if (error == EINPROGRESS) {
			error = probe_dial_wait(fd, POLLOUT) != 0 ? errno : 0;
			if (error == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR,
					      &error, &size) != 0)
				error = errno;
		}
	}
	if (error == 0)
		return fd;
	close(fd);
	errno = error;
	return -1;
}

int
probe_dial_address(const char *text, uint16_t port)
{
	struct sockaddr_in v4 = {
	    .sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 v6 = {
	    .sin6_family = AF_INET6, .sin6_port = htons(port)};

	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		return probe_dial_connect(
		    (const struct sockaddr *)&v4, sizeof(v4));
	if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1)
		return probe_dial_connect(
		    (const struct sockaddr *)&v6, sizeof(v6));
	errno = EINVAL;
	return -1;
}

int
probe_dial_name(const char *name, uint16_t port)
{
	static char text[PROBE_DIAL_HOSTS];
	char *rest = text, *line;

	if (probe_try_file("/etc/hosts", text, sizeof(text)) != 0)
		return -1;
	while ((line = strsep(&rest, "\n")) != NULL) {
		char *address, *word;

		line[strcspn(line, "#")] = '\0';
		address = strsep(&line, " \t");
		while (address != NULL && line != NULL &&
		       (word = strsep(&line, " \t")) != NULL) {
			if (strcmp(word, name) == 0)
				return probe_dial_address(address, port);
		}
	}
	errno = ENOENT;
	return -1;
}

bool
probe_dial_send(int fd, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len > 0) {
		ssize_t put = send(fd, at, len, MSG_NOSIGNAL);

		if (put < 0 && errno == EAGAIN &&
		    probe_dial_wait(fd, POLLOUT) == 0)
			continue;
		if (put <= 0)
			return false;
		at += put;
		len -= (size_t)put;
	}
	return true;
}

long
probe_dial_receive(int fd, void *bytes_r, size_t size)
{
	if (probe_dial_wait(fd, POLLIN) != 0)
		return -1;
	return recv(fd, bytes_r, size, 0);
}
