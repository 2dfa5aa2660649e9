/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guard's answers for explain; see explain_guard.h. It asks as a run would
 * and must never record or count anything.
 */
#include "supervisor/command/explain_guard.h"

#include "supervisor/command/explain_words.h"
#include "supervisor/policy/guard_make.h"
#include "supervisor/policy/guard_plan.h"

static void
explain_guard_tool(json_t *answer, json_t *rows, const struct guard_plan *plan,
    const char *tool)
{
	char words[GUARD_PLAN_WORDS_MAX];
	struct guard_verdict verdict;
	bool first = json_array_size(rows) == 0;

	guard_plan_judge(plan, tool, &verdict);
	guard_plan_words(verdict.decision.actions, words);
	explain_words_say(answer, first ? "guard" : "", "%s: %s (%s)%s", tool,
	    guard_answer_name(verdict.decision.answer), words,
	    verdict.code[0] == '\0' ? ""
				    : ", refused when nobody can be asked");
	(void)json_array_append_new(
	    rows, json_pack("{s:s, s:s, s:o, s:s}", "tool", tool, "answer",
		      guard_answer_name(verdict.decision.answer), "actions",
		      guard_plan_list(verdict.decision.actions), "code",
		      verdict.code));
}

static void
explain_guard_tools(
    json_t *answer, json_t *rows, struct run_entry *run, json_t *object)
{
	const json_t *tools = json_object_get(run->entry, "tools"), *item;
	struct json_fault fault = {""};
	struct guard_plan plan;
	size_t i;

	if (object == NULL ||
	    guard_plan_read(object, run->slug, &plan, &fault) != RESULT_OK) {
		explain_words_say(
		    answer, "guard", "cannot be told: %s", fault.text);
		return;
	}
	json_array_foreach(tools, i, item)
	{
		const char *tool = json_string_value(
		    json_is_object(item) ? json_object_get(item, "name")
					 : item);

		if (tool != NULL)
			explain_guard_tool(answer, rows, &plan, tool);
	}
	if (json_array_size(tools) == 0)
		explain_words_say(answer, "guard",
		    "'agentnode guard check %s/TOOL' tells of one tool",
		    run->slug);
}

void
explain_guard_say(json_t *answer, struct run_entry *run)
{
	struct guard_make make = {.config = run->config,
	    .entry = run->entry,
	    .consented = run->agreed,
	    .slug = run->slug,
	    .tier = run->trust.tier,
	    .inside = !run->on_host};
	json_t *rows = json_array(), *object;

	if (run->kind == BOUNDARY_MCP || run->kind == BOUNDARY_TOOLPACK) {
		object = guard_make_plan(&make);
		explain_guard_tools(answer, rows, run, object);
		json_decref(object);
	}
	explain_words_set(answer, "guard", rows);
}
