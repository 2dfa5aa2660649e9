/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every type of configuration value as a table: what is typed, what is kept
 * or which word the refusal must have; and back to text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/policy/config_table.h"
#include "supervisor/policy/config_tree.h"
#include "supervisor/policy/config_value.h"

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct test_config_value_row {
	const char *key, *typed;
	const char *kept;  /* printed again; NULL: refused */
	const char *fault; /* part of the sentence */
};

static const struct test_config_value_row test_config_value_rows[] = {
    {"sandbox.memory", "512m", "512m", NULL},
    {"sandbox.memory", "1048576k", "1g", NULL},
    {"sandbox.memory", "16777216", "16m", NULL},
    {"sandbox.memory", "1m", NULL, "between 16m and 1024g"},
    {"sandbox.memory", "2000g", NULL, "between"},
    {"sandbox.memory", "99999999999g", NULL, "size such as"},
    {"sandbox.memory", "99999999999999999999", NULL, "size such as"},
    {"sandbox.memory", "-1", NULL, "size such as"},
    {"sandbox.memory", "1mb", NULL, "size such as"},
    {"sandbox.memory", "", NULL, "size such as"},
    {"egress.rate_bytes", "0", "0", NULL},
    {"sandbox.pids", "256", "256", NULL},
    {"sandbox.pids", "3", NULL, "between 4 and 32768"},
    {"sandbox.pids", "+5", NULL, "an integer"},
    {"sandbox.pids", " 5", NULL, "an integer"},
    {"sandbox.pids", "0x10", NULL, "an integer"},
    {"sandbox.pids", "5.0", NULL, "an integer"},
    {"sandbox.pids", "99999999999999999999", NULL, "an integer"},
    {"agent_sandbox.enabled", "1", "true", NULL},
    {"agent_sandbox.enabled", "false", "false", NULL},
    {"agent_sandbox.enabled", "yes", NULL, "true or false"},
    {"sandbox.engine", "podman", "podman", NULL},
    {"sandbox.engine", "Podman", NULL, "one of: auto, podman"},
    {"sandbox.image", "localhost/agentnode@sha256:" HEX64,
	"localhost/agentnode@sha256:" HEX64, NULL},
    {"sandbox.image", "localhost/agentnode:latest", NULL, "name@sha256:"},
    {"sandbox.image", "localhost/agentnode@sha256:" HEX64 "0", NULL, "64"},
    {"sandbox.image", "--privileged@sha256:" HEX64, NULL, "name@sha256:"},
    {"sandbox.image", "a b@sha256:" HEX64, NULL, "name@sha256:"},
    {"sandbox.overrides", "no_landlock", "no_landlock", NULL},
    {"sandbox.overrides", "", "", NULL},
    {"sandbox.overrides", "no_seccomp", NULL, "not one of"},
    {"egress.allow", "API.example.com., *.example.org:8443",
	"api.example.com:443,*.example.org:8443", NULL},
    {"egress.allow", "api.example.com,api.example.com:443",
	"api.example.com:443", NULL},
    {"egress.allow", "[\"tcp://10.1.2.0/24:5432\"]", "tcp://10.1.2.0/24:5432",
	NULL},
    {"egress.allow",
	"b\xc3\xbc"
	"cher.example",
	"xn--bcher-kva.example:443", NULL},
    {"egress.allow",
	"*.b\xc3\xbc"
	"cher.example:8443",
	"*.xn--bcher-kva.example:8443", NULL},
    {"egress.allow", "localhost", NULL, "localhost"},
    {"egress.allow", "intranet", NULL, "label"},
    {"egress.allow", "https://api.example.com", NULL, "https://"},
    {"egress.allow", "api.example.com/path", NULL, "path"},
    {"egress.allow", "*.com", NULL, "*.com"},
    {"egress.allow", "*.github.io", NULL, "github.io"},
    {"egress.allow", "a..b.com", NULL, "a..b.com"},
    {"egress.allow", "api.example.com,,x.example.com", NULL, "''"},
    {"egress.allow", "[1]", NULL, "a list"},
    {"egress.allow", "[\"a.example.com\"", NULL, "line 1"},
    {"egress.deny", "bad.example.com", "bad.example.com", NULL},
    {"egress.ech_allow", "Example.COM", "example.com", NULL},
    {"egress.ech_allow", "10.0.0.1", NULL, "10.0.0.1"},
    {"egress.extra_ranges", "{\"Db.Corp.example\":[\"10.1.2.0/24\"]}",
	"{\"db.corp.example\":[\"10.1.2.0/24\"]}", NULL},
    {"egress.extra_ranges", "{\"db.corp.example\":[\"10.1.2.3/24\"]}", NULL,
	"host bits"},
    {"egress.extra_ranges", "{\"*\":[\"10.0.0.0/8\"]}", NULL, "*"},
    {"egress.extra_ranges", "{\"a.example\":\"10.0.0.0/8\"}", NULL, "a list"},
    {"egress.extra_ranges", "{\"a\":1,\"a\":2}", NULL, "duplicate"},
    {"egress.upstream_proxy", "proxy.corp.example:3128",
	"proxy.corp.example:3128", NULL},
    {"egress.upstream_proxy", "[2001:db8::1]:3128", "[2001:db8::1]:3128", NULL},
    {"egress.upstream_proxy", "proxy.corp.example", NULL, "host:port"},
    {"egress.upstream_proxy", "http://proxy:1", NULL, "host:port"},
    {"egress.upstream_proxy", "proxy.corp.example:0", NULL, "host:port"},
    {"egress.upstream_proxy", "proxy.corp.example:65536", NULL, "host:port"},
    {"egress.resolver", "192.0.2.1:53,[2001:db8::1]:53",
	"192.0.2.1:53,[2001:db8::1]:53", NULL},
    {"egress.resolver", "dns.example.com:53", NULL, "address:port"},
    {"egress.resolver", "192.0.2.1,", NULL, "address:port"},
    {"build.ca_bundle", "/etc/ssl/corp.pem", "/etc/ssl/corp.pem", NULL},
    {"build.ca_bundle", "corp.pem", NULL, "absolute"},
    {"build.ca_bundle", "/etc/../x", NULL, "absolute"},
    {"build.npm_registry", "https://registry.example.com/npm/",
	"https://registry.example.com/npm/", NULL},
    {"build.npm_registry", "http://127.0.0.1:4873/", "http://127.0.0.1:4873/",
	NULL},
    {"build.npm_registry", "registry.example.com", NULL, "https://"},
    {"build.npm_registry", "https://u:p@registry.example.com/", NULL,
	"without user"},
    {"build.npm_registry", "https://registry.example.com", NULL, "'/'"},
    {"build.npm_registry", "file:///x", NULL, "https://"},
    {"trust.minimum_trust_level", "curated", "curated", NULL},
    {"trust.minimum_trust_level", "gold", NULL, "one of"},
    {"llm.day.cost", "2.50", "2.5", NULL},
    {"llm.day.cost", "3", "3", NULL},
    {"llm.day.cost", "0", "0", NULL},
    {"llm.day.cost", "0.000001", "0.000001", NULL},
    {"llm.day.cost", "1000000", "1000000", NULL},
    {"llm.day.cost", "1000000.000001", NULL, "dollars such as 2.50"},
    {"llm.day.cost", "0.0000001", NULL, "dollars such as 2.50"},
    {"llm.day.cost", "-1", NULL, "dollars such as 2.50"},
    {"llm.day.cost", "1e3", NULL, "dollars such as 2.50"},
    {"llm.day.cost", "1.", NULL, "dollars such as 2.50"},
    {"llm.day.cost", ".5", NULL, "dollars such as 2.50"},
    {"llm.day.cost", "$1", NULL, "dollars such as 2.50"},
    {"llm.day.cost", "1,5", NULL, "dollars such as 2.50"},
    {"llm.day.cost", "", NULL, "dollars such as 2.50"},
    {"llm.day.tokens", "0", "0", NULL},
    {"llm.day.tokens", "-1", NULL, "between 0 and"},
    {"llm.opt_in", "remote_urls,stored", "remote_urls,stored", NULL},
    {"llm.opt_in", "everything", NULL, "not one of"},
    {"agent_sandbox.llm.allowed_models", "gpt-4o-mini,openai/*,ollama/a/b:8b",
	"gpt-4o-mini,openai/*,ollama/a/b:8b", NULL},
    {"agent_sandbox.llm.allowed_models", "", "", NULL},
    {"agent_sandbox.llm.allowed_models", "*", NULL, "provider/*"},
    {"agent_sandbox.llm.allowed_models", "gpt-*", NULL, "provider/*"},
    {"agent_sandbox.llm.allowed_models", "openai/", NULL, "provider/*"},
    {"agent_sandbox.llm.allowed_models", "/gpt", NULL, "provider/*"},
    {"agent_sandbox.llm.allowed_models", "OpenAI/gpt", NULL, "provider/*"},
    {"agent_sandbox.llm.allowed_models", "[\"a b\"]", NULL, "provider/*"},
    {"llm.default_provider", "openai", "openai", NULL},
    {"llm.default_provider", "../openai", NULL, "provider's name"},
    {"llm.default_provider", "-x", NULL, "provider's name"},
    {"llm.prices", "{\"openai/gpt-4o-mini\":{\"input\":0.15,\"output\":0.60}}",
	"{\"openai/gpt-4o-mini\":{\"input\":\"0.15\",\"output\":\"0.6\"}}",
	NULL},
    {"llm.prices", "{\"o/m\":{\"input\":\"0.075\",\"output\":1000}}",
	"{\"o/m\":{\"input\":\"0.075\",\"output\":\"1000\"}}", NULL},
    {"llm.prices", "{\"o/m\":{\"input\":1}}", NULL, "output: must be dollars"},
    {"llm.prices", "{\"o/m\":{\"input\":1,\"output\":1001}}", NULL,
	"at most 1000"},
    {"llm.prices", "{\"o/m\":{\"input\":1,\"output\":1e-7}}", NULL,
	"output: must be dollars"},
    {"llm.prices", "{\"o/m\":{\"input\":1,\"output\":1,\"cached\":1}}", NULL,
	"cached is not known"},
    {"llm.prices", "{\"m\":{\"input\":1,\"output\":1}}", NULL,
	"must be provider/model"},
    {"llm.prices", "{\"o/*\":{\"input\":1,\"output\":1}}", NULL,
	"must be provider/model"},
    {"llm.upstream",
	"{\"local\":{\"host\":\"LLM.corp.example\",\"port\":8443,"
	"\"cidrs\":[\"10.1.2.0/24\"],\"ca\":\"/etc/ca.pem\",\"tls\":true}}",
	"{\"local\":{\"ca\":\"/etc/ca.pem\",\"cidrs\":[\"10.1.2.0/24\"],"
	"\"host\":\"llm.corp.example\",\"port\":8443,\"tls\":true}}",
	NULL},
    {"llm.upstream", "{\"ollama\":{\"host\":\"127.0.0.1\"}}",
	"{\"ollama\":{\"host\":\"127.0.0.1\"}}", NULL},
    {"llm.upstream", "{\"o\":{\"host\":\"https://x.example\"}}", NULL,
	"o.host"},
    {"llm.upstream", "{\"o\":{\"port\":0}}", NULL, "o.port"},
    {"llm.upstream", "{\"o\":{\"cidrs\":[\"10.1.2.3/24\"]}}", NULL,
	"host bits"},
    {"llm.upstream", "{\"o\":{\"cidrs\":\"10.0.0.0/8\"}}", NULL, "o.cidrs"},
    {"llm.upstream", "{\"o\":{\"ca\":\"ca.pem\"}}", NULL, "absolute"},
    {"llm.upstream", "{\"o\":{\"key\":\"x\"}}", NULL, "key is not known"},
    {"llm.upstream", "{\"O\":{}}", NULL, "provider's name"},
};

static void
test_config_value_typed(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(test_config_value_rows) /
			    sizeof(test_config_value_rows[0]);
	     i++) {
		const struct test_config_value_row *row =
		    &test_config_value_rows[i];
		const struct config_key *key = config_table_find(row->key);
		struct json_fault fault = {""};
		json_t *value = NULL;
		enum result result;
		char *text;

		assert_non_null(key);
		result = config_value_parse(
		    key, row->typed, row->key, &value, &fault);
		if ((result == RESULT_OK) != (row->kept != NULL))
			fail_msg("%s = '%s': %s %s", row->key, row->typed,
			    result_text(result), fault.text);
		if (row->kept == NULL) {
			if (strstr(fault.text, row->fault) == NULL ||
			    strstr(fault.text, row->key) == NULL)
				fail_msg("%s = '%s': '%s' lacks '%s'", row->key,
				    row->typed, fault.text, row->fault);
			assert_null(value);
			continue;
		}
		text = config_value_print(key, value);
		assert_string_equal(text, row->kept);
		free(text);
		json_decref(value);
	}
}

/* What is printed can be typed again and is the same; every default too. */
static void
test_config_value_defaults(void **state)
{
	const struct config_key *key;
	struct json_fault fault = {""};
	json_t *value, *again;
	char *text;

	(void)state;
	for (key = config_table; key->name != NULL; key++) {
		assert_non_null(key->sentence);
		if (key->default_text == NULL)
			continue;
		assert_int_equal(config_value_parse(key, key->default_text,
				     key->name, &value, &fault),
		    RESULT_OK);
		text = config_value_print(key, value);
		assert_int_equal(
		    config_value_parse(key, text, key->name, &again, &fault),
		    RESULT_OK);
		assert_true(json_equal(value, again));
		json_decref(again);
		again = config_value_stored(key, value);
		json_decref(value);
		assert_int_equal(
		    config_value_check(key, again, key->name, &value, &fault),
		    RESULT_OK);
		json_decref(again);
		json_decref(value);
		free(text);
	}
}

struct test_config_value_file {
	const char *text, *fault;
};

static void
test_config_value_files(void **state)
{
	static const struct test_config_value_file rows[] = {
	    {"{}", NULL},
	    {"{\"sandbox\":{\"memory\":\"1g\",\"pids\":12}}", NULL},
	    {"{\"sandbox\":{\"memory\":16777216}}", NULL},
	    {"", "line 1"},
	    {"{\n \"sandbox\": {,}}", "line 2"},
	    {"[]", "one JSON object"},
	    {"{\"sandbox\":{\"memory\":\"1g\",\"memory\":\"2g\"}}",
		"duplicate"},
	    {"{\"sandbox\":{\"memry\":\"1g\"}}",
		"unknown key 'sandbox.memry'; the nearest is "
		"'sandbox.memory'"},
	    {"{\"sandbox.memory\":\"1g\"}",
		"'sandbox.memory' is one key: write an object in an "
		"object, {\"sandbox\": {...}}"},
	    {"{\"sandbox\":1}", "sandbox: must be an object"},
	    {"{\"sandbox\":{\"memory\":1.5}}", "sandbox.memory"},
	    {"{\"sandbox\":{\"memory\":null}}", "sandbox.memory"},
	    {"{\"sandbox\":{\"pids\":\"12\"}}", "sandbox.pids"},
	    {"{\"sandbox\":{\"pids\":true}}", "sandbox.pids"},
	    {"{\"sandbox\":{\"memory\":{\"x\":1}}}", "sandbox.memory"},
	    {"{\"egress\":{\"allow\":\"a.example.com\"}}", "egress.allow"},
	    {"{\"egress\":{\"allow\":[\"a.example.com\",7]}}", "egress.allow"},
	    {"{\"x\":[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]}", "deeper"},
	    {"{\"sandbox\":{\"image\":\"a\\u0000b\"}}", "line 1"},
	    {"{\"sandbox\":{}} x", "line 1"},
	    {"{\"llm\":{\"day\":{\"cost\":2.5,\"tokens\":10}}}", NULL},
	    {"{\"llm\":{\"day\":{\"cost\":\"2.50\"}}}", NULL},
	    {"{\"llm\":{\"day\":{\"cost\":0.1234567}}}", "llm.day.cost"},
	    {"{\"llm\":{\"day\":{\"cost\":1e300}}}", "llm.day.cost"},
	    {"{\"llm\":{\"day\":{\"cost\":-0.5}}}", "llm.day.cost"},
	    {"{\"llm\":{\"day\":{\"cost\":true}}}", "llm.day.cost"},
	    {"{\"llm\":{\"day\":{\"dollars\":1}}}", "llm.day.dollars"},
	};
	json_t *values[128];
	size_t i, j;

	(void)state;
	assert_true(config_tree_count() <= 128);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json_fault fault = {""};
		enum result result = config_tree_parse("F", rows[i].text,
		    strlen(rows[i].text), values, config_tree_count(), &fault);

		if ((result == RESULT_OK) != (rows[i].fault == NULL))
			fail_msg("%s: %s", rows[i].text, fault.text);
		if (rows[i].fault != NULL &&
		    (strstr(fault.text, rows[i].fault) == NULL ||
			strncmp(fault.text, "F: ", 3) != 0))
			fail_msg("'%s' lacks '%s'", fault.text, rows[i].fault);
		for (j = 0; j < config_tree_count(); j++)
			json_decref(values[j]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_config_value_typed),
	    cmocka_unit_test(test_config_value_defaults),
	    cmocka_unit_test(test_config_value_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
