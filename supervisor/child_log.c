/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A timer over log_files (see the header). Called by child.c; must never
 * take a log away before there is another.
 */
#include "supervisor/child_log.h"

#include <fcntl.h>
#include <stdlib.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/log.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/log_files.h"

#define CHILD_LOG_EVERY_MS 2000U

struct child_log {
	int fd; /* owned duplicate of what the process writes to */
	const char *name;
	struct event *timer;
	child_log_replace *replace;
	void *context;
};

/* The next file of this name; the one that is full is moved aside. */
static enum result
child_log_open(const struct child_log *log, int *fd_r, struct json_fault *fault)
{
	char home[STATE_DIR_PATH_MAX];
	enum result result = config_home(home, sizeof(home), fault);

	return result == RESULT_OK
		   ? log_files_open(home, log->name, fd_r, fault)
		   : result;
}

static void
child_log_on_timer(evutil_socket_t fd, short what, void *context)
{
	struct child_log *log = context;
	struct json_fault fault = {""};
	int next = -1;

	(void)fd;
	(void)what;
	if (!log_files_is_full(log->fd))
		return;
	if (child_log_open(log, &next, &fault) != RESULT_OK) {
		log_event(LOG_ERROR_LEVEL, "log_not_rotated",
		    LOG_TEXT("name", log->name),
		    LOG_TEXT("detail", fault.text));
		return;
	}
	/* Not taken: it has the old one, which is looked at again. */
	if (log->replace(next, log->context) != RESULT_OK) {
		fd_close(&next);
		return;
	}
	fd_close(&log->fd);
	log->fd = next;
}

enum result
child_log_new(struct event_base *base, int fd, const char *name,
    child_log_replace *replace, void *context, struct child_log **log_r)
{
	struct timeval every = event_loop_timeval(CHILD_LOG_EVERY_MS);
	struct child_log *log = calloc(1, sizeof(*log));

	*log_r = NULL;
	if (log == NULL)
		return RESULT_NO_MEMORY;
	*log = (struct child_log){.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0),
	    .name = name,
	    .replace = replace,
	    .context = context};
	log->timer = event_new(base, -1, EV_PERSIST, child_log_on_timer, log);
	if (log->fd < 0 || log->timer == NULL ||
	    event_add(log->timer, &every) != 0) {
		child_log_free(&log);
		return RESULT_SYSTEM;
	}
	*log_r = log;
	return RESULT_OK;
}

void
child_log_free(struct child_log **log)
{
	struct child_log *gone = *log;

	if (gone == NULL)
		return;
	*log = NULL;
	if (gone->timer != NULL)
		event_free(gone->timer);
	fd_close(&gone->fd);
	free(gone);
}
