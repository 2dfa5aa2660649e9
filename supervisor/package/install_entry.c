/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes lockfile entries; see install_entry.h. Must never claim a trust
 * level above unverified: that takes an attestation.
 */
#include "supervisor/package/install_entry.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "supervisor/package/install_pack.h"

void
install_entry_time(char *text_r, size_t size)
{
	time_t now = time(NULL);
	struct tm parts;

	if (gmtime_r(&now, &parts) == NULL ||
	    strftime(text_r, size, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
		(void)snprintf(text_r, size, "1970-01-01T00:00:00Z");
}

/* The pin again, as its own object; with the hash for mcp_preinstall. */
static json_t *
install_entry_pin(const struct install_facts *facts, const char *hash)
{
	return json_pack("{s:s,s:s,s:s,s:s*}", "manager", facts->manager,
	    "package", facts->name, "version", facts->version, "artifact_hash",
	    hash);
}

/* The last component of the entry, and the arguments behind it. */
static json_t *
install_entry_command(
    const struct install_request *request, const struct install_facts *facts)
{
	const char *slash = strrchr(facts->entry, '/');
	json_t *command =
	    json_pack("[s]", slash == NULL ? facts->entry : slash + 1);

	if (request->args != NULL)
		(void)json_array_extend(command, (json_t *)request->args);
	return command;
}

static json_t *
install_entry_permissions(const struct install_request *request)
{
	bool some = json_array_size(request->allow) > 0;

	return json_pack("{s:s,s:O}", "network_level",
	    some ? "restricted" : "none", "allowed_domains", request->allow);
}

static void
install_entry_options(json_t *entry, const struct install_request *request)
{
	if (request->tools != NULL)
		(void)json_object_set(entry, "tools", (json_t *)request->tools);
	if (request->files != NULL)
		(void)json_object_set_new(entry, "files",
		    json_pack("{s:s,s:s}", "dir", request->files, "target",
			INSTALL_ENTRY_FILES));
	if (json_object_size(request->env) > 0)
		(void)json_object_set(entry, "env", (json_t *)request->env);
	if (json_array_size(request->secrets) > 0)
		(void)json_object_set(
		    entry, "mcp_env_keys", (json_t *)request->secrets);
	if (request->state_size > 0)
		(void)json_object_set_new(entry, "state",
		    json_pack(
			"{s:I}", "size", (json_int_t)request->state_size));
}

static const char *
install_entry_source(const struct install_facts *facts)
{
	return strcmp(facts->manager, "local") == 0 ? "local" : "registry";
}

json_t *
install_entry_make(const struct install_request *request,
    const struct install_tree *tree, const struct install_facts *facts,
    const struct volume *volume)
{
	char path[1200], now[32];
	json_t *entry;

	if (request->pack != NULL)
		return install_pack_entry(request, tree, volume);
	install_entry_time(now, sizeof(now));
	(void)snprintf(
	    path, sizeof(path), "%s/%s", INSTALL_ENTRY_MOUNT, facts->entry);
	entry = json_pack(
	    "{s:s,s:s,s:s,s:s,s:s,s:o,s:o,s:o,s:b,s:o,s:[ss],s:O,s:s,s:s,s:s,"
	    "s:O,s:s,s:s}",
	    "version", facts->version, "package_type", "toolpack", "runtime",
	    "mcp", "trust_level", "unverified", "artifact_hash", tree->hash,
	    "permissions", install_entry_permissions(request), "mcp_command",
	    install_entry_command(request, facts), "mcp_install",
	    install_entry_pin(facts, NULL), "mcp_preinstalled", 1,
	    "mcp_preinstall", install_entry_pin(facts, tree->hash),
	    "mcp_preinstall_command", facts->runner, path,
	    "mcp_allowed_domains", request->allow, "mcp_sandbox_volume",
	    volume->name, "volume_content_hash", tree->hash, "volume_host_path",
	    volume->path, "dependencies", facts->dependencies, "installed_at",
	    now, "source", install_entry_source(facts));
	if (entry != NULL)
		install_entry_options(entry, request);
	return entry;
}
