/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llm-broker/field_rule: each kind of rule against values, what is counted,
 * and rules that must not load.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "llm-broker/field_rule.h"
#include "llm-broker/grant.h"

static json_t *
test_field_rule_json(const char *text)
{
	json_error_t error;
	json_t *json = json_loads(text, JSON_DECODE_ANY, &error);

	if (json == NULL)
		fail_msg("%s: %s", text, error.text);
	return json;
}

struct test_field_rule_row {
	const char *rule, *value;
	const char *path; /* NULL: it fits */
	const char *why;
	uint64_t characters; /* when it fits */
};

#define OBJECT                                                               \
	"{\"kind\":\"object\",\"fields\":{\"a\":\"string\",\"B\":\"integer?" \
	"\"},"                                                               \
	"\"required\":[\"a\"]}"
#define BY                                                             \
	"{\"kind\":\"by\",\"field\":\"t\",\"cases\":{\"x\":{\"kind\":" \
	"\"object\","                                                  \
	"\"fields\":{\"t\":[\"x\"]}},\"y\":\"json\"}}"
#define TREE "{\"kind\":\"array\",\"items\":" OBJECT ",\"max\":2}"

static const struct test_field_rule_row test_field_rule_rows[] = {
    {"\"string\"", "\"h\\u00e4\\ud83d\\ude00\"", NULL, NULL, 3},
    {"\"string\"", "1", "the body", "must be a text", 0},
    {"\"string\"", "null", "the body", "must be a text", 0},
    {"\"string?\"", "null", NULL, NULL, 0},
    {"{\"kind\":\"string\",\"max\":2}", "\"abc\"", "the body", "is too long",
	0},
    {"{\"kind\":\"string\",\"max\":2}", "\"ab\"", NULL, NULL, 2},
    {"{\"kind\":\"string\",\"prefix\":[\"data:\",\"x\"]}", "\"data:1\"", NULL,
	NULL, 6},
    {"{\"kind\":\"string\",\"prefix\":[\"data:\",\"x\"]}", "\"dat\"",
	"the body", "must begin with data: or the like", 0},
    {"\"integer\"", "5", NULL, NULL, 0},
    {"\"integer\"", "5.0", "the body", "must be a whole number", 0},
    {"\"integer\"", "true", "the body", "must be a whole number", 0},
    {"{\"kind\":\"integer\",\"min\":0,\"text\":true}", "7", NULL, NULL, 4},
    {"{\"kind\":\"integer\",\"min\":1,\"max\":3}", "0", "the body",
	"must be 1 to 3", 0},
    {"{\"kind\":\"integer\",\"min\":1,\"max\":3}", "4", "the body",
	"must be 1 to 3", 0},
    {"{\"kind\":\"number\",\"min\":0,\"max\":2}", "0.5", NULL, NULL, 0},
    {"{\"kind\":\"number\",\"min\":0,\"max\":2}", "2.5", "the body",
	"must be 0 to 2", 0},
    {"{\"kind\":\"number\",\"min\":0,\"max\":2}", "-1", "the body",
	"must be 0 to 2", 0},
    {"\"number\"", "\"1\"", "the body", "must be a number", 0},
    {"\"boolean\"", "false", NULL, NULL, 0},
    {"\"boolean\"", "0", "the body", "must be true or false", 0},
    {"\"null\"", "null", NULL, NULL, 0},
    {"\"null\"", "false", "the body", "must be null", 0},
    {"\"json\"", "{\"ab\":[\"cd\",1,{\"e\":null}]}", NULL, NULL, 5},
    {"\"model\"", "\"m\"", NULL, NULL, 0},
    {"\"model\"", "\"M\"", "the body", "must be the model of the call", 0},
    {"{\"kind\":\"model\",\"prefix\":[\"models/\"]}", "\"models/m\"", NULL,
	NULL, 0},
    {"{\"kind\":\"model\",\"prefix\":[\"models/\"]}", "\"m\"", "the body",
	"must be the model of the call", 0},
    {"{\"kind\":\"model\",\"without\":[\"m\"]}", "\"m\"", "the body",
	"has a variant that is closed here", 0},
    {"[\"a\",1,true,null]", "true", NULL, NULL, 0},
    {"[\"a\",1,true,null]", "1", NULL, NULL, 0},
    {"[\"a\",1,true,null]", "1.0", "the body",
	"must be one of a, 1, true, null", 0},
    {"[\"a\",1,true,null]", "\"A\"", "the body",
	"must be one of a, 1, true, null", 0},
    {OBJECT, "{\"a\":\"xy\"}", NULL, NULL, 2},
    {OBJECT, "{\"a\":\"xy\",\"B\":null}", NULL, NULL, 2},
    {OBJECT, "{}", "a", "is missing", 0},
    {OBJECT, "[]", "the body", "must be an object", 0},
    {OBJECT, "{\"a\":\"\",\"c\":1}", "c", "is not allowed", 0},
    {OBJECT, "{\"A\":\"\"}", "A",
	"is not allowed: it differs from a only in case", 0},
    {OBJECT, "{\"a\":\"\",\"b\":1}", "b",
	"is not allowed: it differs from B only in case", 0},
    {OBJECT, "{\"a\":1}", "a", "must be a text", 0},
    {"{\"kind\":\"map\",\"items\":\"integer\",\"max\":1}", "{\"xyz\":1}", NULL,
	NULL, 3},
    {"{\"kind\":\"map\",\"items\":\"integer\",\"max\":1}", "{\"x\":1,\"y\":2}",
	"the body", "has too many fields", 0},
    {"{\"kind\":\"map\",\"items\":\"integer\"}", "{\"x\":\"1\"}", "x",
	"must be a whole number", 0},
    {TREE, "[{\"a\":\"1\"},{\"a\":\"22\"}]", NULL, NULL, 3},
    {TREE, "[{\"a\":\"1\"},{\"a\":2}]", "[1].a", "must be a text", 0},
    {TREE, "[{\"a\":\"\"},{\"a\":\"\"},{\"a\":\"\"}]", "the body",
	"has too many items", 0},
    {TREE, "{}", "the body", "must be a list", 0},
    {"{\"kind\":\"any\",\"of\":[\"string\"," TREE "]}", "\"abc\"", NULL, NULL,
	3},
    {"{\"kind\":\"any\",\"of\":[\"string\"," TREE "]}", "[{\"a\":\"ab\"}]",
	NULL, NULL, 2},
    {"{\"kind\":\"any\",\"of\":[\"string\"," TREE "]}", "[{\"b\":\"ab\"}]",
	"[0].b", "is not allowed: it differs from B only in case", 0},
    {"{\"kind\":\"any\",\"of\":[\"string\"," TREE "]}", "5", "the body",
	"has a type that is not allowed", 0},
    {"{\"kind\":\"any\",\"of\":[{\"kind\":\"object\",\"fields\":{\"a\":"
     "\"json\"}"
     ",\"required\":[\"a\"]},\"json\"]}",
	"{\"b\":\"xyz\"}", NULL, NULL, 4},
    {BY, "{\"t\":\"x\"}", NULL, NULL, 0},
    {BY, "{\"t\":\"y\",\"more\":\"z\"}", NULL, NULL, 7},
    {BY, "{\"t\":\"z\"}", "t", "must be one of x, y", 0},
    {BY, "{}", "t", "must be one of x, y", 0},
    {BY, "{\"t\":1}", "t", "must be one of x, y", 0},
    {BY, "{\"t\":\"x\",\"u\":1}", "u", "is not allowed", 0},
    {BY, "[]", "the body", "must be an object", 0},
    {"{\"kind\":\"by\",\"field\":\"t\",\"cases\":{},\"absent\":\"json\"}", "{}",
	NULL, NULL, 0},
    {"{\"kind\":\"by\",\"field\":\"t\",\"cases\":{},\"absent\":\"json\"}",
	"{\"t\":null}", NULL, NULL, 1},
    {"{\"kind\":\"opt_in\",\"name\":\"remote_urls\",\"rule\":\"string\"}",
	"\"ab\"", NULL, NULL, 2},
    {"{\"kind\":\"opt_in\",\"name\":\"stored\",\"rule\":\"string\"}", "\"ab\"",
	"the body", "is closed: the host has not opted in to stored", 0},
    {"{\"kind\":\"opt_in\",\"name\":\"stored\",\"rule\":\"string\","
     "\"else\":[false]}",
	"false", NULL, NULL, 0},
    {"\"#name\"", "\"abc\"", NULL, NULL, 3},
    {"\"#list?\"", "null", NULL, NULL, 0},
    {"\"#list\"", "[\"abc\",\"d\"]", NULL, NULL, 4},
    {"\"#list\"", "[\"abcd\"]", "[0]", "is too long", 0},
};

static struct field_rule_book *test_field_rule_book;

static void
test_field_rule_one(const struct test_field_rule_row *row)
{
	const struct field_rule_call call = {GRANT_REMOTE_URLS, "m", 1};
	json_t *json = test_field_rule_json(row->rule);
	json_t *value = test_field_rule_json(row->value);
	struct json_fault fault = {""};
	struct field_rule_fault why;
	struct field_rule *rule;
	uint64_t characters;
	enum result result;

	if (field_rule_load(
		json, "rule", test_field_rule_book, &rule, &fault) != RESULT_OK)
		fail_msg("%s: %s", row->rule, fault.text);
	json_decref(json); /* the rule keeps what it needs */
	result = field_rule_check(rule, value, &call, &characters, &why);
	if (result != (row->path == NULL ? RESULT_OK : RESULT_REFUSED))
		fail_msg(
		    "%s %s: %s %s", row->rule, row->value, why.path, why.why);
	if (row->path != NULL) {
		assert_string_equal(why.path, row->path);
		assert_string_equal(why.why, row->why);
		assert_int_equal(characters, 0);
	} else if (characters != row->characters) {
		fail_msg("%s %s: %u characters", row->rule, row->value,
		    (unsigned)characters);
	}
	json_decref(value);
	field_rule_free(&rule);
}

static void
test_field_rule_values(void **state)
{
	struct json_fault fault = {""};
	json_t *rules = test_field_rule_json(
	    "{\"list\":{\"kind\":\"array\",\"items\":\"#name\"},"
	    "\"name\":{\"kind\":\"string\",\"max\":3}}");
	size_t i;

	(void)state;
	assert_int_equal(
	    field_rule_book_load(rules, "rules", &test_field_rule_book, &fault),
	    RESULT_OK);
	json_decref(rules);
	for (i = 0;
	     i < sizeof(test_field_rule_rows) / sizeof(test_field_rule_rows[0]);
	     i++)
		test_field_rule_one(&test_field_rule_rows[i]);
	field_rule_book_free(&test_field_rule_book);
}

/* An attachment counts as one, however long; a short one as it is. */
static void
test_field_rule_attachment(void **state)
{
	static const struct field_rule_call call = {0, NULL, 0};
	static const size_t lengths[] = {3, 4096, 4097, 100000};
	json_t *json =
	    test_field_rule_json("{\"kind\":\"string\",\"text\":false}");
	struct json_fault fault = {""};
	struct field_rule_fault why;
	struct field_rule *rule;
	static char text[100000];
	uint64_t characters;
	json_t *value;
	size_t i;

	(void)state;
	memset(text, 'A', sizeof(text));
	assert_int_equal(
	    field_rule_load(json, "rule", NULL, &rule, &fault), RESULT_OK);
	for (i = 0; i < 4; i++) {
		value = json_stringn(text, lengths[i]);
		assert_int_equal(
		    field_rule_check(rule, value, &call, &characters, &why),
		    RESULT_OK);
		assert_int_equal(characters, lengths[i] < FIELD_RULE_ATTACHMENT
						 ? lengths[i]
						 : FIELD_RULE_ATTACHMENT);
		json_decref(value);
	}
	field_rule_free(&rule);
	json_decref(json);
}

static void
test_field_rule_faults(void **state)
{
	static const struct {
		const char *rule, *fault;
	} rows[] = {
	    {"\"text\"", "rule is no rule"},
	    {"\"\"", "rule is no rule"},
	    {"\"?\"", "rule is no rule"},
	    {"\"object\"", "rule is no rule"},
	    {"\"#none\"", "rule names a rule that does not exist"},
	    {"5", "rule must be an object"},
	    {"[]", "rule needs 1 to 256 values"},
	    {"[[1]]", "rule[0] must be a text"},
	    {"{}", "rule.kind is missing"},
	    {"{\"kind\":\"null\"}", "rule.kind is not known"},
	    {"{\"kind\":\"string\",\"min\":1}", "rule.min is not known"},
	    {"{\"kind\":\"string\",\"max\":0}", "rule.max is 0"},
	    {"{\"kind\":\"string\",\"max\":\"5\"}", "rule.max is a text"},
	    {"{\"kind\":\"string\",\"prefix\":[]}", "rule.prefix is empty"},
	    {"{\"kind\":\"string\",\"prefix\":[\"\"]}",
		"rule.prefix[0] must be a text"},
	    {"{\"kind\":\"string\",\"null\":1}", "rule.null is"},
	    {"{\"kind\":\"integer\",\"min\":2,\"max\":1}",
		"rule.min is above max"},
	    {"{\"kind\":\"array\"}", "rule.items is missing"},
	    {"{\"kind\":\"array\",\"items\":\"x\"}", "rule.items is no rule"},
	    {"{\"kind\":\"any\",\"of\":[]}", "rule.of is empty"},
	    {"{\"kind\":\"any\",\"of\":[\"x\"]}", "rule.of[0] is no rule"},
	    {"{\"kind\":\"object\"}", "rule.fields is missing"},
	    {"{\"kind\":\"object\",\"fields\":{\"a\":\"x\"}}",
		"rule.fields.a is no rule"},
	    {"{\"kind\":\"object\",\"fields\":{},\"required\":[\"a\"]}",
		"rule.required[0] is none of the fields"},
	    {"{\"kind\":\"by\",\"cases\":{}}", "rule.field is missing"},
	    {"{\"kind\":\"opt_in\",\"name\":\"all\",\"rule\":\"json\"}",
		"rule.name is no opt-in"},
	    {"{\"kind\":\"opt_in\",\"name\":\"stored\"}",
		"rule.rule is missing"},
	    {"{\"kind\":\"object\",\"fields\":{},\"extra\":1}",
		"rule.extra is not known"},
	};
	struct field_rule *rule;
	json_t *json;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json_fault fault = {""};

		json = test_field_rule_json(rows[i].rule);
		assert_int_equal(
		    field_rule_load(json, "rule", NULL, &rule, &fault),
		    RESULT_BAD);
		assert_null(rule);
		if (strstr(fault.text, rows[i].fault) == NULL)
			fail_msg("%s: %s", rows[i].rule, fault.text);
		json_decref(json);
	}
}

static void
test_field_rule_circles(void **state)
{
	static const char *const books[] = {"{\"a\":\"#a\"}",
	    "{\"a\":\"#b\",\"b\":{\"kind\":\"array\",\"items\":\"#a\"}}",
	    "{\"a\":\"#none\"}", "[]", "\"a\""};
	struct field_rule_book *book;
	json_t *json;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(books) / sizeof(books[0]); i++) {
		struct json_fault fault = {""};

		json = test_field_rule_json(books[i]);
		assert_int_equal(
		    field_rule_book_load(json, "rules", &book, &fault),
		    RESULT_BAD);
		assert_null(book);
		assert_string_not_equal(fault.text, "");
		json_decref(json);
	}
}

/* A rule deeper than the bound, by itself or through its names. */
static void
test_field_rule_depth(void **state)
{
	struct field_rule *rule;
	json_t *json = json_string("json"), *book;
	struct field_rule_book *named;
	struct json_fault fault = {""};
	char name[16], above[16];
	size_t i;

	(void)state;
	for (i = 0; i < FIELD_RULE_DEPTH_MAX; i++)
		json = json_pack("{s:s,s:o}", "kind", "array", "items", json);
	assert_int_equal(
	    field_rule_load(json, "rule", NULL, &rule, &fault), RESULT_BAD);
	assert_non_null(strstr(fault.text, "nested too deep"));
	json_decref(json);
	book = json_object();
	for (i = 0; i < 40; i++) {
		(void)snprintf(name, sizeof(name), "r%zu", i);
		(void)snprintf(above, sizeof(above), "#r%zu", i + 1);
		json_object_set_new(
		    book, name, json_string(i < 39 ? above : "json"));
	}
	fault.text[0] = '\0';
	assert_int_equal(
	    field_rule_book_load(book, "rules", &named, &fault), RESULT_BAD);
	assert_non_null(strstr(fault.text, "nested too deep"));
	json_decref(book);
}

/* Long lists of values and long paths are cut, not overrun. */
static void
test_field_rule_cut(void **state)
{
	static const struct field_rule_call call = {0, NULL, 0};
	json_t *values = json_array(), *value = json_integer(1), *above;
	struct json_fault fault = {""};
	struct field_rule_fault why;
	struct field_rule *rule;
	uint64_t characters;
	char name[200];
	size_t i;

	(void)state;
	for (i = 0; i < 100; i++)
		json_array_append_new(values, json_sprintf("value%zu", i));
	assert_int_equal(
	    field_rule_load(values, "rule", NULL, &rule, &fault), RESULT_OK);
	assert_int_equal(
	    field_rule_check(rule, value, &call, &characters, &why),
	    RESULT_REFUSED);
	assert_non_null(strstr(why.why, "must be one of value0, value1"));
	assert_string_equal(why.why + strlen(why.why) - 3, "...");
	field_rule_free(&rule);
	json_decref(values);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	values = json_string("string");
	for (i = 0; i < 8; i++) {
		above = json_object();
		json_object_set_new(above, name, value);
		value = above;
		values = json_pack(
		    "{s:s,s:{s:o}}", "kind", "object", "fields", name, values);
	}
	assert_int_equal(
	    field_rule_load(values, "rule", NULL, &rule, &fault), RESULT_OK);
	assert_int_equal(
	    field_rule_check(rule, value, &call, &characters, &why),
	    RESULT_REFUSED);
	assert_int_equal(strlen(why.path), FIELD_RULE_PATH_MAX - 1);
	field_rule_free(&rule);
	json_decref(values);
	json_decref(value);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_field_rule_values),
	    cmocka_unit_test(test_field_rule_attachment),
	    cmocka_unit_test(test_field_rule_faults),
	    cmocka_unit_test(test_field_rule_circles),
	    cmocka_unit_test(test_field_rule_depth),
	    cmocka_unit_test(test_field_rule_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
