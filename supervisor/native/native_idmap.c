/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes id maps (see the header). Called by the launcher before anything
 * of the sandbox runs; must never map a range: one id is all there is.
 */
#include "supervisor/native/native_idmap.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/native/native_fail.h"
#include "supervisor/native/native_launch.h"

static void
native_idmap_file(pid_t pid, const char *name, const char *text)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		native_fail("the user namespace cannot have its", name, errno);
	(void)close(fd);
}

void
native_idmap_write(pid_t pid, uid_t inside, uid_t outside, gid_t group_inside,
    gid_t group_outside, bool deny)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "%u %u 1\n", inside, outside);
	native_idmap_file(pid, "uid_map", text);
	if (deny)
		native_idmap_file(pid, "setgroups", "deny");
	(void)snprintf(
	    text, sizeof(text), "%u %u 1\n", group_inside, group_outside);
	native_idmap_file(pid, "gid_map", text);
}

/* Lives until it is killed, or the launcher is gone. */
static _Noreturn void
native_idmap_hold(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 ||
	    getppid() != parent)
		_exit(NATIVE_LAUNCH_EXIT_START);
	for (;;)
		(void)pause();
}

int
native_idmap_new(uid_t uid, gid_t gid, uid_t to_uid, gid_t to_gid)
{
	char path[64];
	pid_t parent = getpid();
	pid_t pid = (pid_t)syscall(
	    SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
	int fd;

	if (pid < 0)
		native_fail("no user namespace can be made", "", errno);
	if (pid == 0)
		native_idmap_hold(parent);
	native_idmap_write(pid, uid, to_uid, gid, to_gid, false);
	(void)snprintf(path, sizeof(path), "/proc/%ld/ns/user", (long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		native_fail("no user namespace can be kept", "", errno);
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	return fd;
}
