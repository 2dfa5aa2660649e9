/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manifests; see manifest.h. The general fields are a table; the parts of an
 * agent are in manifest_agent.c.
 */
#include "supervisor/package/manifest.h"

#include <string.h>

#include "supervisor/package/manifest_agent.h"
#include "supervisor/package/manifest_field.h"
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

/* Parts that nothing in here runs by (capabilities of tool packs, connector,
 * verification, ...) are kept as they are; what decides is in the table. */
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
    {"capabilities", MANIFEST_ANY_OBJECT, false, 0, 0, NULL, NULL},
    {"permissions", MANIFEST_OBJECT, false, 0, 0, NULL,
	manifest_permission_fields},
    {"env_requirements", MANIFEST_LIST, false, 0, 64, NULL, NULL},
    {"compatibility", MANIFEST_ANY_OBJECT, false, 0, 0, NULL, NULL},
    {"dependencies", MANIFEST_LIST, false, 0, 500, NULL, NULL},
    {"tags", MANIFEST_TEXTS, false, 0, 64, NULL, NULL},
    {"categories", MANIFEST_TEXTS, false, 0, 64, NULL, NULL},
    {"use_cases", MANIFEST_LIST, false, 0, 64, NULL, NULL},
    {"examples", MANIFEST_LIST, false, 0, 64, NULL, NULL},
    {"connector", MANIFEST_ANY_OBJECT, false, 0, 0, NULL, NULL},
    {"mcp_server", MANIFEST_ANY_OBJECT, false, 0, 0, NULL, NULL},
    {"agent", MANIFEST_ANY_OBJECT, false, 0, 0, NULL, NULL},
    {"policy_requirements", MANIFEST_ANY_OBJECT, false, 0, 0, NULL, NULL},
    {"security", MANIFEST_ANY_OBJECT, false, 0, 0, NULL, NULL},
    {"verification", MANIFEST_ANY_OBJECT, false, 0, 0, NULL, NULL},
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

static void
manifest_check_combination(const json_t *manifest, struct json_fault *fault)
{
	const char *type = manifest_text(manifest, "package_type", "");
	const char *runtime = manifest_text(manifest, "runtime", "python");
	const char *mode = manifest_text(manifest, "install_mode", "package");
	size_t i;

	if (fault->text[0] != '\0')
		return;
	for (i = 0; i < sizeof(manifest_combinations) /
			    sizeof(manifest_combinations[0]);
	     i++) {
		const char *const *row = manifest_combinations[i];

		if (strcmp(row[0], type) == 0 && strcmp(row[1], runtime) == 0 &&
		    strcmp(row[2], mode) == 0)
			return;
	}
	json_field_fault(fault,
	    "manifest: package_type %s with runtime %s and install_mode %s is "
	    "no combination; an agent is agent, python or node, package",
	    type, runtime, mode);
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
manifest_check_names(const json_t *manifest, struct json_fault *fault)
{
	if (fault->text[0] != '\0')
		return;
	if (!slug_is_valid(manifest_text(manifest, "package_id", "")))
		json_field_fault(
		    fault, "manifest.package_id must be " SLUG_RULE);
	if (!manifest_is_version(manifest_text(manifest, "version", "")))
		json_field_fault(fault,
		    "manifest.version must be MAJOR.MINOR.PATCH (semver)");
}

static void
manifest_check_network(const json_t *manifest, struct json_fault *fault)
{
	const json_t *network = json_object_get(
	    json_object_get(manifest, "permissions"), "network");
	const char *level = manifest_text(network, "level", "none");
	size_t domains =
	    json_array_size(json_object_get(network, "allowed_domains"));

	if (domains > 0 && strcmp(level, "restricted") != 0)
		json_field_fault(fault,
		    "manifest.permissions.network.allowed_domains is only for "
		    "level restricted");
	if (strcmp(level, "unrestricted") == 0)
		json_field_fault(fault,
		    "manifest.permissions.network.level unrestricted is not "
		    "possible in a sandbox: use restricted with "
		    "allowed_domains");
}

void
manifest_check(const json_t *manifest, struct json_fault *fault)
{
	const json_t *agent = json_object_get(manifest, "agent");
	bool is_agent;

	if (!json_is_object(manifest)) {
		json_field_fault(fault, "the manifest is no mapping");
		return;
	}
	manifest_field_check(manifest, "manifest", manifest_fields, fault);
	manifest_check_names(manifest, fault);
	manifest_check_combination(manifest, fault);
	manifest_check_network(manifest, fault);
	is_agent =
	    strcmp(manifest_text(manifest, "package_type", ""), "agent") == 0;
	if (is_agent != (agent != NULL))
		json_field_fault(fault, "manifest.agent is %s",
		    is_agent ? "missing: an agent needs it"
			     : "only for package_type agent");
	if (is_agent)
		manifest_agent_check(
		    agent, manifest_text(manifest, "runtime", "python"), fault);
}

static json_t *
manifest_permissions(const json_t *manifest)
{
	const json_t *network = json_object_get(
	    json_object_get(manifest, "permissions"), "network");
	const json_t *domains = json_object_get(network, "allowed_domains");
	json_t *list = domains != NULL ? json_deep_copy(domains) : json_array();

	return json_pack("{s:s,s:o}", "network_level",
	    manifest_text(network, "level", "none"), "allowed_domains", list);
}

json_t *
manifest_agent_entry(const json_t *manifest)
{
	return json_pack("{s:s,s:s,s:s,s:o,s:o}", "version",
	    manifest_text(manifest, "version", ""), "package_type", "agent",
	    "runtime", manifest_text(manifest, "runtime", "python"),
	    "permissions", manifest_permissions(manifest), "agent",
	    manifest_agent_entry_part(json_object_get(manifest, "agent")));
}
