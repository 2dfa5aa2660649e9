/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of an MCP server: exact versions, integrities and canonical hosts
 * are taken, everything else is refused with the name of its field; and what
 * was installed must be what it lists, in any order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/package/registry_server.h"

#define VERSION "1.2.0"

static json_t *
test_registry_server_root(void)
{
	json_t *root = json_pack(
	    "{s:i, s:s, s:s, s:s, s:s, s:[{s:s, s:s, s:s}, {s:s, s:s, s:s}], "
	    "s:[s], s:[s, s]}",
	    "format", 1, "kind", "mcp", "manager", "npm", "package",
	    "@scope/server", "version", VERSION, "dependencies", "name",
	    "@scope/server", "version", VERSION, "integrity",
	    "sha512-aa==", "name", "dep", "version", "0.1.0", "integrity",
	    "sha512-bb==", "mcp_allowed_domains", "api.example.com:443",
	    "tools", "read", "write");

	assert_non_null(root);
	return root;
}

/* field NULL: it is taken; else the fault begins with it. Takes root. */
static void
test_registry_server_is(json_t *root, const char *version, const char *field)
{
	char *text = json_dumps(root, 0);
	struct registry_server server;
	struct json_fault fault = {""};
	enum result result;

	assert_non_null(text);
	result =
	    registry_server_parse(text, strlen(text), version, &server, &fault);
	if (field == NULL && result != RESULT_OK)
		fail_msg("refused: %s", fault.text);
	if (field != NULL &&
	    (result == RESULT_OK || server.root != NULL ||
		strncmp(fault.text, field, strlen(field)) != 0))
		fail_msg("'%s' instead of %s: %s", fault.text, field, text);
	registry_server_clear(&server);
	free(text);
	json_decref(root);
}

/* One field other, or none; takes value. */
static void
test_registry_server_field(const char *key, json_t *value, const char *field)
{
	json_t *root = test_registry_server_root();

	if (value == NULL)
		json_object_del(root, key);
	else
		json_object_set_new(root, key, value);
	test_registry_server_is(root, VERSION, field);
}

static void
test_registry_server_takes(void **state)
{
	char *text;
	struct registry_server server;
	struct json_fault fault = {""};
	json_t *root = test_registry_server_root();

	(void)state;
	text = json_dumps(root, 0);
	assert_int_equal(
	    registry_server_parse(text, strlen(text), VERSION, &server, &fault),
	    RESULT_OK);
	assert_int_equal(server.pin.kind, PIN_NPM);
	assert_string_equal(server.pin.name, "@scope/server");
	assert_string_equal(server.pin.version, VERSION);
	assert_int_equal(json_array_size(server.dependencies), 2);
	assert_int_equal(json_array_size(server.allow), 1);
	assert_int_equal(json_array_size(server.tools), 2);
	registry_server_clear(&server);
	free(text);
	json_decref(root);
	test_registry_server_field("tools", NULL, NULL);
	test_registry_server_field("mcp_allowed_domains", json_array(), NULL);
	root = test_registry_server_root();
	json_object_set_new(root, "manager", json_string("pypi"));
	json_object_set_new(root, "package", json_string("plain-mcp"));
	test_registry_server_is(root, VERSION, NULL);
}

static void
test_registry_server_refuses(void **state)
{
	static const char *const hosts[] = {"", "API.example.com:443",
	    "api.example.com", "*", "*:443", "https://a.example/", "a b:443"};
	static const char *const versions[] = {
	    "latest", "^1.2.0", "1.x", "*", "git+https://a/b", "1.2.0 "};

	(void)state;
	test_registry_server_is(json_array(), VERSION, "server:");
	test_registry_server_is(
	    test_registry_server_root(), "1.2.1", "server.version");
	test_registry_server_field("format", json_integer(2), "server.format");
	test_registry_server_field("kind", json_string("agent"), "server.kind");
	test_registry_server_field("kind", NULL, "server.kind");
	test_registry_server_field(
	    "manager", json_string("cargo"), "server.manager");
	test_registry_server_field(
	    "package", json_string("../x"), "server.package");
	test_registry_server_field("more", json_integer(1), "server");
	test_registry_server_field(
	    "dependencies", json_array(), "server.dependencies");
	test_registry_server_field("dependencies",
	    json_pack("[{s:s, s:s}]", "name", "a", "version", "1.0.0"),
	    "server.dependencies[0].integrity");
	test_registry_server_field("dependencies",
	    json_pack("[{s:s, s:s, s:s, s:i}]", "name", "a", "version", "1",
		"integrity", "x", "more", 1),
	    "server.dependencies[0]");
	test_registry_server_field("dependencies",
	    json_pack("[{s:s, s:s, s:s}]", "name", "a\033[2J", "version", "1",
		"integrity", "x"),
	    "server.dependencies[0].name");
	test_registry_server_field("tools", json_array(), "server.tools");
	test_registry_server_field(
	    "tools", json_pack("[s]", "a b"), "server.tools[0]");
	test_registry_server_field(
	    "mcp_allowed_domains", NULL, "server.mcp_allowed_domains");
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		test_registry_server_field("mcp_allowed_domains",
		    json_pack("[s]", hosts[i]),
		    "server.mcp_allowed_domains[0]");
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		json_t *root = test_registry_server_root();

		json_object_set_new(root, "version", json_string(versions[i]));
		test_registry_server_is(root, versions[i], "server.package");
	}
}

static void
test_registry_server_one(const char *integrity, bool twice, enum result want)
{
	json_t *root = test_registry_server_root();
	json_t *got = json_pack("[{s:s, s:s, s:s}, {s:s, s:s, s:s}]", "name",
	    "dep", "version", "0.1.0", "integrity", integrity, "name",
	    "@scope/server", "version", VERSION, "integrity", "sha512-aa==");
	struct registry_server server = {.root = root,
	    .dependencies = json_object_get(root, "dependencies")};
	struct json_fault fault = {""};

	if (twice)
		json_array_append(got, json_array_get(got, 0));
	assert_int_equal(registry_server_fits(&server, got, &fault), want);
	assert_int_equal(fault.text[0] == '\0', want == RESULT_OK);
	json_array_remove(got, 0);
	fault.text[0] = '\0';
	if (!twice)
		assert_int_equal(registry_server_fits(&server, got, &fault),
		    RESULT_MISMATCH);
	json_decref(got);
	registry_server_clear(&server);
}

static void
test_registry_server_compares(void **state)
{
	(void)state;
	test_registry_server_one("sha512-bb==", false, RESULT_OK);
	test_registry_server_one("sha512-bc==", false, RESULT_MISMATCH);
	test_registry_server_one("sha512-bb==", true, RESULT_MISMATCH);
}

/* What is made of an entry is what is read. */
static void
test_registry_server_makes(void **state)
{
	json_t *root = test_registry_server_root();
	json_t *entry = json_pack("{s:{s:s, s:s, s:s}, s:O, s:O, s:O, s:i}",
	    "mcp_install", "manager", "npm", "package", "@scope/server",
	    "version", VERSION, "dependencies",
	    json_object_get(root, "dependencies"), "mcp_allowed_domains",
	    json_object_get(root, "mcp_allowed_domains"), "tools",
	    json_object_get(root, "tools"), "other", 1);
	json_t *made = registry_server_make(entry);

	(void)state;
	assert_true(json_equal(made, root));
	json_decref(made);
	json_object_del(entry, "tools");
	test_registry_server_is(registry_server_make(entry), VERSION, NULL);
	json_decref(entry);
	json_decref(root);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_registry_server_takes),
	    cmocka_unit_test(test_registry_server_refuses),
	    cmocka_unit_test(test_registry_server_compares),
	    cmocka_unit_test(test_registry_server_makes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
