/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call of an operator. Called before a tool is started; it must never
 * start anything, nor take "nobody can be asked" for a yes.
 */
#include "supervisor/package/guard_admit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/policy/guard_arguments.h"
#include "supervisor/policy/guard_make.h"
#include "supervisor/policy/guard_terminal.h"

static enum result
guard_admit_refuse(
    struct run_entry *run, const char *code, const char *sentence)
{
	json_field_fault(&run->fault, "%s", sentence);
	return run_entry_fail(run, RESULT_REFUSED, code);
}

/* --- the rules ---------------------------------------------------------- */

static enum result
guard_admit_rules(struct run_entry *run, const struct guard_plan *plan,
    const char *tool, char actions_r[GUARD_PLAN_WORDS_MAX])
{
	char sentence[GUARD_PLAN_SENTENCE_MAX], missing[GUARD_PLAN_WORDS_MAX];
	char question[GUARD_PLAN_SENTENCE_MAX];
	struct guard_verdict verdict;

	guard_plan_judge(plan, tool, &verdict);
	guard_plan_words(verdict.decision.actions, actions_r);
	if (verdict.code[0] == '\0')
		return RESULT_OK;
	guard_plan_words(verdict.missing, missing);
	(void)snprintf(question, sizeof(question),
	    "agentnode: %s/%s wants to: %s. Allow this call?", run->slug, tool,
	    missing);
	if (strcmp(verdict.code, GUARD_CODE_CONSENT) == 0 &&
	    guard_terminal_confirm(question))
		return RESULT_OK;
	guard_plan_sentence(plan, tool, &verdict, sentence, sizeof(sentence));
	return guard_admit_refuse(run, verdict.code, sentence);
}

/* --- the arguments ------------------------------------------------------ */

static enum result
guard_admit_judged(struct run_entry *run, const char *tool,
    enum guard_arguments_fault fault, const char *where)
{
	char sentence[GUARD_PLAN_SENTENCE_MAX];

	(void)snprintf(sentence, sizeof(sentence),
	    "the arguments of %s/%s %s (at %s)", run->slug, tool,
	    guard_arguments_text(fault), where);
	if (guard_arguments_answer(fault) == GUARD_PROMPT) {
		char question[GUARD_PLAN_SENTENCE_MAX + 40];

		(void)snprintf(question, sizeof(question),
		    "agentnode: %s. Make the call?", sentence);
		if (guard_terminal_confirm(question))
			return RESULT_OK;
	}
	return guard_admit_refuse(run, GUARD_CODE_ARGUMENTS, sentence);
}

/* What is denied comes first: a yes to a question about the schema must not
 * let pass what stands behind it. */
static enum guard_arguments_fault
guard_admit_fault(const struct guard_arguments_rules *rules, const char *text,
    char where_r[GUARD_ARGUMENTS_WHERE_MAX])
{
	struct mcp_span span = mcp_cursor_value(text, strlen(text));
	struct guard_arguments_rules denied = *rules;
	enum guard_arguments_fault fault;

	denied.only_denied = true;
	fault = guard_arguments_check(&denied, span, where_r);
	return fault != GUARD_ARGUMENTS_OK
		   ? fault
		   : guard_arguments_check(rules, span, where_r);
}

static enum result
guard_admit_arguments(struct run_entry *run, const struct guard_plan *plan,
    const struct guard_admit *call)
{
	const struct guard_arguments_rules rules =
	    guard_arguments_rules(plan->inside, plan->subject.has_network,
		guard_plan_schema(plan, call->tool));
	char where[GUARD_ARGUMENTS_WHERE_MAX];
	enum guard_arguments_fault fault;
	char *text = json_dumps(call->arguments, JSON_COMPACT);

	if (text == NULL) {
		json_field_fault(&run->fault, "out of memory");
		return run_entry_fail(run, RESULT_NO_MEMORY, "internal");
	}
	fault = guard_admit_fault(&rules, text, where);
	free(text);
	return fault == GUARD_ARGUMENTS_OK
		   ? RESULT_OK
		   : guard_admit_judged(run, call->tool, fault, where);
}

enum result
guard_admit(struct run_entry *run, const struct guard_admit *call,
    char actions_r[GUARD_PLAN_WORDS_MAX])
{
	const struct guard_make make = {.config = run->config,
	    .entry = run->entry,
	    .consented = run->agreed,
	    .slug = run->slug,
	    .tier = run->trust.tier,
	    .inside = call->inside};
	json_t *object = guard_make_plan(&make);
	struct guard_plan plan;
	enum result result =
	    guard_plan_read(object, run->slug, &plan, &run->fault);

	actions_r[0] = '\0';
	if (result != RESULT_OK)
		result = run_entry_fail(run, result, "internal");
	if (result == RESULT_OK)
		result = guard_admit_rules(run, &plan, call->tool, actions_r);
	if (result == RESULT_OK)
		result = guard_admit_arguments(run, &plan, call);
	json_decref(object);
	return result;
}
