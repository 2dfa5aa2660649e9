/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the process may do where it is: rights, writing outside its scratch,
 * executing what it wrote, devices, kernel settings.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "supervisor/probe/probe.h"
#include "supervisor/probe/probe_try.h"

#define PROBE_INSIDE_TEXT 8192U
#define PROBE_INSIDE_FILE "agentnode-probe"

static const char *const probe_inside_closed[] = {"/", "/etc/", "/usr/",
    "/usr/bin/", "/var/", "/pack/", "/run/agentnode/", "/dev/", "/proc/",
    "/sys/", "/home/", NULL};
static const char *const probe_inside_settings[] = {
    "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe",
    "/proc/sysrq-trigger", "/proc/sys/vm/overcommit_memory",
    "/sys/kernel/uevent_helper", "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    "/sys/fs/cgroup/release_agent", "/sys/fs/cgroup/cgroup.procs",
    "/proc/self/comm", NULL};

static void
probe_inside_writes(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	const char *const *folder = probe->data;
	unsigned tried = 0;

	(void)options;
	for (; *folder != NULL; folder++) {
		char path[256];
		int fd;

		(void)snprintf(
		    path, sizeof(path), "%s" PROBE_INSIDE_FILE, *folder);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0) {
			close(fd);
			(void)unlink(path);
			probe_say(result, false, "%s could be made", path);
			return;
		}
		tried++;
	}
	probe_say(result, true, "refused in %u folders", tried);
}

static void
probe_inside_opens(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	const char *const *path = probe->data;
	unsigned tried = 0;

	(void)options;
	for (; *path != NULL; path++) {
		int fd = open(*path, O_WRONLY | O_CLOEXEC);

		if (fd >= 0) {
			close(fd);
			probe_say(result, false, "%s could be opened", *path);
			return;
		}
		tried++;
	}
	probe_say(result, true, "refused for %u files", tried);
}

static void
probe_inside_status(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	char text[PROBE_INSIDE_TEXT];
	const char *want = probe->data;

	(void)options;
	if (probe_try_file("/proc/self/status", text, sizeof(text)) != 0)
		probe_say(result, false, "%s", probe_try_error(errno));
	else if (strncmp(want, "\nNoNewPrivs:", 12) == 0 &&
		 strstr(text, "\nNoNewPrivs:") == NULL)
		/* A kernel without this line still answers. */
		probe_say(result, prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1,
		    "as prctl says");
	else
		probe_say(result, strstr(text, want) != NULL, "%s: %.*s",
		    strstr(text, want) != NULL ? "in force" : "not in force",
		    (int)strcspn(want + 1, "\t"), want + 1);
}

static void
probe_inside_capabilities(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	static const char *const sets[] = {"\nCapInh:\t0000000000000000\n",
	    "\nCapPrm:\t0000000000000000\n", "\nCapEff:\t0000000000000000\n",
	    "\nCapBnd:\t0000000000000000\n", "\nCapAmb:\t0000000000000000\n"};
	char text[PROBE_INSIDE_TEXT];

	(void)probe;
	(void)options;
	if (probe_try_file("/proc/self/status", text, sizeof(text)) != 0) {
		probe_say(result, false, "%s", probe_try_error(errno));
		return;
	}
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		/* A kernel without ambient sets has no line for them. */
		if (i == 4 && strstr(text, "\nCapAmb:") == NULL &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, 0, 0, 0) < 0 &&
		    errno == EINVAL)
			continue;
		if (strstr(text, sets[i]) == NULL) {
			probe_say(
			    result, false, "%.6s is not empty", sets[i] + 1);
			return;
		}
	}
	probe_say(result, true, "all five sets are empty");
}

static void
probe_inside_user(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	gid_t groups[64];
	int count = getgroups(64, groups);

	(void)probe;
	(void)options;
	probe_say(result,
	    getuid() != 0 && geteuid() != 0 && getgid() != 0 && count <= 1,
	    "uid %u, gid %u, %d groups", getuid(), getgid(), count);
}

static void
probe_inside_scratch_path(
    const struct probe_options *options, char *path_r, size_t size)
{
	(void)snprintf(path_r, size, "%s/" PROBE_INSIDE_FILE, options->scratch);
}

/* The content is no program: an allowed exec answers ENOEXEC. */
static void
probe_inside_execute(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	char path[256];
	char *const words[] = {path, NULL};
	int fd, error;

	(void)probe;
	probe_inside_scratch_path(options, path, sizeof(path));
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	if (fd < 0 || write(fd, "x", 1) != 1) {
		probe_say(result, false, "no scratch file: %s",
		    probe_try_error(errno));
		if (fd >= 0)
			close(fd);
		return;
	}
	close(fd);
	(void)execve(path, words, &words[1]);
	error = errno;
	(void)unlink(path);
	probe_say(result, error == EACCES, "%s", probe_try_error(error));
}

static void
probe_inside_device(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	char path[256];
	int error;

	(void)probe;
	probe_inside_scratch_path(options, path, sizeof(path));
	error = mknod(path, S_IFBLK | 0600, makedev(8, 0)) != 0 ? errno : 0;
	(void)unlink(path);
	probe_say(result, error != 0, "%s", probe_try_error(error));
}

/* A file whose owner is another may not be made by this process. */
static void
probe_inside_setuid_file(const struct probe *probe,
    const struct probe_options *options, struct probe_result *result)
{
	char path[256];
	int fd, error;

	(void)probe;
	probe_inside_scratch_path(options, path, sizeof(path));
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	error = fd < 0 || fchown(fd, 0, 0) != 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	(void)unlink(path);
	probe_say(
	    result, probe_try_no_root(error), "%s", probe_try_error(error));
}

static const struct probe probe_inside[] = {
    {"no_capabilities", probe_inside_capabilities, NULL},
    {"no_new_privileges", probe_inside_status, "\nNoNewPrivs:\t1\n"},
    {"filter_in_force", probe_inside_status, "\nSeccomp:\t2\n"},
    {"unprivileged_user", probe_inside_user, NULL},
    {"write_outside", probe_inside_writes, probe_inside_closed},
    {"kernel_settings", probe_inside_opens, probe_inside_settings},
    {"execute_written", probe_inside_execute, NULL},
    {"make_device", probe_inside_device, NULL},
    {"change_owner", probe_inside_setuid_file, NULL},
};

const struct probe_list probe_inside_list = {
    probe_inside, sizeof(probe_inside) / sizeof(probe_inside[0])};
