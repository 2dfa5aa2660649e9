/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of kernel and system: what does not need the engine. Called by
 * doctor.c; changes nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/child.h"
#include "supervisor/engine/doctor.h"
#include "supervisor/engine/egress_plan.h"
#include "supervisor/engine/oci_subid.h"
#include "supervisor/policy/config.h"

#define DOCTOR_KERNEL_SUBIDS 65536U

/* The whole of a small file; "" when it is not there. */
static void
doctor_kernel_read(const char *path, char *text_r, size_t size)
{
	int fd FD_CLEANUP = open(path, O_RDONLY | O_CLOEXEC);
	char *bytes = NULL;
	size_t len = 0;

	text_r[0] = '\0';
	if (fd < 0 || fd_read_all(fd, size - 1, &bytes, &len) != RESULT_OK)
		return;
	(void)snprintf(text_r, size, "%s", bytes);
	text_r[strcspn(text_r, "\n")] = '\0';
	free(bytes);
}

static void
doctor_kernel_parts(struct doctor *doctor, struct doctor_finding *finding)
{
	static const char *const parts[] = {"agentnode-init", "agentnode-gate",
	    "agentnode-ledger", "agentnode-unpack", "agentnode-collect",
	    "agentnode-egress-proxy", "agentnode-probe", "agentnode-native"};
	char path[4096];

	(void)doctor;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (child_program_path(parts[i], path, sizeof(path)) ==
		    RESULT_OK)
			continue;
		doctor_say(finding, false, "%s is missing", path);
		doctor_fix(finding, "install AgentNode Sandbox again");
		return;
	}
	doctor_say(finding, true, "all of our programs are installed");
}

static void
doctor_kernel_seccomp(struct doctor *doctor, struct doctor_finding *finding)
{
	char path[4096], actions[256];

	(void)doctor;
	doctor_kernel_read(
	    "/proc/sys/kernel/seccomp/actions_avail", actions, sizeof(actions));
	if (child_shared_path("seccomp/agentnode.json", path, sizeof(path)) !=
	    RESULT_OK) {
		doctor_say(finding, false, "the profile %s is missing", path);
		doctor_fix(finding, "install AgentNode Sandbox again");
	} else if (strstr(actions, "kill_process") == NULL) {
		doctor_say(finding, false, "the kernel has no seccomp filter");
		doctor_fix(finding, "use a kernel with CONFIG_SECCOMP_FILTER");
	} else {
		doctor_say(finding, true, "profile %s", path);
	}
}

static void
doctor_kernel_landlock(struct doctor *doctor, struct doctor_finding *finding)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
	    LANDLOCK_CREATE_RULESET_VERSION);
	bool override = config_override(doctor->config, "no_landlock");

	if (abi >= 1) {
		doctor_say(finding, true, "Landlock ABI %ld%s%s", abi,
		    abi < 6 ? " (below 6: no scopes for abstract sockets and "
			      "signals)"
			    : "",
		    override ? "; the override no_landlock is set" : "");
		return;
	}
	doctor_say(finding, override,
	    override ? "no Landlock; accepted by the override no_landlock"
		     : "the kernel has no Landlock (%s)",
	    strerror(errno));
	doctor_fix(finding,
	    "boot with lsm=landlock,... on Linux 5.13 or newer, or accept it "
	    "with `agentnode config set sandbox.overrides no_landlock`");
}

static void
doctor_kernel_calls(struct doctor *doctor, struct doctor_finding *finding)
{
	char noexec[16];
	int fd FD_CLEANUP = pidfd_open(getpid(), 0);

	(void)doctor;
	doctor_kernel_read("/proc/sys/vm/memfd_noexec", noexec, sizeof(noexec));
	if (fd < 0) {
		doctor_say(
		    finding, false, "no pidfd_open: %s", strerror(errno));
		doctor_fix(finding, "use Linux 5.14 or newer");
	} else if (noexec[0] == '2') {
		doctor_say(finding, false,
		    "vm.memfd_noexec is 2: init cannot be handed in");
		doctor_fix(finding, "sysctl vm.memfd_noexec=1");
	} else {
		doctor_say(finding, true,
		    "pidfd_open works, executable memfds are allowed");
	}
}

/* Whether the user has subordinate ids enough; else a range of nobody's. */
static void
doctor_kernel_subids(struct doctor_finding *finding, const char *name)
{
	char *uids = NULL, *gids = NULL;
	uint32_t uid = (uint32_t)geteuid(), first = 0;

	if (oci_subid_read("/etc/subuid", &uids) != RESULT_OK ||
	    oci_subid_read("/etc/subgid", &gids) != RESULT_OK) {
		doctor_say(finding, false,
		    "/etc/subuid or /etc/subgid cannot be read");
	} else if (oci_subid_count(uids, name, uid) < DOCTOR_KERNEL_SUBIDS ||
		   oci_subid_count(gids, name, uid) < DOCTOR_KERNEL_SUBIDS) {
		doctor_say(finding, false,
		    "%s has less than %u subordinate ids", name,
		    DOCTOR_KERNEL_SUBIDS);
		first = oci_subid_free(uids, gids, DOCTOR_KERNEL_SUBIDS);
	}
	if (first != 0)
		doctor_fix(finding,
		    "usermod --add-subuids %u-%u --add-subgids %u-%u %s", first,
		    first + DOCTOR_KERNEL_SUBIDS - 1, first,
		    first + DOCTOR_KERNEL_SUBIDS - 1, name);
	free(uids);
	free(gids);
}

static void
doctor_kernel_users(struct doctor *doctor, struct doctor_finding *finding)
{
	const struct passwd *user = getpwuid(geteuid());
	char off[16], max[16], apparmor[16];

	(void)doctor;
	if (geteuid() == 0) {
		doctor_say(
		    finding, true, "root: each sandbox has a uid of its own");
		return;
	}
	doctor_kernel_read(
	    "/proc/sys/kernel/unprivileged_userns_clone", off, sizeof(off));
	doctor_kernel_read(
	    "/proc/sys/user/max_user_namespaces", max, sizeof(max));
	doctor_kernel_read(
	    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", apparmor,
	    sizeof(apparmor));
	if (off[0] == '0' || strcmp(max, "0") == 0) {
		doctor_say(finding, false,
		    "user namespaces are switched off for users");
		doctor_fix(finding,
		    "sysctl kernel.unprivileged_userns_clone=1 "
		    "user.max_user_namespaces=10000, or run as root");
	} else if (user == NULL) {
		doctor_say(finding, false,
		    "uid %u has no name in the password database",
		    (unsigned)geteuid());
		doctor_fix(finding, "useradd --uid %u NAME, or run as root",
		    (unsigned)geteuid());
	} else {
		doctor_say(finding, true, "user namespaces work for %s%s",
		    user->pw_name,
		    apparmor[0] == '1'
			? " (restricted by AppArmor: podman needs its profile)"
			: "");
		doctor_kernel_subids(finding, user->pw_name);
	}
}

static void
doctor_kernel_resolver(struct doctor *doctor, struct doctor_finding *finding)
{
	const char *given = config_text(doctor->config, "egress.resolver");
	char text[4096], servers[256];
	int fd FD_CLEANUP = open("/etc/resolv.conf", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, text, sizeof(text)) : -1;

	if (given != NULL && given[0] != '\0')
		doctor_say(finding, true, "egress.resolver is %s", given);
	else if (len > 0 && egress_plan_resolver(text, (size_t)len, servers,
				sizeof(servers)) == RESULT_OK)
		doctor_say(finding, true, "%s from /etc/resolv.conf", servers);
	else {
		doctor_say(finding, false, "no name server is known");
		doctor_fix(
		    finding, "agentnode config set egress.resolver ADDRESS:53");
	}
}

const struct doctor_check doctor_kernel_checks[] = {
    {"programs", doctor_kernel_parts},
    {"seccomp", doctor_kernel_seccomp},
    {"landlock", doctor_kernel_landlock},
    {"kernel_calls", doctor_kernel_calls},
    {"user_namespaces", doctor_kernel_users},
    {"resolver", doctor_kernel_resolver},
    {NULL, NULL},
};
