/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intersections of grants; see llm_narrow.h. Called when a configuration
 * changes under a run. It must never put in what only one of both has.
 */
#include "supervisor/policy/llm_narrow.h"

#include <string.h>

/* Does list have this text? No list: every one. */
static bool
llm_narrow_lists(const json_t *list, const json_t *text)
{
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		if (json_equal(json_array_get(list, i), text))
			return true;
	}
	return list == NULL;
}

/* What both lists have; NULL when neither is there (or no memory, which a
 * caller that expects a list sees). */
static json_t *
llm_narrow_both(const json_t *held, const json_t *now)
{
	const json_t *from = held != NULL ? held : now;
	json_t *both = from != NULL ? json_array() : NULL;
	size_t i;

	for (i = 0; both != NULL && i < json_array_size(from); i++) {
		json_t *text = json_array_get(from, i);

		if (llm_narrow_lists(held, text) &&
		    llm_narrow_lists(now, text) &&
		    json_array_append(both, text) != 0) {
			json_decref(both);
			return NULL;
		}
	}
	return both;
}

static const json_t *
llm_narrow_find(const json_t *rows, const json_t *name)
{
	size_t i;

	for (i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		if (json_equal(json_object_get(row, "name"), name))
			return row;
	}
	return NULL;
}

/* A provider that both have. */
static json_t *
llm_narrow_row(const json_t *held, const json_t *now)
{
	const json_t *before = json_object_get(held, "models");
	const json_t *after = json_object_get(now, "models");
	json_t *row = json_pack("{s:O}", "name", json_object_get(held, "name"));

	if (row != NULL && (before != NULL || after != NULL) &&
	    json_object_set_new(
		row, "models", llm_narrow_both(before, after)) != 0) {
		json_decref(row);
		return NULL;
	}
	return row;
}

static json_t *
llm_narrow_rows(const json_t *held, const json_t *now)
{
	json_t *rows = json_array();
	size_t i;

	for (i = 0; rows != NULL && i < json_array_size(held); i++) {
		const json_t *row = json_array_get(held, i);
		const json_t *same =
		    llm_narrow_find(now, json_object_get(row, "name"));

		if (same != NULL && json_array_append_new(
					rows, llm_narrow_row(row, same)) != 0) {
			json_decref(rows);
			return NULL;
		}
	}
	return rows;
}

static bool
llm_narrow_grants(const json_t *rows, const json_t *choice)
{
	const json_t *row =
	    llm_narrow_find(rows, json_object_get(choice, "provider"));

	return row != NULL && llm_narrow_lists(json_object_get(row, "models"),
				  json_object_get(choice, "model"));
}

static json_t *
llm_narrow_default(const json_t *rows, const json_t *held, const json_t *now)
{
	if (held != NULL && llm_narrow_grants(rows, held))
		return json_deep_copy(held);
	return now != NULL && llm_narrow_grants(rows, now) ? json_deep_copy(now)
							   : NULL;
}

/* The smaller number of each; one that only now has is held to as well. */
static json_t *
llm_narrow_numbers(const json_t *held, const json_t *now)
{
	json_t *least = held != NULL ? json_deep_copy(held) : json_object();
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)now, name, value)
	{
		const json_t *before = json_object_get(least, name);

		if ((before == NULL || json_integer_value(value) <
					   json_integer_value(before)) &&
		    json_object_set(least, name, value) != 0) {
			json_decref(least);
			return NULL;
		}
	}
	return least;
}

json_t *
llm_narrow_grant(const json_t *held, const json_t *now)
{
	json_t *rows = llm_narrow_rows(json_object_get(held, "providers"),
	    json_object_get(now, "providers"));
	json_t *none = json_array();
	const json_t *before = json_object_get(held, "opt_in");
	const json_t *after = json_object_get(now, "opt_in");

	/* Absent opt-ins are none, not any. */
	json_t *grant = json_pack("{s:o, s:o*, s:o, s:o, s:O*, s:O}",
	    "providers", rows, "default",
	    llm_narrow_default(rows, json_object_get(held, "default"),
		json_object_get(now, "default")),
	    "opt_in",
	    llm_narrow_both(
		before != NULL ? before : none, after != NULL ? after : none),
	    "limits",
	    llm_narrow_numbers(json_object_get(held, "limits"),
		json_object_get(now, "limits")),
	    "prices", json_object_get(held, "prices"), "ledger",
	    json_object_get(held, "ledger"));

	json_decref(none);
	return grant;
}

/* Those of the run that its grant limits, too (llm_ceiling.c). */
static bool
llm_narrow_in_grant(const char *scope, const char *amount)
{
	static const char *const amounts[] = {
	    "requests", "concurrent", "input_chars", "output_chars"};

	if (strcmp(scope, "run") != 0)
		return false;
	for (size_t i = 0; i < sizeof(amounts) / sizeof(amounts[0]); i++) {
		if (strcmp(amount, amounts[i]) == 0)
			return true;
	}
	return false;
}

bool
llm_narrow_ends(const json_t *held_limits, const json_t *now_limits)
{
	const char *scope, *amount;
	json_t *amounts, *value;

	json_object_foreach((json_t *)now_limits, scope, amounts)
	{
		const json_t *old = json_object_get(held_limits, scope);

		json_object_foreach(amounts, amount, value)
		{
			const json_t *before = json_object_get(old, amount);

			if (!llm_narrow_in_grant(scope, amount) &&
			    (before == NULL || json_integer_value(value) <
						   json_integer_value(before)))
				return true;
		}
	}
	return false;
}
