/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What init is told. Where the kernel takes a record only later (too many
 * descriptors of our user's are under way: common/fd.h), it waits, and what
 * is said after it waits behind. Called by the sandbox's story and the ways in;
 * must never block, nor let one record overtake another.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "supervisor/engine/wiring_way.h"

#define WIRING_SEND_FDS 3U
#define WIRING_SEND_MAX 16U /* a story says less in all */

struct wiring_unsent {
	struct wiring_unsent *next;
	size_t len, fd_count;
	int fds[WIRING_SEND_FDS]; /* duplicates, ours */
	char body[];
};

static void
wiring_send_drop(struct wiring *wiring)
{
	struct wiring_unsent *unsent = wiring->unsent;

	wiring->unsent = unsent->next;
	for (size_t i = 0; i < unsent->fd_count; i++)
		fd_close(&unsent->fds[i]);
	free(unsent);
}

void
wiring_send_clear(struct wiring *wiring)
{
	if (wiring->again != NULL)
		event_free(wiring->again);
	wiring->again = NULL;
	while (wiring->unsent != NULL)
		wiring_send_drop(wiring);
}

static void
wiring_send_on_again(evutil_socket_t fd, short what, void *context)
{
	static const struct timeval moment = {0, 10000};
	struct wiring *wiring = context;
	enum result result = RESULT_OK;

	(void)fd;
	(void)what;
	while (wiring->unsent != NULL && result == RESULT_OK) {
		const struct wiring_unsent *unsent = wiring->unsent;

		result = fd_send(wiring->control, unsent->body, unsent->len,
		    unsent->fds, unsent->fd_count);
		if (result == RESULT_OK)
			wiring_send_drop(wiring);
	}
	if (result == RESULT_NEED_MORE && errno != EAGAIN &&
	    event_add(wiring->again, &moment) == 0)
		return;
	if (result != RESULT_OK)
		wiring_end(wiring, RESULT_SYSTEM,
		    "the container's init cannot be told what to do");
}

/* All or nothing. */
static struct wiring_unsent *
wiring_send_copy(const void *body, size_t len, const int *fds, size_t fd_count)
{
	struct wiring_unsent *copy = calloc(1, sizeof(*copy) + len);

	if (copy == NULL)
		return NULL;
	copy->len = len;
	memcpy(copy->body, body, len);
	for (size_t i = 0; i < fd_count; i++) {
		copy->fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
		if (copy->fds[i] < 0) {
			while (copy->fd_count > 0)
				fd_close(&copy->fds[--copy->fd_count]);
			free(copy);
			return NULL;
		}
		copy->fd_count++;
	}
	return copy;
}

static enum result
wiring_send_later(struct wiring *wiring, struct wiring_unsent *copy)
{
	struct wiring_unsent **last = &wiring->unsent;
	size_t count = 0;

	if (copy == NULL)
		return RESULT_NO_MEMORY;
	for (; *last != NULL; last = &(*last)->next)
		count++;
	*last = copy;
	if (wiring->again == NULL)
		wiring->again = event_new(
		    wiring->base, -1, 0, wiring_send_on_again, wiring);
	if (wiring->again == NULL || count >= WIRING_SEND_MAX)
		return RESULT_NO_MEMORY;
	if (count == 0)
		event_active(wiring->again, EV_TIMEOUT, 0);
	return RESULT_OK;
}

enum result
wiring_send(struct wiring *wiring, const void *body, size_t len, const int *fds,
    size_t fd_count)
{
	enum result result;

	if (fd_count > WIRING_SEND_FDS)
		return RESULT_TOO_LONG;
	if (wiring->unsent == NULL) {
		result = fd_send(wiring->control, body, len, fds, fd_count);
		if (result != RESULT_NEED_MORE || errno == EAGAIN)
			return result;
	}
	return wiring_send_later(
	    wiring, wiring_send_copy(body, len, fds, fd_count));
}

static enum result
wiring_send_record(
    struct wiring *wiring, enum init_type type, const int *fds, size_t fd_count)
{
	const struct init_record record = {.magic = INIT_MAGIC,
	    .version = INIT_PROTOCOL_VERSION,
	    .type = (uint32_t)type};

	return wiring_send(wiring, &record, sizeof(record), fds, fd_count);
}

enum result
wiring_send_streams(struct wiring *wiring, const int streams[3])
{
	return wiring_send_record(wiring, INIT_STREAMS, streams, 3);
}

enum result
wiring_send_tree(struct wiring *wiring, const struct wiring_tree *tree, int fd)
{
	struct init_tree job = {.record = {.magic = INIT_MAGIC,
				    .version = INIT_PROTOCOL_VERSION,
				    .type = (uint32_t)tree->type},
	    .max_bytes = tree->max_bytes,
	    .max_files = tree->max_files,
	    .max_file = tree->max_file};
	int len = snprintf(job.path, sizeof(job.path), "%s", tree->path);

	if (len < 0 || (size_t)len >= sizeof(job.path))
		return RESULT_TOO_LONG;
	return wiring_send(wiring, &job, sizeof(job), &fd, 1);
}

enum result
wiring_send_go(struct wiring *wiring, int go_fd, int secret_fd)
{
	const int fds[2] = {go_fd, secret_fd};

	return wiring_send_record(wiring, INIT_GO, fds, secret_fd >= 0 ? 2 : 1);
}

enum result
wiring_send_kill(struct wiring *wiring)
{
	return wiring_send_record(wiring, INIT_KILL, NULL, 0);
}

enum result
wiring_send_bye(struct wiring *wiring)
{
	return wiring_send_record(wiring, INIT_BYE, NULL, 0);
}
