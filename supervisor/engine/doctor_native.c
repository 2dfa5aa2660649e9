/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of the native boundary: may user namespaces be made, may they be
 * used, and does a sandbox start. Called by doctor.c; changes nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/child.h"
#include "supervisor/engine/cgroup_make.h"
#include "supervisor/engine/doctor.h"
#include "supervisor/engine/selftest.h"
#include "supervisor/policy/config.h"

#define DOCTOR_NATIVE_PROFILE "/etc/apparmor.d/agentnode-native"

/* The first character of a setting of the kernel; '\0': it has none. */
static char
doctor_native_setting(const char *path)
{
	FILE *file = fopen(path, "re");
	int got = file != NULL ? fgetc(file) : EOF;

	if (file != NULL)
		(void)fclose(file);
	return got == EOF ? '\0' : (char)got;
}

static void
doctor_native_apparmor(struct doctor_finding *finding)
{
	char profile[4096];
	struct stat info;

	if (stat(DOCTOR_NATIVE_PROFILE, &info) == 0) {
		doctor_say(finding, true,
		    "user namespaces are restricted by AppArmor; the profile "
		    "%s is there",
		    DOCTOR_NATIVE_PROFILE);
		return;
	}
	if (child_shared_path("apparmor/agentnode-native", profile,
		sizeof(profile)) != RESULT_OK)
		(void)snprintf(profile, sizeof(profile),
		    "deploy/apparmor/agentnode-native");
	doctor_say(finding, false,
	    "user namespaces are restricted by AppArmor "
	    "(kernel.apparmor_restrict_unprivileged_userns is 1)");
	doctor_fix(finding,
	    "as root: cp %.256s /etc/apparmor.d/ && apparmor_parser --replace "
	    "%s",
	    profile, DOCTOR_NATIVE_PROFILE);
}

static void
doctor_native_namespaces(struct doctor *doctor, struct doctor_finding *finding)
{
	bool root = geteuid() == 0;

	(void)doctor;
	if (doctor_native_setting("/proc/sys/user/max_user_namespaces") ==
		'0' ||
	    (!root &&
		doctor_native_setting(
		    "/proc/sys/kernel/unprivileged_userns_clone") == '0')) {
		doctor_say(finding, false, "user namespaces are switched off%s",
		    root ? "" : " for users");
		doctor_fix(finding,
		    "as root: sysctl user.max_user_namespaces=10000%s",
		    root ? "" : " kernel.unprivileged_userns_clone=1");
	} else if (!root &&
		   doctor_native_setting("/proc/sys/kernel/"
					 "apparmor_restrict_unprivileged_"
					 "userns") == '1') {
		doctor_native_apparmor(finding);
	} else {
		doctor_say(finding, true, "user namespaces can be made");
	}
}

static void
doctor_native_limits(struct doctor *doctor, struct doctor_finding *finding)
{
	struct cgroup parents;
	bool can = cgroup_make_find(&parents) == RESULT_OK;

	if (can) {
		doctor_say(finding, true, "control groups below %s",
		    parents.dirs[0].path);
	} else if (config_override(doctor->config, "no_cgroup_limits")) {
		doctor_say(finding, true,
		    "no control groups; accepted by no_cgroup_limits");
	} else {
		doctor_say(finding, false,
		    "no control group may be made: no limit on memory, "
		    "processes and CPU");
		doctor_fix(finding,
		    "cgroup v2 with a delegated group (a login session of "
		    "systemd), or run as root, or `agentnode config set "
		    "sandbox.overrides no_cgroup_limits`");
	}
}

/* Not done with --quick. */
static void
doctor_native_start(struct doctor *doctor, struct doctor_finding *finding)
{
	char detail[512] = "";
	json_t *report = NULL;
	const json_t *row;

	if (!doctor->deep) {
		doctor_say(finding, true, "not tried (--quick)");
		return;
	}
	if (selftest_run(doctor->config, SELFTEST_NATIVE, false, &report,
		detail, sizeof(detail)) != RESULT_OK) {
		doctor_say(finding, false, "%s", detail);
		doctor_fix(finding, "see the other native rows");
		return;
	}
	row = json_array_get(json_object_get(report, "probes"), 0);
	doctor_say(finding, json_is_true(json_object_get(report, "ok")), "%s",
	    json_string_value(json_object_get(row, "detail")));
	doctor_fix(finding, "see the other native rows and docs/native.md");
	json_decref(report);
}

const struct doctor_check doctor_native_checks[] = {
    {"native_namespaces", doctor_native_namespaces},
    {"native_limits", doctor_native_limits},
    {"native_start", doctor_native_start},
    {NULL, NULL},
};
