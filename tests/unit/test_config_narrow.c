/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The team policy's rule of every kind, as a table; and that no rule ever
 * allows more than the value did.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/json_field.h"
#include "supervisor/policy/config_narrow.h"

struct test_config_narrow_row {
	const char *key, *value, *policy, *effective;
};

static const struct test_config_narrow_row test_config_narrow_rows[] = {
    {"sandbox.memory", "100", "50", "50"},
    {"sandbox.memory", "50", "100", "50"},
    {"egress.rate_bytes", "0", "100", "100"},
    {"egress.rate_bytes", "100", "0", "100"},
    {"egress.rate_bytes", "0", "0", "0"},
    {"egress.rate_bytes", "70", "100", "70"},
    {"agent_sandbox.enabled", "true", "true", "true"},
    {"agent_sandbox.enabled", "true", "false", "false"},
    {"agent_sandbox.enabled", "false", "true", "false"},
    {"trust.minimum_trust_level", "\"verified\"", "\"trusted\"", "\"trusted\""},
    {"trust.minimum_trust_level", "\"curated\"", "\"trusted\"", "\"curated\""},
    {"trust.minimum_trust_level", "\"trusted\"", "\"trusted\"", "\"trusted\""},
    {"sandbox.host_trust_policy", "\"none\"", "\"default\"", "\"none\""},
    {"sandbox.host_trust_policy", "\"default\"", "\"curated_only\"",
	"\"curated_only\""},
    {"trust.registry_keys", "{\"a\":\"1\",\"b\":\"2\"}",
	"{\"b\":\"2\",\"c\":\"3\"}", "{\"b\":\"2\"}"},
    {"trust.registry_keys", "{\"a\":\"1\"}", "{\"a\":\"2\"}", "{}"},
    {"trust.registry_keys", NULL, "{\"a\":\"2\"}", "{}"},
    {"trust.registry_keys", "{\"a\":\"1\"}", "{}", "{}"},
    {"trust.revoked_keys", "[\"1\"]", "[\"2\"]", "[\"1\",\"2\"]"},
    {"registry.path", "\"/a\"", "\"/b\"", "\"/b\""},
    {"sandbox.engine", "\"auto\"", "\"podman\"", "\"podman\""},
    {"sandbox.image", NULL, "\"a@sha256:1\"", "\"a@sha256:1\""},
    {"sandbox.overrides", "[\"no_landlock\",\"no_cgroup_limits\"]",
	"[\"no_landlock\"]", "[\"no_landlock\"]"},
    {"sandbox.overrides", "[]", "[\"no_landlock\"]", "[]"},
    {"egress.allow", "[]", "[\"a.example.com:443\"]", "[]"},
    {"egress.allow", "[\"a.example.com:443\",\"b.example.org:443\"]",
	"[\"*.example.com:443\"]", "[\"a.example.com:443\"]"},
    {"egress.allow", "[\"*.example.com:443\"]", "[\"a.example.com:443\"]",
	"[]"},
    {"egress.allow", "[\"*.a.example.com:443\"]", "[\"*.example.com:443\"]",
	"[\"*.a.example.com:443\"]"},
    {"egress.allow", "[\"a.example.com:8443\"]", "[\"*.example.com:443\"]",
	"[]"},
    {"egress.allow", "[\"example.com:443\"]", "[\"*.example.com:443\"]", "[]"},
    {"egress.allow", "[\"tcp://10.1.2.0/24:22\",\"tcp://10.2.0.0/15:22\"]",
	"[\"tcp://10.1.0.0/16:22\"]", "[\"tcp://10.1.2.0/24:22\"]"},
    {"egress.allow", "[\"tcp://10.1.2.0/24:23\"]", "[\"tcp://10.1.0.0/16:22\"]",
	"[]"},
    {"egress.allow", "[\"http://a.example.com:80\"]", "[\"*.example.com:443\"]",
	"[]"},
    {"egress.deny", "[\"a.example.com:443\"]", "[\"b.example.com:443\"]",
	"[\"a.example.com:443\",\"b.example.com:443\"]"},
    {"egress.deny", "[\"a.example.com:443\"]", "[\"a.example.com:443\"]",
	"[\"a.example.com:443\"]"},
    {"egress.extra_ranges",
	"{\"a.example\":[\"10.0.0.0/8\",\"10.1.0.0/16\"],"
	"\"b.example\":[\"10.0.0.0/8\"]}",
	"{\"a.example\":[\"10.1.0.0/16\"]}",
	"{\"a.example\":[\"10.1.0.0/16\"]}"},
    {"egress.extra_ranges", NULL, "{\"a.example\":[\"10.0.0.0/8\"]}", "{}"},
    {"agent_sandbox.llm.allowed_models", NULL, "[\"openai/gpt-4o-mini\"]",
	"[\"openai/gpt-4o-mini\"]"},
    {"agent_sandbox.llm.allowed_models", NULL, "[]", "[]"},
    {"agent_sandbox.llm.allowed_models", "[]", "[\"m\"]", "[]"},
    {"agent_sandbox.llm.allowed_models", "[\"m\",\"n\"]",
	"[\"openai/m\",\"gemini/n\"]", "[\"openai/m\",\"gemini/n\"]"},
    {"agent_sandbox.llm.allowed_models", "[\"openai/m\",\"gemini/m\"]",
	"[\"openai/*\"]", "[\"openai/m\"]"},
    {"agent_sandbox.llm.allowed_models", "[\"openai/*\"]", "[\"m\"]",
	"[\"openai/m\"]"},
    {"agent_sandbox.llm.allowed_models", "[\"openai/*\"]", "[\"gemini/*\"]",
	"[]"},
    {"agent_sandbox.llm.allowed_models", "[\"openai/gpt-4o\"]",
	"[\"gpt-4o-mini\",\"openai/gpt-4\",\"openai/GPT-4o\"]", "[]"},
    {"llm.day.tokens", NULL, "10", "10"},
    {"llm.day.tokens", "20", "10", "10"},
    {"llm.day.cost", "5", "0", "0"},
    {"llm.opt_in", "[\"stored\"]", "[\"remote_urls\"]", "[]"},
    {"llm.upstream", "{\"a\":{\"host\":\"x\"},\"b\":{\"host\":\"y\"}}",
	"{\"a\":{\"host\":\"x\"},\"b\":{\"host\":\"z\"}}",
	"{\"a\":{\"host\":\"x\"}}"},
};

static json_t *
test_config_narrow_parse(const char *text)
{
	struct json_fault fault = {""};
	json_t *value = NULL;

	if (text != NULL)
		assert_int_equal(
		    json_field_parse(text, strlen(text), &value, &fault),
		    RESULT_OK);
	return value;
}

static void
test_config_narrow_table(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(test_config_narrow_rows) /
			    sizeof(test_config_narrow_rows[0]);
	     i++) {
		const struct test_config_narrow_row *row =
		    &test_config_narrow_rows[i];
		json_t *value = test_config_narrow_parse(row->value);
		json_t *policy = test_config_narrow_parse(row->policy);
		json_t *expected = test_config_narrow_parse(row->effective);
		json_t *effective = NULL;

		assert_int_equal(
		    config_narrow_value(
			config_table_find(row->key), value, policy, &effective),
		    RESULT_OK);
		if (!json_equal(effective, expected))
			fail_msg("row %zu: %s got %s", i, row->key,
			    json_dumps(effective, JSON_ENCODE_ANY));
		json_decref(effective);
		json_decref(expected);
		json_decref(policy);
		json_decref(value);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_config_narrow_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
