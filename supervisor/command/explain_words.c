/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sentences for explain; see explain_words.h. Must never print: what is
 * foreign in them is escaped by who does.
 */
#include "supervisor/command/explain_words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/agent/agent_package.h"
#include "supervisor/agent/llm_plan.h"

#define EXPLAIN_WORDS_TEXT_MAX 2048U

void
explain_words_say(json_t *answer, const char *about, const char *format, ...)
{
	char text[EXPLAIN_WORDS_TEXT_MAX];
	va_list list;

	va_start(list, format);
	(void)vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	(void)json_array_append_new(json_object_get(answer, "words"),
	    json_pack("{s:s, s:s}", "about", about, "text", text));
}

void
explain_words_set(json_t *answer, const char *key, json_t *value)
{
	(void)json_object_set_new(answer, key, value);
}

static const char *
explain_words_name(const json_t *item)
{
	const char *text = json_string_value(
	    json_is_object(item) ? json_object_get(item, "name") : item);

	return text != NULL ? text : "?";
}

const char *
explain_words_list(const json_t *list, char text_r[EXPLAIN_WORDS_LIST_MAX])
{
	size_t count = json_array_size(list), used = 0, i;

	text_r[0] = '\0';
	for (i = 0; i < count; i++) {
		const char *name = explain_words_name(json_array_get(list, i));
		size_t len = strlen(name);

		if (used + len + 40 > EXPLAIN_WORDS_LIST_MAX)
			break;
		used += (size_t)snprintf(text_r + used,
		    EXPLAIN_WORDS_LIST_MAX - used, "%s%s", i > 0 ? ", " : "",
		    name);
	}
	if (i < count)
		(void)snprintf(text_r + used, EXPLAIN_WORDS_LIST_MAX - used,
		    " and %zu more", count - i);
	return text_r;
}

json_t *
explain_words_names(const json_t *list)
{
	json_t *names = json_array();
	size_t i;

	for (i = 0; i < json_array_size(list); i++)
		(void)json_array_append_new(names,
		    json_string(explain_words_name(json_array_get(list, i))));
	return names;
}

static void
explain_words_grant(json_t *answer, const json_t *grant)
{
	const json_t *providers = json_object_get(grant, "providers");
	const json_t *limits = json_object_get(grant, "limits");
	char list[EXPLAIN_WORDS_LIST_MAX];
	json_int_t calls =
	    json_integer_value(json_object_get(limits, "requests"));

	explain_words_say(answer, "llm",
	    "at most %lld calls to %s through the broker; the key stays "
	    "outside",
	    (long long)calls, explain_words_list(providers, list));
	explain_words_set(answer, "llm",
	    json_pack("{s:I, s:o}", "max_calls", calls, "providers",
		explain_words_names(providers)));
}

void
explain_words_llm(json_t *answer, struct run_entry *run)
{
	struct json_fault fault = {""};
	struct agent_package package;
	struct llm_part_plan plan;
	bool granted = false;
	enum result result;

	explain_words_set(answer, "llm", json_null());
	if (run->kind != BOUNDARY_AGENT)
		return;
	llm_plan_init(&plan);
	result = agent_package_read(run->slug, run->entry, &package, &fault);
	if (result == RESULT_OK)
		result = llm_plan_make(
		    run->config, run->home, &package, &plan, &granted, &fault);
	if (result != RESULT_OK)
		explain_words_say(
		    answer, "llm", "cannot be told: %s", fault.text);
	else if (!granted)
		explain_words_say(answer, "llm",
		    "none: its manifest asks for none, or this host grants "
		    "none");
	else
		explain_words_grant(answer, plan.grant);
	llm_plan_clear(&plan);
}
