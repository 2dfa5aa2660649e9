/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for the keeper and ends what it leaves (see the header). Called by
 * main; it must never hold the control socket, whose end says that the
 * keeper has ended.
 */
#include "supervisor/host/host_guard.h"

#include <errno.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/host/host_keep.h"
#include "supervisor/host/host_limit.h"
#include "supervisor/host/host_protocol.h"
#include "supervisor/host/host_tree.h"

#define HOST_GUARD_KILL_MS 5000U

/* Until the keeper is dead; its exit code, or -1. A signal to us is the
 * supervisor's death, which the keeper hears by its socket, too. */
static int
host_guard_wait(pid_t keeper)
{
	sigset_t watched;
	int status, number;
	pid_t pid;

	(void)sigemptyset(&watched);
	(void)sigaddset(&watched, SIGCHLD);
	(void)sigaddset(&watched, SIGTERM);
	for (;;) {
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0 ||
		       (pid < 0 && errno == EINTR)) {
			if (pid == keeper)
				return WIFEXITED(status) ? WEXITSTATUS(status)
							 : -1;
		}
		if (pid < 0)
			return -1;
		number = sigwaitinfo(&watched, NULL);
		if (number == SIGTERM)
			(void)kill(keeper, SIGTERM);
	}
}

int
host_guard_run(void)
{
	pid_t keeper, none = 0, guard = getpid();
	int code, status;

	if (host_limit_self() != 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) != 0 ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
		return HOST_EXIT_START;
	keeper = fork();
	if (keeper < 0)
		return HOST_EXIT_START;
	if (keeper == 0)
		_exit(host_keep_run(guard));
	if (close_range(HOST_CONTROL_FD, ~0U, 0) != 0)
		(void)kill(keeper, SIGTERM);
	code = host_guard_wait(keeper);
	(void)host_tree_end(HOST_GUARD_KILL_MS, &none, &status);
	return code < 0 ? HOST_EXIT_GUARD : code;
}
