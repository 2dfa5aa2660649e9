/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict JSON of request bodies. Called by call_policy.c and call_llm.c. It
 * must never let the parser work on what is too deep or too much: its memory
 * is many times that of the text.
 */
#include "llm-broker/call_json.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "llm-broker/json_quick.h"

struct call_json_counts {
	size_t depth, deepest, values, containers;
};

static void
call_json_note(struct call_json_counts *counts, char byte)
{
	switch (byte) {
	case '{':
	case '[':
		counts->containers++;
		counts->values++;
		if (++counts->depth > counts->deepest)
			counts->deepest = counts->depth;
		return;
	case '}':
	case ']':
		counts->depth -= counts->depth > 0;
		return;
	case ',':
	case ':':
		counts->values++;
		return;
	default:
		return;
	}
}

/* Brackets, commas and colons outside texts; without recursion. */
static void
call_json_count(const char *bytes, size_t len, struct call_json_counts *counts)
{
	const char *end = bytes + len, *quote;

	memset(counts, 0, sizeof(*counts));
	for (; bytes < end; bytes++) {
		if (*bytes != '"') {
			call_json_note(counts, *bytes);
			continue;
		}
		/* To the closing quote: one behind an even number of \. */
		for (bytes++; bytes < end; bytes = quote + 1) {
			const char *back;

			quote = memchr(bytes, '"', (size_t)(end - bytes));
			if (quote == NULL)
				return;
			for (back = quote; back > bytes && back[-1] == '\\';
			     back--)
				;
			if ((quote - back) % 2 == 0)
				break;
		}
		if (bytes >= end)
			return;
		bytes = quote;
	}
}

static const char *
call_json_reason(enum json_error_code code)
{
	switch (code) {
	case json_error_duplicate_key:
		return "a name stands twice in one object";
	case json_error_invalid_utf8:
		return "a text is not UTF-8";
	case json_error_null_character:
	case json_error_null_byte_in_key:
		return "a text holds NUL";
	case json_error_numeric_overflow:
		return "a number is out of range";
	case json_error_premature_end_of_input:
		return "it ends too early";
	case json_error_end_of_input_expected:
		return "something stands behind its end";
	case json_error_unknown:
	case json_error_out_of_memory:
	case json_error_stack_overflow:
	case json_error_cannot_open_file:
	case json_error_invalid_argument:
	case json_error_invalid_syntax:
	case json_error_invalid_format:
	case json_error_wrong_type:
	case json_error_null_value:
	case json_error_item_not_found:
	case json_error_index_out_of_range:
		break;
	}
	return "it is malformed";
}

enum result
call_json_parse(const char *bytes, size_t len, json_t **object_r,
    char *detail_r, size_t size)
{
	struct call_json_counts counts;
	json_error_t error;

	*object_r = NULL;
	call_json_count(bytes, len, &counts);
	if (counts.deepest > CALL_JSON_DEPTH_MAX ||
	    counts.values > CALL_JSON_VALUES_MAX ||
	    counts.containers > CALL_JSON_CONTAINERS_MAX) {
		(void)snprintf(detail_r, size, "the body is %s",
		    counts.deepest > CALL_JSON_DEPTH_MAX
			? "nested too deep"
			: "JSON with too many values");
		return RESULT_TOO_LONG;
	}
	*object_r = json_quick_load(bytes, len, &error);
	if (*object_r == NULL) {
		if (json_error_code(&error) == json_error_out_of_memory)
			return RESULT_NO_MEMORY;
		(void)snprintf(detail_r, size,
		    "the body is not JSON: line %d, column %d: %s", error.line,
		    error.column, call_json_reason(json_error_code(&error)));
		return RESULT_BAD;
	}
	if (json_is_object(*object_r))
		return RESULT_OK;
	json_decref(*object_r);
	*object_r = NULL;
	(void)snprintf(detail_r, size, "the body must be a JSON object");
	return RESULT_BAD;
}

const json_t *
call_json_at(const json_t *object, const char *path)
{
	const char *dot;

	while ((dot = strchr(path, '.')) != NULL) {
		object = json_object_getn(object, path, (size_t)(dot - path));
		path = dot + 1;
	}
	return json_object_get(object, path);
}
