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
#include "supervisor/package/manifest_entrypoint.h"
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

static void
manifest_agent_check_start(
    const json_t *agent, const char *runtime, struct manifest_report *report)
{
	const char *entry =
	    json_string_value(json_object_get(agent, "entrypoint"));
	bool has_command =
	    json_array_size(json_object_get(agent, "command")) > 0;
	bool has_steps = manifest_field_get(agent, "orchestration") != NULL;

	if ((entry != NULL) + has_command + has_steps != 1)
		manifest_report_fault(report, "manifest.agent",
		    "needs exactly one of entrypoint, command and "
		    "orchestration");
	else if (entry != NULL && !manifest_entrypoint_is_valid(
				      entry, strcmp(runtime, "node") == 0))
		manifest_report_fault(report, "manifest.agent.entrypoint",
		    MANIFEST_ENTRYPOINT_RULE);
}

static void
manifest_agent_check_packages(
    const json_t *agent, struct manifest_report *report)
{
	const json_t *list = json_object_get(
	    json_object_get(agent, "tool_access"), "allowed_packages");
	char path[80];
	size_t i, j;

	for (i = 0; i < json_array_size(list); i++) {
		const json_t *slug = json_array_get(list, i);

		(void)snprintf(path, sizeof(path),
		    "manifest.agent.tool_access.allowed_packages[%zu]", i);
		if (!json_is_string(slug))
			continue;
		if (!slug_is_valid(json_string_value(slug)))
			manifest_report_fault(
			    report, path, "must be " SLUG_RULE);
		for (j = 0; j < i; j++)
			if (json_equal(slug, json_array_get(list, j)))
				manifest_report_fault(
				    report, path, "is there already");
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

		if (slug != NULL && strlen(slug) == len &&
		    memcmp(slug, tool, len) == 0)
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
manifest_agent_check_step_name(const json_t *steps, size_t at, const char *path,
    struct manifest_report *report)
{
	const json_t *name = json_object_get(json_array_get(steps, at), "name");
	const char *text = json_string_value(name);
	size_t i;

	if (strpbrk(text, ".$ ") != NULL || strcmp(text, "input") == 0 ||
	    strcmp(text, "goal") == 0)
		manifest_report_fault(report, path,
		    "must have no '.', '$' or blank, and is not input or "
		    "goal");
	for (i = 0; i < at; i++)
		if (json_equal(name,
			json_object_get(json_array_get(steps, i), "name")))
			manifest_report_fault(report, path, "is there already");
}

static void
manifest_agent_check_step(const json_t *agent, const json_t *steps, size_t at,
    struct manifest_report *report)
{
	const json_t *step = json_array_get(steps, at);
	size_t before = report->count;
	const char *when;
	char path[80], place[96];

	(void)snprintf(
	    path, sizeof(path), "manifest.agent.orchestration.steps[%zu]", at);
	manifest_field_check(step, path, manifest_agent_step_fields, report);
	if (report->count != before)
		return;
	(void)snprintf(place, sizeof(place), "%s.name", path);
	manifest_agent_check_step_name(steps, at, place, report);
	(void)snprintf(place, sizeof(place), "%s.tool", path);
	if (!manifest_agent_step_allowed(
		agent, json_string_value(json_object_get(step, "tool"))))
		manifest_report_fault(report, place,
		    "is of a package that tool_access.allowed_packages does "
		    "not list");
	when = json_string_value(json_object_get(step, "when"));
	(void)snprintf(place, sizeof(place), "%s.when", path);
	if (when != NULL && !manifest_agent_is_condition(when))
		manifest_report_fault(report, place,
		    "must be '$ref == v', '$ref != v', '$ref is null' or "
		    "'$ref is not null'");
}

static void
manifest_agent_check_steps(const json_t *agent, struct manifest_report *report)
{
	const json_t *order = json_object_get(agent, "orchestration");
	const json_t *steps = json_object_get(order, "steps");
	size_t i;

	if (json_is_array(steps) && json_array_size(steps) == 0)
		manifest_report_fault(
		    report, "manifest.agent.orchestration.steps", "is empty");
	for (i = 0; i < json_array_size(steps) && i < MANIFEST_STEPS_MAX; i++)
		manifest_agent_check_step(agent, steps, i, report);
}

/* What the agent asks to do without a prompt, in Guard's words. */
static void
manifest_agent_check_actions(
    const json_t *agent, struct manifest_report *report)
{
	const json_t *list = json_object_get(agent, "pre_approved_actions");
	char path[80];
	size_t i, j;

	for (i = 0; i < json_array_size(list); i++) {
		const char *word = json_string_value(json_array_get(list, i));

		for (j = 0; word != NULL && manifest_field_actions[j] != NULL &&
			    strcmp(manifest_field_actions[j], word) != 0;
		     j++)
			;
		if (word == NULL || manifest_field_actions[j] != NULL)
			continue; /* no text is a fault already */
		(void)snprintf(path, sizeof(path),
		    "manifest.agent.pre_approved_actions[%zu]", i);
		manifest_report_fault(report, path,
		    "must be read, compute, write_local, write_external, "
		    "delete, execute, credential_use or network_egress");
	}
}

void
manifest_agent_check(
    const json_t *agent, const char *runtime, struct manifest_report *report)
{
	manifest_field_check(
	    agent, "manifest.agent", manifest_agent_fields, report);
	manifest_agent_check_start(agent, runtime, report);
	manifest_agent_check_packages(agent, report);
	manifest_agent_check_actions(agent, report);
	manifest_agent_check_steps(agent, report);
}

void
manifest_agent_check_first(
    const json_t *agent, const char *runtime, struct json_fault *fault)
{
	struct manifest_report report;

	manifest_report_init(&report);
	manifest_agent_check(agent, runtime, &report);
	manifest_report_first(&report, fault);
	manifest_report_clear(&report);
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
	manifest_field_drop_null(copy, manifest_agent_fields);
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
