/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few rights that can be taken from a process that links libsecret (see
 * the header). Called by the helper's main before anything is read from a
 * keychain; must never report a layer that the kernel does not.
 */
#include "llm-broker/keyring/keyring_guard.h"

#include <errno.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int
keyring_guard_drop_capabilities(void)
{
	struct __user_cap_header_struct header = {
	    _LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3];

	memset(none, 0, sizeof(none));
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return (int)syscall(SYS_capset, &header, none);
}

static int
keyring_guard_has_capabilities(void)
{
	struct __user_cap_header_struct header = {
	    _LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, has) != 0)
		return 1;
	for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		if ((has[i].effective | has[i].permitted |
			has[i].inheritable) != 0)
			return 1;
	}
	return 0;
}

/* Nothing is started, and no other process is looked into: a D-Bus address
 * can ask for the first. Threads that start later have the filter too. */
static bool
keyring_guard_forbid(void)
{
	static const int calls[] = {SCMP_SYS(execve), SCMP_SYS(execveat),
	    SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv),
	    SCMP_SYS(process_vm_writev), SCMP_SYS(pidfd_getfd)};
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	bool ok = filter != NULL;

	for (size_t i = 0; ok && i < sizeof(calls) / sizeof(calls[0]); i++)
		ok = seccomp_rule_add(
			 filter, SCMP_ACT_ERRNO(EPERM), calls[i], 0) == 0;
	ok = ok && seccomp_load(filter) == 0;
	seccomp_release(filter);
	return ok;
}

enum result
keyring_guard_enter(json_t **layers_r)
{
	const struct rlimit none = {0, 0};
	struct rlimit core = {1, 1};

	*layers_r = NULL;
	if (setrlimit(RLIMIT_CORE, &none) != 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    keyring_guard_drop_capabilities() != 0 || !keyring_guard_forbid() ||
	    getrlimit(RLIMIT_CORE, &core) != 0)
		return RESULT_SYSTEM;
	*layers_r = json_pack("{s:b, s:b, s:b, s:b, s:b}", "no_exec",
	    prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2, "no_core",
	    core.rlim_cur == 0 && core.rlim_max == 0, "not_dumpable",
	    prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0, "no_new_privs",
	    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1, "no_capabilities",
	    !keyring_guard_has_capabilities());
	return *layers_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
}

void
keyring_guard_die_with_supervisor(int on)
{
	(void)prctl(PR_SET_PDEATHSIG, on ? SIGKILL : 0, 0, 0, 0);
}
