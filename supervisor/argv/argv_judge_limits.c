/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much the workload may use, what image it is, and what the engine does
 * around it. Called by argv_judge alone.
 */
#include <string.h>

#include "supervisor/argv/argv_judge.h"
#include "supervisor/argv/argv_place.h"
#include "supervisor/argv/argv_value.h"

static void
argv_judge_limits_cgroup(
    const struct argv_items *items, struct argv_findings *findings)
{
	static const char *const of_host[] = {"/", "/system.slice",
	    "system.slice", "/init.scope", "init.scope", "/user.slice",
	    "user.slice", "-.slice", NULL};
	const struct argv_item *memory = argv_items_last(items, ARGV_MEMORY);
	const struct argv_item *swap = argv_items_last(items, ARGV_MEMORY_SWAP);
	const struct argv_item *pids = argv_items_last(items, ARGV_PIDS_LIMIT);
	const struct argv_item *group = argv_items_last(items, ARGV_CGROUPS);
	const struct argv_item *parent =
	    argv_items_last(items, ARGV_CGROUP_PARENT);
	char place[ARGV_PLACE_PATH_MAX];

	if (memory == NULL || !argv_value_is_size(memory->value))
		argv_finding_add(findings, ARGV_CODE_MEMORY, "", memory);
	if (swap != NULL && strncmp(swap->value, "-1", 2) == 0)
		argv_finding_add(findings, ARGV_CODE_SWAP, "", swap);
	if (pids == NULL || !argv_value_is_count(pids->value))
		argv_finding_add(findings, ARGV_CODE_PIDS, "", pids);
	if (group != NULL && strcmp(group->value, "disabled") == 0)
		argv_finding_add(findings, ARGV_CODE_CGROUPS_OFF, "", group);
	if (parent != NULL &&
	    (!argv_place_clean(parent->value, place, sizeof(place)) ||
		argv_value_is_one_of(place, of_host)))
		argv_finding_add(
		    findings, ARGV_CODE_CGROUP_PARENT, parent->value, parent);
}

static void
argv_judge_limits_oom(
    const struct argv_items *items, struct argv_findings *findings)
{
	const struct argv_item *score = argv_items_last(items, ARGV_OOM_SCORE);

	if (argv_items_is_true(items, ARGV_OOM_KILL_DISABLE, false))
		argv_finding_add(findings, ARGV_CODE_OOM_KILL, "",
		    argv_items_last(items, ARGV_OOM_KILL_DISABLE));
	if (score != NULL && score->value[0] == '-' &&
	    strcmp(score->value, "-0") != 0)
		argv_finding_add(findings, ARGV_CODE_OOM_SCORE, "", score);
}

/* With a digest only what was reviewed can be fetched: then the default is
 * no finding, a wish to fetch at each start is. */
static void
argv_judge_limits_image(
    const struct argv_items *items, struct argv_findings *findings)
{
	static const char *const eager[] = {"always", "newer", "true", NULL};
	const struct argv_item *image = argv_items_last(items, ARGV_IMAGE);
	const struct argv_item *pull = argv_items_last(items, ARGV_PULL);
	const char *policy = pull != NULL ? pull->value : "missing";
	const struct argv_item *tls = argv_items_last(items, ARGV_TLS_VERIFY);
	bool pinned;

	if (image == NULL || argv_items_is_true(items, ARGV_ROOTFS, false))
		return;
	pinned = argv_value_is_pinned(image->value);
	if (!pinned)
		argv_finding_add(
		    findings, ARGV_CODE_NO_DIGEST, image->value, image);
	if (items->is_line && (argv_value_is_one_of(policy, eager) ||
				  (!pinned && strcmp(policy, "never") != 0)))
		argv_finding_add(findings, ARGV_CODE_PULL, "", pull);
	if (tls != NULL && strcmp(tls->value, "false") == 0)
		argv_finding_add(findings, ARGV_CODE_TLS_OFF, "", tls);
}

static bool
argv_judge_limits_knows(const char *runtime)
{
	static const char *const names[] = {
	    "", "runc", "crun", "runsc", "youki", "krun", NULL};
	static const char *const starts[] = {"runsc", "kata",
	    "io.containerd.runc.", "io.containerd.runsc.",
	    "io.containerd.kata"};
	const char *slash = strrchr(runtime, '/');
	const char *base = slash != NULL ? slash + 1 : runtime;

	/* A program of this name elsewhere is any program. */
	if (slash != NULL && argv_place_of(runtime) != ARGV_PLACE_SYSTEM)
		return false;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		if (strncmp(base, starts[i], strlen(starts[i])) == 0)
			return true;
	}
	return argv_value_is_one_of(base, names);
}

static void
argv_judge_limits_engine(
    const struct argv_items *items, struct argv_findings *findings)
{
	static const char *const own_logs[] = {
	    "", "none", "local", "json-file", "k8s-file", NULL};
	static const char *const once[] = {"", "no", NULL};
	const struct argv_item *runtime = argv_items_last(items, ARGV_RUNTIME);
	const struct argv_item *systemd = argv_items_last(items, ARGV_SYSTEMD);
	const struct argv_item *log = argv_items_last(items, ARGV_LOG_DRIVER);
	const struct argv_item *restart = argv_items_last(items, ARGV_RESTART);

	if (runtime != NULL && strstr(runtime->value, "nvidia") != NULL)
		argv_finding_add(findings, ARGV_CODE_GPUS, "", runtime);
	else if (runtime != NULL && !argv_judge_limits_knows(runtime->value))
		argv_finding_add(
		    findings, ARGV_CODE_RUNTIME, runtime->value, runtime);
	if (systemd != NULL && strcmp(systemd->value, "always") == 0)
		argv_finding_add(findings, ARGV_CODE_SYSTEMD, "", systemd);
	/* nerdctl runs the program of a "binary:///path". */
	if (log != NULL && strstr(log->value, "://") != NULL)
		argv_finding_add(
		    findings, ARGV_CODE_ENGINE_PROGRAM, log->value, log);
	else if (log != NULL && !argv_value_is_one_of(log->value, own_logs))
		argv_finding_add(
		    findings, ARGV_CODE_LOG_DRIVER, log->value, log);
	if (restart != NULL && !argv_value_is_one_of(restart->value, once))
		argv_finding_add(findings, ARGV_CODE_RESTART, "", restart);
}

void
argv_judge_limits(
    const struct argv_items *items, struct argv_findings *findings)
{
	argv_judge_limits_cgroup(items, findings);
	argv_judge_limits_oom(items, findings);
	argv_judge_limits_image(items, findings);
	argv_judge_limits_engine(items, findings);
}
