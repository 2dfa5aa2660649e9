/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches the folder of the logs (see the header). Called by the command;
 * must never wake without a reason, nor end because a file was rotated.
 */
#include "supervisor/logs/logs_follow.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "common/fd.h"

#define LOGS_FOLLOW_BUFFER 16384U

enum result
logs_follow_watch(
    const struct state_dir *dir, int *fd_r, struct json_fault *fault)
{
	char path[64];

	/* The folder that was checked, whatever its name means by now. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir->fd);
	*fd_r = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (*fd_r >= 0 && inotify_add_watch(*fd_r, path,
			      IN_MODIFY | IN_CREATE | IN_MOVED_TO |
				  IN_DELETE_SELF | IN_MOVE_SELF) >= 0)
		return RESULT_OK;
	json_field_fault(fault, "%s: cannot be watched: %s",
	    state_dir_shown(dir->path), strerror(errno));
	fd_close(fd_r);
	return RESULT_SYSTEM;
}

struct logs_follow_news {
	bool names; /* files came or were rotated */
	bool gone;  /* the folder is */
};

static void
logs_follow_event(
    const struct inotify_event *event, struct logs_follow_news *news)
{
	if ((event->mask & (IN_CREATE | IN_MOVED_TO | IN_Q_OVERFLOW)) != 0)
		news->names = true;
	if ((event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED)) != 0)
		news->gone = true;
}

/* All events that wait. */
static enum result
logs_follow_read(int fd, struct logs_follow_news *news_r)
{
	_Alignas(struct inotify_event) char bytes[LOGS_FOLLOW_BUFFER];
	const struct inotify_event *event;
	ssize_t count;

	*news_r = (struct logs_follow_news){.names = false};
	for (;;) {
		count = read(fd, bytes, sizeof(bytes));
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return count < 0 && errno == EAGAIN ? RESULT_OK
							    : RESULT_SYSTEM;
		for (char *at = bytes; at < bytes + count;
		     at += sizeof(*event) + event->len) {
			event = (const struct inotify_event *)(void *)at;
			logs_follow_event(event, news_r);
		}
	}
}

/* The kernel has news, or the reader left. */
static enum result
logs_follow_wait(int fd, int out_fd)
{
	struct pollfd wait[2] = {
	    {.fd = fd, .events = POLLIN}, {.fd = out_fd, .events = 0}};

	while (poll(wait, 2, -1) < 0)
		if (errno != EINTR)
			return RESULT_SYSTEM;
	return (wait[1].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0
		   ? RESULT_CLOSED
		   : RESULT_OK;
}

enum result
logs_follow(
    struct logs_view *view, int fd, int out_fd, struct json_fault *fault)
{
	struct logs_follow_news news;
	enum result result;

	for (;;) {
		result = logs_follow_wait(fd, out_fd);
		if (result == RESULT_OK)
			result = logs_follow_read(fd, &news);
		if (result == RESULT_OK && news.names)
			result = logs_view_refresh(view, fault);
		if (result == RESULT_OK)
			result = logs_view_show(view, true, fault);
		if (result != RESULT_OK)
			return result;
		if (news.gone) {
			json_field_fault(
			    fault, "the folder of the logs is gone");
			return RESULT_NOT_FOUND;
		}
	}
}
