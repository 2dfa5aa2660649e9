/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of the tree: setup, hello, go, and the one end for exit, time
 * limit, stop and a supervisor or guard that is gone. Called by host_guard.c
 * in a process of its own; it must never say STATUS while something lives,
 * unless it says so.
 */
#include "supervisor/host/host_keep.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "supervisor/host/host_group.h"
#include "supervisor/host/host_tree.h"
#include "supervisor/host/host_workload.h"

#define HOST_KEEP_SETUP_MS 10000
#define HOST_KEEP_KILL_MS 5000U

struct host_keep {
	struct host_setup setup;
	struct host_group group;
	struct host_workload workload;
	struct host_status status;
	int signals;
	bool alone;       /* supervisor or guard is gone */
	bool over;        /* the tree is to end */
	uint64_t stop_ms; /* 0: no limit */
};

static uint64_t
host_keep_now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static struct host_record
host_keep_record(enum host_type type, uint32_t value)
{
	return (struct host_record){
	    HOST_MAGIC, HOST_PROTOCOL_VERSION, type, value};
}

static bool
host_keep_send(const void *record, size_t size)
{
	return send(HOST_CONTROL_FD, record, size, MSG_NOSIGNAL) ==
	       (ssize_t)size;
}

/* One record of at most size bytes: its type, 0 at the end, -1 when it is
 * none. */
static int
host_keep_receive(void *record_r, size_t size)
{
	struct host_record head;
	ssize_t got;

	do
		got = recv(HOST_CONTROL_FD, record_r, size, MSG_TRUNC);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return 0;
	if ((size_t)got < sizeof(head) || (size_t)got > size)
		return -1;
	memcpy(&head, record_r, sizeof(head));
	if (head.magic != HOST_MAGIC || head.version != HOST_PROTOCOL_VERSION ||
	    (head.type == HOST_SETUP) != ((size_t)got == size))
		return -1;
	return (int)head.type;
}

/* ---- before go ---- */

static int
host_keep_begin(struct host_keep *keep)
{
	struct pollfd control = {.fd = HOST_CONTROL_FD, .events = POLLIN};
	struct host_group_limits limits;
	int type, error;

	if (poll(&control, 1, HOST_KEEP_SETUP_MS) <= 0)
		return HOST_EXIT_PROTOCOL;
	type = host_keep_receive(&keep->setup, sizeof(keep->setup));
	if (type == 0)
		return HOST_EXIT_ALONE;
	if (type != HOST_SETUP || keep->setup.id[HOST_ID_MAX - 1] != '\0')
		return HOST_EXIT_PROTOCOL;
	limits = (struct host_group_limits){
	    keep->setup.memory, keep->setup.pids, keep->setup.cpu_milli};
	error = host_group_find(keep->setup.id, &keep->group);
	if (error == 0)
		error = host_group_make(&keep->group, &limits);
	if (error != 0)
		keep->group.count = 0;
	return HOST_EXIT_OK;
}

static int
host_keep_await_go(struct host_keep *keep)
{
	struct host_record hello = host_keep_record(
	    HOST_HELLO, keep->group.count > 0 ? HOST_LIMIT_GROUP : 0);
	struct host_setup room;

	if (!host_keep_send(&hello, sizeof(hello)))
		return HOST_EXIT_ALONE;
	switch (host_keep_receive(&room, sizeof(room))) {
	case HOST_GO:
		return HOST_EXIT_OK;
	case 0:
	case HOST_STOP:
		return HOST_EXIT_ALONE;
	default: /* a number from outside */
		return HOST_EXIT_PROTOCOL;
	}
}

/* ---- while it runs ---- */

static void
host_keep_over(struct host_keep *keep, enum host_why why)
{
	if (keep->over)
		return;
	keep->over = true;
	keep->status.record.value = (uint32_t)why;
}

static void
host_keep_take_status(struct host_keep *keep, int status)
{
	keep->status.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	keep->status.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void
host_keep_reap(struct host_keep *keep)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0 ||
	       (pid < 0 && errno == EINTR)) {
		if (pid != keep->workload.pid)
			continue;
		keep->workload.pid = 0;
		host_keep_take_status(keep, status);
		host_keep_over(keep, HOST_WHY_EXIT);
	}
}

/* One signal; false: there is none. */
static bool
host_keep_signal(struct host_keep *keep)
{
	struct signalfd_siginfo info;

	if (read(keep->signals, &info, sizeof(info)) != sizeof(info))
		return false;
	if (info.ssi_signo == SIGCHLD)
		host_keep_reap(keep);
	if (info.ssi_signo != SIGTERM)
		return true;
	keep->alone = true; /* the guard died */
	host_keep_over(keep, HOST_WHY_STOP);
	return true;
}

static void
host_keep_control(struct host_keep *keep)
{
	struct host_setup room;
	int type = host_keep_receive(&room, sizeof(room));

	if (type != HOST_STOP)
		keep->alone = true;
	host_keep_over(keep, HOST_WHY_STOP);
}

static int
host_keep_wait_ms(const struct host_keep *keep)
{
	uint64_t now = host_keep_now_ms();

	if (keep->stop_ms == 0)
		return -1;
	if (keep->stop_ms <= now)
		return 0;
	return keep->stop_ms - now > 60000 ? 60000 : (int)(keep->stop_ms - now);
}

static void
host_keep_loop(struct host_keep *keep)
{
	struct pollfd fds[2] = {{.fd = HOST_CONTROL_FD, .events = POLLIN},
	    {.fd = keep->signals, .events = POLLIN}};

	if (keep->setup.wall_s > 0)
		keep->stop_ms =
		    host_keep_now_ms() + 1000ULL * keep->setup.wall_s;
	while (!keep->over) {
		if (poll(fds, 2, host_keep_wait_ms(keep)) < 0 && errno != EINTR)
			host_keep_over(keep, HOST_WHY_STOP);
		if (fds[1].revents != 0)
			(void)host_keep_signal(keep);
		if (fds[0].revents != 0)
			host_keep_control(keep);
		if (keep->stop_ms != 0 && host_keep_now_ms() >= keep->stop_ms)
			host_keep_over(keep, HOST_WHY_TIME);
	}
}

/* ---- the end ---- */

static void
host_keep_counters(struct host_keep *keep)
{
	struct rusage usage;

	host_group_counters(
	    &keep->group, &keep->status.peak_memory, &keep->status.oom_kills);
	/* Of the biggest of its processes. */
	if (keep->status.peak_memory == 0 &&
	    getrusage(RUSAGE_CHILDREN, &usage) == 0)
		keep->status.peak_memory = (uint64_t)usage.ru_maxrss * 1024;
}

static int
host_keep_finish(struct host_keep *keep)
{
	int status = 0;
	pid_t main = keep->workload.pid;
	bool dead;

	/* First, so that it does nothing about what follows: a shell whose
	 * child dies, or that cannot fork, would end in its own way. It is
	 * not reaped, so the number is its own. */
	if (main != 0)
		(void)kill(main, SIGKILL);
	host_group_shut(&keep->group);
	dead = host_tree_end(HOST_KEEP_KILL_MS, &main, &status);

	if (keep->workload.pid != 0 && main == 0)
		host_keep_take_status(keep, status);
	if (keep->status.exec_errno == 0)
		keep->status.exec_errno =
		    host_workload_failure(&keep->workload);
	keep->status.left = dead ? 0 : 1;
	host_keep_counters(keep);
	host_group_remove(&keep->group);
	(void)host_keep_send(&keep->status, sizeof(keep->status));
	return keep->alone ? HOST_EXIT_ALONE : HOST_EXIT_OK;
}

/* GO was on its way while the guard died. */
static bool
host_keep_is_alone(struct host_keep *keep)
{
	while (host_keep_signal(keep))
		continue;
	return keep->alone;
}

static int
host_keep_open(struct host_keep *keep, pid_t guard)
{
	sigset_t watched;

	(void)sigemptyset(&watched);
	(void)sigaddset(&watched, SIGCHLD);
	(void)sigaddset(&watched, SIGTERM);
	keep->signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
	if (keep->signals < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) != 0 ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 ||
	    host_tree_check() != 0)
		return HOST_EXIT_START;
	/* It may have died before its death was asked for. */
	return getppid() == guard ? HOST_EXIT_OK : HOST_EXIT_ALONE;
}

int
host_keep_run(pid_t guard)
{
	struct host_keep keep;
	int code;

	memset(&keep, 0, sizeof(keep));
	keep.workload.report_fd = -1;
	keep.status.record = host_keep_record(HOST_STATUS, HOST_WHY_EXIT);
	keep.status.exit_code = -1;
	code = host_keep_open(&keep, guard);
	if (code == HOST_EXIT_OK)
		code = host_keep_begin(&keep);
	if (code == HOST_EXIT_OK)
		code = host_keep_await_go(&keep);
	if (code != HOST_EXIT_OK) {
		host_group_remove(&keep.group);
		return code;
	}
	if (host_keep_is_alone(&keep))
		return host_keep_finish(&keep);
	keep.status.started = 1;
	keep.status.exec_errno =
	    host_workload_start(&keep.setup, &keep.group, &keep.workload);
	if (keep.status.exec_errno == 0)
		host_keep_loop(&keep);
	return host_keep_finish(&keep);
}
