/* SPDX-License-Identifier: Apache-2.0 */
/* Manifests: a good agent and its lockfile part; each rule with the fault
 * that a file against it gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "supervisor/package/manifest.h"

static const char test_manifest_good[] =
    "{\"manifest_version\":\"0.3\",\"package_id\":\"my-agent\","
    "\"package_type\":\"agent\",\"name\":\"My agent\","
    "\"summary\":\"An agent that is only for tests\","
    "\"publisher\":\"tester\",\"version\":\"1.2.3\",\"runtime\":\"python\","
    "\"permissions\":{\"network\":{\"level\":\"restricted\","
    "\"allowed_domains\":[\"api.example.com\"]}},"
    "\"agent\":{\"entrypoint\":\"my.agent:main\",\"goal\":\"do it\","
    "\"tool_access\":{\"allowed_packages\":[\"some-tool\"]},"
    "\"llm_access\":{\"enabled\":true,\"max_calls\":5},"
    "\"limits\":{\"max_iterations\":10}}}";

static json_t *
test_manifest_load(const char *text)
{
	struct json_fault fault = {""};
	json_t *value = NULL;

	if (json_field_parse(text, strlen(text), &value, &fault) != RESULT_OK)
		fail_msg("%s", fault.text);
	return value;
}

static void
test_manifest_agent(void **state)
{
	json_t *manifest = test_manifest_load(test_manifest_good), *entry;
	struct json_fault fault = {""};
	json_t *want = test_manifest_load(
	    "{\"version\":\"1.2.3\",\"package_type\":\"agent\","
	    "\"runtime\":\"python\",\"publisher_slug\":\"tester\","
	    "\"permissions\":{\"network_level\":"
	    "\"restricted\",\"allowed_domains\":[\"api.example.com\"],"
	    "\"filesystem_level\":\"none\",\"code_execution_level\":"
	    "\"none\"},\"agent\":{\"entrypoint\":\"my.agent:main\",\"goal\":"
	    "\"do it\","
	    "\"tool_access\":{\"allowed_packages\":[\"some-tool\"]},"
	    "\"llm_access\":{\"enabled\":true,\"max_calls\":5},"
	    "\"limits\":{\"max_iterations\":10,\"max_tool_calls\":40,"
	    "\"max_runtime_seconds\":180}}}");

	(void)state;
	manifest_check(manifest, &fault);
	assert_string_equal(fault.text, "");
	entry = manifest_agent_entry(manifest);
	assert_true(json_equal(entry, want));
	json_decref(entry);
	json_decref(want);
	json_decref(manifest);
}

/* Nothing declared is nothing allowed. */
static void
test_manifest_defaults_deny(void **state)
{
	json_t *manifest = test_manifest_load(test_manifest_good);
	json_t *agent = json_object_get(manifest, "agent"), *entry;

	(void)state;
	json_object_del(agent, "llm_access");
	json_object_del(agent, "tool_access");
	entry = manifest_agent_entry(manifest);
	agent = json_object_get(entry, "agent");
	assert_true(json_is_false(
	    json_object_get(json_object_get(agent, "llm_access"), "enabled")));
	assert_int_equal(
	    json_array_size(json_object_get(
		json_object_get(agent, "tool_access"), "allowed_packages")),
	    0);
	json_decref(entry);
	json_decref(manifest);
}

/* A field that is null is one that is not there, also in the lockfile. */
static void
test_manifest_null(void **state)
{
	json_t *manifest = test_manifest_load(test_manifest_good);
	const json_t *agent;
	json_t *entry;
	json_t *empty = test_manifest_load(
	    "{\"entrypoint\":\"my.agent:main\",\"goal\":\"do it\","
	    "\"tool_access\":{\"allowed_packages\":null},"
	    "\"llm_access\":{\"enabled\":true,\"max_calls\":null},"
	    "\"limits\":{\"max_tool_calls\":null},\"orchestration\":null}");
	struct json_fault fault = {""};

	(void)state;
	assert_int_equal(json_object_set_new(manifest, "agent", empty), 0);
	manifest_check(manifest, &fault);
	assert_string_equal(fault.text, "");
	entry = manifest_agent_entry(manifest);
	agent = json_object_get(entry, "agent");
	assert_true(json_is_array(json_object_get(
	    json_object_get(agent, "tool_access"), "allowed_packages")));
	assert_int_equal(
	    json_integer_value(json_object_get(
		json_object_get(agent, "limits"), "max_tool_calls")),
	    40);
	assert_null(json_object_get(agent, "orchestration"));
	assert_null(
	    json_object_get(json_object_get(agent, "llm_access"), "max_calls"));
	json_decref(entry);
	json_decref(manifest);
}

/* Where (dotted), the value put there (NULL: taken away), part of the
 * fault. */
static const char *const test_manifest_faults[][3] = {
    {"surprise", "1", "manifest.surprise is no field"},
    {"manifest_version", "\"0.9\"", "manifest_version must be one of 0.1"},
    {"package_id", "\"A\"", "package_id"},
    {"package_id", "\"Not-A-Slug\"", "package_id must be 3 to 60"},
    {"package_type", "\"toolpack\"", "capabilities.tools is empty"},
    {"package_type", "\"plugin\"", "package_type must be one of"},
    {"name", "3", "manifest.name must be a text"},
    {"name", "\"a\\u0007bc\"", "control character"},
    {"summary", "\"short\"", "manifest.summary has 5 bytes"},
    {"version", "\"1.2\"", "MAJOR.MINOR.PATCH"},
    {"version", "\"latest\"", "MAJOR.MINOR.PATCH"},
    {"version", "\"1.2.3 \"", "MAJOR.MINOR.PATCH"},
    {"runtime", "\"mcp\"", "is no combination"},
    {"runtime", "\"cobol\"", "runtime must be one of"},
    {"install_mode", "\"prompt_only\"", "is no combination"},
    {"permissions.network.level", "\"none\"", "only for level restricted"},
    {"permissions.network.level", "\"open\"", "level must be one of none"},
    {"permissions.network.ports", "[1]", "network.ports is no field"},
    {"permissions.surprise", "{}", "permissions.surprise is no field"},
    {"agent", NULL, "manifest.agent is missing"},
    {"agent", "[]", "manifest.agent must be a mapping"},
    {"agent.goal", NULL, "manifest.agent.goal is missing"},
    {"agent.max_tokens", "5", "agent.max_tokens is no field"},
    {"agent.planning", "{}", "agent.planning is no field"},
    {"agent.entrypoint", NULL, "exactly one of entrypoint"},
    {"agent.command", "[\"python3\",\"a.py\"]", "exactly one of entrypoint"},
    {"agent.entrypoint", "\"../evil:run\"", "entrypoint must be"},
    {"agent.entrypoint", "\"a;b:run\"", "entrypoint must be"},
    {"agent.entrypoint", "\"a:\"", "entrypoint must be"},
    {"agent.llm_access.enabled", "\"yes\"", "must be true or false"},
    {"agent.llm_access.enabled", "1", "must be true or false"},
    {"agent.llm_access.max_calls", "0", "max_calls must be a whole number"},
    {"agent.llm_access.max_calls", "-1", "max_calls must be a whole number"},
    {"agent.llm_access.key", "\"sk\"", "llm_access.key is no field"},
    {"agent.tool_access.allowed_packages", "[\"../x\"]",
	"allowed_packages[0] must be"},
    {"publisher", "\"a\\nreaches no host\"", "control character"},
    {"publisher", "\"a\\u009b2J\"", "control character"},
    {"publisher", "\"a\\u202eb\"", "control character"},
    {"agent.tool_access.allowed_packages", "[\"one-tool\",\"one-tool\"]",
	"allowed_packages[1] is there"},
    {"agent.tool_access.allowed_packages", "\"some-tool\"", "must be a list"},
    {"agent.limits.max_iterations", "101", "from 1 to 100"},
    {"agent.limits.max_tool_calls", "501", "from 1 to 500"},
    {"agent.limits.max_runtime_seconds", "3601", "from 1 to 3600"},
    {"agent.limits.max_runtime_seconds", "0", "from 1 to 3600"},
    {"agent.termination", "{\"stop_on_consecutive_errors\":11}",
	"from 1 to 10"},
    {"agent.state", "{\"persistence\":\"for ever\"}", "must be one of none"},
};

static void
test_manifest_change(json_t *manifest, const char *place, const char *text)
{
	char copy[80];
	char *part = copy, *dot;
	json_t *object = manifest;

	assert_true(strlen(place) < sizeof(copy));
	memcpy(copy, place, strlen(place) + 1);
	while ((dot = strchr(part, '.')) != NULL) {
		*dot = '\0';
		object = json_object_get(object, part);
		assert_non_null(object);
		part = dot + 1;
	}
	if (text == NULL)
		json_object_del(object, part);
	else
		json_object_set_new(
		    object, part, json_loads(text, JSON_DECODE_ANY, NULL));
}

static void
test_manifest_refused(void **state)
{
	size_t i;

	(void)state;
	for (i = 0;
	     i < sizeof(test_manifest_faults) / sizeof(test_manifest_faults[0]);
	     i++) {
		const char *const *row = test_manifest_faults[i];
		json_t *manifest = test_manifest_load(test_manifest_good);
		struct json_fault fault = {""};

		test_manifest_change(manifest, row[0], row[1]);
		manifest_check(manifest, &fault);
		if (strstr(fault.text, row[2]) == NULL)
			fail_msg("%s: '%s' does not say '%s'", row[0],
			    fault.text, row[2]);
		json_decref(manifest);
	}
}

static void
test_manifest_steps(const char *steps, const char *part)
{
	json_t *manifest = test_manifest_load(test_manifest_good);
	json_t *agent = json_object_get(manifest, "agent");
	struct json_fault fault = {""};

	json_object_del(agent, "entrypoint");
	json_object_set_new(agent, "orchestration",
	    json_pack("{s:s,s:o}", "mode", "sequential", "steps",
		test_manifest_load(steps)));
	manifest_check(manifest, &fault);
	if (part == NULL)
		assert_string_equal(fault.text, "");
	else if (strstr(fault.text, part) == NULL)
		fail_msg("%s: '%s' does not say '%s'", steps, fault.text, part);
	json_decref(manifest);
}

static void
test_manifest_orchestration(void **state)
{
	(void)state;
	test_manifest_steps("[{\"name\":\"a\",\"tool\":\"some-tool/x\"},"
			    "{\"name\":\"b\",\"tool\":\"some-tool\","
			    "\"when\":\"$a.ok == true\","
			    "\"input_mapping\":{\"q\":\"$a.text\"}}]",
	    NULL);
	test_manifest_steps("[]", "steps is empty");
	test_manifest_steps("[{\"name\":\"a\"}]", "steps[0].tool is missing");
	test_manifest_steps(
	    "[{\"name\":\"a\",\"tool\":\"other\"}]", "does not list");
	test_manifest_steps(
	    "[{\"name\":\"a\",\"tool\":\"some-toolx\"}]", "does not list");
	test_manifest_steps("[{\"name\":\"a\",\"tool\":\"some-tool\"},"
			    "{\"name\":\"a\",\"tool\":\"some-tool\"}]",
	    "steps[1].name is there");
	test_manifest_steps("[{\"name\":\"a\",\"tool\":\"some-tool\","
			    "\"when\":\"os.system('x')\"}]",
	    "steps[0].when must be");
	test_manifest_steps(
	    "[{\"name\":\"input\",\"tool\":\"some-tool\"}]", "is not input");
	test_manifest_steps(
	    "[{\"name\":\"a\",\"tool\":\"some-tool\",\"run\":\"x\"}]",
	    "steps[0].run is no field");
}

static void
test_manifest_actions(void **state)
{
	static const char *const rows[][2] = {
	    {"[]", NULL},
	    {"null", NULL},
	    {"[\"delete\",\"execute\"]", NULL},
	    {"[\"delete\",\"unknown\"]", "pre_approved_actions[1] must be"},
	    {"[\"Delete\"]", "pre_approved_actions[0] must be"},
	    {"[1]", "pre_approved_actions[0]"},
	    {"\"delete\"", "pre_approved_actions"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *manifest = test_manifest_load(test_manifest_good);
		struct json_fault fault = {""};

		json_object_set_new(json_object_get(manifest, "agent"),
		    "pre_approved_actions", test_manifest_load(rows[i][0]));
		manifest_check(manifest, &fault);
		if (rows[i][1] == NULL)
			assert_string_equal(fault.text, "");
		else if (strstr(fault.text, rows[i][1]) == NULL)
			fail_msg("%s: %s", rows[i][0], fault.text);
		json_decref(manifest);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_manifest_agent),
	    cmocka_unit_test(test_manifest_defaults_deny),
	    cmocka_unit_test(test_manifest_null),
	    cmocka_unit_test(test_manifest_refused),
	    cmocka_unit_test(test_manifest_orchestration),
	    cmocka_unit_test(test_manifest_actions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
