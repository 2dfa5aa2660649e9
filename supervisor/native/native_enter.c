/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox's first process gives up what it has (see the header). Called
 * by native_start.c in order; must never go on without a layer.
 */
#include "supervisor/native/native_enter.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/securebits.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "supervisor/init/init.h"
#include "supervisor/native/native_fail.h"

#define NATIVE_ENTER_CAPS_MAX 64

void
native_enter_user(const struct native_launch *launch)
{
	/* Of an ordinary user the kernel keeps the groups: setgroups is
	 * denied in the namespace of somebody who could not do it outside. */
	if (launch->rootless == 0 && setgroups(0, NULL) != 0)
		native_fail("groups cannot be given up", "", errno);
	if (setresgid(launch->gid, launch->gid, launch->gid) != 0 ||
	    setresuid(launch->uid, launch->uid, launch->uid) != 0)
		native_fail("cannot become the sandbox's user", "", errno);
	(void)umask(022);
}

static void
native_enter_loopback(void)
{
	struct ifreq request = {.ifr_name = "lo"};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request) != 0)
		native_fail("there is no loopback device", "", errno);
	request.ifr_flags |= IFF_UP;
	if (ioctl(fd, SIOCSIFFLAGS, &request) != 0)
		native_fail("the loopback device cannot be started", "", errno);
	(void)close(fd);
}

/* A setting of the new namespaces, by the host's /proc. */
static void
native_enter_zero(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "0", 1) != 1)
		native_fail("cannot write", path, errno);
	(void)close(fd);
}

void
native_enter_spaces(void)
{
	native_enter_loopback();
	/* Of this network namespace alone; direct mode listens on port 443. */
	native_enter_zero("/proc/sys/net/ipv4/ip_unprivileged_port_start");
	/* Of this user namespace alone: none in it. Whatever is started, by
	 * whomever, gets no rights of its own making from the launcher's. */
	native_enter_zero("/proc/sys/user/max_user_namespaces");
}

void
native_enter_name(const struct native_launch *launch)
{
	if (sethostname(launch->hostname, strlen(launch->hostname)) != 0 ||
	    setdomainname("(none)", 6) != 0)
		native_fail("the host name cannot be set", "", errno);
}

static const char *
native_enter_limit_name(uint32_t resource)
{
	static const struct {
		uint32_t resource;
		const char *name;
	} names[] = {{RLIMIT_CORE, "RLIMIT_CORE"}, {RLIMIT_DATA, "RLIMIT_DATA"},
	    {RLIMIT_MSGQUEUE, "RLIMIT_MSGQUEUE"},
	    {RLIMIT_NOFILE, "RLIMIT_NOFILE"}, {RLIMIT_NPROC, "RLIMIT_NPROC"},
	    {RLIMIT_RTPRIO, "RLIMIT_RTPRIO"}};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].resource == resource)
			return names[i].name;
	}
	return "";
}

/* Whoever called may be allowed less, and that holds: no hard limit is raised,
 * which only a privileged process could. */
static void
native_enter_limits(const struct native_launch *launch)
{
	for (uint32_t i = 0; i < launch->limit_count; i++) {
		const struct native_launch_limit *one = &launch->limits[i];
		rlim_t most = one->value;
		struct rlimit both;

		if (getrlimit((int)one->resource, &both) == 0 &&
		    both.rlim_max < most)
			most = both.rlim_max;
		both = (struct rlimit){most, most};
		if (setrlimit((int)one->resource, &both) != 0)
			native_fail("cannot set",
			    native_enter_limit_name(one->resource), errno);
	}
}

static void
native_enter_capabilities(void)
{
	struct __user_cap_header_struct header = {
	    .version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};

	if (prctl(PR_SET_SECUREBITS,
		SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
		    SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
		    SECBIT_NO_CAP_AMBIENT_RAISE |
		    SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
		0, 0, 0) != 0)
		native_fail("the secure bits cannot be set", "", errno);
	for (int cap = 0; cap < NATIVE_ENTER_CAPS_MAX; cap++) {
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0 &&
		    errno != EINVAL)
			native_fail(
			    "a capability cannot be given up", "", errno);
	}
	if (syscall(SYS_capset, &header, none) != 0)
		native_fail("capabilities cannot be given up", "", errno);
}

void
native_enter_last(const struct native_launch *launch)
{
	/* ENOSYS: a kernel without keyrings. */
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 &&
	    errno != ENOSYS)
		native_fail("no keyring of its own", "", errno);
	native_enter_limits(launch);
	native_enter_capabilities();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
		native_fail("privileges cannot be given up", "", errno);
}

_Noreturn void
native_enter_init(void)
{
	static char name[] = "agentnode-init";
	static char filter[] = INIT_WORD_FILTER;
	char *const words[] = {name, filter, NULL}, *const none[] = {NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int report = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, NATIVE_LAUNCH_FD);

	if (null < 0 || report < 0)
		native_fail("init has no standard streams", "", errno);
	for (int i = 0; i < 3; i++) {
		if (dup2(null, i) < 0)
			_exit(NATIVE_LAUNCH_EXIT_START);
	}
	for (int fd = INIT_CONTROL_FD; fd < NATIVE_LAUNCH_FD; fd++)
		(void)fcntl(fd, F_SETFD, 0);
	(void)syscall(
	    SYS_execveat, INIT_PROGRAM_FD, "", words, none, AT_EMPTY_PATH);
	if (dup2(report, STDERR_FILENO) < 0)
		_exit(NATIVE_LAUNCH_EXIT_START);
	native_fail("init cannot be started", "", errno);
}
