/* SPDX-License-Identifier: Apache-2.0 */
/* llm-key's options: defaults, what a provider becomes, faults by path. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "llm-broker/key/key_config.h"

#define HEAD "{\"resolver\":\"192.0.2.1:53\",\"ca_fd\":1,\"providers\":["
#define KEY "\"key\":{\"header\":\"Authorization\",\"format\":\"Bearer {key}\"}"

static struct key_config *
test_key_config_load(const char *text, struct json_fault *fault)
{
	struct key_config *config = calloc(1, sizeof(*config));
	json_t *options = NULL;

	assert_non_null(config);
	memset(fault, 0, sizeof(*fault));
	assert_int_equal(
	    json_field_parse(text, strlen(text), &options, fault), RESULT_OK);
	key_config_read(options, config, fault);
	json_decref(options);
	return config;
}

static void
test_key_config_free(struct key_config *config)
{
	key_config_clear(config);
	free(config);
}

static void
test_key_config_defaults(void **state)
{
	struct json_fault fault;
	struct key_config *config = test_key_config_load(HEAD
	    "{\"name\":\"openai\",\"host\":\"API.openai.com.\"," KEY "}]}",
	    &fault);
	const struct key_config_provider *provider = &config->providers[0];

	(void)state;
	assert_string_equal(fault.text, "");
	assert_int_equal(config->provider_count, 1);
	assert_string_equal(provider->name, "openai");
	assert_string_equal(provider->host, "api.openai.com");
	assert_string_equal(provider->authority, "api.openai.com");
	assert_int_equal(provider->endpoint.port, 443);
	assert_true(provider->tls);
	assert_true(provider->has_key);
	assert_string_equal(provider->header, "Authorization");
	assert_string_equal(provider->before, "Bearer ");
	assert_string_equal(provider->after, "");
	assert_int_equal(provider->ca_index, -1);
	assert_int_equal(config->ca_index, 1);
	assert_int_equal(config->connect_timeout_ms, 10000);
	assert_int_equal(config->breaker_ms, 60000);
	assert_int_equal(config->max_connections, 1024);
	assert_int_equal(config->upstream_proxy.port, 0);
	test_key_config_free(config);
}

static void
test_key_config_hosts(void **state)
{
	static const char *const rows[][3] = {
	    {"\"host\":\"a.example\",\"port\":8443", "a.example",
		"a.example:8443"},
	    {"\"host\":\"10.0.0.7\",\"port\":80", "10.0.0.7", "10.0.0.7:80"},
	    {"\"host\":\"[2001:db8::1]\"", "2001:db8::1", "[2001:db8::1]"},
	    {"\"host\":\"[2001:db8::1]\",\"port\":1", "2001:db8::1",
		"[2001:db8::1]:1"},
	    {"\"host\":\"2001:db8::1\",\"port\":1", "2001:db8::1",
		"[2001:db8::1]:1"},
	    {"\"host\":\"ollama\"", "ollama", "ollama"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[512];
		struct json_fault fault;
		struct key_config *config;

		(void)snprintf(text, sizeof(text),
		    HEAD "{\"name\":\"p\",%s," KEY "}]}", rows[i][0]);
		config = test_key_config_load(text, &fault);
		assert_string_equal(fault.text, "");
		assert_string_equal(config->providers[0].host, rows[i][1]);
		assert_string_equal(config->providers[0].authority, rows[i][2]);
		test_key_config_free(config);
	}
}

/* JSON of one provider, and a word the fault must hold. */
static void
i05_key_config_provider_faults(void **state)
{
	static const char *const rows[][2] = {
	    {"{}", "name"},
	    {"5", "providers[0] must be an object"},
	    {"{\"name\":\"p\"," KEY "}", "host"},
	    {"{\"name\":\"p\",\"host\":\"a.example\"}", "key"},
	    {"{\"name\":\"p\",\"host\":\"a b\"," KEY "}", "host"},
	    {"{\"name\":\"p\",\"host\":\"2130706433\"," KEY "}", "host"},
	    {"{\"name\":\"p\",\"host\":\"https://a.example\"," KEY "}", "host"},
	    {"{\"name\":\"p\",\"host\":\"a.example\",\"port\":0," KEY "}",
		"port"},
	    {"{\"name\":\"p\",\"host\":\"a.example\",\"more\":1," KEY "}",
		"more"},
	    {"{\"name\":\"12345678901234567890123456789012\","
	     "\"host\":\"a.example\"," KEY "}",
		"name"},
	    {"{\"name\":\"p\",\"host\":\"a.example\",\"cidrs\":[\"10/8\"]," KEY
	     "}",
		"cidrs[0]"},
	    {"{\"name\":\"p\",\"host\":\"a.example\",\"cidrs\":[\"0.0.0.0/"
	     "0\"]," KEY "}",
		"cidrs[0]"},
	    {"{\"name\":\"p\",\"host\":\"a.example\",\"tls\":false," KEY "}",
		"tls"},
	    {"{\"name\":\"p\",\"host\":\"a.example\",\"tls\":false,"
	     "\"key\":null}",
		"tls"},
	    {"{\"name\":\"p\",\"host\":\"a.example\"," KEY
	     "},{\"name\":\"p\",\"host\":\"b.example\"," KEY "}",
		"providers[1].name"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[1024];
		struct json_fault fault;

		(void)snprintf(text, sizeof(text), HEAD "%s]}", rows[i][0]);
		test_key_config_free(test_key_config_load(text, &fault));
		if (strstr(fault.text, rows[i][1]) == NULL)
			fail_msg("%s: \"%s\" does not name %s", rows[i][0],
			    fault.text, rows[i][1]);
	}
}

/* What the key's own field may not be. */
static void
i02_key_config_key_faults(void **state)
{
	static const char *const rows[][2] = {
	    {"{\"header\":\"Host\",\"format\":\"{key}\"}", "header"},
	    {"{\"header\":\"content-length\",\"format\":\"{key}\"}", "header"},
	    {"{\"header\":\"Transfer-Encoding\",\"format\":\"{key}\"}",
		"header"},
	    {"{\"header\":\"A: b\\r\\nC\",\"format\":\"{key}\"}", "header"},
	    {"{\"header\":\"a_b\",\"format\":\"{key}\"}", "header"},
	    {"{\"header\":\"\",\"format\":\"{key}\"}", "header"},
	    {"{\"header\":\"A\",\"format\":\"Bearer\"}", "format"},
	    {"{\"header\":\"A\",\"format\":\"{key}{key}\"}", "format"},
	    {"{\"header\":\"A\",\"format\":\"{key} {x}\"}", "format"},
	    {"{\"header\":\"A\",\"format\":\"{key}\\r\\nB: c\"}", "format"},
	    {"{\"header\":\"A\",\"format\":\" {key}\"}", "format"},
	    {"{\"header\":\"A\"}", "format"},
	    {"{\"header\":\"A\",\"format\":\"{key}\",\"value\":\"x\"}",
		"value"},
	    {"\"sk-123\"", "key"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[512];
		struct json_fault fault;

		(void)snprintf(text, sizeof(text),
		    HEAD "{\"name\":\"p\",\"host\":\"a.example\",\"key\":%s}]}",
		    rows[i][0]);
		test_key_config_free(test_key_config_load(text, &fault));
		if (strstr(fault.text, rows[i][1]) == NULL)
			fail_msg("%s: \"%s\" does not name %s", rows[i][0],
			    fault.text, rows[i][1]);
	}
}

static void
i05_key_config_faults(void **state)
{
	static const char *const rows[][2] = {
	    {"{}", "resolver"},
	    {"{\"resolver\":\"x\"}", "providers"},
	    {"{\"resolver\":\"x\",\"providers\":[],\"more\":1}", "more"},
	    {"{\"resolver\":\"x\",\"providers\":[],\"max_idle\":-1}",
		"max_idle"},
	    {"{\"resolver\":\"x\",\"providers\":[],\"log_level\":\"all\"}",
		"log_level"},
	    {"{\"resolver\":\"x\",\"providers\":[],\"upstream_proxy\":\"a\"}",
		"upstream_proxy"},
	    {"{\"resolver\":\"x\",\"providers\":[],\"upstream_proxy\":"
	     "\"u:p@a:1\"}",
		"upstream_proxy"},
	    {"{\"resolver\":\"x\",\"own\":[\"1\"],\"ca_fd\":1,\"providers\":"
	     "[{\"name\":\"p\",\"host\":\"a.example\"," KEY "}]}",
		"own[0]"},
	    {"{\"resolver\":\"x\",\"providers\":"
	     "[{\"name\":\"p\",\"host\":\"a.example\"," KEY "}]}",
		"CA bundle"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json_fault fault;

		test_key_config_free(test_key_config_load(rows[i][0], &fault));
		if (strstr(fault.text, rows[i][1]) == NULL)
			fail_msg("%s: \"%s\" does not name %s", rows[i][0],
			    fault.text, rows[i][1]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_key_config_defaults),
	    cmocka_unit_test(test_key_config_hosts),
	    cmocka_unit_test(i05_key_config_provider_faults),
	    cmocka_unit_test(i02_key_config_key_faults),
	    cmocka_unit_test(i05_key_config_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
