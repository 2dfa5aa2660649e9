/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attacks on pid 1, which ends the sandbox when the supervisor is gone: its
 * memory, descriptors, scheduling, limits, signals. A pid of 1 with high
 * bits set is 1 to the kernel, and must be to the filter.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "supervisor/probe/probe.h"
#include "supervisor/probe/probe_try.h"

#define HIGH 0x100000000UL
#define IDLE 5 /* SCHED_IDLE */
#define IOPRIO_IDLE (3UL << 13)

struct probe_guard_call {
	long number;
	unsigned long args[4];
};

static const struct sched_param probe_guard_param;

static int
probe_guard_attempt(const void *argument, volatile uint64_t *progress)
{
	const struct probe_guard_call *call = argument;
	const unsigned long *a = call->args;

	(void)progress;
	return syscall(call->number, a[0], a[1], a[2], a[3]) < 0 ? errno : 0;
}

static void
probe_guard_run(const struct probe *probe, const struct probe_options *options,
    struct probe_result *result)
{
	struct probe_try try = probe_try_run(probe_guard_attempt, probe->data);

	(void)options;
	probe_say(result, try.end == PROBE_TRY_RETURNED && try.value == EPERM,
	    "%s", probe_try_error(try.value));
}

/* Refused, or pid 1 is not even listed. */
static bool
probe_guard_refused(int error)
{
	if (error == ENOENT)
		return access("/proc/1", F_OK) != 0 && errno == ENOENT &&
		       access("/proc/self/status", F_OK) == 0;
	return error == EACCES || error == EPERM;
}

struct probe_guard_file {
	const char *path;
	int flags;
};

static void
probe_guard_open(const struct probe *probe, const struct probe_options *options,
    struct probe_result *result)
{
	const struct probe_guard_file *file = probe->data;
	int fd = open(file->path, file->flags | O_CLOEXEC | O_NONBLOCK);
	int error = errno;

	(void)options;
	probe_say(result, fd < 0 && probe_guard_refused(error), "%s: %s",
	    file->path, fd < 0 ? probe_try_error(error) : "could be opened");
	if (fd >= 0)
		close(fd);
}

static void
probe_guard_link(const struct probe *probe, const struct probe_options *options,
    struct probe_result *result)
{
	char target[256];
	ssize_t len = readlink(probe->data, target, sizeof(target));
	int error = errno;

	(void)options;
	probe_say(result, len < 0 && probe_guard_refused(error), "%s: %s",
	    (const char *)probe->data,
	    len < 0 ? probe_try_error(error) : "could be read");
}

/* SIGKILL from inside never reaches pid 1; a Landlock scope refuses to send
 * it at all. Either way this process must still be here afterwards. */
static void
probe_guard_signal(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	int sent = kill(1, SIGKILL);
	int error = errno;

	(void)probe;
	(void)options;
	usleep(50000);
	probe_say(result, true, "pid 1 still runs (%s)",
	    sent == 0 ? "signal had no effect" : probe_try_error(error));
}

/* clang-format off */
#define CALL(name, number, ...) \
	{name, probe_guard_run, \
	    &(const struct probe_guard_call) {number, {__VA_ARGS__}}}
#define FILE_OF(name, path, flags) \
	{name, probe_guard_open, \
	    &(const struct probe_guard_file) {path, flags}}
/* clang-format on */

static const struct probe probe_guard[] = {
    CALL("pid1_scheduler", SYS_sched_setscheduler, 1, IDLE,
	(unsigned long)&probe_guard_param),
    CALL("pid1_scheduler_high", SYS_sched_setscheduler, HIGH | 1, IDLE,
	(unsigned long)&probe_guard_param),
    CALL("pid1_sched_attr", SYS_sched_setattr, 1, -1UL, 0),
    CALL("pid1_affinity", SYS_sched_setaffinity, 1, 8, -1UL),
    CALL("pid1_priority", SYS_setpriority, PRIO_PROCESS, 1, 19),
    CALL("group_priority", SYS_setpriority, PRIO_PGRP, 1, 19),
    CALL("user_priority", SYS_setpriority, PRIO_USER, 0, 19),
    CALL("pid1_ioprio", SYS_ioprio_set, 1, 1, IOPRIO_IDLE),
    CALL("pid1_limits", SYS_prlimit64, 1, RLIMIT_NOFILE, 0, 0),
    CALL("terminal_input", SYS_ioctl, 0, TIOCSTI, -1UL),
    FILE_OF("pid1_memory", "/proc/1/mem", O_RDWR),
    FILE_OF("pid1_environ", "/proc/1/environ", O_RDONLY),
    FILE_OF("pid1_maps", "/proc/1/maps", O_RDONLY),
    FILE_OF("pid1_descriptors", "/proc/1/fd", O_RDONLY | O_DIRECTORY),
    FILE_OF("pid1_root", "/proc/1/root/", O_RDONLY | O_DIRECTORY),
    {"pid1_program", probe_guard_link, "/proc/1/exe"},
    {"pid1_network", probe_guard_link, "/proc/1/ns/net"},
    {"pid1_kill", probe_guard_signal, NULL},
};

const struct probe_list probe_guard_list = {
    probe_guard, sizeof(probe_guard) / sizeof(probe_guard[0])};
