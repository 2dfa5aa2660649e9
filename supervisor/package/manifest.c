/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manifests; see manifest.h. The general fields are a table; the parts of an
 * agent are in manifest_agent.c.
 */
#include "supervisor/package/manifest.h"

#include <stdio.h>
#include <string.h>

#include "supervisor/package/manifest_agent.h"
#include "supervisor/package/manifest_field.h"
#include "supervisor/package/manifest_pack.h"
#include "supervisor/package/slug.h"

static const char *const manifest_versions[] = {"0.1", "0.2", "0.3", NULL};
static const char *const manifest_types[] = {
    "toolpack", "agent", "upgrade", "skill", NULL};
static const char *const manifest_runtimes[] = {
    "python", "node", "mcp", "remote", "none", NULL};
static const char *const manifest_modes[] = {
    "package", "remote_endpoint", "prompt_only", NULL};
static const char *const manifest_hosting[] = {"agentnode_hosted", NULL};
static const char *const manifest_networks[] = {
    "none", "restricted", "unrestricted", NULL};
static const char *const manifest_filesystems[] = {
    "none", "temp", "workspace_read", "workspace_write", "any", NULL};
static const char *const manifest_executions[] = {
    "none", "limited_subprocess", "shell", NULL};
static const char *const manifest_data[] = {
    "input_only", "connected_accounts", "persistent", NULL};
static const char *const manifest_approvals[] = {
    "never", "once", "high_risk_only", "always", NULL};

static const struct manifest_field manifest_network_fields[] = {
    {"level", MANIFEST_WORD, true, 0, 0, manifest_networks, NULL},
    {"allowed_domains", MANIFEST_TEXTS, false, 0, 64, NULL, NULL},
    {NULL, MANIFEST_ANY, false, 0, 0, NULL, NULL}};
static const struct manifest_field manifest_filesystem_fields[] = {
    {"level", MANIFEST_WORD, true, 0, 0, manifest_filesystems, NULL},
    {NULL, MANIFEST_ANY, false, 0, 0, NULL, NULL}};
static const struct manifest_field manifest_execution_fields[] = {
    {"level", MANIFEST_WORD, true, 0, 0, manifest_executions, NULL},
    {NULL, MANIFEST_ANY, false, 0, 0, NULL, NULL}};
static const struct manifest_field manifest_data_fields[] = {
    {"level", MANIFEST_WORD, true, 0, 0, manifest_data, NULL},
    {NULL, MANIFEST_ANY, false, 0, 0, NULL, NULL}};
static const struct manifest_field manifest_approval_fields[] = {
    {"required", MANIFEST_WORD, true, 0, 0, manifest_approvals, NULL},
    {NULL, MANIFEST_ANY, false, 0, 0, NULL, NULL}};
static const struct manifest_field manifest_permission_fields[] = {
    {"network", MANIFEST_OBJECT, false, 0, 0, NULL, manifest_network_fields},
    {"filesystem", MANIFEST_OBJECT, false, 0, 0, NULL,
	manifest_filesystem_fields},
    {"code_execution", MANIFEST_OBJECT, false, 0, 0, NULL,
	manifest_execution_fields},
    {"data_access", MANIFEST_OBJECT, false, 0, 0, NULL, manifest_data_fields},
    {"user_approval", MANIFEST_OBJECT, false, 0, 0, NULL,
	manifest_approval_fields},
    {"external_integrations", MANIFEST_LIST, false, 0, 64, NULL, NULL},
    {NULL, MANIFEST_ANY, false, 0, 0, NULL, NULL}};

/* Sections of their own are in manifest_pack.c and manifest_agent.c. */
static const struct manifest_field manifest_fields[] = {
    {"manifest_version", MANIFEST_WORD, true, 0, 0, manifest_versions, NULL},
    {"package_id", MANIFEST_TEXT, true, SLUG_MIN, SLUG_MAX, NULL, NULL},
    {"package_type", MANIFEST_WORD, true, 0, 0, manifest_types, NULL},
    {"name", MANIFEST_TEXT, true, 3, 100, NULL, NULL},
    {"summary", MANIFEST_TEXT, true, 20, 200, NULL, NULL},
    {"description", MANIFEST_LINES, false, 0, 20000, NULL, NULL},
    {"publisher", MANIFEST_TEXT, true, 1, SLUG_MAX, NULL, NULL},
    {"version", MANIFEST_TEXT, true, 1, 64, NULL, NULL},
    {"runtime", MANIFEST_WORD, false, 0, 0, manifest_runtimes, NULL},
    {"install_mode", MANIFEST_WORD, false, 0, 0, manifest_modes, NULL},
    {"hosting_type", MANIFEST_WORD, false, 0, 0, manifest_hosting, NULL},
    {"entrypoint", MANIFEST_TEXT, false, 1, 200, NULL, NULL},
    {"capabilities", MANIFEST_OBJECT, false, 0, 0, NULL,
	manifest_pack_capability_fields},
    {"permissions", MANIFEST_OBJECT, false, 0, 0, NULL,
	manifest_permission_fields},
    {"env_requirements", MANIFEST_OBJECTS, false, 0, 64, NULL,
	manifest_pack_env_fields},
    {"compatibility", MANIFEST_OBJECT, false, 0, 0, NULL,
	manifest_pack_compatibility_fields},
    {"dependencies", MANIFEST_LIST, false, 0, 500, NULL, NULL},
    {"tags", MANIFEST_TEXTS, false, 0, 64, NULL, NULL},
    {"categories", MANIFEST_TEXTS, false, 0, 64, NULL, NULL},
    {"use_cases", MANIFEST_LIST, false, 0, 64, NULL, NULL},
    {"examples", MANIFEST_LIST, false, 0, 64, NULL, NULL},
    {"connector", MANIFEST_OBJECT, false, 0, 0, NULL,
	manifest_pack_connector_fields},
    {"mcp_server", MANIFEST_OBJECT, false, 0, 0, NULL,
	manifest_pack_mcp_fields},
    {"agent", MANIFEST_ANY_OBJECT, false, 0, 0, NULL, NULL},
    {"policy_requirements", MANIFEST_OBJECT, false, 0, 0, NULL,
	manifest_pack_policy_fields},
    {"security", MANIFEST_OBJECT, false, 0, 0, NULL,
	manifest_pack_security_fields},
    {"verification", MANIFEST_OBJECT, false, 0, 0, NULL,
	manifest_pack_verification_fields},
    {NULL, MANIFEST_ANY, false, 0, 0, NULL, NULL}};

/* (package_type, runtime, install_mode) that mean something. */
static const char *const manifest_combinations[][3] = {
    {"toolpack", "python", "package"}, {"toolpack", "node", "package"},
    {"toolpack", "mcp", "package"}, {"toolpack", "remote", "remote_endpoint"},
    {"agent", "python", "package"}, {"agent", "node", "package"},
    {"upgrade", "python", "package"}, {"skill", "none", "prompt_only"}};

static const char *
manifest_text(const json_t *object, const char *key, const char *absent)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : absent;
}

/* The runtime, with its default. */
static const char *
manifest_runtime(const json_t *manifest)
{
	return manifest_text(manifest, "runtime", "python");
}

static void
manifest_check_combination(
    const json_t *manifest, struct manifest_report *report)
{
	const char *type = manifest_text(manifest, "package_type", "");
	const char *runtime = manifest_runtime(manifest);
	const char *mode = manifest_text(manifest, "install_mode", "package");
	char list[400] = "";
	size_t i, used = 0;

	for (i = 0; i < sizeof(manifest_combinations) /
			    sizeof(manifest_combinations[0]);
	     i++) {
		const char *const *row = manifest_combinations[i];

		if (strcmp(row[0], type) == 0 && strcmp(row[1], runtime) == 0 &&
		    strcmp(row[2], mode) == 0)
			return;
		if (strcmp(row[0], type) == 0 && used < sizeof(list))
			used += (size_t)snprintf(list + used,
			    sizeof(list) - used, "%s%s with %s",
			    used > 0 ? ", " : "", row[1], row[2]);
	}
	/* A word that is none of the type's has its own fault. */
	if (used > 0)
		manifest_report_fault(report, "manifest.runtime",
		    "%s and install_mode %s is no combination for %s; those "
		    "are %s",
		    runtime, mode, type, list);
}

/* Whole numbers and dots, with what semver lets follow. */
static bool
manifest_is_version(const char *text)
{
	size_t i, dots = 0, digits = 0;

	for (i = 0; text[i] != '\0' && text[i] != '-' && text[i] != '+'; i++) {
		if (text[i] >= '0' && text[i] <= '9') {
			digits++;
		} else if (text[i] == '.' && digits > 0) {
			dots++;
			digits = 0;
		} else {
			return false;
		}
	}
	return dots == 2 && digits > 0 &&
	       strspn(text + i,
		   "-+.0123456789abcdefghijklmnopqrstuvwxyz"
		   "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == strlen(text + i);
}

static void
manifest_check_names(const json_t *manifest, struct manifest_report *report)
{
	const char *slug = manifest_text(manifest, "package_id", NULL);
	const char *version = manifest_text(manifest, "version", NULL);

	if (slug != NULL && !slug_is_valid(slug))
		manifest_report_fault(
		    report, "manifest.package_id", "must be " SLUG_RULE);
	if (version != NULL && !manifest_is_version(version))
		manifest_report_fault(report, "manifest.version",
		    "must be MAJOR.MINOR.PATCH (semver)");
}

static void
manifest_check_network(const json_t *manifest, struct manifest_report *report)
{
	const json_t *network = json_object_get(
	    json_object_get(manifest, "permissions"), "network");
	const char *level = manifest_text(network, "level", "none");
	bool is_agent =
	    strcmp(manifest_text(manifest, "package_type", ""), "agent") == 0;
	size_t domains =
	    json_array_size(json_object_get(network, "allowed_domains"));

	if (domains > 0 && strcmp(level, "restricted") != 0)
		manifest_report_fault(report,
		    "manifest.permissions.network.allowed_domains",
		    "is only for level restricted");
	if (domains == 0 && strcmp(level, "restricted") == 0)
		manifest_report_warn(report, "manifest.permissions.network",
		    "is restricted to no host: that is no network");
	if (strcmp(level, "unrestricted") != 0)
		return;
	if (is_agent)
		manifest_report_fault(report,
		    "manifest.permissions.network.level",
		    "unrestricted is not possible for an agent: use "
		    "restricted with allowed_domains");
	else
		manifest_report_warn(report,
		    "manifest.permissions.network.level",
		    "is unrestricted: that is no network, unless the host's "
		    "configuration names this package");
}

void
manifest_judge(const json_t *manifest, struct manifest_report *report)
{
	const json_t *agent = manifest_field_get(manifest, "agent");
	const char *type = manifest_text(manifest, "package_type", "");
	bool is_agent = strcmp(type, "agent") == 0;

	if (!json_is_object(manifest)) {
		manifest_report_fault(report, "manifest", "must be a mapping");
		return;
	}
	manifest_field_check(manifest, "manifest", manifest_fields, report);
	manifest_check_names(manifest, report);
	manifest_check_combination(manifest, report);
	manifest_check_network(manifest, report);
	manifest_pack_check(manifest, report);
	if (is_agent != (agent != NULL))
		manifest_report_fault(report, "manifest.agent",
		    is_agent ? "is missing: an agent needs it"
			     : "is only for package_type agent");
	else if (json_is_object(agent))
		manifest_agent_check(agent, manifest_runtime(manifest), report);
}

void
manifest_check(const json_t *manifest, struct json_fault *fault)
{
	struct manifest_report report;

	manifest_report_init(&report);
	manifest_judge(manifest, &report);
	manifest_report_first(&report, fault);
	manifest_report_clear(&report);
}

/* The word of one permission that has nothing but a level. */
static const char *
manifest_level(const json_t *manifest, const char *permission)
{
	return manifest_text(
	    json_object_get(
		json_object_get(manifest, "permissions"), permission),
	    "level", "none");
}

static json_t *
manifest_permissions(const json_t *manifest)
{
	const json_t *network = json_object_get(
	    json_object_get(manifest, "permissions"), "network");
	const json_t *domains = json_object_get(network, "allowed_domains");
	json_t *list =
	    json_is_array(domains) ? json_deep_copy(domains) : json_array();

	return json_pack("{s:s,s:o,s:s,s:s}", "network_level",
	    manifest_level(manifest, "network"), "allowed_domains", list,
	    "filesystem_level", manifest_level(manifest, "filesystem"),
	    "code_execution_level", manifest_level(manifest, "code_execution"));
}

json_t *
manifest_agent_entry(const json_t *manifest)
{
	return json_pack("{s:s,s:s,s:s,s:s,s:o,s:o}", "version",
	    manifest_text(manifest, "version", ""), "package_type", "agent",
	    "runtime", manifest_runtime(manifest), "publisher_slug",
	    manifest_text(manifest, "publisher", ""), "permissions",
	    manifest_permissions(manifest), "agent",
	    manifest_agent_entry_part(json_object_get(manifest, "agent")));
}

/* [{name, required, description?}]: missing is required. */
static json_t *
manifest_env_entry(const json_t *manifest)
{
	const json_t *from = json_object_get(manifest, "env_requirements");
	json_t *list = json_array(), *item;
	size_t i;

	json_array_foreach((json_t *)from, i, item)
	{
		const json_t *text = manifest_field_get(item, "description");

		if (text == NULL)
			text = manifest_field_get(item, "purpose");
		(void)json_array_append_new(
		    list, json_pack("{s:s,s:b,s:O*}", "name",
			      manifest_text(item, "name", ""), "required",
			      !json_is_false(json_object_get(item, "required")),
			      "description", text));
	}
	return list;
}

json_t *
manifest_pack_entry(const json_t *manifest)
{
	json_t *env = manifest_env_entry(manifest);
	json_t *entry = json_pack("{s:s,s:s,s:s,s:s,s:s*,s:o,s:o,s:O*}",
	    "version", manifest_text(manifest, "version", ""), "package_type",
	    "toolpack", "runtime", manifest_runtime(manifest), "publisher_slug",
	    manifest_text(manifest, "publisher", ""), "entrypoint",
	    manifest_text(manifest, "entrypoint", NULL), "permissions",
	    manifest_permissions(manifest), "tools",
	    manifest_pack_tools(manifest), "connector",
	    manifest_field_get(manifest, "connector"));

	if (entry != NULL && json_array_size(env) > 0)
		(void)json_object_set(entry, "env_requirements", env);
	json_decref(env);
	return entry;
}
