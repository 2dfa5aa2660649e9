/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers A with the address, AAAA with nothing, other names with NXDOMAIN.
 * A tool of tests and benches: it trusts who asks.
 */
#include "tests/bench/drive_names.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/bench/drive_child.h"

#define DRIVE_NAMES_PACKET 512U
#define DRIVE_NAMES_HEAD 12U

void
drive_names_add(struct drive_names *names, const char *text)
{
	const char *equals = strchr(text, '=');
	size_t at = names->count;

	errno = EINVAL;
	if (equals == NULL || at == DRIVE_NAMES_MAX ||
	    (size_t)(equals - text) >= sizeof(names->names[0]) ||
	    inet_pton(AF_INET, equals + 1, &names->addresses[at]) != 1)
		drive_child_fail("--address wants NAME=IPV4ADDRESS");
	memcpy(names->names[at], text, (size_t)(equals - text));
	names->count++;
}

/* The question's name with dots, and where its type begins. 0: broken. */
static size_t
drive_names_question(const uint8_t *bytes, size_t len, char name[256])
{
	size_t at = DRIVE_NAMES_HEAD, out = 0;

	while (at < len && bytes[at] != 0) {
		size_t label = bytes[at];

		if (label > 63 || at + 1 + label >= len || out + label > 250)
			return 0;
		if (out > 0)
			name[out++] = '.';
		memcpy(name + out, bytes + at + 1, label);
		out += label;
		at += 1 + label;
	}
	name[out] = '\0';
	return at + 5 <= len ? at + 1 : 0;
}

static const struct in_addr *
drive_names_find(const struct drive_names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcasecmp(names->names[i], name) == 0)
			return &names->addresses[i];
	return NULL;
}

static void
drive_names_on_packet(evutil_socket_t fd, short what, void *context)
{
	static const uint8_t record[] = {
	    0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4};
	struct drive_names *names = context;
	uint8_t bytes[DRIVE_NAMES_PACKET + 64];
	struct sockaddr_in from;
	socklen_t from_len = sizeof(from);
	ssize_t len = recvfrom(fd, bytes, DRIVE_NAMES_PACKET, 0,
	    (struct sockaddr *)&from, &from_len);
	const struct in_addr *address;
	char name[256];
	size_t at;

	(void)what;
	if (len < (ssize_t)DRIVE_NAMES_HEAD)
		return;
	at = drive_names_question(bytes, (size_t)len, name);
	if (at == 0)
		return;
	address = drive_names_find(names, name);
	bytes[2] = 0x81;
	bytes[3] = (uint8_t)(address != NULL ? 0x80 : 0x83);
	memset(bytes + 6, 0, 6);
	len = (ssize_t)at + 4;
	if (address != NULL && bytes[at] == 0 && bytes[at + 1] == 1) {
		bytes[7] = 1;
		memcpy(bytes + len, record, sizeof(record));
		memcpy(bytes + len + sizeof(record), address, 4);
		len += (ssize_t)sizeof(record) + 4;
	}
	(void)sendto(
	    fd, bytes, (size_t)len, 0, (struct sockaddr *)&from, from_len);
}

void
drive_names_open(struct drive_names *names, struct event_base *base)
{
	struct sockaddr_in address = {
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);

	names->fd =
	    socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (names->fd < 0 ||
	    bind(names->fd, (struct sockaddr *)&address, len) != 0 ||
	    getsockname(names->fd, (struct sockaddr *)&address, &len) != 0)
		drive_child_fail("names");
	snprintf(names->server, sizeof(names->server), "127.0.0.1:%u",
	    ntohs(address.sin_port));
	names->event = event_new(base, names->fd, EV_READ | EV_PERSIST,
	    drive_names_on_packet, names);
	if (names->event == NULL || event_add(names->event, NULL) != 0)
		drive_child_fail("names");
}

void
drive_names_close(struct drive_names *names)
{
	event_free(names->event);
	close(names->fd);
}
