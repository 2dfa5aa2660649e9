/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a lockfile entry to what may run. Called by the mcp commands; it
 * must never fill in a field that decides what runs.
 */
#include "supervisor/mcp/mcp_package.h"

#include <stdio.h>
#include <string.h>

#include "supervisor/package/env_entry.h"

/* Folders of the container that files must not hide. */
static const char *const mcp_package_reserved[] = {"/bin", "/boot", "/dev",
    "/etc", "/home", "/lib", "/lib64", "/pack", "/proc", "/root", "/run",
    "/sandbox-home", "/sbin", "/state", "/sys", "/tmp", "/usr", "/var", NULL};

static bool
mcp_package_text_is(const json_t *entry, const char *key, const char *text)
{
	const char *value = json_string_value(json_object_get(entry, key));

	return value != NULL && text != NULL && strcmp(value, text) == 0;
}

bool
mcp_package_is_server(const json_t *entry)
{
	return mcp_package_text_is(entry, "package_type", "toolpack") &&
	       mcp_package_text_is(entry, "runtime", "mcp");
}

/* What was asked for and what was preinstalled are one version. */
static enum result
mcp_package_pins(const json_t *entry, const char *slug,
    struct mcp_package *package, struct json_fault *fault)
{
	const json_t *asked = json_object_get(entry, "mcp_install");
	const json_t *got = json_object_get(entry, "mcp_preinstall");
	static const char *const keys[] = {"manager", "package", "version"};
	const char **to[] = {
	    &package->manager, &package->name, &package->name_version};
	size_t i;

	if (asked == NULL || got == NULL) {
		json_field_fault(fault,
		    "%s is not preinstalled: nothing is fetched at run time; "
		    "install it with 'agentnode mcp install'",
		    slug);
		return RESULT_REFUSED;
	}
	for (i = 0; i < 3; i++) {
		*to[i] = json_string_value(json_object_get(got, keys[i]));
		if (*to[i] == NULL ||
		    !mcp_package_text_is(asked, keys[i], *to[i])) {
			json_field_fault(fault,
			    "%s: mcp_install.%s and mcp_preinstall.%s differ; "
			    "install it again",
			    slug, keys[i], keys[i]);
			return RESULT_MISMATCH;
		}
	}
	return RESULT_OK;
}

static enum result
mcp_package_sealed(const json_t *entry, const char *slug,
    struct mcp_package *package, struct json_fault *fault)
{
	const json_t *command =
	    json_object_get(entry, "mcp_preinstall_command");
	const struct {
		const char *key;
		const char **to;
	} texts[] = {
	    {"mcp_sandbox_volume", &package->volume},
	    {"volume_content_hash", &package->content_hash},
	    {"volume_host_path", &package->host_path},
	};
	size_t i;

	package->program = json_string_value(json_array_get(command, 0));
	package->entry = json_string_value(json_array_get(command, 1));
	if (package->program == NULL || package->entry == NULL ||
	    strncmp(package->entry, MCP_PACKAGE_PACK "/", 6) != 0) {
		json_field_fault(fault,
		    "%s has no mcp_preinstall_command below " MCP_PACKAGE_PACK
		    "; install it again",
		    slug);
		return RESULT_REFUSED;
	}
	if (!mcp_package_text_is(entry, "volume_content_hash",
		json_string_value(
		    json_object_get(json_object_get(entry, "mcp_preinstall"),
			"artifact_hash")))) {
		json_field_fault(fault,
		    "%s: volume_content_hash is not the hash that was "
		    "preinstalled; install it again",
		    slug);
		return RESULT_MISMATCH;
	}
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		*texts[i].to =
		    json_string_value(json_object_get(entry, texts[i].key));
		if (*texts[i].to == NULL) {
			json_field_fault(fault,
			    "%s has no %s, so what would run is not sealed; "
			    "install it again",
			    slug, texts[i].key);
			return RESULT_REFUSED;
		}
	}
	return RESULT_OK;
}

/* A target is a folder of its own: plain segments, none of ours. */
static bool
mcp_package_target_ok(const char *target)
{
	size_t i, first = strcspn(target + 1, "/") + 1;
	const char *p = target;
	size_t len;

	for (i = 0; mcp_package_reserved[i] != NULL; i++) {
		if (strlen(mcp_package_reserved[i]) == first &&
		    strncmp(mcp_package_reserved[i], target, first) == 0)
			return false;
	}
	if (strspn(target, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXY"
			   "Z0123456789._-/") != strlen(target))
		return false;
	while (*p == '/') {
		len = strcspn(++p, "/");
		if (len == 0 || p[0] == '.')
			return false;
		p += len;
	}
	return *p == '\0' && target[0] == '/' && strlen(target) < 200;
}

static enum result
mcp_package_places(const json_t *entry, const char *slug,
    struct mcp_package *package, struct json_fault *fault)
{
	const json_t *files = json_object_get(entry, "files");
	const json_t *state = json_object_get(entry, "state");
	const json_t *size = json_object_get(state, "size");
	const char *target =
	    json_string_value(json_object_get(files, "target"));

	if (json_is_object(files)) {
		package->files_dir =
		    json_string_value(json_object_get(files, "dir"));
		package->files_target =
		    target != NULL ? target : MCP_PACKAGE_FILES;
		if (package->files_dir == NULL ||
		    package->files_dir[0] != '/' ||
		    !mcp_package_target_ok(package->files_target)) {
			json_field_fault(fault,
			    "%s: files.dir must be an absolute path and "
			    "files.target a folder like " MCP_PACKAGE_FILES,
			    slug);
			return RESULT_REFUSED;
		}
	}
	if (json_is_object(state))
		package->state_size = json_is_integer(size)
					  ? (uint64_t)json_integer_value(size)
					  : MCP_PACKAGE_STATE_SIZE;
	return RESULT_OK;
}

static enum result
mcp_package_env(const json_t *entry, const char *slug,
    struct mcp_package *package, struct json_fault *fault)
{
	json_t *env = json_object_get(entry, "env"), *value;
	const char *name;

	if (!json_is_object(env))
		return RESULT_OK;
	json_object_foreach(env, name, value)
	{
		const char *text = json_string_value(value);
		enum env_entry_verdict verdict = env_entry_judge(
		    name, strlen(name), text != NULL ? text : "\n");

		if (verdict == ENV_ENTRY_OK)
			continue;
		json_field_fault(fault, "%s: env.%.64s %s", slug, name,
		    env_entry_text(verdict));
		return RESULT_REFUSED;
	}
	package->env = env;
	return RESULT_OK;
}

static const json_t *
mcp_package_list(const json_t *entry, const char *key)
{
	const json_t *list = json_object_get(entry, key);

	return json_is_array(list) ? list : NULL;
}

enum result
mcp_package_read(const char *slug, const json_t *entry,
    struct mcp_package *package_r, struct json_fault *fault)
{
	enum result result;

	memset(package_r, 0, sizeof(*package_r));
	package_r->slug = slug;
	package_r->version =
	    json_string_value(json_object_get(entry, "version"));
	if (!mcp_package_is_server(entry) || package_r->version == NULL) {
		json_field_fault(
		    fault, "%s is not an MCP server with a version", slug);
		return RESULT_REFUSED;
	}
	result = mcp_package_pins(entry, slug, package_r, fault);
	if (result == RESULT_OK)
		result = mcp_package_sealed(entry, slug, package_r, fault);
	if (result == RESULT_OK)
		result = mcp_package_places(entry, slug, package_r, fault);
	if (result == RESULT_OK)
		result = mcp_package_env(entry, slug, package_r, fault);
	package_r->domains = mcp_package_list(entry, "mcp_allowed_domains");
	package_r->tools = mcp_package_list(entry, "tools");
	package_r->command = mcp_package_list(entry, "mcp_command");
	return result;
}

void
mcp_package_source(const struct mcp_package *package, char *text_r, size_t size)
{
	if (strcmp(package->manager, "npm") == 0)
		snprintf(text_r, size, "npm:%s@%s", package->name,
		    package->name_version);
	else if (strcmp(package->manager, "pypi") == 0)
		snprintf(text_r, size, "pypi:%s==%s", package->name,
		    package->name_version);
	else
		snprintf(text_r, size, "%s %s", package->name,
		    package->name_version);
}
