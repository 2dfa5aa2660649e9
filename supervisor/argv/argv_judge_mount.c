/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of the host's files and devices is seen inside. Called by argv_judge
 * alone; each mount of the host gets the one code that says most.
 */
#include <stdio.h>
#include <string.h>

#include "supervisor/argv/argv_judge.h"
#include "supervisor/argv/argv_mount.h"
#include "supervisor/argv/argv_place.h"

static enum argv_code
argv_judge_mount_code(enum argv_place place, bool read_only)
{
	switch (place) {
	case ARGV_PLACE_ENGINE_SOCKET:
		return ARGV_CODE_MOUNT_ENGINE_SOCKET;
	case ARGV_PLACE_SOCKET:
		return ARGV_CODE_MOUNT_SOCKET;
	case ARGV_PLACE_ROOT:
		return ARGV_CODE_MOUNT_ROOT;
	case ARGV_PLACE_KERNEL:
		return ARGV_CODE_MOUNT_KERNEL;
	case ARGV_PLACE_CREDENTIALS:
		return ARGV_CODE_MOUNT_CREDENTIALS;
	case ARGV_PLACE_HOME:
		return ARGV_CODE_MOUNT_HOME;
	case ARGV_PLACE_SYSTEM:
		return ARGV_CODE_MOUNT_SYSTEM;
	case ARGV_PLACE_PROJECT:
		return read_only ? ARGV_CODE_MOUNT_PROJECT
				 : ARGV_CODE_MOUNT_WRITABLE;
	case ARGV_PLACE_SCRATCH:
		return read_only ? ARGV_CODE_MOUNT_READ_ONLY
				 : ARGV_CODE_MOUNT_SCRATCH;
	case ARGV_PLACE_OTHER:
		break;
	}
	return read_only ? ARGV_CODE_MOUNT_READ_ONLY : ARGV_CODE_MOUNT_WRITABLE;
}

/* HOME stands in, or is, a place of the host. */
static void
argv_judge_mount_home(const struct argv_items *items,
    struct argv_findings *findings, const struct argv_mount *mount)
{
	const struct argv_item *at = NULL, *home = NULL;
	char target[ARGV_PLACE_PATH_MAX], value[ARGV_PLACE_PATH_MAX];
	size_t len;

	while ((at = argv_items_next(items, ARGV_ENV, at)) != NULL) {
		if (strncmp(at->value, "HOME=", 5) == 0)
			home = at;
	}
	if (home == NULL ||
	    !argv_place_clean(mount->target, target, sizeof(target)) ||
	    !argv_place_clean(home->value + 5, value, sizeof(value)))
		return;
	len = strlen(target);
	if (strncmp(value, target, len) == 0 &&
	    (len == 1 || value[len] == '\0' || value[len] == '/'))
		argv_finding_add(
		    findings, ARGV_CODE_ENV_HOME, home->value + 5, home);
}

static void
argv_judge_mount_one(const struct argv_items *items,
    struct argv_findings *findings, const struct argv_mount *mount,
    const struct argv_item *item)
{
	bool read_only = mount->read_only || mount->overlay;
	char subject[ARGV_SUBJECT_MAX];

	if (mount->shared)
		argv_finding_add(
		    findings, ARGV_CODE_MOUNT_SHARED, mount->target, item);
	if (mount->kind != ARGV_MOUNT_BIND)
		return;
	(void)snprintf(subject, sizeof(subject), "%s %s", mount->source,
	    read_only ? "read-only" : "read-write");
	argv_finding_add(findings,
	    argv_judge_mount_code(argv_place_of(mount->source), read_only),
	    subject, item);
	argv_judge_mount_home(items, findings, mount);
}

static void
argv_judge_mount_fault(struct argv_findings *findings, struct argv_fault *fault,
    const struct argv_item *item, const char *what)
{
	findings->result = RESULT_BAD;
	if (item->path != NULL)
		(void)snprintf(fault->text, sizeof(fault->text),
		    "%.100s: \"%.64s\" is no mount the engine takes",
		    item->path, what);
	else
		(void)snprintf(fault->text, sizeof(fault->text),
		    "word %zu: \"%.64s\" is no mount the engine takes",
		    item->position, what);
}

static void
argv_judge_mount_all(const struct argv_items *items,
    struct argv_findings *findings, struct argv_fault *fault)
{
	for (size_t i = 0; i < items->count; i++) {
		const struct argv_item *item = &items->items[i];
		enum result result = RESULT_OK;
		struct argv_mount mount;
		char what[64] = "";

		if (item->meaning == ARGV_VOLUME) {
			result = argv_mount_volume(item->value, &mount);
			(void)snprintf(
			    what, sizeof(what), "%.63s", item->value);
		} else if (item->meaning == ARGV_MOUNT) {
			result = argv_mount_record(item->value, &mount, what);
		} else {
			continue;
		}
		if (result == RESULT_OK)
			argv_judge_mount_one(items, findings, &mount, item);
		else if (findings->result == RESULT_OK)
			argv_judge_mount_fault(findings, fault, item, what);
	}
}

static void
argv_judge_mount_each(const struct argv_items *items,
    struct argv_findings *findings, enum argv_meaning meaning,
    enum argv_code code)
{
	const struct argv_item *at = NULL;

	while ((at = argv_items_next(items, meaning, at)) != NULL)
		argv_finding_add(findings, code, at->value, at);
}

/* The secret's own name is told, not where it goes. */
static void
argv_judge_mount_secrets(
    const struct argv_items *items, struct argv_findings *findings)
{
	const struct argv_item *at = NULL;
	char name[128];

	while ((at = argv_items_next(items, ARGV_SECRET, at)) != NULL) {
		(void)snprintf(name, sizeof(name), "%.*s",
		    (int)strcspn(at->value, ","), at->value);
		argv_finding_add(findings, ARGV_CODE_SECRET, name, at);
	}
}

void
argv_judge_mount(const struct argv_items *items, struct argv_findings *findings,
    struct argv_fault *fault_r)
{
	const struct argv_item *at = NULL;

	argv_judge_mount_all(items, findings, fault_r);
	argv_judge_mount_each(
	    items, findings, ARGV_VOLUMES_FROM, ARGV_CODE_VOLUMES_FROM);
	argv_judge_mount_each(
	    items, findings, ARGV_INIT_PATH, ARGV_CODE_INIT_PATH);
	argv_judge_mount_each(items, findings, ARGV_DEVICE, ARGV_CODE_DEVICE);
	argv_judge_mount_each(
	    items, findings, ARGV_DEVICE_RULE, ARGV_CODE_DEVICE_RULE);
	argv_judge_mount_secrets(items, findings);
	while ((at = argv_items_next(items, ARGV_GPUS, at)) != NULL)
		argv_finding_add(findings, ARGV_CODE_GPUS, "", at);
	while ((at = argv_items_next(items, ARGV_PRESERVE_FDS, at)) != NULL) {
		if (strcmp(at->value, "0") != 0)
			argv_finding_add(
			    findings, ARGV_CODE_PRESERVE_FDS, "", at);
	}
	if (argv_items_is_true(items, ARGV_API_SOCKET, false))
		argv_finding_add(findings, ARGV_CODE_API_SOCKET, "",
		    argv_items_last(items, ARGV_API_SOCKET));
	if (argv_items_is_true(items, ARGV_ROOTFS, false))
		argv_finding_add(findings, ARGV_CODE_ROOTFS,
		    argv_items_value(items, ARGV_IMAGE, ""),
		    argv_items_last(items, ARGV_ROOTFS));
}
