/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A netlink socket that is drained and not read (see the header). Called by
 * egress_live.c; must never take a change for none: messages that were lost
 * are a change.
 */
#include "supervisor/engine/own_watch.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "common/fd.h"

/* Receives per wake-up; what is left wakes us again. */
#define OWN_WATCH_READS 64U

struct own_watch {
	int fd;
	struct event *readable;
	own_watch_changed *changed;
	void *context;
};

/* Every message is about an address, and only the kernel's get here: other
 * senders need CAP_NET_ADMIN, and then do no more than have us look. */
static void
own_watch_on_readable(evutil_socket_t fd, short what, void *context)
{
	struct own_watch *watch = context;
	char byte;

	(void)what;
	for (unsigned i = 0; i < OWN_WATCH_READS; i++) {
		/* ENOBUFS: some were lost, and the rest is still there. */
		if (recv(fd, &byte, 1, MSG_DONTWAIT | MSG_TRUNC) < 0 &&
		    errno != ENOBUFS && errno != EINTR)
			break;
	}
	watch->changed(watch->context);
}

static int
own_watch_socket(void)
{
	const struct sockaddr_nl address = {.nl_family = AF_NETLINK,
	    .nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
	int fd = socket(
	    AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (fd >= 0 &&
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		fd_close(&fd);
	return fd;
}

enum result
own_watch_new(struct event_base *base, own_watch_changed *changed,
    void *context, struct own_watch **watch_r)
{
	struct own_watch *watch = calloc(1, sizeof(*watch));

	*watch_r = watch;
	if (watch == NULL)
		return RESULT_NO_MEMORY;
	watch->changed = changed;
	watch->context = context;
	watch->fd = own_watch_socket();
	if (watch->fd < 0) {
		own_watch_free(watch_r);
		return RESULT_SYSTEM;
	}
	watch->readable = event_new(base, watch->fd, EV_READ | EV_PERSIST,
	    own_watch_on_readable, watch);
	if (watch->readable == NULL || event_add(watch->readable, NULL) != 0) {
		own_watch_free(watch_r);
		return RESULT_NO_MEMORY;
	}
	return RESULT_OK;
}

void
own_watch_free(struct own_watch **watch)
{
	struct own_watch *gone = *watch;

	if (gone == NULL)
		return;
	*watch = NULL;
	if (gone->readable != NULL)
		event_free(gone->readable);
	fd_close(&gone->fd);
	free(gone);
}
