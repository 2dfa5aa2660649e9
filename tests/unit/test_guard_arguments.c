/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What arguments may hold: one row per text, with and without sandbox,
 * network and schema.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/gate/mcp_json.h"
#include "supervisor/policy/guard_arguments.h"

static const char *schema_text =
    "{\"type\":\"object\",\"required\":[\"path\"],\"properties\":{"
    "\"path\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":20},"
    "\"text\":{\"type\":\"string\",\"maxLength\":1000},"
    "\"link\":{\"type\":\"string\",\"format\":\"uri\"},"
    "\"n\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":9},"
    "\"f\":{\"type\":[\"number\",\"null\"]},"
    "\"b\":{\"type\":\"boolean\"},"
    "\"e\":{\"enum\":[\"x\",2,true,null]},"
    "\"l\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":2,"
    "\"items\":{\"type\":\"string\"}},"
    "\"o\":{\"type\":\"object\",\"required\":[\"k\"]}}}";

static enum guard_arguments_fault
check(const struct guard_arguments_rules *rules, const char *text, char *where)
{
	static const struct mcp_hash_key key = {5, 6};
	struct mcp_json json;
	size_t position;

	mcp_json_init(&json, &key);
	assert_int_equal(
	    mcp_json_check(&json, text, strlen(text), &position), MCP_JSON_OK);
	mcp_json_free(&json);
	return guard_arguments_check(
	    rules, mcp_cursor_value(text, strlen(text)), where);
}

struct row {
	const char *text;
	enum guard_arguments_fault fault;
	const char *where; /* of the fault */
};

static void
run(const struct guard_arguments_rules *rules, const struct row *rows,
    size_t count)
{
	char where[GUARD_ARGUMENTS_WHERE_MAX];

	for (size_t i = 0; i < count; i++) {
		enum guard_arguments_fault got =
		    check(rules, rows[i].text, where);

		if (got != rows[i].fault)
			fail_msg("%s: %s, not %s", rows[i].text,
			    guard_arguments_text(got),
			    guard_arguments_text(rows[i].fault));
		if (rows[i].where != NULL)
			assert_string_equal(where, rows[i].where);
	}
}

#define RUN(rules, rows) run((rules), (rows), sizeof(rows) / sizeof((rows)[0]))

static void
texts_inside(void **state)
{
	static const struct row rows[] = {
	    {"{}", GUARD_ARGUMENTS_OK, "$"},
	    {"[]", GUARD_ARGUMENTS_NO_OBJECT, NULL},
	    {"\"x\"", GUARD_ARGUMENTS_NO_OBJECT, NULL},
	    {"{\"a\":\"/etc/passwd\"}", GUARD_ARGUMENTS_OK, NULL},
	    {"{\"a\":\"..\"}", GUARD_ARGUMENTS_OK, NULL},
	    {"{\"a\":\"../x\"}", GUARD_ARGUMENTS_CLIMBS, "$.a"},
	    {"{\"a\":{\"b\":[1,\"x/..\"]}}", GUARD_ARGUMENTS_CLIMBS,
		"$.a.b[1]"},
	    {"{\"a\":\"x/../y\"}", GUARD_ARGUMENTS_CLIMBS, NULL},
	    {"{\"a\":\"x\\\\..\\\\y\"}", GUARD_ARGUMENTS_CLIMBS, NULL},
	    {"{\"a\":\"\\u002e\\u002e\\u002fx\"}", GUARD_ARGUMENTS_CLIMBS,
		NULL},
	    {"{\"a\":\"/files/../../etc\"}", GUARD_ARGUMENTS_CLIMBS, NULL},
	    {"{\"a\":\"...//x\"}", GUARD_ARGUMENTS_OK, NULL},
	    {"{\"a\":\"x..y/z\"}", GUARD_ARGUMENTS_OK, NULL},
	    {"{\"a\":\"import x from '../y'\"}", GUARD_ARGUMENTS_OK, NULL},
	    {"{\"a\":\"https://x.example/\"}", GUARD_ARGUMENTS_URL, "$.a"},
	    {"{\"a\":\"FTP://x\"}", GUARD_ARGUMENTS_URL, NULL},
	    {"{\"a\":\"h2+x.y-z://x\"}", GUARD_ARGUMENTS_URL, NULL},
	    {"{\"a\":\"see https://x.example/\"}", GUARD_ARGUMENTS_OK, NULL},
	    {"{\"a\":\"://x\"}", GUARD_ARGUMENTS_OK, NULL},
	    {"{\"a\":\"a\\u0000b\"}", GUARD_ARGUMENTS_NO_TEXT, "$.a"},
	    {"{\"a\":\"\\ud800\"}", GUARD_ARGUMENTS_NO_TEXT, NULL},
	    {"{\"a\":\"\\ud83d\\ude00\"}", GUARD_ARGUMENTS_OK, NULL},
	    {"{\"a\":null,\"b\":true,\"c\":1e999}", GUARD_ARGUMENTS_OK, NULL},
	    {"{\"a b\\u0007\":\"../\"}", GUARD_ARGUMENTS_CLIMBS, "$.a b?"},
	    {"{\"../x\":1}", GUARD_ARGUMENTS_CLIMBS, "$.../x"},
	    {"{\"files\":{\"../../x\":\"\"}}", GUARD_ARGUMENTS_CLIMBS,
		"$.files.../../x"},
	    {"{\"a\":[{\"x\\/..\":{}}]}", GUARD_ARGUMENTS_CLIMBS, NULL},
	    {"{\"https://x.example/\":1}", GUARD_ARGUMENTS_URL, NULL},
	    {"{\"/etc/x\":1,\"\":1,\"..\":1}", GUARD_ARGUMENTS_OK, NULL},
	};
	struct guard_arguments_rules rules =
	    guard_arguments_rules(true, false, NULL);
	struct mcp_span none = {NULL, 0};
	char where[GUARD_ARGUMENTS_WHERE_MAX];

	(void)state;
	RUN(&rules, rows);
	assert_int_equal(
	    guard_arguments_check(&rules, none, where), GUARD_ARGUMENTS_OK);
}

static void
texts_outside(void **state)
{
	static const struct row rows[] = {
	    {"{\"a\":\"/etc/passwd\"}", GUARD_ARGUMENTS_ABSOLUTE, "$.a"},
	    {"{\"a\":\"~/x\"}", GUARD_ARGUMENTS_ABSOLUTE, NULL},
	    {"{\"a\":\"C:\\\\x\"}", GUARD_ARGUMENTS_ABSOLUTE, NULL},
	    {"{\"a\":\"c:/x\"}", GUARD_ARGUMENTS_ABSOLUTE, NULL},
	    {"{\"a\":\"\\\\\\\\host\\\\x\"}", GUARD_ARGUMENTS_ABSOLUTE, NULL},
	    {"{\"a\":\"x/y\"}", GUARD_ARGUMENTS_OK, NULL},
	    {"{\"a\":\"https://x.example/\"}", GUARD_ARGUMENTS_OK, NULL},
	    {"{\"a\":\"../x\"}", GUARD_ARGUMENTS_CLIMBS, NULL},
	    {"{\"a\":{\"/etc/x\":1}}", GUARD_ARGUMENTS_ABSOLUTE, NULL},
	};
	struct guard_arguments_rules rules =
	    guard_arguments_rules(false, true, NULL);

	(void)state;
	RUN(&rules, rows);
}

static void
schemas(void **state)
{
	static const struct row rows[] = {
	    {"{\"path\":\"a\"}", GUARD_ARGUMENTS_OK, NULL},
	    {"{}", GUARD_ARGUMENTS_REQUIRED, "$"},
	    {"{\"path\":1}", GUARD_ARGUMENTS_TYPE, "$.path"},
	    {"{\"path\":null}", GUARD_ARGUMENTS_TYPE, NULL},
	    {"{\"path\":\"\"}", GUARD_ARGUMENTS_LENGTH, NULL},
	    {"{\"path\":\"aaaaaaaaaaaaaaaaaaaaa\"}", GUARD_ARGUMENTS_LENGTH,
		NULL},
	    {"{\"path\":"
	     "\"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
	     "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\"}",
		GUARD_ARGUMENTS_OK, NULL},
	    {"{\"path\":\"a;b\"}", GUARD_ARGUMENTS_SHELL, "$.path"},
	    {"{\"path\":\"$(x)\"}", GUARD_ARGUMENTS_SHELL, NULL},
	    {"{\"path\":\"a|b\"}", GUARD_ARGUMENTS_SHELL, NULL},
	    {"{\"path\":\"a`b\"}", GUARD_ARGUMENTS_SHELL, NULL},
	    {"{\"path\":\"a\\nb\"}", GUARD_ARGUMENTS_SHELL, NULL},
	    {"{\"path\":\"a\",\"text\":\"a; b | c\"}", GUARD_ARGUMENTS_OK,
		NULL},
	    {"{\"path\":\"a\",\"link\":\"https://x.example/a?b&c\"}",
		GUARD_ARGUMENTS_OK, NULL},
	    {"{\"path\":\"a\",\"text\":\"https://x.example/\"}",
		GUARD_ARGUMENTS_URL, "$.text"},
	    {"{\"path\":\"../a\"}", GUARD_ARGUMENTS_CLIMBS, NULL},
	    {"{\"path\":\"a\",\"n\":5}", GUARD_ARGUMENTS_OK, NULL},
	    {"{\"path\":\"a\",\"n\":5.0}", GUARD_ARGUMENTS_OK, NULL},
	    {"{\"path\":\"a\",\"n\":5.5}", GUARD_ARGUMENTS_TYPE, "$.n"},
	    {"{\"path\":\"a\",\"n\":0}", GUARD_ARGUMENTS_RANGE, NULL},
	    {"{\"path\":\"a\",\"n\":10}", GUARD_ARGUMENTS_RANGE, NULL},
	    {"{\"path\":\"a\",\"n\":\"5\"}", GUARD_ARGUMENTS_TYPE, NULL},
	    {"{\"path\":\"a\",\"n\":1e999}", GUARD_ARGUMENTS_TYPE, NULL},
	    {"{\"path\":\"a\",\"f\":null}", GUARD_ARGUMENTS_OK, NULL},
	    {"{\"path\":\"a\",\"f\":1.5}", GUARD_ARGUMENTS_OK, NULL},
	    {"{\"path\":\"a\",\"f\":true}", GUARD_ARGUMENTS_TYPE, NULL},
	    {"{\"path\":\"a\",\"b\":true}", GUARD_ARGUMENTS_OK, NULL},
	    {"{\"path\":\"a\",\"b\":null}", GUARD_ARGUMENTS_TYPE, NULL},
	    {"{\"path\":\"a\",\"e\":\"x\"}", GUARD_ARGUMENTS_OK, NULL},
	    {"{\"path\":\"a\",\"e\":\"\\u0078\"}", GUARD_ARGUMENTS_OK, NULL},
	    {"{\"path\":\"a\",\"e\":2}", GUARD_ARGUMENTS_OK, NULL},
	    {"{\"path\":\"a\",\"e\":null}", GUARD_ARGUMENTS_OK, NULL},
	    {"{\"path\":\"a\",\"e\":\"y\"}", GUARD_ARGUMENTS_ENUM, "$.e"},
	    {"{\"path\":\"a\",\"e\":false}", GUARD_ARGUMENTS_ENUM, NULL},
	    {"{\"path\":\"a\",\"e\":{}}", GUARD_ARGUMENTS_ENUM, NULL},
	    {"{\"path\":\"a\",\"l\":[]}", GUARD_ARGUMENTS_ITEMS, "$.l"},
	    {"{\"path\":\"a\",\"l\":[\"a\",\"b\",\"c\"]}",
		GUARD_ARGUMENTS_ITEMS, NULL},
	    {"{\"path\":\"a\",\"l\":[1]}", GUARD_ARGUMENTS_TYPE, "$.l[0]"},
	    {"{\"path\":\"a\",\"o\":{}}", GUARD_ARGUMENTS_REQUIRED, "$.o"},
	    {"{\"path\":\"a\",\"o\":{\"k\":1}}", GUARD_ARGUMENTS_OK, NULL},
	    {"{\"path\":\"a\",\"more\":[{\"x\":1}]}", GUARD_ARGUMENTS_OK, NULL},
	};
	json_t *schema = json_loads(schema_text, 0, NULL);
	struct guard_arguments_rules rules =
	    guard_arguments_rules(true, false, schema);

	(void)state;
	assert_non_null(schema);
	RUN(&rules, rows);
	json_decref(schema);
}

/* What stands behind a fault of the schema is found, and nothing else. */
static void
only_denied(void **state)
{
	static const struct row rows[] = {
	    {"{}", GUARD_ARGUMENTS_OK, NULL},
	    {"{\"path\":1}", GUARD_ARGUMENTS_OK, NULL},
	    {"{\"path\":\"a;b\",\"n\":0,\"f\":true,\"e\":{},\"l\":[]}",
		GUARD_ARGUMENTS_OK, NULL},
	    {"{\"path\":\"a;b\",\"text\":\"../x\"}", GUARD_ARGUMENTS_CLIMBS,
		"$.text"},
	    {"{\"path\":[\"../x\"]}", GUARD_ARGUMENTS_CLIMBS, "$.path[0]"},
	    {"{\"path\":{\"a\":\"b\\u0000\"}}", GUARD_ARGUMENTS_NO_TEXT, NULL},
	    {"{\"path\":1,\"text\":\"https://x.example/\"}",
		GUARD_ARGUMENTS_URL, NULL},
	    {"{\"path\":1,\"link\":\"https://x.example/\"}", GUARD_ARGUMENTS_OK,
		NULL},
	    {"{\"n\":[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]}",
		GUARD_ARGUMENTS_DEEP, NULL},
	    {"[]", GUARD_ARGUMENTS_NO_OBJECT, NULL},
	};
	json_t *schema = json_loads(schema_text, 0, NULL);
	struct guard_arguments_rules rules =
	    guard_arguments_rules(true, false, schema);

	(void)state;
	assert_non_null(schema);
	assert_false(rules.only_denied);
	rules.only_denied = true;
	RUN(&rules, rows);
	json_decref(schema);
}

/* Schemas come from packages: what makes no sense asks for nothing or for
 * what nothing is, and never for memory that is not there. */
static void
odd_schemas(void **state)
{
	static const char *const odd[] = {"{\"type\":7}", "{\"type\":{}}",
	    "{\"enum\":7}", "{\"required\":[7,{}]}", "{\"properties\":[]}",
	    "{\"properties\":{\"a\":true}}", "{\"items\":false}",
	    "{\"minLength\":\"x\"}", "{\"format\":7}", "{\"maximum\":[]}"};
	char where[GUARD_ARGUMENTS_WHERE_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		json_t *schema = json_loads(odd[i], 0, NULL);
		struct guard_arguments_rules rules =
		    guard_arguments_rules(true, false, schema);
		enum guard_arguments_fault fault =
		    check(&rules, "{\"a\":[\"x\",1,{\"b\":null}]}", where);

		assert_true(fault == GUARD_ARGUMENTS_OK ||
			    fault == GUARD_ARGUMENTS_TYPE);
		json_decref(schema);
	}
}

static void
bounds(void **state)
{
	struct guard_arguments_rules rules =
	    guard_arguments_rules(true, true, NULL);
	char where[GUARD_ARGUMENTS_WHERE_MAX];

	(void)state;
	assert_int_equal(rules.bytes_max, 1 << 20);
	assert_int_equal(rules.text_max, 1 << 20);
	assert_int_equal(rules.depth_max, 20);
	assert_int_equal(rules.keys_max, 10000);
	rules.bytes_max = 36;
	rules.text_max = 4;
	rules.depth_max = 3;
	rules.keys_max = 5;
	assert_int_equal(check(&rules, "{\"a\":\"1234\"}", where), 0);
	assert_int_equal(check(&rules, "{\"a\":\"12345\"}", where),
	    GUARD_ARGUMENTS_TEXT_LONG);
	assert_int_equal(check(&rules, "{\"a\":\"\\u0031234\"}", where), 0);
	assert_int_equal(check(&rules, "{\"a\":[1]}", where), 0);
	assert_int_equal(
	    check(&rules, "{\"a\":[[1]]}", where), GUARD_ARGUMENTS_DEEP);
	assert_int_equal(check(&rules, "{\"a\":{\"b\":{}}}", where), 0);
	assert_int_equal(check(&rules, "{\"a\":{\"b\":{\"c\":1}}}", where),
	    GUARD_ARGUMENTS_DEEP);
	assert_int_equal(
	    check(&rules, "{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1}", where),
	    0);
	assert_int_equal(
	    check(&rules, "{\"a\":1,\"b\":{\"c\":1,\"d\":{},\"e\":1}}", where),
	    0);
	assert_int_equal(
	    check(&rules, "{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1}",
		where),
	    GUARD_ARGUMENTS_TOO_LONG);
	rules.bytes_max = 100;
	assert_int_equal(
	    check(&rules, "{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1}",
		where),
	    GUARD_ARGUMENTS_MANY_KEYS);
}

static void
answers(void **state)
{
	(void)state;
	for (int i = 0; i <= GUARD_ARGUMENTS_FAULT_COUNT; i++) {
		enum guard_answer answer =
		    guard_arguments_answer((enum guard_arguments_fault)i);

		assert_int_equal(answer, i == 0 ? GUARD_ALLOW
					 : i < GUARD_ARGUMENTS_TYPE ? GUARD_DENY
					 : i == GUARD_ARGUMENTS_FAULT_COUNT
					     ? GUARD_DENY
					     : GUARD_PROMPT);
		assert_non_null(
		    guard_arguments_text((enum guard_arguments_fault)i));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(texts_inside),
	    cmocka_unit_test(texts_outside),
	    cmocka_unit_test(schemas),
	    cmocka_unit_test(only_denied),
	    cmocka_unit_test(odd_schemas),
	    cmocka_unit_test(bounds),
	    cmocka_unit_test(answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
