/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent section; see manifest_agent.h. An agent is started one of three
 * ways: a function (entrypoint), a program as it is (command), or declared
 * steps (orchestration).
 */
#include "supervisor/package/manifest_agent.h"

#include <stdio.h>
#include <string.h>

#include "supervisor/package/manifest.h"
#include "supervisor/package/manifest_field.h"
#include "supervisor/package/slug.h"

#define MANIFEST_AGENT_CHARS_MAX 1000000000

static const char *const manifest_agent_persistence[] = {
    "none", "session", NULL};
static const char *const manifest_agent_orchestration_modes[] = {
    "sequential", NULL};
static const char *const manifest_agent_isolations[] = {
    "thread", "process", NULL};

#define MANIFEST_AGENT_END                                  \
	{                                                   \
		NULL, MANIFEST_ANY, false, 0, 0, NULL, NULL \
	}

static const struct manifest_field manifest_agent_tool_fields[] = {
    {"allowed_packages", MANIFEST_TEXTS, false, 0, MANIFEST_PACKAGES_MAX, NULL,
	NULL},
    MANIFEST_AGENT_END};
static const struct manifest_field manifest_agent_llm_fields[] = {
    {"enabled", MANIFEST_FLAG, true, 0, 0, NULL, NULL},
    {"max_calls", MANIFEST_NUMBER, false, 1, 1000000, NULL, NULL},
    {"max_input_chars", MANIFEST_NUMBER, false, 1, MANIFEST_AGENT_CHARS_MAX,
	NULL, NULL},
    {"max_output_chars", MANIFEST_NUMBER, false, 1, MANIFEST_AGENT_CHARS_MAX,
	NULL, NULL},
    {"allowed_models", MANIFEST_TEXTS, false, 0, 64, NULL, NULL},
    MANIFEST_AGENT_END};
static const struct manifest_field manifest_agent_limit_fields[] = {
    {"max_iterations", MANIFEST_NUMBER, false, 1, 100, NULL, NULL},
    {"max_tool_calls", MANIFEST_NUMBER, false, 1, 500, NULL, NULL},
    {"max_runtime_seconds", MANIFEST_NUMBER, false, 1, 3600, NULL, NULL},
    MANIFEST_AGENT_END};
static const struct manifest_field manifest_agent_end_fields[] = {
    {"stop_on_final_answer", MANIFEST_FLAG, false, 0, 0, NULL, NULL},
    {"stop_on_consecutive_errors", MANIFEST_NUMBER, false, 1, 10, NULL, NULL},
    MANIFEST_AGENT_END};
static const struct manifest_field manifest_agent_state_fields[] = {
    {"persistence", MANIFEST_WORD, false, 0, 0, manifest_agent_persistence,
	NULL},
    MANIFEST_AGENT_END};
static const struct manifest_field manifest_agent_order_fields[] = {
    {"mode", MANIFEST_WORD, true, 0, 0, manifest_agent_orchestration_modes,
	NULL},
    {"steps", MANIFEST_LIST, true, 0, MANIFEST_STEPS_MAX, NULL, NULL},
    MANIFEST_AGENT_END};
static const struct manifest_field manifest_agent_step_fields[] = {
    {"name", MANIFEST_TEXT, true, 1, 60, NULL, NULL},
    {"tool", MANIFEST_TEXT, true, 3, 200, NULL, NULL},
    {"input_mapping", MANIFEST_ANY_OBJECT, false, 0, 0, NULL, NULL},
    {"when", MANIFEST_TEXT, false, 1, 300, NULL, NULL}, MANIFEST_AGENT_END};
static const struct manifest_field manifest_agent_fields[] = {
    {"entrypoint", MANIFEST_TEXT, false, 1, 200, NULL, NULL},
    {"command", MANIFEST_TEXTS, false, 0, MANIFEST_COMMAND_MAX, NULL, NULL},
    {"goal", MANIFEST_LINES, true, 1, 10000, NULL, NULL},
    {"tool_access", MANIFEST_OBJECT, false, 0, 0, NULL,
	manifest_agent_tool_fields},
    {"llm_access", MANIFEST_OBJECT, false, 0, 0, NULL,
	manifest_agent_llm_fields},
    {"limits", MANIFEST_OBJECT, false, 0, 0, NULL, manifest_agent_limit_fields},
    {"termination", MANIFEST_OBJECT, false, 0, 0, NULL,
	manifest_agent_end_fields},
    {"state", MANIFEST_OBJECT, false, 0, 0, NULL, manifest_agent_state_fields},
    {"orchestration", MANIFEST_OBJECT, false, 0, 0, NULL,
	manifest_agent_order_fields},
    {"isolation", MANIFEST_WORD, false, 0, 0, manifest_agent_isolations, NULL},
    {"pre_approved_actions", MANIFEST_TEXTS, false, 0, 16, NULL, NULL},
    {"llm", MANIFEST_ANY_OBJECT, false, 0, 0, NULL, NULL},
    {"system_prompt", MANIFEST_LINES, false, 0, 20000, NULL, NULL},
    {"tier", MANIFEST_TEXT, false, 0, 60, NULL, NULL},
    {"verification", MANIFEST_ANY_OBJECT, false, 0, 0, NULL, NULL},
    MANIFEST_AGENT_END};

/* Identifiers joined by dots (Python) or a relative path (Node), a colon,
 * an identifier. */
static bool
manifest_agent_is_entrypoint(const char *text, bool is_node)
{
	static const char name[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	char left[80];
	const char *colon = strchr(text, ':');
	size_t len = colon != NULL ? (size_t)(colon - text) : strlen(text);

	(void)snprintf(left, sizeof(left), "%s%s", name, is_node ? "./-" : ".");
	if (len == 0 || text[0] == '/' || text[0] == '.' ||
	    strspn(text, left) < len || strstr(text, "..") != NULL)
		return false;
	return colon == NULL || (colon[1] != '\0' && strspn(colon + 1, name) ==
							 strlen(colon + 1));
}

static void
manifest_agent_check_start(
    const json_t *agent, const char *runtime, struct json_fault *fault)
{
	const char *entry =
	    json_string_value(json_object_get(agent, "entrypoint"));
	bool has_command =
	    json_array_size(json_object_get(agent, "command")) > 0;
	bool has_steps = json_object_get(agent, "orchestration") != NULL;

	if (fault->text[0] != '\0')
		return;
	if ((entry != NULL) + has_command + has_steps != 1)
		json_field_fault(fault,
		    "manifest.agent needs exactly one of entrypoint, command "
		    "and orchestration");
	else if (entry != NULL && !manifest_agent_is_entrypoint(
				      entry, strcmp(runtime, "node") == 0))
		json_field_fault(fault,
		    "manifest.agent.entrypoint must be module.path:function, "
		    "or for node path/file.mjs:function");
}

static void
manifest_agent_check_packages(const json_t *agent, struct json_fault *fault)
{
	const json_t *list = json_object_get(
	    json_object_get(agent, "tool_access"), "allowed_packages");
	size_t i;

	for (i = 0; i < json_array_size(list) && fault->text[0] == '\0'; i++) {
		const char *slug = json_string_value(json_array_get(list, i));
		size_t j;

		if (!slug_is_valid(slug))
			json_field_fault(fault,
			    "manifest.agent.tool_access.allowed_packages[%zu] "
			    "must be " SLUG_RULE,
			    i);
		for (j = 0; j < i && fault->text[0] == '\0'; j++)
			if (strcmp(slug, json_string_value(
					     json_array_get(list, j))) == 0)
				json_field_fault(fault,
				    "manifest.agent.tool_access."
				    "allowed_packages[%zu] is there already",
				    i);
	}
}

/* The tool of a step is SLUG or SLUG/TOOL, its package an allowed one. */
static bool
manifest_agent_step_allowed(const json_t *agent, const char *tool)
{
	const json_t *list = json_object_get(
	    json_object_get(agent, "tool_access"), "allowed_packages");
	size_t len = strcspn(tool, "/"), i;

	for (i = 0; i < json_array_size(list); i++) {
		const char *slug = json_string_value(json_array_get(list, i));

		if (strlen(slug) == len && memcmp(slug, tool, len) == 0)
			return true;
	}
	return false;
}

/* `$ref == v`, `$ref != v`, `$ref is null`, `$ref is not null` */
static bool
manifest_agent_is_condition(const char *text)
{
	size_t reference = strcspn(text, " ");
	const char *rest = text + reference;

	if (text[0] != '$' || reference < 2)
		return false;
	return strcmp(rest, " is null") == 0 ||
	       strcmp(rest, " is not null") == 0 ||
	       ((strncmp(rest, " == ", 4) == 0 ||
		    strncmp(rest, " != ", 4) == 0) &&
		   rest[4] != '\0');
}

static void
manifest_agent_check_step(const json_t *agent, const json_t *steps, size_t at,
    struct json_fault *fault)
{
	const json_t *step = json_array_get(steps, at);
	const char *name, *tool, *when;
	char path[80];
	size_t i;

	(void)snprintf(
	    path, sizeof(path), "manifest.agent.orchestration.steps[%zu]", at);
	manifest_field_check(step, path, manifest_agent_step_fields, fault);
	if (fault->text[0] != '\0')
		return;
	name = json_string_value(json_object_get(step, "name"));
	tool = json_string_value(json_object_get(step, "tool"));
	when = json_string_value(json_object_get(step, "when"));
	if (strpbrk(name, ".$ ") != NULL || strcmp(name, "input") == 0 ||
	    strcmp(name, "goal") == 0)
		json_field_fault(fault,
		    "%s.name must have no '.', '$' or blank, and is not input "
		    "or goal",
		    path);
	for (i = 0; i < at; i++)
		if (strcmp(name, json_string_value(json_object_get(
				     json_array_get(steps, i), "name"))) == 0)
			json_field_fault(
			    fault, "%s.name is there already", path);
	if (!manifest_agent_step_allowed(agent, tool))
		json_field_fault(fault,
		    "%s.tool is of a package that "
		    "tool_access.allowed_packages does not list",
		    path);
	if (when != NULL && !manifest_agent_is_condition(when))
		json_field_fault(fault,
		    "%s.when must be '$ref == v', '$ref != v', '$ref is null' "
		    "or '$ref is not null'",
		    path);
}

static void
manifest_agent_check_steps(const json_t *agent, struct json_fault *fault)
{
	const json_t *order = json_object_get(agent, "orchestration");
	const json_t *steps = json_object_get(order, "steps");
	size_t i;

	if (order == NULL || fault->text[0] != '\0')
		return;
	if (json_array_size(steps) == 0)
		json_field_fault(
		    fault, "manifest.agent.orchestration.steps is empty");
	for (i = 0; i < json_array_size(steps) && fault->text[0] == '\0'; i++)
		manifest_agent_check_step(agent, steps, i, fault);
}

void
manifest_agent_check(
    const json_t *agent, const char *runtime, struct json_fault *fault)
{
	manifest_field_check(
	    agent, "manifest.agent", manifest_agent_fields, fault);
	manifest_agent_check_start(agent, runtime, fault);
	manifest_agent_check_packages(agent, fault);
	manifest_agent_check_steps(agent, fault);
}

static void
manifest_agent_default(json_t *object, const char *key, json_int_t value)
{
	if (json_object_get(object, key) == NULL)
		(void)json_object_set_new(object, key, json_integer(value));
}

/* An object of the section, made when it is absent. */
static json_t *
manifest_agent_part(json_t *agent, const char *name)
{
	if (!json_is_object(json_object_get(agent, name)))
		(void)json_object_set_new(agent, name, json_object());
	return json_object_get(agent, name);
}

json_t *
manifest_agent_entry_part(const json_t *agent)
{
	json_t *copy = json_deep_copy(agent);
	json_t *limits, *tools, *llm;

	if (copy == NULL)
		return NULL;
	limits = manifest_agent_part(copy, "limits");
	manifest_agent_default(
	    limits, "max_tool_calls", MANIFEST_AGENT_TOOL_CALLS);
	manifest_agent_default(
	    limits, "max_runtime_seconds", MANIFEST_AGENT_RUNTIME_S);
	tools = manifest_agent_part(copy, "tool_access");
	if (json_object_get(tools, "allowed_packages") == NULL)
		(void)json_object_set_new(
		    tools, "allowed_packages", json_array());
	llm = manifest_agent_part(copy, "llm_access");
	if (json_object_get(llm, "enabled") == NULL)
		(void)json_object_set_new(llm, "enabled", json_false());
	return copy;
}
