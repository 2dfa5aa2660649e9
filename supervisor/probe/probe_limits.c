/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits that are really hit: each attempt runs until the sandbox stops it,
 * and gives up (not ok) at a bound far above, so that a sandbox without
 * limits does not take its host down.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/probe/probe.h"
#include "supervisor/probe/probe_try.h"

#define PROBE_LIMITS_STEP (1UL << 20)
#define PROBE_LIMITS_FILE "agentnode-probe-fill"

/* Touches memory until killed. 0: the bound was reached alive. */
static int
probe_limits_eat(const void *argument, volatile uint64_t *progress)
{
	const struct probe_options *options = argument;

	while (*progress * PROBE_LIMITS_STEP < options->memory_max) {
		char *part = mmap(NULL, PROBE_LIMITS_STEP,
		    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (part == MAP_FAILED)
			return errno;
		memset(part, 1, PROBE_LIMITS_STEP);
		(*progress)++;
	}
	return 0;
}

static void
probe_limits_memory(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	struct probe_try try = probe_try_run(probe_limits_eat, options);
	unsigned long long size = try.progress;

	(void)probe;
	if (try.end == PROBE_TRY_KILLED)
		probe_say(result, try.value == SIGKILL,
		    "killed by signal %d after %llu MiB", try.value, size);
	else
		probe_say(result,
		    try.end == PROBE_TRY_RETURNED && try.value == ENOMEM,
		    "%s after %llu MiB", probe_try_error(try.value), size);
}

/* Forks children that wait, until it may not. They die with this one's
 * process group. */
static int
probe_limits_fork(const void *argument, volatile uint64_t *progress)
{
	const struct probe_options *options = argument;
	int error = 0;

	(void)setpgid(0, 0);
	while (*progress < options->processes_max) {
		pid_t child = fork();

		if (child == 0) {
			for (;;)
				pause();
		}
		if (child < 0) {
			error = errno;
			break;
		}
		(*progress)++;
	}
	(void)signal(SIGTERM, SIG_IGN);
	(void)kill(0, SIGTERM);
	while (waitpid(-1, NULL, 0) > 0)
		;
	return error;
}

static void
probe_limits_processes(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	struct probe_try try = probe_try_run(probe_limits_fork, options);

	(void)probe;
	probe_say(result, try.end == PROBE_TRY_RETURNED && try.value == EAGAIN,
	    "%s after %llu processes", probe_try_error(try.value),
	    (unsigned long long)try.progress);
}

struct probe_limits_fill {
	const char *folder;
	uint64_t max;
};

static int
probe_limits_fill_file(const void *argument, volatile uint64_t *progress)
{
	static char bytes[65536];
	const struct probe_limits_fill *fill = argument;
	char path[256];
	int fd, error = 0;

	(void)snprintf(
	    path, sizeof(path), "%s/" PROBE_LIMITS_FILE, fill->folder);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	while (error == 0 && *progress < fill->max) {
		ssize_t put = write(fd, bytes, sizeof(bytes));

		if (put < 0)
			error = errno;
		else
			*progress += (uint64_t)put;
	}
	close(fd);
	return error;
}

static void
probe_limits_disk(const char *folder, const struct probe_options *options,
    struct probe_result *result)
{
	struct probe_limits_fill fill = {folder, options->disk_max};
	struct probe_try try = probe_try_run(probe_limits_fill_file, &fill);
	char path[256];

	(void)snprintf(
	    path, sizeof(path), "%s/" PROBE_LIMITS_FILE, fill.folder);
	(void)unlink(path);
	probe_say(result,
	    (try.end == PROBE_TRY_RETURNED && try.value == ENOSPC) ||
		(try.end == PROBE_TRY_KILLED && try.value == SIGKILL),
	    "%s: %s after %llu KiB", folder,
	    try.end == PROBE_TRY_KILLED ? "killed" : probe_try_error(try.value),
	    (unsigned long long)(try.progress / 1024));
}

static void
probe_limits_scratch(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	(void)probe;
	probe_limits_disk(options->scratch, options, result);
}

static void
probe_limits_home(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	const char *home = getenv("HOME");

	(void)probe;
	probe_limits_disk(
	    home != NULL && *home == '/' ? home : options->scratch, options,
	    result);
}

static int
probe_limits_open(const void *argument, volatile uint64_t *progress)
{
	const struct probe_options *options = argument;

	while (*progress < options->files_max) {
		if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
			return errno;
		(*progress)++;
	}
	return 0;
}

static void
probe_limits_files(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	struct probe_try try = probe_try_run(probe_limits_open, options);

	(void)probe;
	probe_say(result, try.end == PROBE_TRY_RETURNED && try.value == EMFILE,
	    "%s after %llu descriptors", probe_try_error(try.value),
	    (unsigned long long)try.progress);
}

static void
probe_limits_core(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	const struct rlimit more = {1, 1};
	struct rlimit core;

	(void)probe;
	(void)options;
	if (getrlimit(RLIMIT_CORE, &core) != 0)
		probe_say(result, false, "%s", probe_try_error(errno));
	else
		probe_say(result,
		    core.rlim_max == 0 && setrlimit(RLIMIT_CORE, &more) != 0,
		    "%s", core.rlim_max == 0 ? "no core dump" : "core dumps");
}

static const struct probe probe_limits[] = {
    {"limit_files", probe_limits_files, NULL},
    {"limit_core", probe_limits_core, NULL},
    {"limit_scratch", probe_limits_scratch, NULL},
    {"limit_home", probe_limits_home, NULL},
    {"limit_processes", probe_limits_processes, NULL},
    {"limit_memory", probe_limits_memory, NULL},
};

const struct probe_list probe_limits_list = {
    probe_limits, sizeof(probe_limits) / sizeof(probe_limits[0])};
