/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of the tools port. Called by gate_config before confinement; it
 * must never take what is absent for everything.
 */
#include "supervisor/gate/tools_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/package/slug.h"

#define TOOLS_CONFIG_PATH "options"
#define TOOLS_CONFIG_TOOLS_MAX 1024U
#define TOOLS_CONFIG_CALLS_MAX 100000
#define TOOLS_CONFIG_BYTES_MAX (64 << 20)

const char *const tools_config_keys[] = {"packages", "max_tool_calls",
    "calls_at_once", "result_max", "port", "product", "raw", NULL};
const char *const tools_config_shared[] = {
    "arguments_max", "tool_result_max", NULL};

static void
tools_config_tools(const json_t *object, const char *path,
    struct tools_grant_package *package, struct json_fault *fault)
{
	const json_t *list = NULL, *item;
	size_t i;

	if (json_object_get(object, "tools") == NULL)
		return;
	json_field_array(
	    object, path, "tools", TOOLS_CONFIG_TOOLS_MAX, &list, fault);
	package->has_tools = true;
	package->tools =
	    calloc(json_array_size(list) + 1, sizeof(*package->tools));
	if (package->tools == NULL) {
		json_field_fault(fault, "out of memory");
		return;
	}
	json_array_foreach(list, i, item)
	{
		const char *name = json_string_value(item);

		if (name == NULL || name[0] == '\0' ||
		    strlen(name) > MCP_POLICY_TOOL_MAX)
			json_field_fault(fault,
			    "%s.tools[%zu]: a tool name of 1 to %u bytes", path,
			    i, MCP_POLICY_TOOL_MAX);
		package->tools[i] = name;
		package->tool_count = i + 1;
	}
}

static void
tools_config_package(const json_t *object, size_t index,
    struct tools_grant *grant, struct json_fault *fault)
{
	static const char *const keys[] = {"slug", "tools", NULL};
	struct tools_grant_package *package = &grant->packages[grant->count];
	const char *slug = "";
	char path[48];

	(void)snprintf(
	    path, sizeof(path), TOOLS_CONFIG_PATH ".packages[%zu]", index);
	json_field_only(object, path, keys, fault);
	json_field_string(object, path, "slug", SLUG_MAX, &slug, fault);
	if (!slug_is_valid(slug) ||
	    tools_grant_find(grant, slug) != TOOLS_GRANT_NONE)
		json_field_fault(fault,
		    "%s.slug: a slug (%s), each of them once", path, SLUG_RULE);
	grant->count++;
	package->slug = slug;
	tools_config_tools(object, path, package, fault);
}

static size_t
tools_config_bytes(const json_t *options, const char *key, int64_t initial,
    struct json_fault *fault)
{
	json_field_int_opt(options, TOOLS_CONFIG_PATH, key, 1024,
	    TOOLS_CONFIG_BYTES_MAX, &initial, fault);
	return (size_t)initial;
}

void
tools_config_read(const json_t *options, struct tools_port_options *options_r,
    struct tools_grant *grant_r, struct json_fault *fault)
{
	int64_t calls = 0, at_once = 8, port = 4101;
	const json_t *list = NULL, *item;
	size_t i;

	memset(grant_r, 0, sizeof(*grant_r));
	json_field_int_opt(options, TOOLS_CONFIG_PATH, "max_tool_calls", 0,
	    TOOLS_CONFIG_CALLS_MAX, &calls, fault);
	json_field_int_opt(options, TOOLS_CONFIG_PATH, "calls_at_once", 1,
	    TOOLS_PORT_CALLS_MAX, &at_once, fault);
	json_field_int_opt(
	    options, TOOLS_CONFIG_PATH, "port", 1, 65535, &port, fault);
	options_r->arguments_max =
	    tools_config_bytes(options, "arguments_max", 1 << 20, fault);
	options_r->answer_max =
	    tools_config_bytes(options, "tool_result_max", 8 << 20, fault);
	options_r->result_max =
	    tools_config_bytes(options, "result_max", 8 << 20, fault);
	options_r->calls_at_once = (unsigned)at_once;
	options_r->port = (uint16_t)port;
	grant_r->calls_max = (uint64_t)calls;
	if (json_object_get(options, "packages") == NULL)
		return;
	json_field_array(options, TOOLS_CONFIG_PATH, "packages",
	    TOOLS_GRANT_PACKAGES_MAX, &list, fault);
	json_array_foreach(list, i, item)
	{
		if (grant_r->count < TOOLS_GRANT_PACKAGES_MAX)
			tools_config_package(item, i, grant_r, fault);
	}
}
