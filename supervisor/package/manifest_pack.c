/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tool packs' sections; see manifest_pack.h. It must never take a word that
 * is not in a table here.
 */
#include "supervisor/package/manifest_pack.h"

#include <stdio.h>
#include <string.h>

#include "supervisor/package/manifest_entrypoint.h"
#include "supervisor/package/requirement.h"
#include "supervisor/package/slug.h"

#define MANIFEST_PACK_TOOLS_MAX 128
#define MANIFEST_PACK_NAME_MAX 64
#define MANIFEST_PACK_TEXT_MAX 4000

#define MANIFEST_PACK_END                                   \
	{                                                   \
		NULL, MANIFEST_ANY, false, 0, 0, NULL, NULL \
	}
#define TEXT(name, required, min, max)                              \
	{                                                           \
		name, MANIFEST_TEXT, required, min, max, NULL, NULL \
	}
#define LINES(name)                                                           \
	{                                                                     \
		name, MANIFEST_LINES, false, 0, MANIFEST_PACK_TEXT_MAX, NULL, \
		    NULL                                                      \
	}
#define PART(name, required, kind, max, fields)            \
	{                                                  \
		name, kind, required, 0, max, NULL, fields \
	}

static const char *const manifest_pack_transports[] = {"stdio", "sse", NULL};
static const char *const manifest_pack_auths[] = {"api_key", "oauth2", NULL};
static const char *const manifest_pack_tiers[] = {
    "unverified", "verified", "trusted", "curated", NULL};
static const char *const manifest_pack_managers[] = {"npm", "pypi", NULL};

static const struct manifest_field manifest_pack_tool_fields[] = {
    TEXT("name", true, 1, MANIFEST_PACK_NAME_MAX),
    TEXT("capability_id", false, 1, 100), LINES("description"),
    TEXT("entrypoint", false, 1, MANIFEST_ENTRYPOINT_MAX),
    {"action_type", MANIFEST_WORD, false, 0, 0, manifest_field_actions, NULL},
    PART("input_schema", false, MANIFEST_ANY_OBJECT, 0, NULL),
    PART("output_schema", false, MANIFEST_ANY_OBJECT, 0, NULL),
    MANIFEST_PACK_END};
static const struct manifest_field manifest_pack_resource_fields[] = {
    TEXT("name", true, 1, MANIFEST_PACK_NAME_MAX),
    TEXT("capability_id", false, 1, 100), LINES("description"),
    TEXT("uri", true, 1, 500), TEXT("mime_type", false, 1, 100),
    TEXT("content_path", false, 1, 500), MANIFEST_PACK_END};
static const struct manifest_field manifest_pack_argument_fields[] = {
    TEXT("name", true, 1, MANIFEST_PACK_NAME_MAX), LINES("description"),
    PART("required", false, MANIFEST_FLAG, 0, NULL), MANIFEST_PACK_END};
static const struct manifest_field manifest_pack_prompt_fields[] = {
    TEXT("name", true, 1, MANIFEST_PACK_NAME_MAX),
    TEXT("capability_id", false, 1, 100), LINES("description"),
    {"template", MANIFEST_LINES, true, 1, 20000, NULL, NULL},
    PART("arguments", false, MANIFEST_OBJECTS, 32,
	manifest_pack_argument_fields),
    MANIFEST_PACK_END};
const struct manifest_field manifest_pack_capability_fields[] = {
    PART("tools", false, MANIFEST_OBJECTS, MANIFEST_PACK_TOOLS_MAX,
	manifest_pack_tool_fields),
    PART("resources", false, MANIFEST_OBJECTS, 128,
	manifest_pack_resource_fields),
    PART("prompts", false, MANIFEST_OBJECTS, 128, manifest_pack_prompt_fields),
    MANIFEST_PACK_END};
const struct manifest_field manifest_pack_env_fields[] = {
    TEXT("name", true, 1, 128), PART("required", false, MANIFEST_FLAG, 0, NULL),
    LINES("description"), LINES("purpose"), MANIFEST_PACK_END};
const struct manifest_field manifest_pack_compatibility_fields[] = {
    PART("frameworks", false, MANIFEST_TEXTS, 32, NULL),
    TEXT("python", false, 1, 60), TEXT("node", false, 1, 60),
    MANIFEST_PACK_END};
static const struct manifest_field manifest_pack_health_fields[] = {
    TEXT("endpoint", true, 1, 500),
    {"interval_seconds", MANIFEST_NUMBER, false, 1, 86400, NULL, NULL},
    MANIFEST_PACK_END};
static const struct manifest_field manifest_pack_rate_fields[] = {
    {"requests_per_minute", MANIFEST_NUMBER, true, 1, 1000000, NULL, NULL},
    MANIFEST_PACK_END};
const struct manifest_field manifest_pack_connector_fields[] = {
    TEXT("provider", true, 1, 60),
    {"auth_type", MANIFEST_WORD, false, 0, 0, manifest_pack_auths, NULL},
    PART("scopes", false, MANIFEST_TEXTS, 64, NULL),
    PART("token_refresh", false, MANIFEST_FLAG, 0, NULL),
    PART(
	"health_check", false, MANIFEST_OBJECT, 0, manifest_pack_health_fields),
    PART("rate_limits", false, MANIFEST_OBJECT, 0, manifest_pack_rate_fields),
    MANIFEST_PACK_END};
static const struct manifest_field manifest_pack_install_fields[] = {
    {"manager", MANIFEST_WORD, true, 0, 0, manifest_pack_managers, NULL},
    TEXT("package", true, 1, 214), TEXT("version", true, 1, 128),
    MANIFEST_PACK_END};
const struct manifest_field manifest_pack_mcp_fields[] = {
    PART("command", false, MANIFEST_TEXTS, 32, NULL),
    {"transport", MANIFEST_WORD, false, 0, 0, manifest_pack_transports, NULL},
    TEXT("npm_package", false, 1, 214), TEXT("pypi_package", false, 1, 214),
    TEXT("source_repo", false, 1, 500),
    PART("env_keys", false, MANIFEST_TEXTS, 64, NULL),
    PART(
	"mcp_install", false, MANIFEST_OBJECT, 0, manifest_pack_install_fields),
    PART("mcp_allowed_domains", false, MANIFEST_TEXTS, 64, NULL),
    MANIFEST_PACK_END};
const struct manifest_field manifest_pack_policy_fields[] = {
    {"min_trust_level", MANIFEST_WORD, false, 0, 0, manifest_pack_tiers, NULL},
    PART("requires_approval", false, MANIFEST_FLAG, 0, NULL),
    MANIFEST_PACK_END};
static const struct manifest_field manifest_pack_provenance_fields[] = {
    TEXT("source_repo", false, 1, 500), TEXT("commit", false, 1, 100),
    TEXT("build_system", false, 1, 100), MANIFEST_PACK_END};
const struct manifest_field manifest_pack_security_fields[] = {
    TEXT("signature", false, 1, 1000),
    PART("provenance", false, MANIFEST_OBJECT, 0,
	manifest_pack_provenance_fields),
    MANIFEST_PACK_END};
static const struct manifest_field manifest_pack_expected_fields[] = {
    TEXT("return_type", false, 1, 60),
    PART("required_keys", false, MANIFEST_TEXTS, 64, NULL), MANIFEST_PACK_END};
static const struct manifest_field manifest_pack_case_fields[] = {
    TEXT("name", true, 1, 100), TEXT("tool", false, 1, MANIFEST_PACK_NAME_MAX),
    PART("input", false, MANIFEST_ANY_OBJECT, 0, NULL),
    TEXT("cassette", false, 1, 500),
    PART("expected", false, MANIFEST_OBJECT, 0, manifest_pack_expected_fields),
    MANIFEST_PACK_END};
const struct manifest_field manifest_pack_verification_fields[] = {
    PART("cases", false, MANIFEST_OBJECTS, 64, manifest_pack_case_fields),
    MANIFEST_PACK_END};

static const char *
manifest_pack_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* A letter, then letters, digits, '_' and '-': it is part of other names. */
static bool
manifest_pack_is_tool(const char *name)
{
	static const char more[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

	return name[0] != '\0' && strspn(name, more) == strlen(name) &&
	       strspn(name, "_-0123456789") == 0 && strstr(name, "__") == NULL;
}

/* Names of one list: each once, each of this form. */
static void
manifest_pack_check_names(const json_t *list, const char *path,
    bool (*is_good)(const char *), const char *rule,
    struct manifest_report *report)
{
	char place[96];
	size_t i, j;

	for (i = 0; i < json_array_size(list); i++) {
		const json_t *name =
		    json_object_get(json_array_get(list, i), "name");

		if (!json_is_string(name))
			continue;
		(void)snprintf(place, sizeof(place), "%s[%zu].name", path, i);
		if (!is_good(json_string_value(name)))
			manifest_report_fault(report, place, "%s", rule);
		for (j = 0; j < i; j++)
			if (json_equal(
				name, json_object_get(
					  json_array_get(list, j), "name")))
				manifest_report_fault(
				    report, place, "is there already");
	}
}

static bool
manifest_pack_is_env(const char *name)
{
	return manifest_entrypoint_is_identifier(name, strlen(name));
}

static void
manifest_pack_check_entrypoint(const json_t *value, const char *path,
    bool is_node, struct manifest_report *report)
{
	const char *text = json_string_value(value);

	if (text != NULL && !manifest_entrypoint_is_valid(text, is_node))
		manifest_report_fault(report, path, MANIFEST_ENTRYPOINT_RULE);
}

/* input_schema and output_schema describe objects of named arguments. */
static void
manifest_pack_check_schema(const json_t *tool, const char *path,
    const char *key, struct manifest_report *report)
{
	const json_t *schema = json_object_get(tool, key);
	const char *type = manifest_pack_text(schema, "type");
	char place[128];

	(void)snprintf(place, sizeof(place), "%s.%s.type", path, key);
	if (strcmp(key, "input_schema") == 0 && json_is_object(schema) &&
	    (type == NULL || strcmp(type, "object") != 0))
		manifest_report_fault(report, place, "must be object");
	(void)snprintf(place, sizeof(place), "%s.%s.properties", path, key);
	if (manifest_field_get(schema, "properties") != NULL &&
	    !json_is_object(json_object_get(schema, "properties")))
		manifest_report_fault(report, place, "must be a mapping");
}

/* With one tool, or in version 0.1, the package's entry point serves it. */
static void
manifest_pack_check_tool(const json_t *manifest, size_t count, size_t at,
    const json_t *tool, struct manifest_report *report)
{
	const json_t *entry = manifest_field_get(tool, "entrypoint");
	const char *runtime = manifest_pack_text(manifest, "runtime");
	const char *version = manifest_pack_text(manifest, "manifest_version");
	bool is_node = runtime != NULL && strcmp(runtime, "node") == 0;
	bool is_code =
	    runtime == NULL || is_node || strcmp(runtime, "python") == 0;
	bool is_old = version != NULL && strcmp(version, "0.1") == 0;
	char path[64], place[80];

	(void)snprintf(
	    path, sizeof(path), "manifest.capabilities.tools[%zu]", at);
	(void)snprintf(place, sizeof(place), "%s.entrypoint", path);
	manifest_pack_check_schema(tool, path, "input_schema", report);
	manifest_pack_check_schema(tool, path, "output_schema", report);
	if (!is_code) {
		if (entry != NULL)
			manifest_report_fault(report, place,
			    "is only for runtime python and node");
		return;
	}
	manifest_pack_check_entrypoint(entry, place, is_node, report);
	if (entry == NULL && count > 1 && !is_old)
		manifest_report_fault(report, place,
		    "is missing: with more than one tool each has its own");
	else if (entry == NULL &&
		 manifest_field_get(manifest, "entrypoint") == NULL)
		manifest_report_fault(
		    report, place, "is missing, and manifest.entrypoint too");
	if (manifest_field_get(tool, "action_type") == NULL)
		manifest_report_warn(
		    report, path, "has no action_type: Guard goes by its name");
	if (manifest_field_get(tool, "input_schema") == NULL)
		manifest_report_warn(report, path,
		    "has no input_schema: any arguments are passed on");
}

static void
manifest_pack_check_tools(
    const json_t *manifest, struct manifest_report *report)
{
	const json_t *tools =
	    json_object_get(json_object_get(manifest, "capabilities"), "tools");
	size_t count = json_array_size(tools), i;

	manifest_pack_check_names(tools, "manifest.capabilities.tools",
	    manifest_pack_is_tool,
	    "must be letters, digits, '-' and single '_', a letter first",
	    report);
	for (i = 0; i < count; i++)
		if (json_is_object(json_array_get(tools, i)))
			manifest_pack_check_tool(manifest, count, i,
			    json_array_get(tools, i), report);
}

static bool
manifest_pack_is_inner(const char *path)
{
	return path[0] != '/' && path[0] != '\0' &&
	       strncmp(path, "../", 3) != 0 && strstr(path, "/../") == NULL &&
	       strcmp(path, "..") != 0 && strchr(path, '\\') == NULL &&
	       (strlen(path) < 3 ||
		   strcmp(path + strlen(path) - 3, "/..") != 0);
}

static bool
manifest_pack_is_any(const char *name)
{
	return name[0] != '\0';
}

static void
manifest_pack_check_resources(
    const json_t *manifest, struct manifest_report *report)
{
	const json_t *list = json_object_get(
	    json_object_get(manifest, "capabilities"), "resources");
	char path[80];
	size_t i;

	manifest_pack_check_names(list, "manifest.capabilities.resources",
	    manifest_pack_is_any, "", report);
	for (i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);
		const char *uri = manifest_pack_text(item, "uri");
		const char *inner = manifest_pack_text(item, "content_path");

		(void)snprintf(path, sizeof(path),
		    "manifest.capabilities.resources[%zu].uri", i);
		if (uri != NULL && strncmp(uri, "resource://", 11) != 0 &&
		    strncmp(uri, "https://", 8) != 0)
			manifest_report_fault(report, path,
			    "must begin with resource:// or https://");
		(void)snprintf(path, sizeof(path),
		    "manifest.capabilities.resources[%zu].content_path", i);
		if (inner != NULL && !manifest_pack_is_inner(inner))
			manifest_report_fault(report, path,
			    "must be a path in the package, without '..'");
	}
}

/* Texts that agentnode-unpack takes for requirements; Node's dependencies
 * are those of package.json. */
static void
manifest_pack_check_dependencies(
    const json_t *manifest, struct manifest_report *report)
{
	const json_t *list = json_object_get(manifest, "dependencies");
	const char *runtime = manifest_pack_text(manifest, "runtime");
	json_t *parsed = json_array();
	char path[64];
	size_t i;

	if (json_array_size(list) > 0 && runtime != NULL &&
	    strcmp(runtime, "python") != 0) {
		manifest_report_fault(report, "manifest.dependencies",
		    "is only for runtime python: those of node are in "
		    "package.json and package-lock.json");
		list = NULL;
	}
	for (i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);

		(void)snprintf(
		    path, sizeof(path), "manifest.dependencies[%zu]", i);
		if (json_is_string(item))
			requirement_parse(json_string_value(item),
			    json_string_length(item), true, path, parsed,
			    report);
		else
			manifest_report_fault(report, path, "must be a text");
	}
	json_decref(parsed);
}

static bool
manifest_pack_is(const json_t *manifest, const char *key, const char *word)
{
	const char *text = manifest_pack_text(manifest, key);

	return text != NULL && strcmp(text, word) == 0;
}

/* Which sections a kind of package may and must have. */
static void
manifest_pack_check_sections(
    const json_t *manifest, struct manifest_report *report)
{
	bool is_pack = manifest_pack_is(manifest, "package_type", "toolpack");
	bool is_upgrade = manifest_pack_is(manifest, "package_type", "upgrade");
	bool is_skill = manifest_pack_is(manifest, "package_type", "skill");
	bool is_mcp = manifest_pack_is(manifest, "runtime", "mcp");
	size_t tools = json_array_size(json_object_get(
	    json_object_get(manifest, "capabilities"), "tools"));

	if (is_pack && !is_mcp && tools == 0)
		manifest_report_fault(report, "manifest.capabilities.tools",
		    "is empty: a tool pack has at least one tool");
	if ((is_upgrade || is_skill) && tools > 0)
		manifest_report_fault(report, "manifest.capabilities.tools",
		    "is only for tool packs and agents");
	if (is_skill && manifest_field_get(manifest, "entrypoint") != NULL)
		manifest_report_fault(report, "manifest.entrypoint",
		    "is not for skills: they run no code");
	if (!is_pack && manifest_field_get(manifest, "connector") != NULL)
		manifest_report_fault(report, "manifest.connector",
		    "is only for package_type toolpack");
	if (is_mcp != (manifest_field_get(manifest, "mcp_server") != NULL))
		manifest_report_fault(report, "manifest.mcp_server",
		    is_mcp ? "is missing: runtime mcp needs it"
			   : "is only for runtime mcp");
}

void
manifest_pack_check(const json_t *manifest, struct manifest_report *report)
{
	manifest_pack_check_sections(manifest, report);
	manifest_pack_check_entrypoint(json_object_get(manifest, "entrypoint"),
	    "manifest.entrypoint",
	    manifest_pack_is(manifest, "runtime", "node"), report);
	manifest_pack_check_tools(manifest, report);
	manifest_pack_check_resources(manifest, report);
	manifest_pack_check_names(
	    json_object_get(
		json_object_get(manifest, "capabilities"), "prompts"),
	    "manifest.capabilities.prompts", manifest_pack_is_any, "", report);
	manifest_pack_check_names(json_object_get(manifest, "env_requirements"),
	    "manifest.env_requirements", manifest_pack_is_env,
	    "must be a variable's name: letters, digits and '_'", report);
	manifest_pack_check_dependencies(manifest, report);
}

json_t *
manifest_pack_tools(const json_t *manifest)
{
	static const char *const keys[] = {"name", "entrypoint", "description",
	    "action_type", "capability_id", "input_schema", NULL};
	const json_t *tools =
	    json_object_get(json_object_get(manifest, "capabilities"), "tools");
	json_t *list = json_array(), *tool, *copy;
	size_t i, k;

	json_array_foreach((json_t *)tools, i, tool)
	{
		copy = json_object();
		for (k = 0; keys[k] != NULL; k++)
			if (manifest_field_get(tool, keys[k]) != NULL)
				(void)json_object_set(copy, keys[k],
				    json_object_get(tool, keys[k]));
		(void)json_array_append_new(list, copy);
	}
	return list;
}
