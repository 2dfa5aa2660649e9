/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init's end of the control socket: one record is one datagram of a fixed
 * size with a fixed number of descriptors; anything else is an error.
 */
#ifndef SUPERVISOR_INIT_CHANNEL_H
#define SUPERVISOR_INIT_CHANNEL_H

#include <stddef.h>

#include "supervisor/init/init_protocol.h"

#define INIT_CHANNEL_FDS_MAX 3U

struct init_channel_message {
	union {
		struct init_record record; /* in front of each of them */
		struct init_setup setup;
		struct init_tree tree;
	} body;
	int fds[INIT_CHANNEL_FDS_MAX]; /* close-on-exec; -1 when empty */
	unsigned fd_count;
};

enum init_channel_result {
	INIT_CHANNEL_MESSAGE,
	INIT_CHANNEL_CLOSED, /* the supervisor is gone */
	INIT_CHANNEL_BAD,    /* not a record of ours; nothing is kept */
};

/* Waits for one message. The caller owns the descriptors. */
enum init_channel_result init_channel_receive(
    struct init_channel_message *message_r);
void init_channel_drop(struct init_channel_message *message);

/* Sends body (which begins with an init_record already filled) and fd
 * unless -1; does not take fd. 0 or errno. */
int init_channel_send(const void *body, size_t size, int fd);
/* A bare record. */
int init_channel_tell(enum init_type type, uint32_t value, int fd);
/* INIT_FAILED; what happens then is the supervisor's decision. */
int init_channel_fail(enum init_step step, int error);

#endif
