/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who the workload is and what it may do to the kernel. Called by
 * argv_judge alone.
 */
#include <string.h>
#include <strings.h>

#include "supervisor/argv/argv_judge.h"
#include "supervisor/argv/argv_value.h"

static void
argv_judge_rights_user(
    const struct argv_items *items, struct argv_findings *findings)
{
	const struct argv_item *user = argv_items_last(items, ARGV_USER);
	const char *userns = argv_items_value(items, ARGV_USERNS, "");

	/* Podman's keep-id runs it under the caller's own id, or another. */
	if (user == NULL && items->engine == ARGV_PODMAN &&
	    argv_value_keeps_id(userns))
		return;
	if (user == NULL || argv_value_is_root(user->value))
		argv_finding_add(findings, ARGV_CODE_ROOT_USER, "", user);
}

static void
argv_judge_rights_groups(
    const struct argv_items *items, struct argv_findings *findings)
{
	static const char *const of_host[] = {"0", "root", "docker", "podman",
	    "disk", "kmem", "sudo", "wheel", "adm", "shadow", "lxd", "libvirt",
	    "kvm", "video", "render", "systemd-journal", NULL};
	const struct argv_item *at = NULL;

	while ((at = argv_items_next(items, ARGV_GROUP_ADD, at)) != NULL) {
		if (strcmp(at->value, "keep-groups") == 0)
			argv_finding_add(
			    findings, ARGV_CODE_GROUP_KEPT, "", at);
		else if (argv_value_is_one_of(at->value, of_host) ||
			 argv_value_is_root(at->value))
			argv_finding_add(
			    findings, ARGV_CODE_GROUP_OF_HOST, at->value, at);
	}
	while ((at = argv_items_next(items, ARGV_HOSTUSER, at)) != NULL)
		argv_finding_add(findings, ARGV_CODE_HOST_USER, at->value, at);
}

static void
argv_judge_rights_caps(
    const struct argv_items *items, struct argv_findings *findings)
{
	const struct argv_item *at = NULL;
	bool dropped = false;

	while ((at = argv_items_next(items, ARGV_CAP_DROP, at)) != NULL)
		dropped = dropped || strcasecmp(at->value, "ALL") == 0;
	if (!dropped)
		argv_finding_add(findings, ARGV_CODE_CAPS_KEPT, "",
		    argv_items_last(items, ARGV_CAP_DROP));
	while ((at = argv_items_next(items, ARGV_CAP_ADD, at)) != NULL)
		argv_finding_add(findings, ARGV_CODE_CAP_ADDED, at->value, at);
	if (argv_items_is_true(items, ARGV_PRIVILEGED, false))
		argv_finding_add(findings, ARGV_CODE_PRIVILEGED, "",
		    argv_items_last(items, ARGV_PRIVILEGED));
}

static bool
argv_judge_rights_is_unconfined(const char *text, const char *key)
{
	const char *value = argv_value_behind(text, key);

	return value != NULL && strcasecmp(value, "unconfined") == 0;
}

/* Domains of SELinux that are none. */
static bool
argv_judge_rights_is_unlabelled(const char *text)
{
	static const char *const none[] = {"disable", "nested", "type:spc_t",
	    "type:unconfined_t", "type:container_engine_t", "type=spc_t",
	    "type=unconfined_t", NULL};
	const char *value = argv_value_behind(text, "label");

	return value != NULL && argv_value_is_one_of(value, none);
}

static void
argv_judge_rights_option(
    struct argv_findings *findings, const struct argv_item *item)
{
	const char *text = item->value;
	const char *cgroups = argv_value_behind(text, "writable-cgroups");
	bool yes = true;

	if (argv_judge_rights_is_unconfined(text, "seccomp"))
		argv_finding_add(findings, ARGV_CODE_SECCOMP, "", item);
	if (argv_judge_rights_is_unconfined(text, "apparmor"))
		argv_finding_add(findings, ARGV_CODE_APPARMOR, "", item);
	if (argv_judge_rights_is_unlabelled(text))
		argv_finding_add(findings, ARGV_CODE_LABEL, "", item);
	if (argv_judge_rights_is_unconfined(text, "systempaths") ||
	    argv_value_behind(text, "unmask") != NULL)
		argv_finding_add(findings, ARGV_CODE_UNMASKED, "", item);
	if (cgroups != NULL &&
	    (cgroups[0] == '\0' || !argv_words_bool(cgroups, &yes) || yes))
		argv_finding_add(findings, ARGV_CODE_CGROUP_WRITABLE, "", item);
}

/* The last one counts; what cannot be read is none. */
static bool
argv_judge_rights_is_held(const struct argv_items *items)
{
	const struct argv_item *at = NULL;
	bool held = false;

	while ((at = argv_items_next(items, ARGV_SECURITY_OPT, at)) != NULL) {
		const char *value =
		    argv_value_behind(at->value, "no-new-privileges");

		if (value != NULL && value[0] == '\0')
			held = true;
		else if (value != NULL && !argv_words_bool(value, &held))
			held = false;
	}
	return held;
}

static void
argv_judge_rights_security(
    const struct argv_items *items, struct argv_findings *findings)
{
	const struct argv_item *at = NULL;
	const struct argv_item *policy =
	    argv_items_last(items, ARGV_SECCOMP_POLICY);

	while ((at = argv_items_next(items, ARGV_SECURITY_OPT, at)) != NULL)
		argv_judge_rights_option(findings, at);
	/* "image": the image brings the filter it is judged by. */
	if (policy != NULL && strcmp(policy->value, "image") == 0)
		argv_finding_add(findings, ARGV_CODE_SECCOMP, "", policy);
	at = argv_items_last(items, ARGV_PATHS_SHOWN);
	if (at != NULL)
		argv_finding_add(findings, ARGV_CODE_UNMASKED, "", at);
	if (!argv_judge_rights_is_held(items))
		argv_finding_add(findings, ARGV_CODE_NEW_PRIVILEGES, "", NULL);
}

/* "host", or one of another container. */
static void
argv_judge_rights_namespace(const struct argv_items *items,
    struct argv_findings *findings, enum argv_meaning meaning,
    enum argv_code host)
{
	const struct argv_item *item = argv_items_last(items, meaning);

	if (item == NULL)
		return;
	if (strcmp(item->value, "host") == 0)
		argv_finding_add(findings, host, "", item);
	else if (strncmp(item->value, "container:", 10) == 0 ||
		 strncmp(item->value, "ns:", 3) == 0 ||
		 strcmp(item->value, "pod") == 0)
		argv_finding_add(
		    findings, ARGV_CODE_NAMESPACE_JOINED, item->value, item);
}

static void
argv_judge_rights_orders(
    const struct argv_items *items, struct argv_findings *findings)
{
	static const char *const orders[] = {"run.oci.",
	    "org.systemd.property.", "io.katacontainers.",
	    "io.containers.trace-", "dev.gvisor.", "org.criu."};
	const struct argv_item *at = NULL;
	char name[128];

	while ((at = argv_items_next(items, ARGV_ANNOTATION, at)) != NULL) {
		size_t len = strcspn(at->value, "=");

		if (len >= sizeof(name))
			len = sizeof(name) - 1;
		memcpy(name, at->value, len);
		name[len] = '\0';
		for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]);
		     i++) {
			if (strncmp(name, orders[i], strlen(orders[i])) == 0)
				argv_finding_add(
				    findings, ARGV_CODE_ANNOTATION, name, at);
		}
	}
	while ((at = argv_items_next(items, ARGV_SYSCTL, at)) != NULL) {
		if (!argv_value_is_own_sysctl(at->value))
			argv_finding_add(
			    findings, ARGV_CODE_SYSCTL, at->value, at);
	}
}

void
argv_judge_rights(
    const struct argv_items *items, struct argv_findings *findings)
{
	argv_judge_rights_user(items, findings);
	argv_judge_rights_groups(items, findings);
	if (!argv_items_is_true(items, ARGV_READ_ONLY, false))
		argv_finding_add(findings, ARGV_CODE_ROOT_WRITABLE, "",
		    argv_items_last(items, ARGV_READ_ONLY));
	argv_judge_rights_caps(items, findings);
	argv_judge_rights_security(items, findings);
	argv_judge_rights_namespace(
	    items, findings, ARGV_PID, ARGV_CODE_PID_HOST);
	argv_judge_rights_namespace(
	    items, findings, ARGV_IPC, ARGV_CODE_IPC_HOST);
	argv_judge_rights_namespace(
	    items, findings, ARGV_UTS, ARGV_CODE_UTS_HOST);
	argv_judge_rights_namespace(
	    items, findings, ARGV_USERNS, ARGV_CODE_USERNS_HOST);
	argv_judge_rights_namespace(
	    items, findings, ARGV_CGROUPNS, ARGV_CODE_CGROUPNS_HOST);
	argv_judge_rights_orders(items, findings);
}
