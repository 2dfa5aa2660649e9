/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clone, arrange descriptors, exec; the child reports a failure as an errno
 * on a close-on-exec pipe. Between clone and exec only async-signal-safe
 * calls are made. Called by child.c and engine_call.c; must never go
 * through a shell or a search path.
 */
#include "supervisor/engine/engine_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/confine.h"
#include "common/fd.h"

/* Sources are first moved up here, so that no target overwrites one. */
#define ENGINE_SPAWN_HIGH 64
#define ENGINE_SPAWN_STACK 65536U

struct engine_spawn_child {
	const struct engine_spawn_spec *spec;
	int report; /* write end of the error pipe */
	pid_t parent;
};

static int
engine_spawn_lift(int fd)
{
	if (fd < 0)
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -1;
	return fcntl(fd, F_DUPFD_CLOEXEC, ENGINE_SPAWN_HIGH);
}

/* Put the wanted descriptors at 0, 1, 2, 3 ...; mark the rest. */
static int
engine_spawn_arrange(const struct engine_spawn_spec *spec)
{
	int lifted[3 + ENGINE_SPAWN_PASS_MAX];
	size_t count = 3 + spec->pass_count;

	lifted[0] = engine_spawn_lift(spec->stdin_fd);
	lifted[1] = engine_spawn_lift(spec->stdout_fd);
	lifted[2] = engine_spawn_lift(spec->stderr_fd);
	for (size_t i = 0; i < spec->pass_count; i++)
		lifted[3 + i] = engine_spawn_lift(spec->pass[i]);
	for (size_t i = 0; i < count; i++) {
		if (lifted[i] < 0 || dup2(lifted[i], (int)i) < 0)
			return -1;
	}
	return close_range((unsigned)count, ~0U, CLOSE_RANGE_CLOEXEC);
}

static int
engine_spawn_hide_unified(void)
{
	if (unshare(CLONE_NEWNS) != 0)
		return -1;
	if (mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) != 0)
		return -1;
	/* Not there (any more): that is what was asked for. */
	if (umount2("/sys/fs/cgroup/unified", MNT_DETACH) != 0 &&
	    errno != EINVAL && errno != ENOENT)
		return -1;
	return 0;
}

static void
engine_spawn_signals(void)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		(void)signal(number, SIG_DFL); /* KILL and STOP refuse */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn int
engine_spawn_exec(void *context)
{
	const struct engine_spawn_child *child = context;
	const struct engine_spawn_spec *spec = child->spec;
	int report = fcntl(child->report, F_DUPFD_CLOEXEC, ENGINE_SPAWN_HIGH);
	int code;

	engine_spawn_signals();
	(void)umask(spec->umask);
	if (setsid() < 0 || (spec->folder != NULL && chdir(spec->folder) != 0))
		goto out;
	if (spec->place != NULL) {
		errno = spec->place(spec->place_context);
		if (errno != 0)
			goto out;
	}
	/* After it: a change of ids takes this away. */
	if (spec->die_with_us &&
	    (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 ||
		getppid() != child->parent))
		goto out;
	if (spec->hide_unified && engine_spawn_hide_unified() != 0)
		goto out;
	if (engine_spawn_arrange(spec) != 0)
		goto out;
	(void)execve(spec->argv[0], (char *const *)spec->argv,
	    (char *const *)spec->envp);
out:
	code = errno;
	(void)!write(report, &code, sizeof(code));
	_exit(127);
}

/* In our memory until it is another program, and we wait: what a fork copies
 * and what both then touch is most of what a start costs. No handler of ours
 * runs in it: it sets all to their defaults before it lets signals in. */
static pid_t
engine_spawn_clone(struct engine_spawn_child *child)
{
#if CONFINE_SANITIZED
	pid_t pid = fork(); /* whose run time knows this thread's stack alone */

	if (pid == 0)
		engine_spawn_exec(child);
#else
	static char stack[ENGINE_SPAWN_STACK] __attribute__((aligned(16)));
	sigset_t all, before;
	pid_t pid;
	int code;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, &before);
	pid = clone(engine_spawn_exec, stack + sizeof(stack),
	    CLONE_VM | CLONE_VFORK | SIGCHLD, child);
	code = errno;
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	errno = code;
#endif
	return pid;
}

/* Zero when the exec happened (the pipe closed), else the child's errno. */
static int
engine_spawn_outcome(int pipe_fd)
{
	int code = 0;
	ssize_t got;

	do
		got = read(pipe_fd, &code, sizeof(code));
	while (got < 0 && errno == EINTR);
	if (got == 0)
		return 0;
	return got == (ssize_t)sizeof(code) && code != 0 ? code : EIO;
}

/* It may have got to its program although nobody could read so: it is ended
 * before it is waited for. */
static enum result
engine_spawn_failed(pid_t pid, int code)
{
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	errno = code;
	return RESULT_SYSTEM;
}

enum result
engine_spawn(const struct engine_spawn_spec *spec, pid_t *pid_r, int *pidfd_r)
{
	struct engine_spawn_child child = {spec, -1, getpid()};
	int ends[2], code;
	pid_t pid;

	*pid_r = -1;
	*pidfd_r = -1;
	if (spec->pass_count > ENGINE_SPAWN_PASS_MAX)
		return RESULT_TOO_LONG;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return RESULT_SYSTEM;
	child.report = ends[1];
	pid = engine_spawn_clone(&child);
	code = errno;
	fd_close(&ends[1]);
	if (pid > 0)
		code = engine_spawn_outcome(ends[0]);
	fd_close(&ends[0]);
	if (pid < 0) {
		errno = code;
		return RESULT_SYSTEM;
	}
	if (code != 0)
		return engine_spawn_failed(pid, code);
	*pidfd_r = pidfd_open(pid, 0); /* not reaped yet: the pid is ours */
	if (*pidfd_r < 0)
		return engine_spawn_failed(pid, errno);
	*pid_r = pid;
	return RESULT_OK;
}
