/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One value against one schema. Called by guard_arguments.c. It must never
 * follow a reference, nor take a schema it cannot read for consent.
 */
#include "supervisor/policy/guard_schema.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GUARD_SCHEMA_NUMBER_MAX 64U
#define GUARD_SCHEMA_KEY_MAX 256U
#define GUARD_SCHEMA_SCALAR_MAX 4096U

/* --- type --------------------------------------------------------------- */

static bool
guard_schema_number_of(struct mcp_span value, double *number_r)
{
	char text[GUARD_SCHEMA_NUMBER_MAX];
	char *end;

	if (value.len >= sizeof(text))
		return false;
	memcpy(text, value.bytes, value.len);
	text[value.len] = '\0';
	*number_r = strtod(text, &end);
	return *end == '\0' && isfinite(*number_r);
}

static bool
guard_schema_is_whole(struct mcp_span value)
{
	double number;

	return guard_schema_number_of(value, &number) &&
	       floor(number) == number;
}

static bool
guard_schema_is_literal(struct mcp_span value, const char *word)
{
	return value.len == strlen(word) &&
	       memcmp(value.bytes, word, value.len) == 0;
}

static bool
guard_schema_is_type(struct mcp_span value, const char *type)
{
	switch (mcp_cursor_kind(value)) {
	case MCP_VALUE_OBJECT:
		return strcmp(type, "object") == 0;
	case MCP_VALUE_ARRAY:
		return strcmp(type, "array") == 0;
	case MCP_VALUE_STRING:
		return strcmp(type, "string") == 0;
	case MCP_VALUE_NUMBER:
		return strcmp(type, "number") == 0 ||
		       (strcmp(type, "integer") == 0 &&
			   guard_schema_is_whole(value));
	case MCP_VALUE_LITERAL:
		return guard_schema_is_literal(value, "null")
			   ? strcmp(type, "null") == 0
			   : strcmp(type, "boolean") == 0;
	case MCP_VALUE_NONE:
		break;
	}
	return false;
}

static bool
guard_schema_has_type(const json_t *type, struct mcp_span value)
{
	const json_t *item;
	size_t i;

	if (json_is_string(type))
		return guard_schema_is_type(value, json_string_value(type));
	json_array_foreach(type, i, item)
	{
		if (json_is_string(item) &&
		    guard_schema_is_type(value, json_string_value(item)))
			return true;
	}
	return type == NULL;
}

/* --- enum --------------------------------------------------------------- */

static bool
guard_schema_same_text(struct mcp_span value, const json_t *item)
{
	char text[GUARD_SCHEMA_SCALAR_MAX];
	size_t len;

	return mcp_cursor_decode(value, text, sizeof(text), &len) &&
	       len == json_string_length(item) &&
	       memcmp(text, json_string_value(item), len) == 0;
}

/* Texts, numbers and words; an object or list in an enum equals nothing. */
static bool
guard_schema_same(struct mcp_span value, const json_t *item)
{
	double number;

	switch (mcp_cursor_kind(value)) {
	case MCP_VALUE_STRING:
		return json_is_string(item) &&
		       guard_schema_same_text(value, item);
	case MCP_VALUE_NUMBER:
		return json_is_number(item) &&
		       guard_schema_number_of(value, &number) &&
		       number >= json_number_value(item) &&
		       number <= json_number_value(item);
	case MCP_VALUE_LITERAL:
		return (json_is_null(item) &&
			   guard_schema_is_literal(value, "null")) ||
		       (json_is_true(item) &&
			   guard_schema_is_literal(value, "true")) ||
		       (json_is_false(item) &&
			   guard_schema_is_literal(value, "false"));
	case MCP_VALUE_OBJECT:
	case MCP_VALUE_ARRAY:
	case MCP_VALUE_NONE:
		break;
	}
	return false;
}

enum guard_arguments_fault
guard_schema_kind(const json_t *schema, struct mcp_span value)
{
	const json_t *words = json_object_get(schema, "enum"), *item;
	size_t i;

	if (!guard_schema_has_type(json_object_get(schema, "type"), value))
		return GUARD_ARGUMENTS_TYPE;
	if (!json_is_array(words))
		return GUARD_ARGUMENTS_OK;
	json_array_foreach(words, i, item)
	{
		if (guard_schema_same(value, item))
			return GUARD_ARGUMENTS_OK;
	}
	return GUARD_ARGUMENTS_ENUM;
}

/* --- bounds ------------------------------------------------------------- */

static bool
guard_schema_within(
    const json_t *schema, const char *least, const char *most, double value)
{
	const json_t *low = json_object_get(schema, least);
	const json_t *high = json_object_get(schema, most);

	return (!json_is_number(low) || value >= json_number_value(low)) &&
	       (!json_is_number(high) || value <= json_number_value(high));
}

/* Characters, not bytes. */
static size_t
guard_schema_characters(const char *text, size_t len)
{
	size_t count = 0;

	for (size_t i = 0; i < len; i++)
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
	return count;
}

/* A field that says how short it is, and is no prose. */
static bool
guard_schema_is_short(const json_t *schema)
{
	const json_t *most = json_object_get(schema, "maxLength");

	return json_is_number(most) &&
	       json_number_value(most) < GUARD_SCHEMA_PROSE;
}

enum guard_arguments_fault
guard_schema_text(const json_t *schema, const char *text, size_t len)
{
	double characters = (double)guard_schema_characters(text, len);

	if (!guard_schema_within(schema, "minLength", "maxLength", characters))
		return GUARD_ARGUMENTS_LENGTH;
	if (guard_schema_is_short(schema) && !guard_schema_is_url(schema) &&
	    strpbrk(text, ";|&$`<>\n\r") != NULL)
		return GUARD_ARGUMENTS_SHELL;
	return GUARD_ARGUMENTS_OK;
}

enum guard_arguments_fault
guard_schema_number(const json_t *schema, struct mcp_span value)
{
	double number;

	if (schema == NULL)
		return GUARD_ARGUMENTS_OK;
	return guard_schema_number_of(value, &number) &&
		       guard_schema_within(schema, "minimum", "maximum", number)
		   ? GUARD_ARGUMENTS_OK
		   : GUARD_ARGUMENTS_RANGE;
}

enum guard_arguments_fault
guard_schema_object(const json_t *schema, struct mcp_span value)
{
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(schema, "required"), i, item)
	{
		if (json_is_string(item) &&
		    mcp_cursor_find(value, json_string_value(item)).bytes ==
			NULL)
			return GUARD_ARGUMENTS_REQUIRED;
	}
	return GUARD_ARGUMENTS_OK;
}

enum guard_arguments_fault
guard_schema_array(const json_t *schema, size_t count)
{
	return guard_schema_within(
		   schema, "minItems", "maxItems", (double)count)
		   ? GUARD_ARGUMENTS_OK
		   : GUARD_ARGUMENTS_ITEMS;
}

/* --- going down --------------------------------------------------------- */

static const json_t *
guard_schema_below(const json_t *schema)
{
	return json_is_object(schema) ? schema : NULL;
}

const json_t *
guard_schema_member(const json_t *schema, struct mcp_span key)
{
	char name[GUARD_SCHEMA_KEY_MAX];
	size_t len;

	if (schema == NULL || !mcp_cursor_decode(key, name, sizeof(name), &len))
		return NULL;
	return guard_schema_below(
	    json_object_get(json_object_get(schema, "properties"), name));
}

const json_t *
guard_schema_item(const json_t *schema)
{
	return guard_schema_below(json_object_get(schema, "items"));
}

bool
guard_schema_is_url(const json_t *schema)
{
	const char *format =
	    json_string_value(json_object_get(schema, "format"));

	return format != NULL &&
	       (strcmp(format, "uri") == 0 || strcmp(format, "url") == 0);
}
