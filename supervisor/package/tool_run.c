/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one host tool; see tool_run.h. Called by the image commands. Must
 * never build a command line from text or search a path of the caller's.
 */
#include "supervisor/package/tool_run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/log.h"
#include "supervisor/end_signals.h"
#include "supervisor/engine/engine_spawn.h"

#define TOOL_RUN_ARGV_MAX 64U
#define TOOL_RUN_GRACE_MS 10000U

struct tool_run {
	const struct tool_run_spec *spec;
	pid_t pid;
	int pidfd, error_fd;
	int signal_fd, signal; /* the last that came, 0: none */
	sigset_t before;       /* what was blocked */
	uint64_t deadline_ms;
	size_t used;
	char line[TOOL_RUN_LINE_MAX], last[TOOL_RUN_LINE_MAX];
};

static enum result
tool_run_find(const char *name, char *path_r, size_t size)
{
	static const char *const folders[] = {"/usr/local/sbin",
	    "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", NULL};

	for (size_t i = 0; folders[i] != NULL; i++) {
		(void)snprintf(path_r, size, "%s/%s", folders[i], name);
		if (access(path_r, X_OK) == 0)
			return RESULT_OK;
	}
	return RESULT_NOT_FOUND;
}

static enum result
tool_run_spawn(struct tool_run *run, const char *path)
{
	const char *argv[TOOL_RUN_ARGV_MAX];
	struct engine_spawn_spec spawn = {.argv = argv,
	    .envp = run->spec->envp,
	    .stdin_fd = run->spec->stdin_fd,
	    .stdout_fd = run->spec->stdout_fd,
	    .die_with_us = true};
	int pipe_fds[2];
	enum result result;
	size_t count = 0;
	mode_t mask;

	do {
		if (count == TOOL_RUN_ARGV_MAX)
			return RESULT_TOO_LONG;
		argv[count] = run->spec->argv[count];
	} while (argv[count++] != NULL);
	argv[0] = path;
	if (pipe2(pipe_fds, O_CLOEXEC) != 0)
		return RESULT_SYSTEM;
	spawn.stderr_fd = pipe_fds[1];
	mask = umask(022); /* what it makes is not private to us */
	result = engine_spawn(&spawn, &run->pid, &run->pidfd);
	(void)umask(mask);
	fd_close(&pipe_fds[1]);
	run->error_fd = pipe_fds[0];
	return result;
}

/* A line is complete. */
static void
tool_run_line(struct tool_run *run)
{
	if (run->used == 0)
		return;
	log_escape(run->line, run->used, run->last, sizeof(run->last));
	run->used = 0;
	if (run->spec->on_line != NULL)
		run->spec->on_line(run->last, run->spec->context);
}

/* Take what standard error has; false at its end. */
static bool
tool_run_read(struct tool_run *run)
{
	char bytes[4096];
	ssize_t got = read(run->error_fd, bytes, sizeof(bytes));

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	for (ssize_t i = 0; i < got; i++) {
		if (bytes[i] == '\n' || bytes[i] == '\r')
			tool_run_line(run);
		else if (run->used < sizeof(run->line) - 1)
			run->line[run->used++] = bytes[i];
	}
	if (got <= 0)
		tool_run_line(run);
	return got > 0;
}

/* Signals that end us go to the tool first, while it runs. */
static enum result
tool_run_signals(struct tool_run *run)
{
	sigset_t set;

	end_signals_mask(&set);
	(void)sigprocmask(SIG_BLOCK, &set, &run->before);
	run->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return run->signal_fd < 0 ? RESULT_SYSTEM : RESULT_OK;
}

/* It is in a session of its own: no terminal told it. */
static void
tool_run_stop(struct tool_run *run)
{
	struct signalfd_siginfo info;
	uint64_t limit = event_loop_now_ms() + TOOL_RUN_GRACE_MS;

	if (read(run->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (run->signal == 0 && limit < run->deadline_ms)
		run->deadline_ms = limit;
	run->signal = (int)info.ssi_signo;
	/* These are what tools clean up behind themselves at. */
	(void)kill(-run->pid, run->signal == SIGINT || run->signal == SIGHUP
				  ? run->signal
				  : SIGTERM);
}

static enum result
tool_run_wait(struct tool_run *run)
{
	struct pollfd polls[3] = {
	    {.fd = run->pidfd, .events = POLLIN},
	    {.fd = run->error_fd, .events = POLLIN},
	    {.fd = run->signal_fd, .events = POLLIN},
	};
	uint64_t now;

	for (;;) {
		now = event_loop_now_ms();
		if (now >= run->deadline_ms)
			return RESULT_TIMEOUT;
		if (poll(polls, 3, (int)(run->deadline_ms - now)) < 0 &&
		    errno != EINTR)
			return RESULT_SYSTEM;
		if (polls[1].revents != 0 && !tool_run_read(run))
			polls[1].fd = -1;
		polls[1].revents = 0;
		if (polls[2].revents != 0)
			tool_run_stop(run);
		polls[2].revents = 0;
		if (polls[0].revents != 0)
			return RESULT_OK;
	}
}

static int
tool_run_reap(struct tool_run *run)
{
	int status = 0;

	while (waitpid(run->pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static enum result
tool_run_judge(struct tool_run *run, enum result waited, char *detail_r,
    size_t detail_size)
{
	int code;

	/* Its session too: mmdebstrap has children of its own. */
	if (waited != RESULT_OK || run->signal != 0) {
		(void)kill(-run->pid, SIGKILL);
		(void)syscall(
		    SYS_pidfd_send_signal, run->pidfd, SIGKILL, NULL, 0);
	}
	code = tool_run_reap(run);
	while (waited == RESULT_OK &&
	       fd_set_nonblocking(run->error_fd, true) == RESULT_OK) {
		ssize_t before = (ssize_t)run->used;

		if (!tool_run_read(run) || (ssize_t)run->used == before)
			break;
	}
	tool_run_line(run);
	if (run->signal != 0) {
		(void)snprintf(detail_r, detail_size,
		    "a signal came (%s): %s was stopped",
		    sigabbrev_np(run->signal), run->spec->name);
		return RESULT_CLOSED;
	}
	if (waited == RESULT_TIMEOUT)
		(void)snprintf(detail_r, detail_size,
		    "%s did not end within %u s (%s)", run->spec->name,
		    run->spec->timeout_s, run->last);
	else if (waited == RESULT_OK && code != 0)
		(void)snprintf(detail_r, detail_size, "%s exited with %d: %s",
		    run->spec->name, code, run->last);
	return waited == RESULT_OK && code != 0 ? RESULT_REFUSED : waited;
}

enum result
tool_run(const struct tool_run_spec *spec, char *detail_r, size_t detail_size)
{
	struct tool_run run = {.spec = spec,
	    .pidfd = -1,
	    .error_fd = -1,
	    .signal_fd = -1,
	    .deadline_ms = event_loop_now_ms() + 1000ULL * spec->timeout_s};
	char path[256];
	enum result result = tool_run_find(spec->name, path, sizeof(path));

	if (result != RESULT_OK) {
		(void)snprintf(detail_r, detail_size,
		    "%s is not installed; 'apt-get install %s' does it",
		    spec->name, spec->name);
		return result;
	}
	result = tool_run_signals(&run);
	if (result == RESULT_OK)
		result = tool_run_spawn(&run, path);
	if (result == RESULT_OK)
		result = tool_run_judge(
		    &run, tool_run_wait(&run), detail_r, detail_size);
	else
		(void)snprintf(
		    detail_r, detail_size, "cannot start %s: %m", path);
	fd_close(&run.pidfd);
	fd_close(&run.error_fd);
	fd_close(&run.signal_fd);
	(void)sigprocmask(SIG_SETMASK, &run.before, NULL);
	return result;
}
