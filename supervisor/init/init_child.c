/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forking (see the header). Used by every file of init that starts one.
 */
#include "supervisor/init/init_child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "supervisor/init/init_guest.h"

#define INIT_CHILD_FIRST 3
#define INIT_CHILD_PARK 64 /* above every number init uses */
#define INIT_CHILD_EXIT 125

pid_t
init_child_fork(void)
{
	sigset_t none;
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	sigemptyset(&none);
	for (int number = 1; number < NSIG; number++)
		(void)signal(number, SIG_DFL); /* SIGKILL refuses */
	/* First: a change of user takes the signal away. */
	if (init_guest_lower() != 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 ||
	    sigprocmask(SIG_SETMASK, &none, NULL) != 0)
		_exit(INIT_CHILD_EXIT);
	return 0;
}

int
init_child_keep(int *fds, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, INIT_CHILD_PARK);
		if (fds[i] < 0)
			return errno;
	}
	for (unsigned i = 0; i < count; i++) {
		int to = INIT_CHILD_FIRST + (int)i;

		if (dup3(fds[i], to, O_CLOEXEC) < 0)
			return errno;
		fds[i] = to;
	}
	if (syscall(SYS_close_range, INIT_CHILD_FIRST + count, INT_MAX, 0) != 0)
		return errno;
	return 0;
}
