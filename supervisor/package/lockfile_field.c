/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of a lockfile entry and their shapes. Called by lockfile_parse
 * and lockfile_put. Pure: it must never look at a disk, and never accept a
 * field that it does not know.
 */
#include <stdio.h>
#include <string.h>

#include "supervisor/package/env_entry.h"
#include "supervisor/package/lockfile_field.h"

#define LOCKFILE_FIELD_TEXT_MAX 4096U
#define LOCKFILE_FIELD_ITEMS_MAX 65536U
#define LOCKFILE_FIELD_HASH "sha256:"

static bool
lockfile_field_is_hash(const char *text)
{
	size_t prefix = strlen(LOCKFILE_FIELD_HASH);

	return strncmp(text, LOCKFILE_FIELD_HASH, prefix) == 0 &&
	       strspn(text + prefix, "0123456789abcdef") == 64 &&
	       text[prefix + 64] == '\0';
}

static void
lockfile_field_hash(
    const json_t *value, const char *path, struct json_fault *fault)
{
	if (!lockfile_field_is_hash(json_string_value(value)))
		json_field_fault(
		    fault, "%s: must be sha256: and 64 hex digits", path);
}

static void
lockfile_field_word(const char *text, const char *const *words,
    const char *path, struct json_fault *fault)
{
	for (; *words != NULL; words++)
		if (strcmp(*words, text) == 0)
			return;
	json_field_fault(fault, "%s: '%.64s' is unknown", path, text);
}

static void
lockfile_field_type(
    const json_t *value, const char *path, struct json_fault *fault)
{
	static const char *const words[] = {
	    "toolpack", "agent", "upgrade", "skill", NULL};

	lockfile_field_word(json_string_value(value), words, path, fault);
}

static void
lockfile_field_runtime(
    const json_t *value, const char *path, struct json_fault *fault)
{
	static const char *const words[] = {
	    "python", "node", "mcp", "remote", "none", NULL};

	lockfile_field_word(json_string_value(value), words, path, fault);
}

/* A version becomes part of names and records: no word of it may look like
 * a flag or a path. */
static void
lockfile_field_release(
    const json_t *value, const char *path, struct json_fault *fault)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789.+-_!~";
	const char *text = json_string_value(value);

	if (text != NULL &&
	    (strchr(".+-_!~", text[0]) == NULL || text[0] == '\0') &&
	    strlen(text) <= 128 && text[strspn(text, plain)] == '\0')
		return;
	json_field_fault(fault,
	    "%s: must be a version that begins with a letter or a digit", path);
}

/* Every item a text without control bytes. */
static void
lockfile_field_texts(
    const json_t *value, const char *path, struct json_fault *fault)
{
	const json_t *item;
	const char *text;
	size_t i;

	json_array_foreach(value, i, item)
	{
		text = json_string_value(item);
		if (text == NULL || text[0] == '\0' ||
		    strlen(text) > LOCKFILE_FIELD_TEXT_MAX)
			json_field_fault(fault,
			    "%s[%zu]: must be a text of 1 to %u bytes", path, i,
			    LOCKFILE_FIELD_TEXT_MAX);
		for (; text != NULL && *text != '\0'; text++)
			if ((unsigned char)*text < 0x20 || *text == 0x7f)
				json_field_fault(fault,
				    "%s[%zu]: holds a control byte", path, i);
	}
}

/* One tool: a name (MCP servers), or what a tool pack says of it. */
static void
lockfile_field_tool(
    const json_t *tool, const char *path, struct json_fault *fault)
{
	static const char *const keys[] = {"name", "entrypoint", "description",
	    "action_type", "capability_id", "input_schema", NULL};
	const json_t *schema = NULL;
	const char *text = NULL;

	json_field_only(tool, path, keys, fault);
	json_field_string(tool, path, "name", 64, &text, fault);
	json_field_string_opt(tool, path, "entrypoint", 200, &text, fault);
	json_field_string_opt(
	    tool, path, "description", LOCKFILE_FIELD_TEXT_MAX, &text, fault);
	json_field_string_opt(tool, path, "action_type", 64, &text, fault);
	json_field_string_opt(tool, path, "capability_id", 128, &text, fault);
	if (json_object_get(tool, "input_schema") != NULL)
		json_field_object(tool, path, "input_schema", &schema, fault);
}

/* All names, or all objects: an entry is of one kind. */
static void
lockfile_field_tools(
    const json_t *value, const char *path, struct json_fault *fault)
{
	char at[128];
	size_t i;

	if (!json_is_object(json_array_get(value, 0))) {
		lockfile_field_texts(value, path, fault);
		return;
	}
	for (i = 0; i < json_array_size(value); i++) {
		snprintf(at, sizeof(at), "%.100s[%zu]", path, i);
		if (json_is_object(json_array_get(value, i)))
			lockfile_field_tool(
			    json_array_get(value, i), at, fault);
		else
			json_field_fault(fault, "%s: must be an object", at);
	}
}

/* [{"name","required","description"?}]: names of variables, no values. */
static void
lockfile_field_requirements(
    const json_t *value, const char *path, struct json_fault *fault)
{
	static const char *const keys[] = {
	    "name", "required", "description", "purpose", NULL};
	const char *text = NULL;
	bool required = true;
	char at[128];
	size_t i;

	for (i = 0; i < json_array_size(value); i++) {
		const json_t *item = json_array_get(value, i);

		snprintf(at, sizeof(at), "%.100s[%zu]", path, i);
		if (!json_is_object(item)) {
			json_field_fault(fault, "%s: must be an object", at);
			return;
		}
		json_field_only(item, at, keys, fault);
		json_field_string(item, at, "name", 128, &text, fault);
		json_field_bool_opt(item, at, "required", &required, fault);
		json_field_string_opt(item, at, "description",
		    LOCKFILE_FIELD_TEXT_MAX, &text, fault);
	}
}

/* Absolute, every segment a plain name: it becomes an argument inside. */
static bool
lockfile_field_is_inner_path(const char *path)
{
	size_t len;

	if (strncmp(path, "/install/", 9) != 0 &&
	    strncmp(path, "/pack/", 6) != 0)
		return false;
	if (strpbrk(path, "\\ \t\r\n~`$&|;<>()[]{}*?!#'\"") != NULL)
		return false;
	while (*path == '/') {
		path++;
		len = strcspn(path, "/");
		if (len == 0 || (len == 1 && path[0] == '.') ||
		    (len == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		path += len;
	}
	return true;
}

static void
lockfile_field_command(
    const json_t *value, const char *path, struct json_fault *fault)
{
	const char *program = json_string_value(json_array_get(value, 0));
	const char *file = json_string_value(json_array_get(value, 1));

	lockfile_field_texts(value, path, fault);
	if (json_array_size(value) != 2 || program == NULL || file == NULL ||
	    (strcmp(program, "node") != 0 && strcmp(program, "python") != 0) ||
	    !lockfile_field_is_inner_path(file))
		json_field_fault(fault,
		    "%s: must be [\"node\" or \"python\", \"/pack/...\"], a "
		    "plain path",
		    path);
}

/* The three texts of a pin. */
static void
lockfile_field_pin(
    const json_t *value, const char *path, struct json_fault *fault)
{
	static const char *const managers[] = {"npm", "pypi", "local", NULL};
	const char *manager = NULL, *text = NULL;

	json_field_string(value, path, "manager", 16, &manager, fault);
	json_field_string(value, path, "package", 256, &text, fault);
	json_field_string(value, path, "version", 128, &text, fault);
	if (fault->text[0] == '\0')
		lockfile_field_word(manager, managers, path, fault);
}

static void
lockfile_field_install(
    const json_t *value, const char *path, struct json_fault *fault)
{
	static const char *const keys[] = {
	    "manager", "package", "version", NULL};

	json_field_only(value, path, keys, fault);
	lockfile_field_pin(value, path, fault);
}

static void
lockfile_field_preinstall(
    const json_t *value, const char *path, struct json_fault *fault)
{
	static const char *const keys[] = {
	    "manager", "package", "version", "artifact_hash", NULL};
	const char *hash = NULL;

	json_field_only(value, path, keys, fault);
	lockfile_field_pin(value, path, fault);
	json_field_string(value, path, "artifact_hash", 71, &hash, fault);
	if (fault->text[0] == '\0' && !lockfile_field_is_hash(hash))
		json_field_fault(fault,
		    "%s.artifact_hash: must be sha256: and 64 hex digits",
		    path);
}

static void
lockfile_field_volume(
    const json_t *value, const char *path, struct json_fault *fault)
{
	const char *name = json_string_value(value);
	size_t len = strlen(name);

	if (len == 0 || len > 128 || name[0] == '-' || name[0] == '.' ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789"
			 "ABCDEFGHIJKLMNOPQRSTUVWXYZ_.-") != len)
		json_field_fault(
		    fault, "%s: must be a plain volume name", path);
}

static void
lockfile_field_absolute(
    const json_t *value, const char *path, struct json_fault *fault)
{
	const char *text = json_string_value(value);

	if (text[0] != '/' || strstr(text, "/../") != NULL ||
	    strpbrk(text, "\n\r") != NULL)
		json_field_fault(fault, "%s: must be an absolute path", path);
}

static void
lockfile_field_permissions(
    const json_t *value, const char *path, struct json_fault *fault)
{
	const json_t *domains = NULL;
	const char *level = NULL;

	json_field_string_opt(value, path, "network_level", 32, &level, fault);
	if (json_object_get(value, "allowed_domains") != NULL) {
		json_field_array(
		    value, path, "allowed_domains", 1024, &domains, fault);
		if (domains != NULL)
			lockfile_field_texts(domains, path, fault);
	}
}

static void
lockfile_field_files(
    const json_t *value, const char *path, struct json_fault *fault)
{
	static const char *const keys[] = {"dir", "target", NULL};
	const char *text = NULL;

	json_field_only(value, path, keys, fault);
	json_field_string(
	    value, path, "dir", LOCKFILE_FIELD_TEXT_MAX - 1, &text, fault);
	json_field_string_opt(
	    value, path, "target", LOCKFILE_FIELD_TEXT_MAX - 1, &text, fault);
}

/* Whether a name may be set at all is asked when it would be. */
static void
lockfile_field_env(
    const json_t *value, const char *path, struct json_fault *fault)
{
	const char *name;
	json_t *text;

	if (json_object_size(value) > ENV_ENTRY_MAX)
		json_field_fault(
		    fault, "%s: more than %u variables", path, ENV_ENTRY_MAX);
	json_object_foreach((json_t *)value, name, text)
	{
		const char *bytes = json_string_value(text);

		if (bytes == NULL ||
		    env_entry_form(name, strlen(name), bytes) != ENV_ENTRY_OK)
			json_field_fault(fault,
			    "%s.%.64s: must be a plain name and a text of at "
			    "most %u bytes without control bytes",
			    path, name, ENV_ENTRY_VALUE_MAX);
	}
}

static void
lockfile_field_state(
    const json_t *value, const char *path, struct json_fault *fault)
{
	static const char *const keys[] = {"size", NULL};
	int64_t size;

	json_field_only(value, path, keys, fault);
	json_field_int_opt(
	    value, path, "size", 1, INT64_C(1) << 40, &size, fault);
}

static void
lockfile_field_dependencies(
    const json_t *value, const char *path, struct json_fault *fault)
{
	static const char *const keys[] = {
	    "name", "version", "integrity", NULL};
	const char *text = NULL;
	const json_t *item;
	char at[128];
	size_t i;

	json_array_foreach(value, i, item)
	{
		snprintf(at, sizeof(at), "%.100s[%zu]", path, i);
		if (!json_is_object(item)) {
			json_field_fault(fault, "%s: must be an object", at);
			return;
		}
		json_field_only(item, at, keys, fault);
		json_field_string(item, at, "name", 256, &text, fault);
		json_field_string(item, at, "version", 128, &text, fault);
		json_field_string(item, at, "integrity", 256, &text, fault);
	}
}

#define TEXT(field, since, check)                        \
	{                                                \
		field, LOCKFILE_FIELD_TEXT, since, check \
	}
#define LIST(field, since, check)                        \
	{                                                \
		field, LOCKFILE_FIELD_LIST, since, check \
	}
#define OBJECT(field, since, check)                        \
	{                                                  \
		field, LOCKFILE_FIELD_OBJECT, since, check \
	}
#define OURS LOCKFILE_FIELD_VERSION_OURS
#define MUTABLE LOCKFILE_FIELD_MUTABLE

/* clang-format off */
const struct lockfile_field lockfile_field_table[] = {
	TEXT("version", 1, lockfile_field_release),
	TEXT("package_type", 1, lockfile_field_type),
	TEXT("runtime", 1, lockfile_field_runtime),
	TEXT("entrypoint", 1, NULL),
	TEXT("artifact_hash", 1, NULL),
	LIST("tools", 1, lockfile_field_tools),
	OBJECT("permissions", 1, lockfile_field_permissions),
	LIST("mcp_command", 1, lockfile_field_texts),
	LIST("mcp_env_keys", 1, lockfile_field_texts),
	{"remote_endpoint", LOCKFILE_FIELD_ANY, 1, NULL},
	OBJECT("connector", 1, NULL),
	OBJECT("agent", 1, NULL),
	LIST("prompts", 1, NULL),
	LIST("resources", 1, NULL),
	LIST("assets", 1, NULL),
	{"sandboxed", LOCKFILE_FIELD_BOOL, 1, NULL},
	TEXT("sandbox_volume", 1, lockfile_field_volume),
	{"mcp_preinstalled", LOCKFILE_FIELD_BOOL, 1, NULL},
	OBJECT("mcp_preinstall", 1, lockfile_field_preinstall),
	TEXT("mcp_sandbox_volume", 1, lockfile_field_volume),
	LIST("mcp_preinstall_command", 1, lockfile_field_command),
	LIST("mcp_allowed_domains", 1, lockfile_field_texts),
	LIST("env_requirements", 1, lockfile_field_requirements),
	OBJECT("_signatures", 2, NULL),
	TEXT("publisher_slug", 3, NULL),
	OBJECT("mcp_install", OURS, lockfile_field_install),
	TEXT("volume_content_hash", OURS, lockfile_field_hash),
	TEXT("volume_host_path", OURS, lockfile_field_absolute),
	TEXT("host_path", OURS, lockfile_field_absolute),
	OBJECT("files", OURS, lockfile_field_files),
	OBJECT("state", OURS, lockfile_field_state),
	OBJECT("env", OURS, lockfile_field_env),
	LIST("dependencies", OURS, lockfile_field_dependencies),
	OBJECT("attestation", OURS, NULL), /* trust_judge reads it */
	TEXT("installed_at", MUTABLE, NULL),
	TEXT("last_trust_check", MUTABLE, NULL),
	TEXT("trust_level", MUTABLE, NULL),
	{"source", LOCKFILE_FIELD_ANY, MUTABLE, NULL},
	TEXT("install_path", MUTABLE, NULL),
	TEXT("install_mode", MUTABLE, NULL),
	LIST("capability_ids", MUTABLE, lockfile_field_texts),
	TEXT("build_mode", MUTABLE, NULL),
	{"pinnable", LOCKFILE_FIELD_ANY, MUTABLE, NULL},
	TEXT("effective_host_trust_policy_at_install", MUTABLE, NULL),
	OBJECT("_integrity", MUTABLE, NULL), /* lockfile_hash checks it */
	{NULL, LOCKFILE_FIELD_ANY, MUTABLE, NULL},
};
/* clang-format on */

static bool
lockfile_field_fits(const struct lockfile_field *field, const json_t *value)
{
	switch (field->kind) {
	case LOCKFILE_FIELD_TEXT:
		return json_is_string(value) &&
		       json_string_length(value) <= LOCKFILE_FIELD_TEXT_MAX;
	case LOCKFILE_FIELD_BOOL:
		return json_is_boolean(value);
	case LOCKFILE_FIELD_LIST:
		return json_is_array(value) &&
		       json_array_size(value) <= LOCKFILE_FIELD_ITEMS_MAX;
	case LOCKFILE_FIELD_OBJECT:
		return json_is_object(value);
	case LOCKFILE_FIELD_ANY:
		return true;
	}
	return false;
}

static const char *
lockfile_field_kind_text(enum lockfile_field_kind kind)
{
	static const char *const texts[] = {"a text of at most 4096 bytes",
	    "true or false", "a list", "an object", "a value"};

	return texts[kind];
}

static void
lockfile_field_check_one(const char *name, const json_t *value,
    const char *path, struct json_fault *fault)
{
	const struct lockfile_field *field = lockfile_field_table;
	char at[192];

	while (field->name != NULL && strcmp(field->name, name) != 0)
		field++;
	snprintf(at, sizeof(at), "%.90s.%.90s", path, name);
	if (field->name == NULL)
		json_field_fault(fault, "%s: unknown field", at);
	else if (json_is_null(value))
		return;
	else if (!lockfile_field_fits(field, value))
		json_field_fault(fault, "%s: must be %s", at,
		    lockfile_field_kind_text(field->kind));
	else if (field->check != NULL)
		field->check(value, at, fault);
}

void
lockfile_field_check(
    const json_t *entry, const char *path, struct json_fault *fault)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)entry, name, value)
	{
		if (fault->text[0] != '\0')
			return;
		lockfile_field_check_one(name, value, path, fault);
	}
}
