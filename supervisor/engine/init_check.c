/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what the kernel says of init in /proc. Called once per start; must
 * never call a line that is not there a good one.
 */
#include "supervisor/engine/init_check.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fd.h"

#define INIT_CHECK_STATUS_MAX 16384U

/* The value behind "NAME:\t" of a line, or NULL. */
static const char *
init_check_line(const char *status, const char *name)
{
	size_t len = strlen(name);

	while (status != NULL && *status != '\0') {
		const char *next = strchr(status, '\n');

		if (strncmp(status, name, len) == 0 && status[len] == ':' &&
		    status[len + 1] == '\t')
			return status + len + 2;
		status = next != NULL ? next + 1 : NULL;
	}
	return NULL;
}

static enum result
init_check_fault(char *detail_r, size_t size, const char *what)
{
	(void)snprintf(detail_r, size,
	    "the engine did not start init as it was told: %s", what);
	return RESULT_MISMATCH;
}

/* Exactly value, to the end of the line. */
static bool
init_check_is(const char *status, const char *name, const char *value)
{
	const char *line = init_check_line(status, name);
	size_t len = strlen(value);

	return line != NULL && strncmp(line, value, len) == 0 &&
	       line[len] == '\n';
}

static bool
init_check_uid(const char *status, const char *name, uint32_t uid)
{
	char want[64];

	(void)snprintf(
	    want, sizeof(want), "%u\t%u\t%u\t%u", uid, uid, uid, uid);
	return uid == 0 || init_check_is(status, name, want);
}

/* No supplementary group, but for its own once more. */
static bool
init_check_groups(const char *status, uint32_t uid)
{
	char own[32];

	(void)snprintf(own, sizeof(own), "%u ", uid);
	return uid == 0 || init_check_is(status, "Groups", " ") ||
	       init_check_is(status, "Groups", "") ||
	       init_check_is(status, "Groups", own);
}

/* "NSpid:\t4711\t1": the last number. */
static bool
init_check_first(const char *status)
{
	const char *line = init_check_line(status, "NSpid");
	size_t len = line == NULL ? 0 : strcspn(line, "\n");

	return len > 2 && line[len - 1] == '1' && line[len - 2] == '\t';
}

enum result
init_check_status(
    const char *status, uint32_t uid, char *detail_r, size_t detail_size)
{
	static const char *const sets[] = {
	    "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		if (!init_check_is(status, sets[i], "0000000000000000"))
			return init_check_fault(
			    detail_r, detail_size, "it has capabilities");
	}
	if (!init_check_is(status, "NoNewPrivs", "1"))
		return init_check_fault(detail_r, detail_size,
		    "it may gain privileges (no no-new-privileges)");
	if (!init_check_is(status, "Seccomp", "2"))
		return init_check_fault(detail_r, detail_size,
		    "the engine's seccomp filter is not in force");
	if (!init_check_uid(status, "Uid", uid) ||
	    !init_check_uid(status, "Gid", uid))
		return init_check_fault(
		    detail_r, detail_size, "it runs as another user");
	if (!init_check_groups(status, uid))
		return init_check_fault(detail_r, detail_size,
		    "it has a group that is not its own");
	if (!init_check_first(status))
		return init_check_fault(detail_r, detail_size,
		    "it is not the first process of a pid namespace");
	return RESULT_OK;
}

/* Is the namespace kind of pid another one than ours? */
static bool
init_check_differs(pid_t pid, const char *kind)
{
	char theirs[64], ours[64];
	struct stat a, b;

	(void)snprintf(
	    theirs, sizeof(theirs), "/proc/%ld/ns/%s", (long)pid, kind);
	(void)snprintf(ours, sizeof(ours), "/proc/self/ns/%s", kind);
	return stat(theirs, &a) == 0 && stat(ours, &b) == 0 &&
	       (a.st_ino != b.st_ino || a.st_dev != b.st_dev);
}

static enum result
init_check_spaces(pid_t pid, char *detail_r, size_t size)
{
	static const char *const kinds[] = {
	    "mnt", "net", "ipc", "uts", "pid", "cgroup"};
	char what[64];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (init_check_differs(pid, kinds[i]))
			continue;
		(void)snprintf(what, sizeof(what),
		    "it shares the host's %s namespace", kinds[i]);
		return init_check_fault(detail_r, size, what);
	}
	return RESULT_OK;
}

/* No right but those of allowed. */
static bool
init_check_rights(const char *status, const char *name, uint64_t allowed)
{
	const char *line = init_check_line(status, name);

	return line != NULL && (strtoull(line, NULL, 16) & ~allowed) == 0;
}

static bool
init_check_own_root(pid_t pid)
{
	char path[64];
	struct stat theirs, ours;

	(void)snprintf(path, sizeof(path), "/proc/%ld/root", (long)pid);
	return stat(path, &theirs) == 0 && stat("/", &ours) == 0 &&
	       (theirs.st_ino != ours.st_ino || theirs.st_dev != ours.st_dev);
}

static const char *
init_check_helper_fault(
    pid_t pid, const struct init_check_helper *helper, const char *status)
{
	static const char *const kinds[] = {"mnt", "net", "ipc", "uts"};

	if (status == NULL)
		return "is not there";
	if (!init_check_is(status, "NoNewPrivs", "1") ||
	    !init_check_is(status, "Seccomp", "2"))
		return "has no system call filter";
	if (!init_check_rights(status, "CapPrm", helper->rights) ||
	    !init_check_rights(status, "CapEff", helper->rights) ||
	    !init_check_rights(status, "CapInh", helper->rights) ||
	    !init_check_rights(status, "CapAmb", helper->rights))
		return "has capabilities that it does not need";
	if (helper->other_user &&
	    (!init_check_differs(pid, "user") ||
		init_check_is(status, "Uid", "0\t0\t0\t0")))
		return "runs as root of this machine";
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!init_check_differs(pid, kinds[i]))
			return "shares a namespace with the host";
	}
	return init_check_own_root(pid) ? NULL : "has the host's root";
}

enum result
init_check_helper(pid_t pid, const struct init_check_helper *helper,
    char *detail_r, size_t detail_size)
{
	char path[64], *status = NULL;
	const char *fault;
	size_t len = 0;
	int fd FD_CLEANUP = -1;

	(void)snprintf(path, sizeof(path), "/proc/%ld/status", (long)pid);
	fd = pid > 1 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd >= 0)
		(void)fd_read_all(fd, INIT_CHECK_STATUS_MAX, &status, &len);
	fault = init_check_helper_fault(pid, helper, status);
	free(status);
	if (fault == NULL)
		return RESULT_OK;
	(void)snprintf(detail_r, detail_size, "%s %s", helper->name, fault);
	return RESULT_MISMATCH;
}

enum result
init_check_seen(pid_t pid, uint32_t uid, char *detail_r, size_t detail_size)
{
	char path[64], *status = NULL;
	size_t len = 0;
	enum result result = RESULT_SYSTEM;
	int fd FD_CLEANUP = -1;

	(void)snprintf(path, sizeof(path), "/proc/%ld/status", (long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		result = fd_read_all(fd, INIT_CHECK_STATUS_MAX, &status, &len);
	if (result != RESULT_OK)
		return init_check_fault(
		    detail_r, detail_size, "its status cannot be read");
	result = init_check_status(status, uid, detail_r, detail_size);
	free(status);
	return result;
}

enum result
init_check(pid_t pid, uint32_t uid, char *detail_r, size_t detail_size)
{
	enum result result = init_check_seen(pid, uid, detail_r, detail_size);

	return result == RESULT_OK
		   ? init_check_spaces(pid, detail_r, detail_size)
		   : result;
}
