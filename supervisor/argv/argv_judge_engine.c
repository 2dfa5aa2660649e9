/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the engine itself is told to obey, to run and to write on the host.
 * Called by argv_judge alone; a value that is not understood is a finding.
 */
#include <string.h>
#include <strings.h>

#include "supervisor/argv/argv_judge.h"
#include "supervisor/argv/argv_port.h"

/* Exactly one of the words; the list ends with NULL. */
static bool
argv_judge_engine_is(const char *value, const char *const *words)
{
	for (size_t i = 0; words[i] != NULL; i++) {
		if (strcmp(value, words[i]) == 0)
			return true;
	}
	return false;
}

/* Each value of a meaning that is none of those allowed. */
static void
argv_judge_engine_unless(const struct argv_items *items,
    struct argv_findings *findings, enum argv_meaning meaning,
    const char *const *allowed, enum argv_code code)
{
	const struct argv_item *at = NULL;

	while ((at = argv_items_next(items, meaning, at)) != NULL) {
		if (!argv_judge_engine_is(at->value, allowed))
			argv_finding_add(findings, code, at->value, at);
	}
}

/* Podman's storage can be told a program that mounts, and other stores. */
static void
argv_judge_engine_storage(
    const struct argv_items *items, struct argv_findings *findings)
{
	const struct argv_item *at = NULL;

	while ((at = argv_items_next(items, ARGV_STORAGE_OPT, at)) != NULL) {
		if (strcasestr(at->value, "mount_program") != NULL)
			argv_finding_add(
			    findings, ARGV_CODE_ENGINE_PROGRAM, at->value, at);
		else if (strcasestr(at->value, "imagestore") != NULL)
			argv_finding_add(
			    findings, ARGV_CODE_ENGINE_CONFIG, at->value, at);
	}
}

/* Whatever the driver is: "path" is podman's word, "log-path" nerdctl's. */
static void
argv_judge_engine_output(
    const struct argv_items *items, struct argv_findings *findings)
{
	static const char *const empty[] = {"", NULL};
	static const char *const kept[] = {"", "local", "events_logger", NULL};
	const struct argv_item *at = NULL;

	argv_judge_engine_unless(
	    items, findings, ARGV_OUTPUT_FILE, empty, ARGV_CODE_OUTPUT_FILE);
	argv_judge_engine_unless(
	    items, findings, ARGV_HEALTH_LOG, kept, ARGV_CODE_OUTPUT_FILE);
	while ((at = argv_items_next(items, ARGV_LOG_OPT, at)) != NULL) {
		const char *option =
		    at->value + strspn(at->value, " \t\r\n\v\f");

		if (strncasecmp(option, "path", 4) == 0 ||
		    strncasecmp(option, "log-path", 8) == 0)
			argv_finding_add(
			    findings, ARGV_CODE_OUTPUT_FILE, at->value, at);
	}
}

static void
argv_judge_engine_hosts(
    const struct argv_items *items, struct argv_findings *findings)
{
	static const char *const own[] = {"none", "image", NULL};
	const struct argv_item *file = argv_items_last(items, ARGV_HOSTS_FILE);

	if (file == NULL || argv_judge_engine_is(file->value, own))
		return;
	argv_finding_add(findings, ARGV_CODE_HOSTS_FILE,
	    file->value[0] != '\0' ? file->value : "/etc/hosts", file);
}

void
argv_judge_engine(
    const struct argv_items *items, struct argv_findings *findings)
{
	static const char *const empty[] = {"", NULL};
	static const char *const printed[] = {
	    "", ARGV_PORT_HOOKS, ARGV_PORT_MOUNTS, NULL};
	const struct argv_item *at = NULL;

	argv_judge_engine_unless(items, findings, ARGV_ENGINE_CONFIG, empty,
	    ARGV_CODE_ENGINE_CONFIG);
	argv_judge_engine_unless(items, findings, ARGV_ENGINE_EMPTY, printed,
	    ARGV_CODE_ENGINE_CONFIG);
	argv_judge_engine_unless(items, findings, ARGV_ENGINE_PROGRAM, empty,
	    ARGV_CODE_ENGINE_PROGRAM);
	argv_judge_engine_storage(items, findings);
	argv_judge_engine_hosts(items, findings);
	argv_judge_engine_output(items, findings);
	while ((at = argv_items_next(items, ARGV_CGROUP_CONF, at)) != NULL)
		argv_finding_add(
		    findings, ARGV_CODE_CGROUP_CONF, at->value, at);
}
