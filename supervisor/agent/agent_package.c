/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a lockfile entry to an agent that may run; see agent_package.h. The
 * lockfile may come from a stranger: the agent section is checked again as
 * at installation, and nothing that decides what runs is filled in.
 */
#include "supervisor/agent/agent_package.h"

#include <string.h>

#include "supervisor/package/manifest_agent.h"
#include "supervisor/package/manifest_field.h"

static const char *
agent_package_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static bool
agent_package_is(const json_t *entry, const char *key, const char *text)
{
	const char *value = agent_package_text(entry, key);

	return value != NULL && strcmp(value, text) == 0;
}

bool
agent_package_is_agent(const json_t *entry)
{
	return agent_package_is(entry, "package_type", "agent");
}

static enum result
agent_package_sealed(const char *slug, const json_t *entry,
    struct agent_package *package, struct json_fault *fault)
{
	package->version = agent_package_text(entry, "version");
	package->volume = agent_package_text(entry, "sandbox_volume");
	package->content_hash =
	    agent_package_text(entry, "volume_content_hash");
	package->host_path = agent_package_text(entry, "volume_host_path");
	if (package->version != NULL && package->volume != NULL &&
	    package->content_hash != NULL && package->host_path != NULL &&
	    agent_package_text(entry, "artifact_hash") != NULL)
		return RESULT_OK;
	json_field_fault(fault,
	    "%.60s: version, sandbox_volume, volume_content_hash, "
	    "volume_host_path or artifact_hash is missing, so what would run "
	    "is not sealed; install it again",
	    slug);
	return RESULT_REFUSED;
}

static void
agent_package_limits(const json_t *agent, struct agent_package *package)
{
	const json_t *limits = json_object_get(agent, "limits");

	package->max_iterations =
	    json_integer_value(json_object_get(limits, "max_iterations"));
	package->max_tool_calls =
	    json_integer_value(json_object_get(limits, "max_tool_calls"));
	package->max_runtime_s =
	    json_integer_value(json_object_get(limits, "max_runtime_seconds"));
}

/* What the lockfile says is shown has to be what is. */
static void
agent_package_network(const json_t *entry, struct json_fault *fault)
{
	const json_t *permissions = json_object_get(entry, "permissions");
	const char *level = agent_package_text(permissions, "network_level");
	size_t domains =
	    json_array_size(json_object_get(permissions, "allowed_domains"));

	if (level == NULL ||
	    (strcmp(level, "none") != 0 && strcmp(level, "restricted") != 0))
		json_field_fault(fault,
		    "permissions.network_level must be none or restricted");
	else if (domains > 0 && strcmp(level, "none") == 0)
		json_field_fault(fault,
		    "permissions.allowed_domains is only for network_level "
		    "restricted");
}

static enum result
agent_package_section(const char *slug, const json_t *entry,
    struct agent_package *package, struct json_fault *fault)
{
	const json_t *agent = json_object_get(entry, "agent");
	struct json_fault wrong = {""};

	package->is_node = agent_package_is(entry, "runtime", "node");
	if (!package->is_node && !agent_package_is(entry, "runtime", "python"))
		json_field_fault(&wrong, "runtime is not python or node");
	manifest_agent_check_first(
	    agent, package->is_node ? "node" : "python", &wrong);
	agent_package_network(entry, &wrong);
	package->packages = json_object_get(
	    json_object_get(agent, "tool_access"), "allowed_packages");
	package->llm = json_object_get(agent, "llm_access");
	package->actions = manifest_field_get(agent, "pre_approved_actions");
	agent_package_limits(agent, package);
	if (package->packages == NULL || package->llm == NULL ||
	    package->max_tool_calls == 0 || package->max_runtime_s == 0)
		json_field_fault(&wrong,
		    "agent.tool_access.allowed_packages, agent.llm_access, "
		    "agent.limits.max_tool_calls or max_runtime_seconds is "
		    "missing");
	if (wrong.text[0] == '\0')
		return RESULT_OK;
	json_field_fault(
	    fault, "%.60s: %s; install it again", slug, wrong.text);
	return RESULT_REFUSED;
}

enum result
agent_package_read(const char *slug, const json_t *entry,
    struct agent_package *package_r, struct json_fault *fault)
{
	const json_t *agent = json_object_get(entry, "agent");
	enum result result;

	memset(package_r, 0, sizeof(*package_r));
	package_r->slug = slug;
	if (!agent_package_is_agent(entry)) {
		json_field_fault(fault,
		    "%.60s is no agent; 'agentnode list' shows what it is",
		    slug);
		return RESULT_REFUSED;
	}
	result = agent_package_sealed(slug, entry, package_r, fault);
	if (result == RESULT_OK)
		result = agent_package_section(slug, entry, package_r, fault);
	if (result != RESULT_OK)
		return result;
	package_r->goal = agent_package_text(agent, "goal");
	package_r->entrypoint = agent_package_text(agent, "entrypoint");
	package_r->command = json_object_get(agent, "command");
	if (json_array_size(package_r->command) == 0)
		package_r->command = NULL;
	package_r->steps =
	    json_object_get(json_object_get(agent, "orchestration"), "steps");
	package_r->domains = json_object_get(
	    json_object_get(entry, "permissions"), "allowed_domains");
	return RESULT_OK;
}
