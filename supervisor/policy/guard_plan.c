/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a plan and judges by it. Called by the gate for each call, by the
 * supervisor before a run, and by `guard check`. It must never allow by a
 * plan that has a fault, nor take silence for consent.
 */
#include "supervisor/policy/guard_plan.h"

#include <stdio.h>
#include <string.h>

#define GUARD_PLAN_PATH "guard"
#define GUARD_PLAN_TIER_MAX 16U

/* --- lists of actions --------------------------------------------------- */

bool
guard_plan_bits(const json_t *list, guard_actions *actions_r)
{
	enum guard_action action;
	const json_t *item;
	size_t i;

	*actions_r = 0;
	if (!json_is_array(list))
		return false;
	json_array_foreach(list, i, item)
	{
		const char *word = json_string_value(item);

		if (word == NULL || !guard_action_parse(word, &action))
			return false;
		*actions_r |= (guard_actions)(1U << action);
	}
	return true;
}

json_t *
guard_plan_list(guard_actions actions)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < GUARD_ACTION_COUNT; i++) {
		if ((actions & (1U << i)) != 0 &&
		    json_array_append_new(list,
			json_string(guard_action_name((enum guard_action)i))) !=
			0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

void
guard_plan_words(guard_actions actions, char text_r[GUARD_PLAN_WORDS_MAX])
{
	size_t used = 0;

	text_r[0] = '\0';
	for (unsigned i = 0; i < GUARD_ACTION_COUNT; i++) {
		if ((actions & (1U << i)) != 0 && used < GUARD_PLAN_WORDS_MAX)
			used += (size_t)snprintf(text_r + used,
			    GUARD_PLAN_WORDS_MAX - used, "%s%s",
			    used > 0 ? ", " : "",
			    guard_action_name((enum guard_action)i));
	}
}

/* --- reading ------------------------------------------------------------ */

/* Fills answers, sets a bit for each that is there. */
static void
guard_plan_answers(const json_t *object, const char *path,
    enum guard_answer *answers, guard_actions *set_r, struct json_fault *fault)
{
	enum guard_action action;
	const char *word;
	json_t *value;

	*set_r = 0;
	json_object_foreach((json_t *)object, word, value)
	{
		const char *answer = json_string_value(value);

		if (!guard_action_parse(word, &action) || answer == NULL ||
		    !guard_answer_parse(answer, &answers[action])) {
			json_field_fault(fault,
			    "%s.%.32s: is no action and its answer", path,
			    word);
			return;
		}
		*set_r |= (guard_actions)(1U << action);
	}
}

static const json_t *
guard_plan_object(const json_t *row, const char *key, struct json_fault *fault)
{
	const json_t *object = json_object_get(row, key);

	if (object != NULL && !json_is_object(object))
		json_field_fault(
		    fault, GUARD_PLAN_PATH ".tools: %s must be an object", key);
	return object;
}

static void
guard_plan_tools(const json_t *tools, struct json_fault *fault)
{
	static const char *const keys[] = {
	    "action_type", "override", "schema", NULL};
	enum guard_answer answers[GUARD_ACTION_COUNT];
	const char *name, *word = NULL;
	guard_actions set;
	json_t *row;

	if (json_object_size(tools) > GUARD_PLAN_TOOLS_MAX)
		json_field_fault(fault, GUARD_PLAN_PATH ".tools: too many");
	json_object_foreach((json_t *)tools, name, row)
	{
		if (!json_is_object(row)) {
			json_field_fault(fault,
			    GUARD_PLAN_PATH ".tools: %.64s is no object", name);
			return;
		}
		json_field_only(row, GUARD_PLAN_PATH ".tools", keys, fault);
		json_field_string_opt(row, GUARD_PLAN_PATH ".tools",
		    "action_type", 64, &word, fault);
		(void)guard_plan_object(row, "schema", fault);
		guard_plan_answers(guard_plan_object(row, "override", fault),
		    GUARD_PLAN_PATH ".tools", answers, &set, fault);
	}
}

static void
guard_plan_consented(const json_t *consented, struct json_fault *fault)
{
	guard_actions actions;
	const char *name;
	json_t *list;

	json_object_foreach((json_t *)consented, name, list)
	{
		if (!guard_plan_bits(list, &actions))
			json_field_fault(fault,
			    GUARD_PLAN_PATH ".consented: %.64s is no list of "
					    "actions",
			    name);
	}
}

static void
guard_plan_facts(
    const json_t *object, struct guard_plan *plan, struct json_fault *fault)
{
	struct guard_subject *subject = &plan->subject;
	const char *path = GUARD_PLAN_PATH, *tier = NULL;

	json_field_bool(object, path, "strict", &plan->rules.strict, fault);
	json_field_bool(object, path, "inside", &plan->inside, fault);
	json_field_bool(object, path, "agent", &subject->is_agent, fault);
	json_field_bool(object, path, "network", &subject->has_network, fault);
	json_field_bool(object, path, "code_execution",
	    &subject->has_code_execution, fault);
	json_field_bool(
	    object, path, "connector", &subject->has_connector, fault);
	json_field_bool(object, path, "secrets", &subject->has_secrets, fault);
	json_field_string(
	    object, path, "tier", GUARD_PLAN_TIER_MAX, &tier, fault);
	subject->tier = tier_parse(tier);
	if (!guard_plan_bits(
		json_object_get(object, "agreed"), &subject->agreed))
		json_field_fault(fault,
		    GUARD_PLAN_PATH ".agreed: must be a list of actions");
}

enum result
guard_plan_read(const json_t *object, const char *slug,
    struct guard_plan *plan_r, struct json_fault *fault)
{
	static const char *const keys[] = {"strict", "tier", "agent", "agreed",
	    "network", "code_execution", "connector", "secrets", "inside",
	    "global", "tools", "consented", NULL};
	const json_t *global = NULL;
	guard_actions set = 0;

	memset(plan_r, 0, sizeof(*plan_r));
	plan_r->subject.slug = slug;
	if (!json_is_object(object)) {
		json_field_fault(fault, GUARD_PLAN_PATH ": must be an object");
		return RESULT_BAD;
	}
	json_field_only(object, GUARD_PLAN_PATH, keys, fault);
	guard_plan_facts(object, plan_r, fault);
	json_field_object(object, GUARD_PLAN_PATH, "global", &global, fault);
	json_field_object(
	    object, GUARD_PLAN_PATH, "tools", &plan_r->tools, fault);
	json_field_object(
	    object, GUARD_PLAN_PATH, "consented", &plan_r->consented, fault);
	guard_plan_answers(global, GUARD_PLAN_PATH ".global",
	    plan_r->rules.global, &set, fault);
	if (set != (1U << GUARD_ACTION_COUNT) - 1)
		json_field_fault(
		    fault, GUARD_PLAN_PATH ".global: must have every action");
	guard_plan_tools(plan_r->tools, fault);
	guard_plan_consented(plan_r->consented, fault);
	return fault->text[0] == '\0' ? RESULT_OK : RESULT_BAD;
}

/* --- judging ------------------------------------------------------------ */

const json_t *
guard_plan_schema(const struct guard_plan *plan, const char *tool)
{
	return json_object_get(json_object_get(plan->tools, tool), "schema");
}

static guard_actions
guard_plan_agreed(const struct guard_plan *plan, const char *tool)
{
	const json_t *list = json_object_get(plan->consented, tool);
	guard_actions actions;

	if (list == NULL)
		list = json_object_get(plan->consented, GUARD_PLAN_ANY);
	return guard_plan_bits(list, &actions) ? actions : 0;
}

void
guard_plan_judge(const struct guard_plan *plan, const char *tool,
    struct guard_verdict *verdict_r)
{
	const json_t *row = json_object_get(plan->tools, tool);
	struct guard_subject subject = plan->subject;
	struct guard_rules rules = plan->rules;
	struct json_fault fault = {""};

	subject.tool = tool;
	subject.action_type =
	    json_string_value(json_object_get(row, "action_type"));
	subject.consented = guard_plan_agreed(plan, tool);
	guard_plan_answers(json_object_get(row, "override"), "", rules.override,
	    &rules.override_set, &fault);
	verdict_r->decision = guard_decide(&rules, &subject);
	verdict_r->missing = (guard_actions)(verdict_r->decision.prompting &
					     ~(unsigned)subject.consented);
	verdict_r->code = "";
	if (verdict_r->decision.answer == GUARD_DENY || fault.text[0] != '\0')
		verdict_r->code = GUARD_CODE_DENIED;
	else if (verdict_r->missing != 0)
		verdict_r->code = GUARD_CODE_CONSENT;
}

/* --- words -------------------------------------------------------------- */

static guard_actions
guard_plan_denied(const struct guard_decision *decision)
{
	guard_actions denied = 0;

	for (unsigned i = 0; i < GUARD_ACTION_COUNT; i++) {
		if ((decision->actions & (1U << i)) != 0 &&
		    decision->answers[i] == GUARD_DENY)
			denied |= (guard_actions)(1U << i);
	}
	return denied != 0 ? denied : decision->actions;
}

static const char *
guard_plan_remedy(const struct guard_decision *decision)
{
	if (strcmp(decision->source, "strict") == 0)
		return "guard.strict (AGENTNODE_GUARD_STRICT) is on and no "
		       "other rule widens it";
	if (strcmp(decision->source, "critical") == 0)
		return "no rule allows that: a package with an attestation "
		       "has less risk, and so has one without secrets";
	return "'agentnode guard check' shows why, 'agentnode guard set' "
	       "with --tool changes it";
}

void
guard_plan_sentence(const struct guard_plan *plan, const char *tool,
    const struct guard_verdict *verdict, char *text_r, size_t size)
{
	const struct guard_decision *decision = &verdict->decision;
	bool denied = strcmp(verdict->code, GUARD_CODE_DENIED) == 0;
	char words[GUARD_PLAN_WORDS_MAX];

	guard_plan_words(
	    denied ? guard_plan_denied(decision) : verdict->missing, words);
	if (denied)
		(void)snprintf(text_r, size, "Guard denies %s/%s (%s): %s; %s",
		    plan->subject.slug, tool, words, decision->reason,
		    guard_plan_remedy(decision));
	else
		(void)snprintf(text_r, size,
		    "Guard asks before %s/%s (%s), and there is nobody to "
		    "ask: install the package again or 'agentnode lock seal' "
		    "to consent to its tools, or 'agentnode guard set' with "
		    "--tool",
		    plan->subject.slug, tool, words);
}
