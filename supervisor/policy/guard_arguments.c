/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks over arguments once. Called by mcp_guard.c and before a run. It must
 * never call what it does not understand harmless: what cannot be read as a
 * text is a fault.
 */
#include "supervisor/policy/guard_arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/policy/guard_schema.h"

#define GUARD_ARGUMENTS_MB ((size_t)1 << 20)

struct guard_arguments_walk {
	const struct guard_arguments_rules *rules;
	size_t keys;
	char *where; /* GUARD_ARGUMENTS_WHERE_MAX */
};

struct guard_arguments_rules
guard_arguments_rules(bool inside, bool network, const json_t *schema)
{
	return (struct guard_arguments_rules){.inside = inside,
	    .network = network,
	    .schema = schema,
	    .bytes_max = GUARD_ARGUMENTS_MB,
	    .text_max = GUARD_ARGUMENTS_MB,
	    .depth_max = 20,
	    .keys_max = 10000};
}

/* What a schema says is not as it should be. */
static enum guard_arguments_fault
guard_arguments_asked(
    const struct guard_arguments_walk *walk, enum guard_arguments_fault fault)
{
	return walk->rules->only_denied &&
		       guard_arguments_answer(fault) == GUARD_PROMPT
		   ? GUARD_ARGUMENTS_OK
		   : fault;
}

/* --- texts -------------------------------------------------------------- */

/* A ".." between separators, where there is one at all. */
static bool
guard_arguments_climbs(const char *text)
{
	bool path = strpbrk(text, "/\\") != NULL;
	size_t len;

	while (path) {
		len = strcspn(text, "/\\");
		if (len == 2 && text[0] == '.' && text[1] == '.')
			return true;
		if (text[len] == '\0')
			return false;
		text += len + 1;
	}
	return false;
}

static bool
guard_arguments_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool
guard_arguments_is_absolute(const char *text)
{
	return text[0] == '/' || text[0] == '\\' || text[0] == '~' ||
	       (guard_arguments_is_letter(text[0]) && text[1] == ':' &&
		   (text[2] == '/' || text[2] == '\\'));
}

/* The whole text is one: a scheme, "://", and no blank. */
static bool
guard_arguments_is_url(const char *text)
{
	size_t len = 0;

	while (guard_arguments_is_letter(text[len]) ||
	       (len > 0 && text[len] != '\0' &&
		   strchr("0123456789+.-", text[len]) != NULL))
		len++;
	return len > 0 && strncmp(text + len, "://", 3) == 0 &&
	       strpbrk(text, " \t\r\n") == NULL;
}

static enum guard_arguments_fault
guard_arguments_read(const struct guard_arguments_walk *walk, const char *text,
    size_t len, const json_t *schema)
{
	if (len > walk->rules->text_max)
		return GUARD_ARGUMENTS_TEXT_LONG;
	if (guard_arguments_climbs(text))
		return GUARD_ARGUMENTS_CLIMBS;
	if (!walk->rules->inside && guard_arguments_is_absolute(text))
		return GUARD_ARGUMENTS_ABSOLUTE;
	if (!walk->rules->network && guard_arguments_is_url(text) &&
	    !guard_schema_is_url(schema))
		return GUARD_ARGUMENTS_URL;
	return guard_arguments_asked(
	    walk, guard_schema_text(schema, text, len));
}

static enum guard_arguments_fault
guard_arguments_string(const struct guard_arguments_walk *walk,
    struct mcp_span value, const json_t *schema)
{
	enum guard_arguments_fault fault = GUARD_ARGUMENTS_NO_TEXT;
	char *text = malloc(value.len + 1);
	size_t len;

	if (text == NULL)
		return GUARD_ARGUMENTS_TOO_LONG;
	if (mcp_cursor_decode(value, text, value.len + 1, &len))
		fault = guard_arguments_read(walk, text, len, schema);
	free(text);
	return fault;
}

/* --- the walk ----------------------------------------------------------- */

static enum guard_arguments_fault guard_arguments_value(
    struct guard_arguments_walk *walk, struct mcp_span value,
    const json_t *schema, size_t depth);

/* Where we stand grows by a key, and shrinks again when it was no fault. */
static size_t
guard_arguments_enter_key(
    struct guard_arguments_walk *walk, struct mcp_span key)
{
	size_t before = strlen(walk->where);
	char name[48];

	mcp_cursor_excerpt(key, name, sizeof(name));
	for (char *p = name; *p != '\0'; p++) {
		if (*p < 0x20 || *p > 0x7e)
			*p = '?';
	}
	(void)snprintf(walk->where + before, GUARD_ARGUMENTS_WHERE_MAX - before,
	    ".%s", name);
	return before;
}

static enum guard_arguments_fault
guard_arguments_object(struct guard_arguments_walk *walk, struct mcp_span value,
    const json_t *schema, size_t depth)
{
	enum guard_arguments_fault fault = GUARD_ARGUMENTS_OK;
	struct mcp_span key, member;
	struct mcp_cursor cursor;
	size_t before;

	if (!mcp_cursor_enter(value, &cursor))
		return guard_arguments_asked(
		    walk, guard_schema_object(schema, value));
	while (fault == GUARD_ARGUMENTS_OK &&
	       mcp_cursor_member(&cursor, &key, &member)) {
		if (++walk->keys > walk->rules->keys_max)
			return GUARD_ARGUMENTS_MANY_KEYS;
		before = guard_arguments_enter_key(walk, key);
		/* A key is a text as any: maps of paths to contents exist. */
		fault = guard_arguments_string(walk, key, NULL);
		if (fault == GUARD_ARGUMENTS_OK)
			fault = guard_arguments_value(walk, member,
			    guard_schema_member(schema, key), depth + 1);
		if (fault == GUARD_ARGUMENTS_OK)
			walk->where[before] = '\0';
	}
	if (fault != GUARD_ARGUMENTS_OK)
		return fault;
	return guard_arguments_asked(walk, guard_schema_object(schema, value));
}

static enum guard_arguments_fault
guard_arguments_array(struct guard_arguments_walk *walk, struct mcp_span value,
    const json_t *schema, size_t depth)
{
	enum guard_arguments_fault fault = GUARD_ARGUMENTS_OK;
	const json_t *of_item = guard_schema_item(schema);
	size_t before = strlen(walk->where), count = 0;
	struct mcp_cursor cursor;
	struct mcp_span item;

	if (!mcp_cursor_enter(value, &cursor))
		return guard_arguments_asked(
		    walk, guard_schema_array(schema, 0));
	while (fault == GUARD_ARGUMENTS_OK && mcp_cursor_item(&cursor, &item)) {
		(void)snprintf(walk->where + before,
		    GUARD_ARGUMENTS_WHERE_MAX - before, "[%zu]", count++);
		fault = guard_arguments_value(walk, item, of_item, depth + 1);
	}
	if (fault != GUARD_ARGUMENTS_OK)
		return fault;
	walk->where[before] = '\0';
	return guard_arguments_asked(walk, guard_schema_array(schema, count));
}

static enum guard_arguments_fault
guard_arguments_value(struct guard_arguments_walk *walk, struct mcp_span value,
    const json_t *schema, size_t depth)
{
	enum mcp_value kind = mcp_cursor_kind(value);
	enum guard_arguments_fault fault;

	if (depth > walk->rules->depth_max)
		return GUARD_ARGUMENTS_DEEP;
	/* What is wrong with its bytes counts before what it should be. */
	fault = GUARD_ARGUMENTS_OK;
	if (kind == MCP_VALUE_STRING)
		fault = guard_arguments_string(walk, value, NULL);
	if (fault == GUARD_ARGUMENTS_URL && guard_schema_is_url(schema))
		fault = GUARD_ARGUMENTS_OK;
	if (fault == GUARD_ARGUMENTS_OK)
		fault = guard_arguments_asked(
		    walk, guard_schema_kind(schema, value));
	if (fault != GUARD_ARGUMENTS_OK)
		return fault;
	switch (kind) {
	case MCP_VALUE_OBJECT:
		return guard_arguments_object(walk, value, schema, depth);
	case MCP_VALUE_ARRAY:
		return guard_arguments_array(walk, value, schema, depth);
	case MCP_VALUE_STRING:
		return schema == NULL
			   ? GUARD_ARGUMENTS_OK
			   : guard_arguments_string(walk, value, schema);
	case MCP_VALUE_NUMBER:
		return guard_arguments_asked(
		    walk, guard_schema_number(schema, value));
	case MCP_VALUE_LITERAL:
		return GUARD_ARGUMENTS_OK;
	case MCP_VALUE_NONE:
		break;
	}
	return GUARD_ARGUMENTS_NO_OBJECT;
}

enum guard_arguments_fault
guard_arguments_check(const struct guard_arguments_rules *rules,
    struct mcp_span arguments, char where_r[GUARD_ARGUMENTS_WHERE_MAX])
{
	static const struct mcp_span empty = {"{}", 2};
	struct guard_arguments_walk walk = {rules, 0, where_r};

	(void)snprintf(where_r, GUARD_ARGUMENTS_WHERE_MAX, "$");
	if (arguments.bytes == NULL)
		arguments = empty;
	if (arguments.len > rules->bytes_max)
		return GUARD_ARGUMENTS_TOO_LONG;
	if (mcp_cursor_kind(arguments) != MCP_VALUE_OBJECT)
		return GUARD_ARGUMENTS_NO_OBJECT;
	return guard_arguments_value(&walk, arguments, rules->schema, 1);
}

/* --- words -------------------------------------------------------------- */

enum guard_answer
guard_arguments_answer(enum guard_arguments_fault fault)
{
	if (fault == GUARD_ARGUMENTS_OK)
		return GUARD_ALLOW;
	return fault >= GUARD_ARGUMENTS_TYPE &&
		       fault < GUARD_ARGUMENTS_FAULT_COUNT
		   ? GUARD_PROMPT
		   : GUARD_DENY;
}

const char *
guard_arguments_text(enum guard_arguments_fault fault)
{
	static const char *const texts[GUARD_ARGUMENTS_FAULT_COUNT] = {
	    [GUARD_ARGUMENTS_OK] = "are in order",
	    [GUARD_ARGUMENTS_NO_OBJECT] = "must be one JSON object",
	    [GUARD_ARGUMENTS_TOO_LONG] = "have more than 1 MB",
	    [GUARD_ARGUMENTS_TEXT_LONG] = "hold a text of more than 1 MB",
	    [GUARD_ARGUMENTS_DEEP] = "are nested deeper than 20",
	    [GUARD_ARGUMENTS_MANY_KEYS] = "have more than 10000 keys",
	    [GUARD_ARGUMENTS_NO_TEXT] =
		"hold a text with NUL or half a surrogate pair",
	    [GUARD_ARGUMENTS_CLIMBS] = "hold a path that climbs with '..'",
	    [GUARD_ARGUMENTS_ABSOLUTE] =
		"hold an absolute path, and the package runs on the host",
	    [GUARD_ARGUMENTS_URL] =
		"hold a URL, and the package has no network",
	    [GUARD_ARGUMENTS_TYPE] = "hold a value of the wrong type",
	    [GUARD_ARGUMENTS_REQUIRED] = "lack a value that is required",
	    [GUARD_ARGUMENTS_ENUM] = "hold a value that is none of those "
				     "the tool names",
	    [GUARD_ARGUMENTS_LENGTH] = "hold a text that is too short or too "
				       "long for the tool",
	    [GUARD_ARGUMENTS_RANGE] = "hold a number out of the tool's range",
	    [GUARD_ARGUMENTS_ITEMS] = "hold a list with too few or too many "
				      "items for the tool",
	    [GUARD_ARGUMENTS_SHELL] = "hold characters of a shell in a short "
				      "text",
	};

	return (unsigned)fault < GUARD_ARGUMENTS_FAULT_COUNT ? texts[fault]
							     : "are unknown";
}
