/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pidfd on the event loop. Called by child.c, engine_call.c and the
 * sandbox's story; must never signal by number (a pid may be reused).
 */
#include "supervisor/engine/process_watch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#include "common/fd.h"

struct process_watch {
	int pidfd; /* owned; -1 after the end */
	bool ours;
	struct event *event;
	process_watch_end *ended;
	void *context;
};

/* Reap; false when the process has not ended. */
static bool
process_watch_reap(
    const struct process_watch *watch, int flags, int *code_r, int *signal_r)
{
	siginfo_t info = {0};
	int done;

	do
		done =
		    waitid(P_PIDFD, (id_t)watch->pidfd, &info, WEXITED | flags);
	while (done != 0 && errno == EINTR);
	if (done == 0 && info.si_pid == 0)
		return false;
	if (done == 0 && info.si_code == CLD_EXITED)
		*code_r = info.si_status;
	else if (done == 0)
		*signal_r = info.si_status;
	return true;
}

static void
process_watch_on_event(evutil_socket_t fd, short what, void *context)
{
	struct process_watch *watch = context;
	int code = -1, number = 0;

	(void)fd;
	(void)what;
	if (watch->ours && !process_watch_reap(watch, WNOHANG, &code, &number))
		return;
	(void)event_del(watch->event);
	fd_close(&watch->pidfd);
	watch->ended(code, number, watch->context);
}

enum result
process_watch_new(struct event_base *base, int pidfd, bool ours,
    process_watch_end *ended, void *context, struct process_watch **watch_r)
{
	struct process_watch *watch = calloc(1, sizeof(*watch));

	*watch_r = NULL;
	if (watch == NULL) {
		fd_close(&pidfd);
		return RESULT_NO_MEMORY;
	}
	*watch = (struct process_watch){
	    .pidfd = pidfd, .ours = ours, .ended = ended, .context = context};
	watch->event = event_new(
	    base, pidfd, EV_READ | EV_PERSIST, process_watch_on_event, watch);
	if (watch->event == NULL || event_add(watch->event, NULL) != 0) {
		process_watch_free(&watch);
		return RESULT_NO_MEMORY;
	}
	*watch_r = watch;
	return RESULT_OK;
}

void
process_watch_kill(struct process_watch *watch)
{
	if (watch != NULL && watch->pidfd >= 0)
		(void)pidfd_send_signal(watch->pidfd, SIGKILL, NULL, 0);
}

bool
process_watch_alive(const struct process_watch *watch)
{
	return watch != NULL && watch->pidfd >= 0;
}

void
process_watch_free(struct process_watch **watch)
{
	struct process_watch *gone = *watch;
	int code, number;

	if (gone == NULL)
		return;
	*watch = NULL;
	if (gone->event != NULL)
		event_free(gone->event);
	if (gone->pidfd >= 0 && gone->ours) {
		process_watch_kill(gone);
		(void)process_watch_reap(gone, 0, &code, &number);
	}
	fd_close(&gone->pidfd);
	free(gone);
}
