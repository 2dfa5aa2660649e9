/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rights and limits (see the header). Called by agentnode-host alone. It
 * must never raise a limit. There is no seccomp filter and no Landlock
 * domain here: both would be the workload's, and that is what runs on the
 * host by policy.
 */
#include "supervisor/host/host_limit.h"

#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Nothing but these, as far as they are there. */
static int
host_limit_capabilities(uint32_t kept)
{
	struct __user_cap_header_struct header = {
	    .version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2];

	memset(sets, 0, sizeof(sets));
	if (syscall(SYS_capget, &header, sets) != 0)
		return errno;
	sets[0].permitted &= kept;
	sets[0].effective = sets[0].permitted;
	sets[0].inheritable = 0;
	memset(&sets[1], 0, sizeof(sets[1]));
	return syscall(SYS_capset, &header, sets) != 0 ? errno : 0;
}

/* With no new privileges and an empty bounding set root's programs get no
 * capability, and nothing of the tree becomes somebody we may not kill. */
static int
host_limit_privileges(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return errno;
	/* Who has none may not drop the bounding set, and need not. */
	for (unsigned long cap = 0; cap <= CAP_LAST_CAP; cap++)
		(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
		return errno;
	/* A control group is made in a folder that nobody may write. */
	return host_limit_capabilities(1U << CAP_DAC_OVERRIDE);
}

int
host_limit_self(void)
{
	const struct rlimit no_core = {0, 0};
	sigset_t all;

	(void)umask(077);
	if (setrlimit(RLIMIT_CORE, &no_core) != 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		return errno;
	(void)sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, NULL) != 0)
		return errno;
	return host_limit_privileges();
}

/* At most value, and never more than it was. */
static int
host_limit_set(__rlimit_resource_t which, uint64_t value)
{
	struct rlimit now;

	if (getrlimit(which, &now) != 0)
		return errno;
	if (now.rlim_max > value)
		now.rlim_max = (rlim_t)value;
	if (now.rlim_cur > now.rlim_max)
		now.rlim_cur = now.rlim_max;
	return setrlimit(which, &now) != 0 ? errno : 0;
}

/* RLIMIT_NPROC counts every thread of the user, so those there are come on
 * top. A folder per thread, so its link count tells. */
static uint64_t
host_limit_threads(void)
{
	uint64_t count = 0;
	struct dirent *entry;
	struct stat st;
	DIR *proc = opendir("/proc");
	char path[300];

	if (proc == NULL)
		return 0;
	while ((entry = readdir(proc)) != NULL) {
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		(void)snprintf(
		    path, sizeof(path), "/proc/%s/task", entry->d_name);
		if (stat(path, &st) == 0 && st.st_uid == getuid() &&
		    st.st_nlink > 2)
			count += st.st_nlink - 2;
	}
	closedir(proc);
	return count;
}

int
host_limit_workload(const struct host_setup *setup, bool is_grouped)
{
	int error = host_limit_capabilities(0);

	if (error == 0)
		error = host_limit_set(RLIMIT_NOFILE, setup->files);
	if (is_grouped || error != 0)
		return error;
	/* What it may write to, of each process: not what it reserves, which
	 * is far more with some programs. */
	error = host_limit_set(RLIMIT_DATA, setup->memory);
	/* It does not hold root. */
	if (error == 0 && getuid() != 0)
		error = host_limit_set(
		    RLIMIT_NPROC, host_limit_threads() + setup->pids);
	return error;
}
