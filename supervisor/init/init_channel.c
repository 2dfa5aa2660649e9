/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives and sends records (see the header). Used by init alone, never
 * by its children: they close the control socket first.
 */
#include "supervisor/init/init_channel.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define INIT_CHANNEL_TRIES 500U /* of one that waits for others */
#define INIT_CHANNEL_PAUSE_MS 10

/* What the supervisor may send: size and number of descriptors. */
struct init_channel_shape {
	enum init_type type;
	size_t size;
	unsigned fds_min, fds_max;
};

static const struct init_channel_shape init_channel_shapes[] = {
    {INIT_SETUP, sizeof(struct init_setup), 0, 0},
    {INIT_IMPORT, sizeof(struct init_tree), 1, 1},
    {INIT_GO, sizeof(struct init_record), 1, 2},
    {INIT_EXPORT, sizeof(struct init_tree), 1, 1},
    {INIT_RESULTS, sizeof(struct init_tree), 1, 1},
    {INIT_STREAMS, sizeof(struct init_record), 3, 3},
    {INIT_KILL, sizeof(struct init_record), 0, 0},
    {INIT_BYE, sizeof(struct init_record), 0, 0},
};

void
init_channel_drop(struct init_channel_message *message)
{
	for (unsigned i = 0; i < message->fd_count; i++) {
		if (message->fds[i] >= 0)
			close(message->fds[i]);
		message->fds[i] = -1;
	}
	message->fd_count = 0;
}

/* More descriptors than INIT_CHANNEL_FDS_MAX set MSG_CTRUNC: the kernel
 * closed the rest. */
static void
init_channel_take(struct msghdr *header, struct init_channel_message *message)
{
	struct cmsghdr *control = CMSG_FIRSTHDR(header);

	for (; control != NULL; control = CMSG_NXTHDR(header, control)) {
		size_t count;

		if (control->cmsg_level != SOL_SOCKET ||
		    control->cmsg_type != SCM_RIGHTS)
			continue;
		count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		if (count > INIT_CHANNEL_FDS_MAX - message->fd_count)
			count = INIT_CHANNEL_FDS_MAX - message->fd_count;
		memcpy(&message->fds[message->fd_count], CMSG_DATA(control),
		    count * sizeof(int));
		message->fd_count += (unsigned)count;
	}
}

static bool
init_channel_valid(const struct init_channel_message *message, size_t size)
{
	const struct init_record *record = &message->body.record;
	size_t count =
	    sizeof(init_channel_shapes) / sizeof(init_channel_shapes[0]);

	if (size < sizeof(*record) || record->magic != INIT_MAGIC ||
	    record->version != INIT_PROTOCOL_VERSION)
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct init_channel_shape *shape =
		    &init_channel_shapes[i];

		if (record->type == (uint32_t)shape->type)
			return size == shape->size &&
			       message->fd_count >= shape->fds_min &&
			       message->fd_count <= shape->fds_max;
	}
	return false;
}

enum init_channel_result
init_channel_receive(struct init_channel_message *message_r)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * INIT_CHANNEL_FDS_MAX)];
		struct cmsghdr align;
	} control;
	struct iovec part = {&message_r->body, sizeof(message_r->body)};
	struct msghdr header = {.msg_iov = &part,
	    .msg_iovlen = 1,
	    .msg_control = control.bytes,
	    .msg_controllen = sizeof(control.bytes)};
	ssize_t size;

	memset(message_r, 0, sizeof(*message_r));
	for (unsigned i = 0; i < INIT_CHANNEL_FDS_MAX; i++)
		message_r->fds[i] = -1;
	do
		size = recvmsg(INIT_CONTROL_FD, &header, MSG_CMSG_CLOEXEC);
	while (size < 0 && errno == EINTR);
	if (size <= 0)
		return INIT_CHANNEL_CLOSED;
	init_channel_take(&header, message_r);
	if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 ||
	    !init_channel_valid(message_r, (size_t)size)) {
		init_channel_drop(message_r);
		return INIT_CHANNEL_BAD;
	}
	return INIT_CHANNEL_MESSAGE;
}

/* Others of our user have too many descriptors under way, or the kernel has
 * no memory for it now; as common/fd.h has it. */
static bool
init_channel_passes(int error)
{
	return error == ETOOMANYREFS || error == ENOBUFS || error == ENOMEM;
}

int
init_channel_send(const void *body, size_t size, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	/* sendmsg only reads it. */
	struct iovec part = {(void *)(uintptr_t)body, size};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	unsigned tries = 0;

	if (fd >= 0) {
		header.msg_control = control.bytes;
		header.msg_controllen = sizeof(control.bytes);
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.align), &fd, sizeof(int));
	}
	for (;;) {
		if (sendmsg(INIT_CONTROL_FD, &header, MSG_NOSIGNAL) >= 0)
			return 0;
		if (init_channel_passes(errno) && tries++ < INIT_CHANNEL_TRIES)
			(void)poll(NULL, 0, INIT_CHANNEL_PAUSE_MS);
		else if (errno != EINTR)
			return errno;
	}
}

static int
init_channel_record(enum init_type type, uint32_t value, uint32_t step, int fd)
{
	struct init_record record = {.magic = INIT_MAGIC,
	    .version = INIT_PROTOCOL_VERSION,
	    .type = (uint32_t)type,
	    .value = value,
	    .step = step};

	return init_channel_send(&record, sizeof(record), fd);
}

int
init_channel_tell(enum init_type type, uint32_t value, int fd)
{
	return init_channel_record(type, value, 0, fd);
}

int
init_channel_fail(enum init_step step, int error)
{
	return init_channel_record(
	    INIT_FAILED, (uint32_t)error, (uint32_t)step, -1);
}
