/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks Guard's objects of the configuration. Called by config_value.c. It
 * must never keep a name or a word that it does not know.
 */
#include "supervisor/policy/config_guard.h"

#include <string.h>

#include "supervisor/policy/guard.h"

#define CONFIG_GUARD_SLUG_MAX 60U
#define CONFIG_GUARD_WHERE_MAX 256U

static bool
config_guard_is_slug(const char *text, size_t len)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

	return len > 0 && len <= CONFIG_GUARD_SLUG_MAX &&
	       strspn(text, plain) >= len;
}

/* A slug, one slash, a tool's plain name. */
static bool
config_guard_is_target(const char *text)
{
	size_t slug = strcspn(text, "/"), i;
	const char *tool = text + slug + 1;

	if (text[slug] == '\0' || !config_guard_is_slug(text, slug))
		return false;
	for (i = 0; tool[i] != '\0'; i++) {
		if (tool[i] <= 0x20 || tool[i] > 0x7e)
			return false;
	}
	return i > 0 && i <= CONFIG_GUARD_TOOL_MAX;
}

static void
config_guard_answer(const char *where, const char *action, const json_t *answer,
    struct json_fault *fault)
{
	enum guard_action known;
	enum guard_answer word;

	if (!guard_action_parse(action, &known))
		json_field_fault(fault,
		    "%s: '%.32s' is no action; they are read, compute, "
		    "write_local, write_external, delete, execute, "
		    "credential_use, network_egress, unknown",
		    where, action);
	else if (!json_is_string(answer) ||
		 !guard_answer_parse(json_string_value(answer), &word))
		json_field_fault(fault,
		    "%s: %.32s: must be allow, prompt or deny", where, action);
}

static void
config_guard_answers(
    const char *where, const json_t *answers, struct json_fault *fault)
{
	const char *action;
	json_t *answer;

	if (!json_is_object(answers)) {
		json_field_fault(fault,
		    "%s: must be an object of actions, such as {\"delete\": "
		    "\"deny\"}",
		    where);
		return;
	}
	json_object_foreach((json_t *)answers, action, answer)
	    config_guard_answer(where, action, answer, fault);
}

static void
config_guard_rate(
    const char *where, const json_t *rate, struct json_fault *fault)
{
	static const char *const keys[] = {
	    "calls_per_minute", "calls_per_hour", "burst_size", NULL};
	int64_t number;

	if (!json_is_object(rate)) {
		json_field_fault(fault,
		    "%s: must be an object such as {\"calls_per_minute\": 60}",
		    where);
		return;
	}
	json_field_only(rate, where, keys, fault);
	for (size_t i = 0; keys[i] != NULL; i++)
		json_field_int_opt(rate, where, keys[i], 1,
		    CONFIG_GUARD_RATE_MAX, &number, fault);
}

static void
config_guard_agent(
    const char *where, const json_t *agent, struct json_fault *fault)
{
	static const char *const keys[] = {"pre_approved_actions", NULL};
	const json_t *list = NULL, *item;
	enum guard_action action;
	size_t i;

	if (!json_is_object(agent)) {
		json_field_fault(fault,
		    "%s: must be an object such as "
		    "{\"pre_approved_actions\": [\"delete\"]}",
		    where);
		return;
	}
	json_field_only(agent, where, keys, fault);
	json_field_array(agent, where, "pre_approved_actions",
	    GUARD_ACTION_COUNT, &list, fault);
	json_array_foreach(list, i, item)
	{
		const char *word = json_string_value(item);

		if (word == NULL || !guard_action_parse(word, &action))
			json_field_fault(fault,
			    "%s: pre_approved_actions[%zu] is no action", where,
			    i);
	}
}

struct config_guard_shape {
	bool (*is_name)(const char *name);
	const char *name_rule;
	void (*check)(
	    const char *where, const json_t *value, struct json_fault *fault);
};

static bool
config_guard_is_package(const char *name)
{
	return config_guard_is_slug(name, strlen(name));
}

static enum result
config_guard_object(const struct config_guard_shape *shape, const json_t *raw,
    const char *where, json_t **value_r, struct json_fault *fault)
{
	char at[CONFIG_GUARD_WHERE_MAX];
	struct json_fault own = {""};
	const char *name;
	json_t *value;

	if (json_object_size(raw) > CONFIG_GUARD_ITEMS_MAX)
		json_field_fault(&own, "%s: at most %u items", where,
		    CONFIG_GUARD_ITEMS_MAX);
	json_object_foreach((json_t *)raw, name, value)
	{
		(void)snprintf(at, sizeof(at), "%s: %.100s", where, name);
		if (!shape->is_name(name))
			json_field_fault(
			    &own, "%s: must be %s", at, shape->name_rule);
		else
			shape->check(at, value, &own);
	}
	if (own.text[0] != '\0') {
		json_field_fault(fault, "%s", own.text);
		return RESULT_BAD;
	}
	*value_r = json_deep_copy(raw);
	return *value_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
}

enum result
config_guard_overrides(const json_t *raw, const char *where, json_t **value_r,
    struct json_fault *fault)
{
	static const struct config_guard_shape shape = {config_guard_is_target,
	    "a package and its tool, as in files/delete_file",
	    config_guard_answers};

	return config_guard_object(&shape, raw, where, value_r, fault);
}

enum result
config_guard_rates(const json_t *raw, const char *where, json_t **value_r,
    struct json_fault *fault)
{
	static const struct config_guard_shape shape = {config_guard_is_package,
	    "the short name of a package, or default", config_guard_rate};

	return config_guard_object(&shape, raw, where, value_r, fault);
}

enum result
config_guard_agents(const json_t *raw, const char *where, json_t **value_r,
    struct json_fault *fault)
{
	static const struct config_guard_shape shape = {config_guard_is_package,
	    "the short name of an agent", config_guard_agent};

	return config_guard_object(&shape, raw, where, value_r, fault);
}
