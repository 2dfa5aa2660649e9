/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the pair (see the header). Called by auth_test.c. It must never
 * listen before the filter is in force.
 */
#include "supervisor/command/own_listener.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/fd.h"

/* A socket on any free port of loopback, and which. */
static int
own_listener_socket(uint16_t *port_r)
{
	struct sockaddr_in address = {
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 &&
	    (bind(fd, (const struct sockaddr *)&address, len) != 0 ||
		getsockname(fd, (struct sockaddr *)&address, &len) != 0))
		fd_close(&fd);
	*port_r = ntohs(address.sin_port);
	return fd;
}

/* Source port, the first half word of a TCP header, or nothing. */
static bool
own_listener_filter(int listener, uint16_t port)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	    BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog program = {
	    .len = sizeof(code) / sizeof(code[0]), .filter = code};
	const int on = 1;

	return setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &program,
		   sizeof(program)) == 0 &&
	       setsockopt(
		   listener, SOL_SOCKET, SO_LOCK_FILTER, &on, sizeof(on)) == 0;
}

enum result
own_listener_make(int *listener_r, int *client_r)
{
	struct sockaddr_in address = {
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	uint16_t port = 0, client_port = 0;

	*client_r = own_listener_socket(&client_port);
	*listener_r = own_listener_socket(&port);
	address.sin_port = htons(port);
	if (*client_r >= 0 && *listener_r >= 0 &&
	    own_listener_filter(*listener_r, client_port) &&
	    listen(*listener_r, 1) == 0 &&
	    connect(*client_r, (const struct sockaddr *)&address,
		sizeof(address)) == 0)
		return RESULT_OK;
	fd_close(listener_r);
	fd_close(client_r);
	return RESULT_SYSTEM;
}
