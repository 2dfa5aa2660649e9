/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the gate's options. Called once by main.c before confinement; it
 * must never fill in for a value that is wrong.
 */
#include "supervisor/gate/gate_config.h"

#include <stdlib.h>
#include <string.h>

#include "supervisor/gate/tools_config.h"

#define GATE_CONFIG_PATH "options"

static const char *const gate_config_keys[] = {"mode", "package", "tier",
    "tools", "resources", "prompts", "line_max", "output_max",
    "request_timeout_s", "start_timeout_s", "grace_ms", "list_timeout_s",
    "json", "on_host", "label", "uid", "log_level", "no_landlock", "packages",
    "max_tool_calls", "calls_at_once", "arguments_max", "tool_result_max",
    "result_max", "port", "product", "raw", "guard", NULL};

/* A word out of a list, or a fault; the index is what it stands for. */
static size_t
gate_config_word(const json_t *options, const char *key, const char *initial,
    const char *const *words, struct json_fault *fault)
{
	const char *text = initial;
	size_t i;

	json_field_string_opt(options, GATE_CONFIG_PATH, key, 32, &text, fault);
	for (i = 0; words[i] != NULL; i++) {
		if (strcmp(words[i], text) == 0)
			return i;
	}
	json_field_fault(fault, "%s.%s: unknown word", GATE_CONFIG_PATH, key);
	return 0;
}

static void
gate_config_tools(
    const json_t *options, struct gate_config *config, struct json_fault *fault)
{
	const json_t *list = NULL, *item;
	struct mcp_policy *policy = &config->options.policy;
	size_t i, count;

	if (json_object_get(options, "tools") == NULL)
		return;
	json_field_array(options, GATE_CONFIG_PATH, "tools",
	    GATE_CONFIG_TOOLS_MAX, &list, fault);
	count = json_array_size(list);
	config->tools = calloc(count + 1, sizeof(*config->tools));
	if (config->tools == NULL) {
		json_field_fault(fault, "out of memory");
		return;
	}
	json_array_foreach(list, i, item)
	{
		const char *name = json_string_value(item);

		if (name == NULL || name[0] == '\0' ||
		    strlen(name) > MCP_POLICY_TOOL_MAX)
			json_field_fault(fault,
			    "%s.tools[%zu]: a tool name of 1 to %u bytes",
			    GATE_CONFIG_PATH, i, MCP_POLICY_TOOL_MAX);
		config->tools[i] = name;
	}
	policy->has_tools = true;
	policy->tools = config->tools;
	policy->tool_count = count;
}

static void
gate_config_guard(
    const json_t *options, struct gate_config *config, struct json_fault *fault)
{
	const json_t *object = json_object_get(options, "guard");

	if (object == NULL)
		return;
	config->has_guard = true;
	(void)guard_plan_read(
	    object, config->options.policy.package, &config->guard, fault);
}

/* A tier that is missing or unknown is unverified. */
static bool
gate_config_is_community(const json_t *options, struct json_fault *fault)
{
	const char *tier = "unverified";

	json_field_string_opt(
	    options, GATE_CONFIG_PATH, "tier", 64, &tier, fault);
	return strcmp(tier, "trusted") != 0 && strcmp(tier, "curated") != 0;
}

static void
gate_config_numbers(
    const json_t *options, struct gate_config *config, struct json_fault *fault)
{
	int64_t line_max = 16 << 20, output_max = 0, timeout_s = 0, start_s = 0;
	int64_t grace_ms = 2000, list_s = 60, uid = 65534;
	const char *path = GATE_CONFIG_PATH;

	json_field_int_opt(options, path, "line_max", 1024,
	    GATE_CONFIG_LINE_MAX, &line_max, fault);
	json_field_int_opt(
	    options, path, "output_max", 0, INT64_MAX, &output_max, fault);
	json_field_int_opt(
	    options, path, "request_timeout_s", 0, 86400, &timeout_s, fault);
	json_field_int_opt(
	    options, path, "start_timeout_s", 0, 86400, &start_s, fault);
	json_field_int_opt(
	    options, path, "grace_ms", 0, 60000, &grace_ms, fault);
	json_field_int_opt(
	    options, path, "list_timeout_s", 1, 3600, &list_s, fault);
	json_field_int_opt(options, path, "uid", 1, 4294967294, &uid, fault);
	config->options.line_max = (size_t)line_max;
	config->options.output_max = (uint64_t)output_max;
	config->options.limits.request_ms = (uint64_t)timeout_s * 1000;
	config->options.limits.initialize_ms = (uint64_t)start_s * 1000;
	config->options.grace_ms = (uint64_t)grace_ms;
	config->options.list_timeout_ms = (uint64_t)list_s * 1000;
	config->uid = (uid_t)uid;
}

/* What only some modes have. */
static void
gate_config_refuse(const json_t *options, const char *const *keys,
    const char *mode, struct json_fault *fault)
{
	for (size_t i = 0; keys[i] != NULL; i++) {
		if (json_object_get(options, keys[i]) != NULL)
			json_field_fault(fault, "%s.%s: only in mode %s",
			    GATE_CONFIG_PATH, keys[i], mode);
	}
}

static void
gate_config_agent(
    const json_t *options, struct gate_config *config, struct json_fault *fault)
{
	struct gate_options *gate = &config->options;

	if (gate->mode == GATE_AGENT || gate->mode == GATE_CALLER ||
	    gate->mode == GATE_PACK)
		tools_config_read(
		    options, &config->port, &config->grant, fault);
	else
		gate_config_refuse(options, tools_config_shared,
		    "agent, caller or pack", fault);
	if (gate->mode != GATE_AGENT)
		gate_config_refuse(options, tools_config_keys, "agent", fault);
	json_field_bool_opt(
	    options, GATE_CONFIG_PATH, "product", &gate->product, fault);
	json_field_bool_opt(
	    options, GATE_CONFIG_PATH, "raw", &gate->raw, fault);
	gate->result_max = config->port.result_max;
	gate->caller =
	    (struct gate_caller_limits){.start_ms = gate->limits.initialize_ms,
		.call_ms = gate->limits.request_ms,
		.arguments_max = config->port.arguments_max,
		.result_max = config->port.answer_max};
	gate->pack =
	    (struct gate_pack_limits){.request_max = config->port.arguments_max,
		.result_max = config->port.answer_max,
		.json = gate->json,
		.on_host = gate->on_host};
	if (gate->mode != GATE_CALLER)
		return;
	/* The caller gives up by itself, and says so to the server. */
	gate->limits = (struct mcp_session_limits){0, 0};
	if (gate->line_max < gate->caller.arguments_max + 4096)
		json_field_fault(fault,
		    "%s.line_max: arguments_max and 4096 bytes, at least",
		    GATE_CONFIG_PATH);
}

enum result
gate_config_read(const json_t *options, struct gate_config *config_r,
    struct json_fault *fault)
{
	static const char *const modes[] = {"mcp", "text", "raw", "tools",
	    "build", "agent", "caller", "pack", NULL};
	static const char *const levels[] = {
	    "debug", "info", "warn", "error", NULL};
	struct mcp_policy *policy = &config_r->options.policy;

	memset(config_r, 0, sizeof(*config_r));
	policy->package = "the package";
	policy->resources = policy->prompts = true;
	json_field_only(options, GATE_CONFIG_PATH, gate_config_keys, fault);
	config_r->options.mode =
	    (enum gate_mode)gate_config_word(options, "mode", "", modes, fault);
	config_r->lowest = (enum log_level)gate_config_word(
	    options, "log_level", "info", levels, fault);
	json_field_string_opt(
	    options, GATE_CONFIG_PATH, "package", 64, &policy->package, fault);
	config_r->options.label = "build";
	json_field_string_opt(options, GATE_CONFIG_PATH, "label", 32,
	    &config_r->options.label, fault);
	policy->community = gate_config_is_community(options, fault);
	json_field_bool_opt(
	    options, GATE_CONFIG_PATH, "resources", &policy->resources, fault);
	json_field_bool_opt(
	    options, GATE_CONFIG_PATH, "prompts", &policy->prompts, fault);
	json_field_bool_opt(
	    options, GATE_CONFIG_PATH, "json", &config_r->options.json, fault);
	json_field_bool_opt(options, GATE_CONFIG_PATH, "no_landlock",
	    &config_r->no_landlock, fault);
	json_field_bool_opt(options, GATE_CONFIG_PATH, "on_host",
	    &config_r->options.on_host, fault);
	gate_config_numbers(options, config_r, fault);
	gate_config_tools(options, config_r, fault);
	gate_config_guard(options, config_r, fault);
	gate_config_agent(options, config_r, fault);
	return fault->text[0] == '\0' ? RESULT_OK : RESULT_BAD;
}

void
gate_config_free(struct gate_config *config)
{
	free(config->tools);
	config->tools = NULL;
	tools_grant_free(&config->grant);
}
