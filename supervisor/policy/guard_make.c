/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes plans and rates. Called before a run and by `guard`. It must never
 * give more than the team policy leaves, nor read a consent from anything
 * but the consents of this host.
 */
#include "supervisor/policy/guard_make.h"

#include <stdio.h>
#include <string.h>

#include "supervisor/policy/guard_plan.h"

#define GUARD_MAKE_TARGET_MAX 256U

static const struct guard_rates guard_make_toolpack = {10, 60, 1000};
static const struct guard_rates guard_make_agent = {20, 120, 2000};
static const struct guard_rates guard_make_strict = {10, 30, 500};

/* --- answers ------------------------------------------------------------ */

static bool
guard_make_word(const json_t *text, enum guard_answer *answer_r)
{
	const char *word = json_string_value(text);

	return word != NULL && guard_answer_parse(word, answer_r);
}

static void
guard_make_key(enum guard_action action, char key_r[64])
{
	(void)snprintf(key_r, 64, "guard.%s", guard_action_name(action));
}

enum guard_answer
guard_make_global(const struct config *config, enum guard_action action)
{
	enum guard_answer answer;
	char key[64];

	guard_make_key(action, key);
	return guard_make_word(config_json(config, key), &answer) ? answer
								  : GUARD_DENY;
}

/* What the team leaves of an answer for one tool: its own word for that tool
 * counts, else its word for the action. */
static enum guard_answer
guard_make_held(const struct config *config, const char *target,
    enum guard_action action, enum guard_answer answer)
{
	const json_t *team = config_ceiling(config, "guard.tool_overrides");
	enum guard_answer most = GUARD_ALLOW;
	char key[64];

	guard_make_key(action, key);
	if (!guard_make_word(json_object_get(json_object_get(team, target),
				 guard_action_name(action)),
		&most) &&
	    !guard_make_word(config_ceiling(config, key), &most))
		most = GUARD_ALLOW;
	return answer < most ? answer : most;
}

bool
guard_make_override(const struct config *config, const char *target,
    enum guard_action action, enum guard_answer *answer_r)
{
	const json_t *own = config_json(config, "guard.tool_overrides");
	const json_t *team = config_ceiling(config, "guard.tool_overrides");
	enum guard_answer global = guard_make_global(config, action), most;

	if (guard_make_word(json_object_get(json_object_get(own, target),
				guard_action_name(action)),
		answer_r)) {
		*answer_r = guard_make_held(config, target, action, *answer_r);
		return true;
	}
	/* The team's own word for a tool narrows, and only narrows; it holds
	 * against an agent's approval even where all tools are as narrow. */
	*answer_r = guard_make_held(config, target, action, global);
	return guard_make_word(json_object_get(json_object_get(team, target),
				   guard_action_name(action)),
		   &most) &&
	       most != GUARD_ALLOW;
}

/* {"delete":"deny"}; empty when the tool has nothing of its own. */
static json_t *
guard_make_overrides(const struct config *config, const char *target)
{
	json_t *object = json_object();
	enum guard_answer answer;

	for (unsigned i = 0; i < GUARD_ACTION_COUNT; i++) {
		enum guard_action action = (enum guard_action)i;

		if (guard_make_override(config, target, action, &answer))
			(void)json_object_set_new(object,
			    guard_action_name(action),
			    json_string(guard_answer_name(answer)));
	}
	return object;
}

/* --- agents ------------------------------------------------------------- */

static guard_actions
guard_make_listed(const json_t *agents, const char *slug)
{
	guard_actions actions = 0;

	return guard_plan_bits(json_object_get(json_object_get(agents, slug),
				   "pre_approved_actions"),
		   &actions)
		   ? actions
		   : 0;
}

/* The host's list for the agent; what the team does not allow, or the agent
 * itself does not ask for, is not in. */
static guard_actions
guard_make_agreed(
    const struct config *config, const char *agent, const json_t *asks)
{
	const json_t *team = config_ceiling(config, "guard.agent_overrides");
	guard_actions agreed, asked = 0;
	enum guard_answer most;
	char key[64];

	if (agent == NULL)
		return 0;
	agreed = guard_make_listed(
	    config_json(config, "guard.agent_overrides"), agent);
	if (team != NULL)
		agreed &= guard_make_listed(team, agent);
	if (asks != NULL)
		agreed &= guard_plan_bits(asks, &asked) ? asked : 0;
	for (unsigned i = 0; i < GUARD_ACTION_COUNT; i++) {
		guard_make_key((enum guard_action)i, key);
		if (guard_make_word(config_ceiling(config, key), &most) &&
		    most != GUARD_ALLOW)
			agreed &= (guard_actions) ~(1U << i);
	}
	return agreed;
}

/* --- tools -------------------------------------------------------------- */

static const char *
guard_make_name(const json_t *item)
{
	return json_string_value(
	    json_is_object(item) ? json_object_get(item, "name") : item);
}

static json_t *
guard_make_row(json_t *tools, const char *name)
{
	json_t *row = json_object_get(tools, name);

	if (row == NULL && json_object_set_new(tools, name, json_object()) == 0)
		row = json_object_get(tools, name);
	return row;
}

/* Of the entry: what each tool says of itself. */
static void
guard_make_declared(json_t *tools, const json_t *entry)
{
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(entry, "tools"), i, item)
	{
		const char *name = guard_make_name(item);
		json_t *row = name == NULL ? NULL : guard_make_row(tools, name);
		json_t *type = json_object_get(item, "action_type");
		json_t *schema = json_object_get(item, "input_schema");

		if (json_is_string(type))
			(void)json_object_set(row, "action_type", type);
		if (json_is_object(schema))
			(void)json_object_set(row, "schema", schema);
	}
}

/* Of the configuration: the tools of this package that have their own. */
static void
guard_make_targets(
    json_t *tools, const struct guard_make *make, const json_t *overrides)
{
	size_t len = strlen(make->slug);
	const char *target;
	json_t *unused;

	json_object_foreach((json_t *)overrides, target, unused)
	{
		json_t *row, *answers;

		if (strncmp(target, make->slug, len) != 0 || target[len] != '/')
			continue;
		row = guard_make_row(tools, target + len + 1);
		answers = guard_make_overrides(make->config, target);
		if (json_object_size(answers) > 0)
			(void)json_object_set(row, "override", answers);
		json_decref(answers);
	}
}

/* --- the plan ----------------------------------------------------------- */

static bool
guard_make_is_level(const json_t *entry, const char *key)
{
	const json_t *permissions = json_object_get(entry, "permissions");
	const char *word = json_string_value(json_object_get(permissions, key));

	return word != NULL && strcmp(word, "none") != 0;
}

static bool
guard_make_reaches(const json_t *entry)
{
	return guard_make_is_level(entry, "network_level") ||
	       json_array_size(json_object_get(entry, "mcp_allowed_domains")) >
		   0;
}

static bool
guard_make_has_secrets(const json_t *entry)
{
	return json_array_size(json_object_get(entry, "env_requirements")) >
		   0 ||
	       json_array_size(json_object_get(entry, "mcp_env_keys")) > 0;
}

static json_t *
guard_make_answers(const struct config *config)
{
	json_t *object = json_object();

	for (unsigned i = 0; i < GUARD_ACTION_COUNT; i++)
		(void)json_object_set_new(object,
		    guard_action_name((enum guard_action)i),
		    json_string(guard_answer_name(
			guard_make_global(config, (enum guard_action)i))));
	return object;
}

static json_t *
guard_make_tools(const struct guard_make *make)
{
	json_t *tools = json_object();

	guard_make_declared(tools, make->entry);
	guard_make_targets(
	    tools, make, config_json(make->config, "guard.tool_overrides"));
	guard_make_targets(
	    tools, make, config_ceiling(make->config, "guard.tool_overrides"));
	return tools;
}

json_t *
guard_make_plan(const struct guard_make *make)
{
	json_t *consented = json_is_object(make->consented)
				? json_incref((json_t *)make->consented)
				: json_object();

	return json_pack(
	    "{s:b, s:s, s:b, s:o, s:b, s:b, s:b, s:b, s:b, s:o, s:o, s:o}",
	    "strict", config_bool(make->config, "guard.strict"), "tier",
	    tier_name(make->tier), "agent", make->agent != NULL, "agreed",
	    guard_plan_list(
		guard_make_agreed(make->config, make->agent, make->agent_asks)),
	    "network", make->reaches || guard_make_reaches(make->entry),
	    "code_execution",
	    guard_make_is_level(make->entry, "code_execution_level"),
	    "connector",
	    json_is_object(json_object_get(make->entry, "connector")),
	    "secrets", guard_make_has_secrets(make->entry), "inside",
	    make->inside, "global", guard_make_answers(make->config), "tools",
	    guard_make_tools(make), "consented", consented);
}

/* --- consent ------------------------------------------------------------ */

static guard_actions
guard_make_asked(const json_t *entry, const json_t *item)
{
	struct guard_rules rules = {.strict = false};
	struct guard_subject subject = {.slug = "",
	    .tier = TIER_UNVERIFIED,
	    .has_network = guard_make_reaches(entry),
	    .has_code_execution =
		guard_make_is_level(entry, "code_execution_level"),
	    .has_connector =
		json_is_object(json_object_get(entry, "connector")),
	    .tool = guard_make_name(item)};

	subject.action_type =
	    json_string_value(json_object_get(item, "action_type"));
	return guard_decide(&rules, &subject).actions;
}

json_t *
guard_make_consent(const json_t *entry)
{
	const json_t *tools = json_object_get(entry, "tools"), *item;
	guard_actions all = (guard_actions)((1U << GUARD_ACTION_COUNT) - 1);
	json_t *object = json_object();
	size_t i;

	if (!json_is_array(tools))
		(void)json_object_set_new(
		    object, GUARD_PLAN_ANY, guard_plan_list(all));
	json_array_foreach(tools, i, item)
	{
		const char *name = guard_make_name(item);

		if (name != NULL)
			(void)json_object_set_new(object, name,
			    guard_plan_list(guard_make_asked(entry, item)));
	}
	return object;
}

/* --- rates -------------------------------------------------------------- */

static void
guard_make_number(
    const json_t *rates, const char *name, const char *key, int64_t *value)
{
	const json_t *number =
	    json_object_get(json_object_get(rates, name), key);

	if (json_is_integer(number))
		*value = json_integer_value(number);
}

/* The package's own, else the default's, else what it was. */
static void
guard_make_rate(
    const json_t *rates, const char *slug, struct guard_rates *value)
{
	const char *names[] = {"default", slug};

	for (size_t i = 0; i < 2; i++) {
		guard_make_number(rates, names[i], "burst_size", &value->burst);
		guard_make_number(
		    rates, names[i], "calls_per_minute", &value->minute);
		guard_make_number(
		    rates, names[i], "calls_per_hour", &value->hour);
	}
}

static void
guard_make_least(struct guard_rates *value, const struct guard_rates *most)
{
	if (value->burst > most->burst)
		value->burst = most->burst;
	if (value->minute > most->minute)
		value->minute = most->minute;
	if (value->hour > most->hour)
		value->hour = most->hour;
}

struct guard_rates
guard_make_rates(const struct config *config, const char *slug, bool agent)
{
	struct guard_rates rates =
	    agent ? guard_make_agent : guard_make_toolpack;
	struct guard_rates team = {INT64_MAX, INT64_MAX, INT64_MAX};

	guard_make_rate(config_json(config, "guard.rate_limits"), slug, &rates);
	guard_make_rate(
	    config_ceiling(config, "guard.rate_limits"), slug, &team);
	guard_make_least(&rates, &team);
	if (config_bool(config, "guard.strict"))
		guard_make_least(&rates, &guard_make_strict);
	return rates;
}
