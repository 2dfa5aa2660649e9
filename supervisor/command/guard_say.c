/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer of `guard check`. Called by command_guard.c; it must never
 * start, record or count anything.
 */
#include "supervisor/command/guard_say.h"

#include <stdio.h>
#include <string.h>

#include "supervisor/command/command.h"
#include "supervisor/package/run_entry.h"
#include "supervisor/policy/guard_make.h"
#include "supervisor/policy/guard_plan.h"

struct guard_say {
	const struct guard_say_ask *ask;
	struct run_entry run;
	json_t *object; /* owned: the plan's */
	struct guard_plan plan;
	struct guard_verdict verdict;
	bool consents; /* somebody agreed to the entry */
	bool skill;
};

static bool
guard_say_is_skill(const json_t *entry)
{
	const char *type =
	    json_string_value(json_object_get(entry, "package_type"));

	return type != NULL && strcmp(type, "skill") == 0;
}

/* As if the tool declared it. */
static void
guard_say_declare(struct guard_say *answer)
{
	json_t *tools = json_object_get(answer->object, "tools");
	json_t *row = json_object_get(tools, answer->ask->tool);

	if (answer->ask->action == NULL)
		return;
	if (row == NULL) {
		(void)json_object_set_new(
		    tools, answer->ask->tool, json_object());
		row = json_object_get(tools, answer->ask->tool);
	}
	(void)json_object_set_new(
	    row, "action_type", json_string(answer->ask->action));
}

static enum result
guard_say_open(struct guard_say *answer)
{
	const struct guard_say_ask *ask = answer->ask;
	struct guard_make make = {.slug = ask->slug, .inside = true};
	enum result result =
	    run_entry_open(ask->slug, ask->lockfile, &answer->run);

	if (result != RESULT_OK)
		return result;
	/* Refused or not: what is asked is what Guard would say. */
	(void)run_entry_boundary(&answer->run);
	answer->run.fault.text[0] = '\0';
	result = run_entry_consent(&answer->run);
	answer->consents = result == RESULT_OK;
	if (result != RESULT_OK && result != RESULT_REFUSED)
		return result;
	answer->run.fault.text[0] = '\0';
	answer->skill = guard_say_is_skill(answer->run.entry);
	make.config = answer->run.config;
	make.entry = answer->run.entry;
	make.consented = answer->consents ? answer->run.agreed : NULL;
	make.tier = answer->run.trust.tier;
	answer->object = guard_make_plan(&make);
	guard_say_declare(answer);
	return guard_plan_read(
	    answer->object, ask->slug, &answer->plan, &answer->run.fault);
}

static json_t *
guard_say_chain(const struct guard_decision *decision)
{
	json_t *chain = json_array();

	for (unsigned i = 0; i < GUARD_ACTION_COUNT; i++) {
		if (decision->sources[i] != NULL)
			(void)json_array_append_new(
			    chain, json_pack("{s:s, s:s, s:s}", "action",
				       guard_action_name((enum guard_action)i),
				       "answer",
				       guard_answer_name(decision->answers[i]),
				       "source", decision->sources[i]));
	}
	return chain;
}

static json_t *
guard_say_mitigations(const struct guard_say *answer)
{
	const struct guard_verdict *verdict = &answer->verdict;
	const struct guard_subject *subject = &answer->plan.subject;
	json_t *list = json_array();

	if (answer->skill)
		return list;
	if (verdict->decision.prompting != 0 && verdict->missing == 0)
		(void)json_array_append_new(
		    list, json_string("the consent to this package covers what "
				      "would be asked"));
	if (subject->tier < TIER_TRUSTED)
		(void)json_array_append_new(
		    list, json_string("it runs in a sandbox or not at all"));
	if (!subject->has_network)
		(void)json_array_append_new(
		    list, json_string("it reaches no host"));
	return list;
}

/* What the call would get where nobody can be asked. */
static const char *
guard_say_effective(const struct guard_say *answer)
{
	return answer->verdict.code[0] == '\0' ? "allow" : "deny";
}

static json_t *
guard_say_object(const struct guard_say *answer)
{
	const struct guard_decision *decision = &answer->verdict.decision;

	return json_pack("{s:s, s:s, s:o, s:s, s:s, s:s, s:i, s:s, s:s, s:s, "
			 "s:o, s:o, s:b, s:b, s:o, s:s, s:s}",
	    "slug", answer->ask->slug, "tool_name", answer->ask->tool,
	    "action_types", guard_plan_list(decision->actions),
	    "action_types_source", decision->classified, "trust_level",
	    tier_name(answer->plan.subject.tier), "risk_level",
	    guard_risk_name(decision->risk), "risk_score", (int)decision->risk,
	    "decision", guard_answer_name(decision->answer), "source",
	    decision->source, "reason", decision->reason, "guard_chain",
	    guard_say_chain(decision), "mitigations",
	    guard_say_mitigations(answer), "strict_mode",
	    answer->plan.rules.strict, "consent", answer->consents,
	    "missing_consent", guard_plan_list(answer->verdict.missing),
	    "without_terminal", guard_say_effective(answer), "code",
	    answer->verdict.code);
}

static void
guard_say_print(const struct guard_say *answer)
{
	const struct guard_decision *decision = &answer->verdict.decision;
	char words[GUARD_PLAN_WORDS_MAX], sentence[GUARD_PLAN_SENTENCE_MAX];

	guard_plan_words(decision->actions, words);
	printf("%s/%s: %s (%s)\n", answer->ask->slug, answer->ask->tool,
	    guard_answer_name(decision->answer), decision->reason);
	printf("actions: %s (%s)\n", words, decision->classified);
	printf(
	    "risk: %s (%u)\n", guard_risk_name(decision->risk), decision->risk);
	for (unsigned i = 0; i < GUARD_ACTION_COUNT; i++) {
		if (decision->sources[i] != NULL)
			printf("  %s: %s by %s\n",
			    guard_action_name((enum guard_action)i),
			    guard_answer_name(decision->answers[i]),
			    decision->sources[i]);
	}
	printf("without a terminal: %s\n", guard_say_effective(answer));
	if (answer->verdict.code[0] == '\0')
		return;
	guard_plan_sentence(&answer->plan, answer->ask->tool, &answer->verdict,
	    sentence, sizeof(sentence));
	printf("%s\n", sentence);
}

/* A skill runs nothing: there is nothing to decide. */
static void
guard_say_judge(struct guard_say *answer)
{
	guard_plan_judge(&answer->plan, answer->ask->tool, &answer->verdict);
	if (!answer->skill)
		return;
	answer->verdict =
	    (struct guard_verdict){.decision = {.answer = GUARD_ALLOW,
				       .classified = "skill",
				       .source = "skill",
				       .reason = "a skill runs nothing"},
		.code = ""};
}

int
guard_say(const struct guard_say_ask *ask)
{
	struct guard_say answer = {.ask = ask};
	enum result result = guard_say_open(&answer);
	int code = COMMAND_DONE;
	json_t *object;

	if (result == RESULT_OK) {
		guard_say_judge(&answer);
		if (ask->json) {
			object = guard_say_object(&answer);
			code = command_print_json(object);
			json_decref(object);
		} else
			guard_say_print(&answer);
	} else if (strcmp(answer.run.code, "not_installed") == 0)
		code = command_error(COMMAND_NO, "%s", answer.run.fault.text);
	else
		code = command_fault(result, &answer.run.fault);
	json_decref(answer.object);
	run_entry_clear(&answer.run);
	return code;
}
