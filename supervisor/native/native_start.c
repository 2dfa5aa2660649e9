/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of agentnode-native, what a container runtime is for an engine:
 *
 *   clone into new user, mount, pid, net, IPC and UTS namespaces, while
 *     agentnode decides
 *   outside: take what it gives, map the one user, open the control groups
 *     and (as root) the sources of the view, hand it all on
 *   inside: join the control groups, build the view, become the user, give
 *     up all, become init
 *
 * It dies with agentnode, and the sandbox dies with it. It reads nothing
 * that the sandbox wrote.
 */
#include "supervisor/native/native_start.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/native/native_enter.h"
#include "supervisor/native/native_fail.h"
#include "supervisor/native/native_hand.h"
#include "supervisor/native/native_idmap.h"
#include "supervisor/native/native_launch.h"
#include "supervisor/native/native_build.h"
#include "supervisor/native/native_tree.h"

#define NATIVE_START_SPACES                                          \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | \
	    CLONE_NEWIPC | CLONE_NEWUTS)
#define NATIVE_START_SEALS \
	(F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

#define NATIVE_START_HIGH 64 /* above the numbers of what is given */

/* The kernel's struct clone_args, first version. */
struct native_start_clone {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack,
	    stack_size, tls;
};

static const struct native_launch *
native_start_record(void)
{
	int seals = fcntl(NATIVE_LAUNCH_FD, F_GET_SEALS);
	const struct native_launch *launch;
	struct stat info;

	if (seals < 0 || (seals & NATIVE_START_SEALS) != NATIVE_START_SEALS ||
	    fstat(NATIVE_LAUNCH_FD, &info) != 0 ||
	    info.st_size < (off_t)sizeof(*launch) ||
	    info.st_size > (off_t)native_launch_size(NATIVE_LAUNCH_STEPS_MAX))
		native_fail("agentnode alone starts this program", "", 0);
	launch = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE,
	    NATIVE_LAUNCH_FD, 0);
	if (launch == MAP_FAILED)
		native_fail("the launch record cannot be read", "", errno);
	if (!native_launch_valid(launch, (size_t)info.st_size))
		native_fail("the launch record is not valid", "", 0);
	return launch;
}

/* Does the launcher live? Asked after the kernel was told to kill this
 * process when it dies, so that no death is missed. */
static void
native_start_alone(int fd)
{
	char byte;

	if (recv(fd, &byte, 1, MSG_DONTWAIT) != -1 || errno != EAGAIN)
		_exit(NATIVE_LAUNCH_EXIT_START);
}

/* By the launcher: inside nobody may, nor are they there. */
static void
native_start_groups(const struct native_launch *launch, int *fds_r)
{
	for (uint32_t i = 0; i < launch->group_count; i++) {
		fds_r[i] =
		    open(launch->groups[i], O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
		if (fds_r[i] < 0)
			native_fail("cannot join", launch->groups[i], errno);
	}
}

/* This process, which has one thread. */
static void
native_start_join(const struct native_launch *launch, const int *fds)
{
	for (uint32_t i = 0; i < launch->group_count; i++) {
		if (write(fds[i], "0", 1) != 1)
			native_fail("cannot join", launch->groups[i], errno);
		(void)close(fds[i]);
	}
}

/* Waits for what is given. false: nothing is to be launched. */
static bool
native_start_given(int fd, const char *fault)
{
	enum result result = native_hand_take(fd);

	if (result != RESULT_OK && result != RESULT_EOF)
		native_fail(fault, "", result == RESULT_SYSTEM ? errno : 0);
	return result == RESULT_OK;
}

/* Until something is given there is nothing but the namespaces. The launcher's
 * death ends this: its end of the pair goes, and the kernel kills. */
static _Noreturn void
native_start_inside(int fd)
{
	static struct native_trees trees;
	const struct native_launch *launch;
	int groups[NATIVE_LAUNCH_GROUPS_MAX];

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
		native_fail(
		    "the sandbox cannot end with its launcher", "", errno);
	/* While the host's /proc is still there. */
	native_enter_spaces();
	if (!native_start_given(fd, "what the launcher gave cannot be taken"))
		_exit(NATIVE_LAUNCH_EXIT_START);
	launch = native_start_record();
	(void)close(NATIVE_LAUNCH_FD);
	native_hand_receive(fd, launch, groups, &trees);
	native_start_join(launch, groups);
	native_enter_user(launch);
	native_enter_name(launch);
	native_build_build(launch, &trees);
	if (unshare(CLONE_NEWCGROUP) != 0)
		native_fail("no control group namespace", "", errno);
	native_enter_last(launch);
	native_start_alone(fd);
	native_enter_init();
}

/* What only the launcher can do, then all that was given. */
static void
native_start_outside(pid_t pid, int fd)
{
	static struct native_trees trees;
	const struct native_launch *launch = native_start_record();
	bool rootless = launch->rootless != 0;
	int groups[NATIVE_LAUNCH_GROUPS_MAX];

	native_idmap_write(pid, launch->uid, rootless ? geteuid() : launch->uid,
	    launch->gid, rootless ? getegid() : launch->gid, rootless);
	native_start_groups(launch, groups);
	if (!rootless)
		native_tree_open(launch, &trees);
	native_hand_on(fd);
	native_hand_send(fd, launch, groups, &trees);
}

/* The mounts go when nobody holds them any more, and whoever lets go last
 * waits until each core has passed through the kernel. That is this process,
 * for whose end nobody waits, and not init. -1: then it is init. */
static int
native_start_mounts(pid_t pid)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%ld/ns/mnt", (long)pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int
native_start_reap(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return NATIVE_LAUNCH_EXIT_START;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status)
				 : NATIVE_LAUNCH_EXIT_START;
}

/* Nothing else of the sandbox's stays with the launcher: an end is seen. */
static int
native_start_wait(pid_t pid, int fd, int mounts)
{
	int first = INIT_CONTROL_FD;

	if (mounts >= 0 && dup2(mounts, first) == first)
		first++;
	if (syscall(SYS_close_range, (unsigned)first, (unsigned)fd - 1, 0) !=
		0 ||
	    syscall(SYS_close_range, (unsigned)fd + 1, ~0U, 0) != 0)
		return NATIVE_LAUNCH_EXIT_START;
	return native_start_reap(pid);
}

/* Its number is one that something else is to get. */
static int
native_start_lift(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, NATIVE_START_HIGH);

	if (high < 0)
		native_fail("no descriptors", "", errno);
	(void)close(fd);
	return high;
}

static int
native_start_giver(void)
{
	int type = 0;
	socklen_t len = sizeof(type);

	if (getsockopt(
		NATIVE_LAUNCH_GIVE_FD, SOL_SOCKET, SO_TYPE, &type, &len) != 0 ||
	    type != SOCK_SEQPACKET)
		native_fail("agentnode alone starts this program", "", 0);
	return native_start_lift(NATIVE_LAUNCH_GIVE_FD);
}

int
native_start(void)
{
	struct native_start_clone args = {
	    .flags = NATIVE_START_SPACES, .exit_signal = SIGCHLD};
	int ends[2], mounts, give = native_start_giver();
	long pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		native_fail("no socket pair", "", errno);
	ends[0] = native_start_lift(ends[0]);
	ends[1] = native_start_lift(ends[1]);
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0)
		native_fail("the kernel refuses the namespaces of a sandbox "
			    "(see `agentnode sandbox doctor`)",
		    "", errno);
	if (pid == 0) {
		(void)close(give);
		(void)close(ends[0]);
		native_start_inside(ends[1]);
	}
	(void)close(ends[1]);
	if (!native_start_given(give, "what agentnode gave cannot be taken")) {
		(void)close(ends[0]);
		return native_start_reap((pid_t)pid);
	}
	(void)close(give);
	/* Not before: its number would be one of theirs. */
	mounts = native_start_mounts((pid_t)pid);
	native_start_outside((pid_t)pid, ends[0]);
	return native_start_wait((pid_t)pid, ends[0], mounts);
}
