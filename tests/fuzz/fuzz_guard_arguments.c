/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments, and behind a NUL the schema they are held to. Whatever both
 * say: what is found in order holds no path that climbs and no NUL, and
 * where it stands is printable.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/gate/mcp_json.h"
#include "supervisor/policy/guard_arguments.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
fuzz_guard_arguments_where(const char *where)
{
	if (strlen(where) >= GUARD_ARGUMENTS_WHERE_MAX || where[0] != '$')
		abort();
	for (; *where != '\0'; where++) {
		if (*where < 0x20 || *where > 0x7e)
			abort();
	}
}

static void
fuzz_guard_arguments_text(struct mcp_span value)
{
	static const char *const never[] = {"/../", "\\..\\", "/..\\", NULL};
	char text[4096];
	size_t size;

	if (value.len > sizeof(text))
		return;
	if (!mcp_cursor_decode(value, text, sizeof(text), &size))
		abort();
	if (strncmp(text, "../", 3) == 0 ||
	    (size > 2 && strcmp(text + size - 3, "/..") == 0))
		abort();
	for (size_t i = 0; never[i] != NULL; i++) {
		if (strstr(text, never[i]) != NULL)
			abort();
	}
}

/* Keys and texts of the object itself, looked at in another way. */
static void
fuzz_guard_arguments_texts(const char *bytes, size_t len)
{
	struct mcp_span key, value;
	struct mcp_cursor cursor;

	if (!mcp_cursor_enter(mcp_cursor_value(bytes, len), &cursor))
		return;
	while (mcp_cursor_member(&cursor, &key, &value)) {
		fuzz_guard_arguments_text(key);
		if (mcp_cursor_kind(value) == MCP_VALUE_STRING)
			fuzz_guard_arguments_text(value);
	}
}

static void
fuzz_guard_arguments_one(
    const char *bytes, size_t len, const json_t *schema, bool inside)
{
	struct guard_arguments_rules rules =
	    guard_arguments_rules(inside, !inside, schema);
	char where[GUARD_ARGUMENTS_WHERE_MAX];
	enum guard_arguments_fault fault;

	rules.depth_max = 6;
	rules.keys_max = 64;
	fault =
	    guard_arguments_check(&rules, mcp_cursor_value(bytes, len), where);
	fuzz_guard_arguments_where(where);
	if ((unsigned)fault >= GUARD_ARGUMENTS_FAULT_COUNT)
		abort();
	if (fault == GUARD_ARGUMENTS_OK)
		fuzz_guard_arguments_texts(bytes, len);
	rules.only_denied = true;
	fault =
	    guard_arguments_check(&rules, mcp_cursor_value(bytes, len), where);
	if (guard_arguments_answer(fault) == GUARD_PROMPT)
		abort();
	if (fault == GUARD_ARGUMENTS_OK)
		fuzz_guard_arguments_texts(bytes, len);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct mcp_hash_key key = {1, 2};
	const uint8_t *nul = memchr(data, 0, size);
	size_t len = nul == NULL ? size : (size_t)(nul - data), position;
	json_t *schema = NULL;
	struct mcp_json json;
	char *copy = malloc(len == 0 ? 1 : len);

	if (copy == NULL)
		abort();
	memcpy(copy, data, len);
	if (nul != NULL)
		schema = json_loadb((const char *)nul + 1, size - len - 1,
		    JSON_REJECT_DUPLICATES, NULL);
	mcp_json_init(&json, &key);
	if (mcp_json_check(&json, copy, len, &position) == MCP_JSON_OK) {
		fuzz_guard_arguments_one(copy, len, NULL, true);
		fuzz_guard_arguments_one(copy, len, schema, false);
	}
	mcp_json_free(&json);
	json_decref(schema);
	free(copy);
	return 0;
}
