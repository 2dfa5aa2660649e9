/* SPDX-License-Identifier: Apache-2.0 */
/* Manifests of tool packs: a good one and its lockfile part; every rule
 * with its fault; several faults at once; entry points. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/package/manifest.h"
#include "supervisor/package/manifest_entrypoint.h"

static const char test_manifest_pack_good[] =
    "{\"manifest_version\":\"0.3\",\"package_id\":\"my-tools\","
    "\"package_type\":\"toolpack\",\"name\":\"My tools\","
    "\"summary\":\"Tools that are only for tests\","
    "\"publisher\":\"tester\",\"version\":\"1.2.3\",\"runtime\":\"python\","
    "\"permissions\":{\"network\":{\"level\":\"restricted\","
    "\"allowed_domains\":[\"api.example.com\"]},"
    "\"code_execution\":{\"level\":\"limited_subprocess\"}},"
    "\"env_requirements\":[{\"name\":\"API_KEY\",\"purpose\":\"to ask\"},"
    "{\"name\":\"LANG_CODE\",\"required\":false}],"
    "\"capabilities\":{\"tools\":[{\"name\":\"ask\",\"entrypoint\":"
    "\"my.tools:ask\",\"action_type\":\"read\",\"input_schema\":"
    "{\"type\":\"object\",\"properties\":{}}},{\"name\":\"tell\","
    "\"entrypoint\":\"my.tools\"}]}}";

static json_t *
test_manifest_pack_load(const char *text)
{
	struct json_fault fault = {""};
	json_t *value = NULL;

	if (json_field_parse(text, strlen(text), &value, &fault) != RESULT_OK)
		fail_msg("%s", fault.text);
	return value;
}

static void
test_manifest_pack_entry(void **state)
{
	json_t *manifest = test_manifest_pack_load(test_manifest_pack_good);
	struct json_fault fault = {""};
	json_t *entry,
	    *want = test_manifest_pack_load(
		"{\"version\":\"1.2.3\",\"package_type\":\"toolpack\","
		"\"runtime\":\"python\",\"publisher_slug\":\"tester\","
		"\"permissions\":{\"network_level\":\"restricted\","
		"\"allowed_domains\":[\"api.example.com\"],"
		"\"filesystem_level\":\"none\","
		"\"code_execution_level\":\"limited_subprocess\"},"
		"\"env_requirements\":[{\"name\":\"API_KEY\",\"required\":true,"
		"\"description\":\"to ask\"},{\"name\":\"LANG_CODE\","
		"\"required\":false}],"
		"\"tools\":[{\"name\":\"ask\",\"entrypoint\":\"my.tools:ask\","
		"\"action_type\":\"read\",\"input_schema\":{\"type\":"
		"\"object\","
		"\"properties\":{}}},{\"name\":\"tell\",\"entrypoint\":"
		"\"my.tools\"}]}");

	(void)state;
	manifest_check(manifest, &fault);
	assert_string_equal(fault.text, "");
	entry = manifest_pack_entry(manifest);
	assert_true(json_equal(entry, want));
	json_decref(entry);
	json_decref(want);
	json_decref(manifest);
}

/* What is merged over the good one, part of its only fault; NULL: none. */
static const char *const test_manifest_pack_rows[][2] = {
    {"{\"runtime\":\"node\"}", "tools[0].entrypoint must be module.path"},
    {"{\"runtime\":\"mcp\"}", "mcp_server is missing"},
    {"{\"runtime\":\"none\"}", "no combination for toolpack; those are "
			       "python with package, node with package"},
    {"{\"package_type\":\"upgrade\"}", "tools is only for tool packs"},
    {"{\"package_type\":\"skill\",\"runtime\":\"none\","
     "\"install_mode\":\"prompt_only\",\"capabilities\":{}}",
	NULL},
    {"{\"package_type\":\"skill\",\"runtime\":\"none\",\"entrypoint\":\"a\","
     "\"install_mode\":\"prompt_only\",\"capabilities\":{}}",
	"entrypoint is not for skills"},
    {"{\"permissions\":{\"network\":{\"level\":\"unrestricted\"}}}", NULL},
    {"{\"permissions\":{\"network\":{\"level\":\"internal\"}}}",
	"network.level must be one of none, restricted, unrestricted"},
    {"{\"permissions\":{\"network\":{\"level\":null}}}",
	"network.level is missing"},
    {"{\"permissions\":{\"network\":{}}}", "network.level is missing"},
    {"{\"permissions\":{\"network\":\"none\"}}", "must be a mapping"},
    {"{\"permissions\":{\"network\":{\"level\":\"none\","
     "\"allowed_domains\":[\"a.example.com\"]}}}",
	"only for level"},
    {"{\"permissions\":{\"filesystem\":{\"level\":\"read_only\"}}}",
	"filesystem.level must be one of"},
    {"{\"permissions\":{\"code_execution\":{\"level\":\"sandboxed\"}}}",
	"code_execution.level must be one of"},
    {"{\"capabilities\":{\"tools\":[]}}", "at least one tool"},
    {"{\"capabilities\":{\"tools\":[{\"name\":\"x\"}]}}",
	"tools[0].entrypoint is missing, and manifest.entrypoint too"},
    {"{\"entrypoint\":\"a.b\",\"capabilities\":{\"tools\":[{\"name\":\"x\"}]}}",
	NULL},
    {"{\"entrypoint\":\"a.b\",\"capabilities\":{\"tools\":[{\"name\":\"x\"},"
     "{\"name\":\"y\",\"entrypoint\":\"a:y\"}]}}",
	"tools[0].entrypoint is missing: with more than one"},
    {"{\"manifest_version\":\"0.1\",\"entrypoint\":\"a.b\",\"capabilities\":"
     "{\"tools\":[{\"name\":\"x\"},{\"name\":\"y\"}]}}",
	NULL},
    {"{\"entrypoint\":\"a\",\"capabilities\":{\"tools\":[{\"name\":\"x y\"}]}}",
	"tools[0].name must be letters"},
    {"{\"entrypoint\":\"a\",\"capabilities\":{\"tools\":[{\"name\":\"x__y\"}]}"
     "}",
	"tools[0].name must be letters"},
    {"{\"entrypoint\":\"a\",\"capabilities\":{\"tools\":[{\"name\":\"x\","
     "\"action_type\":\"nothing\"}]}}",
	"action_type must be one of read"},
    {"{\"entrypoint\":\"a\",\"capabilities\":{\"tools\":[{\"name\":\"x\","
     "\"action_type\":\"unknown\"}]}}",
	"action_type must be one of read"},
    {"{\"entrypoint\":\"a\",\"capabilities\":{\"tools\":[{\"name\":\"x\","
     "\"input_schema\":[]}]}}",
	"input_schema must be a mapping"},
    {"{\"entrypoint\":\"a\",\"capabilities\":{\"tools\":[{\"name\":\"x\","
     "\"input_schema\":{\"type\":\"string\"}}]}}",
	"type must be object"},
    {"{\"entrypoint\":\"a\",\"capabilities\":{\"tools\":[{\"name\":\"x\","
     "\"run\":1}]}}",
	"tools[0].run is no field of it; those are name"},
    {"{\"capabilities\":{\"tools\":[{\"name\":\"x\",\"entrypoint\":"
     "\"a:x\"}],\"resources\":[{\"name\":\"r\",\"uri\":\"file:///x\"}]}}",
	"resources[0].uri must begin"},
    {"{\"capabilities\":{\"tools\":[{\"name\":\"x\",\"entrypoint\":"
     "\"a:x\"}],\"resources\":[{\"name\":\"r\",\"uri\":\"resource://x\","
     "\"content_path\":\"a/../../x\"}]}}",
	"content_path must be a path"},
    {"{\"capabilities\":{\"tools\":[{\"name\":\"x\",\"entrypoint\":"
     "\"a:x\"}],\"resources\":[{\"name\":\"r\",\"uri\":\"resource://x\","
     "\"entrypoint\":\"a\"}]}}",
	"resources[0].entrypoint is no field"},
    {"{\"capabilities\":{\"tools\":[{\"name\":\"x\",\"entrypoint\":"
     "\"a:x\"}],\"prompts\":[{\"name\":\"p\"}]}}",
	"template is missing"},
    {"{\"env_requirements\":[{\"name\":\"A-B\"}]}", "env_requirements[0].name"},
    {"{\"env_requirements\":[{\"name\":\"A\"},{\"name\":\"A\"}]}",
	"env_requirements[1].name is there already"},
    {"{\"env_requirements\":[{\"name\":\"A\",\"value\":\"secret\"}]}",
	"env_requirements[0].value is no field"},
    {"{\"env_requirements\":[\"A\"]}", "env_requirements[0] must be a mapping"},
    {"{\"dependencies\":[\"tabulate>=1\"]}", "dependencies[0] 'tabulate>=1'"},
    {"{\"dependencies\":[{\"name\":\"x\"}]}", "dependencies[0] must be a text"},
    {"{\"connector\":{\"auth_type\":\"api_key\"}}", "provider is missing"},
    {"{\"connector\":{\"provider\":\"x\",\"auth_type\":\"basic\"}}",
	"auth_type must be one of"},
    {"{\"mcp_server\":{}}", "mcp_server is only for runtime mcp"},
    {"{\"policy_requirements\":{\"min_trust_level\":\"high\"}}",
	"min_trust_level must be one of"},
    {"{\"agent\":{}}", "agent is only for package_type agent"},
    {"{\"install_mode\":\"remote_endpoint\"}", "no combination"},
    {"{\"hosting_type\":\"elsewhere\"}", "hosting_type must be one of"},
    {"{\"verification\":{\"cases\":[{\"tool\":\"x\"}]}}", "name is missing"},
};

static void
test_manifest_pack_rules(void **state)
{
	size_t i, count = sizeof(test_manifest_pack_rows) /
			  sizeof(test_manifest_pack_rows[0]);

	(void)state;
	for (i = 0; i < count; i++) {
		const char *const *row = test_manifest_pack_rows[i];
		json_t *manifest =
		    test_manifest_pack_load(test_manifest_pack_good);
		json_t *change = test_manifest_pack_load(row[0]);
		struct json_fault fault = {""};

		json_object_update(manifest, change);
		manifest_check(manifest, &fault);
		if (row[1] == NULL ? fault.text[0] != '\0'
				   : strstr(fault.text, row[1]) == NULL)
			fail_msg("%s: '%s' does not say '%s'", row[0],
			    fault.text, row[1] == NULL ? "" : row[1]);
		json_decref(change);
		json_decref(manifest);
	}
}

/* Nothing of the wrong kind stops the rest from being looked at. */
static void
test_manifest_pack_many(void **state)
{
	json_t *manifest = test_manifest_pack_load(
	    "{\"manifest_version\":1,\"package_id\":[],\"package_type\":{},"
	    "\"name\":null,\"summary\":3,\"publisher\":false,\"version\":[],"
	    "\"runtime\":[],\"capabilities\":{\"tools\":[3,{\"name\":[],"
	    "\"entrypoint\":{},\"input_schema\":4},{}],\"resources\":{},"
	    "\"prompts\":[[]]},\"permissions\":[],\"env_requirements\":[4,{}],"
	    "\"dependencies\":{},\"agent\":[],\"connector\":4}");
	struct manifest_report report;

	(void)state;
	manifest_report_init(&report);
	manifest_judge(manifest, &report);
	assert_true(report.count > 15);
	manifest_report_clear(&report);
	json_decref(manifest);
}

static void
test_manifest_pack_bounded(void **state)
{
	json_t *manifest = json_object();
	struct manifest_report report;
	char key[16];
	int i;

	(void)state;
	for (i = 0; i < 1000; i++) {
		(void)snprintf(key, sizeof(key), "k%d", i);
		json_object_set_new(manifest, key, json_null());
	}
	manifest_report_init(&report);
	manifest_judge(manifest, &report);
	assert_int_equal(json_array_size(report.faults), MANIFEST_REPORT_MAX);
	assert_true(report.count >= 1000);
	manifest_report_clear(&report);
	json_decref(manifest);
}

static const struct {
	const char *text;
	bool python, node;
} test_manifest_pack_points[] = {
    {"a", true, false},
    {"a.b.c:run", true, false},
    {"a:run", true, false},
    {"_a1._b:_c", true, false},
    {"./a.mjs:run", false, true},
    {"a/b-c.d.js", false, true},
    {"a.cjs:x", true, true},
    {"node_modules/@x/y/z.mjs:run", false, true},
    {"", false, false},
    {"a..b", false, false},
    {".a", false, false},
    {"a.", false, false},
    {"1a", false, false},
    {"a:1", false, false},
    {"a:", false, false},
    {"a:b:c", false, false},
    {"a:b.c", false, false},
    {"/a.mjs", false, false},
    {"../a.mjs", false, false},
    {"a/../b.mjs", false, false},
    {"a//b.mjs", false, false},
    {".hidden/b.mjs", false, false},
    {"-a.mjs", false, false},
    {"a b.mjs", false, false},
    {"a.mjs:x y", false, false},
    {"././a.mjs", false, false},
    {"a/b", false, false},
};

static void
test_manifest_pack_entrypoints(void **state)
{
	char path[64];
	size_t i, count = sizeof(test_manifest_pack_points) /
			  sizeof(test_manifest_pack_points[0]);

	(void)state;
	for (i = 0; i < count; i++) {
		const char *text = test_manifest_pack_points[i].text;

		if (manifest_entrypoint_is_valid(text, false) !=
			test_manifest_pack_points[i].python ||
		    manifest_entrypoint_is_valid(text, true) !=
			test_manifest_pack_points[i].node)
			fail_msg("'%s'", text);
	}
	assert_true(
	    manifest_entrypoint_file("a.b:c", false, 0, path, sizeof(path)));
	assert_string_equal(path, "a/b.py");
	assert_true(
	    manifest_entrypoint_file("a.b:c", false, 1, path, sizeof(path)));
	assert_string_equal(path, "a/b/__init__.py");
	assert_false(
	    manifest_entrypoint_file("a.b:c", false, 2, path, sizeof(path)));
	assert_true(manifest_entrypoint_file(
	    "./a/b.mjs:c", true, 0, path, sizeof(path)));
	assert_string_equal(path, "a/b.mjs");
	assert_string_equal(manifest_entrypoint_function("a.b:c"), "c");
	assert_string_equal(manifest_entrypoint_function("a.b"), "run");
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_manifest_pack_entry),
	    cmocka_unit_test(test_manifest_pack_rules),
	    cmocka_unit_test(test_manifest_pack_many),
	    cmocka_unit_test(test_manifest_pack_bounded),
	    cmocka_unit_test(test_manifest_pack_entrypoints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
