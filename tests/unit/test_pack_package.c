/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tool packs out of lockfile entries: what is one, what may run, which
 * function a tool is, what the network word means.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/pack/pack_package.h"

#define SEALED                                                    \
	"\"package_type\":\"toolpack\",\"version\":\"1.0.0\","    \
	"\"sandbox_volume\":\"v\",\"volume_content_hash\":\"h\"," \
	"\"volume_host_path\":\"/p\""

static json_t *
test_pack_package_parse(const char *text)
{
	json_t *entry = json_loads(text, 0, NULL);

	assert_non_null(entry);
	return entry;
}

static enum result
test_pack_package_read(const char *text, struct json_fault *fault)
{
	json_t *entry = test_pack_package_parse(text);
	struct pack_package package;
	enum result result = pack_package_read("demo", entry, &package, fault);

	json_decref(entry);
	return result;
}

static void
test_pack_package_kind(void **state)
{
	static const struct {
		const char *text;
		bool is;
	} rows[] = {
	    {"{\"package_type\":\"toolpack\",\"runtime\":\"python\"}", true},
	    {"{\"package_type\":\"toolpack\",\"runtime\":\"node\"}", true},
	    {"{\"package_type\":\"toolpack\",\"runtime\":\"mcp\"}", false},
	    {"{\"package_type\":\"toolpack\",\"runtime\":\"Python\"}", false},
	    {"{\"package_type\":\"toolpack\"}", false},
	    {"{\"package_type\":\"agent\",\"runtime\":\"python\"}", false},
	    {"{}", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *entry = test_pack_package_parse(rows[i].text);

		assert_int_equal(pack_package_is_pack(entry), rows[i].is);
		json_decref(entry);
	}
}

/* One closed vocabulary; whatever else is none. */
static void
test_pack_package_word(void **state)
{
	static const char *const none[] = {"none", "", "Restricted",
	    "restricted ", "internet", "full", "limited", "internal",
	    "external", "any", "UNRESTRICTED", NULL};

	(void)state;
	for (size_t i = 0; none[i] != NULL; i++)
		assert_int_equal(
		    pack_package_network(none[i]), PACK_NETWORK_NONE);
	assert_int_equal(pack_package_network(NULL), PACK_NETWORK_NONE);
	assert_int_equal(
	    pack_package_network("restricted"), PACK_NETWORK_RESTRICTED);
	assert_int_equal(
	    pack_package_network("unrestricted"), PACK_NETWORK_UNRESTRICTED);
	assert_string_equal(
	    pack_package_network_name(PACK_NETWORK_NONE), "none");
}

static void
test_pack_package_entrypoints(void **state)
{
	static const char *const python[] = {
	    "a", "a.b:c", "_a.b1:run", "A.B.c:D", NULL};
	static const char *const not_python[] = {"", ":", "a:", ":b", "a..b:c",
	    ".a:b", "a.:b", "a/b:c", "a-b:c", "1a:b", "a:b:c", "a:b.c", "a b:c",
	    "a:__import__('os')", "a\n:b", NULL};
	static const char *const node[] = {"a.mjs", "./a.mjs:run",
	    "src/a-b.mjs:run", "./src/lib/a.js:f_1", NULL};
	static const char *const not_node[] = {"", "/a.mjs", "../a.mjs",
	    "./../a.mjs", "a/../b.mjs", ".hidden.mjs", "a//b.mjs", "a/", "./",
	    "a.mjs:", "a.mjs:b-c", "a.mjs?x:f", "data:x,y", "-e.mjs",
	    "a\\b.mjs", NULL};

	(void)state;
	for (size_t i = 0; python[i] != NULL; i++)
		assert_true(pack_package_is_entrypoint(python[i], false));
	for (size_t i = 0; not_python[i] != NULL; i++)
		assert_false(pack_package_is_entrypoint(not_python[i], false));
	for (size_t i = 0; node[i] != NULL; i++)
		assert_true(pack_package_is_entrypoint(node[i], true));
	for (size_t i = 0; not_node[i] != NULL; i++)
		assert_false(pack_package_is_entrypoint(not_node[i], true));
}

static void
test_pack_package_refused(void **state)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
	    {"{\"package_type\":\"agent\",\"runtime\":\"python\"}",
		"is no tool pack"},
	    {"{\"package_type\":\"toolpack\",\"runtime\":\"python\"}",
		"not sealed"},
	    {"{" SEALED ",\"runtime\":\"python\"}", "tools must be"},
	    {"{" SEALED ",\"runtime\":\"python\",\"tools\":[]}",
		"tools must be"},
	    {"{" SEALED ",\"runtime\":\"python\",\"tools\":[{}]}",
		"tools[0].name"},
	    {"{" SEALED ",\"runtime\":\"python\",\"tools\":[\"a\"]}",
		"tools[0].name"},
	    {"{" SEALED ",\"runtime\":\"python\",\"tools\":[{\"name\":\"--x\","
	     "\"entrypoint\":\"a:b\"}]}",
		"tools[0].name"},
	    {"{" SEALED ",\"runtime\":\"python\",\"tools\":[{\"name\":\"x\"}]}",
		"has no entrypoint"},
	    {"{" SEALED ",\"runtime\":\"python\",\"tools\":[{\"name\":\"x\","
	     "\"entrypoint\":\"../a:b\"}]}",
		"tools[0].entrypoint"},
	    {"{" SEALED ",\"runtime\":\"python\",\"entrypoint\":\"a/b\","
	     "\"tools\":[{\"name\":\"x\"}]}",
		"entrypoint 'a/b'"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json_fault fault = {""};

		assert_int_equal(test_pack_package_read(rows[i].text, &fault),
		    RESULT_REFUSED);
		if (strstr(fault.text, rows[i].why) == NULL)
			fail_msg("%s: %s", rows[i].text, fault.text);
	}
}

static void
test_pack_package_function_is(const struct pack_package *package,
    const char *name, const char *place, const char *first, const char *second)
{
	struct json_fault fault = {""};
	struct pack_function function;

	assert_int_equal(
	    pack_package_function(package, name, &function, &fault), RESULT_OK);
	assert_string_equal(function.place, place);
	assert_string_equal(function.names[0], first);
	assert_int_equal(function.count, second != NULL ? 2 : 1);
	if (second != NULL)
		assert_string_equal(function.names[1], second);
}

static void
test_pack_package_functions(void **state)
{
	json_t *entry = test_pack_package_parse(
	    "{" SEALED
	    ",\"runtime\":\"node\",\"entrypoint\":\"./main.mjs\",\"tools\":["
	    "{\"name\":\"one\",\"entrypoint\":\"./a/b.mjs:f\"},"
	    "{\"name\":\"two-b\"}],\"permissions\":{\"network_level\":"
	    "\"restricted\",\"allowed_domains\":[\"a.example\"]}}");
	struct json_fault fault = {""};
	struct pack_function function;
	struct pack_package package;

	(void)state;
	assert_int_equal(
	    pack_package_read("demo", entry, &package, &fault), RESULT_OK);
	assert_int_equal(package.network, PACK_NETWORK_RESTRICTED);
	assert_int_equal(json_array_size(package.domains), 1);
	assert_true(package.is_node);
	test_pack_package_function_is(&package, "one", "a/b.mjs", "f", NULL);
	test_pack_package_function_is(
	    &package, "two-b", "main.mjs", "two-b", "run");
	assert_int_equal(
	    pack_package_function(&package, NULL, &function, &fault),
	    RESULT_NOT_FOUND);
	assert_non_null(strstr(fault.text, "one, two-b"));
	fault.text[0] = '\0';
	assert_int_equal(
	    pack_package_function(&package, "On", &function, &fault),
	    RESULT_NOT_FOUND);
	assert_non_null(strstr(fault.text, "no tool 'On'"));
	json_decref(entry);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_pack_package_kind),
	    cmocka_unit_test(test_pack_package_word),
	    cmocka_unit_test(test_pack_package_entrypoints),
	    cmocka_unit_test(test_pack_package_refused),
	    cmocka_unit_test(test_pack_package_functions),
	};

	return cmocka_run_group_tests_name("pack_package", tests, NULL, NULL);
}
