/* SPDX-License-Identifier: Apache-2.0 */
/* egress-proxy/proxy_config: defaults, ranges, and faults with their path. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "egress-proxy/proxy_config.h"

static void
test_proxy_config_load(
    const char *text, struct proxy_config *config, struct json_fault *fault)
{
	json_t *options = NULL;

	memset(fault, 0, sizeof(*fault));
	assert_int_equal(
	    json_field_parse(text, strlen(text), &options, fault), RESULT_OK);
	proxy_config_read(options, config, fault);
	json_decref(options);
}

static void
test_proxy_config_defaults(void **state)
{
	struct proxy_config config;
	struct json_fault fault;

	(void)state;
	test_proxy_config_load(
	    "{\"resolver\":\"192.0.2.1:53\"}", &config, &fault);
	assert_string_equal(fault.text, "");
	assert_int_equal(config.max_tunnels, 256);
	assert_int_equal(config.head_timeout_ms, 10000);
	assert_int_equal(config.idle_timeout_s, 300);
	assert_int_equal(config.total_timeout_s, 28800);
	assert_int_equal(config.log_level, LOG_INFO_LEVEL);
	assert_int_equal(config.upstream.port, 0);
	assert_true(config.splice);
	assert_false(config.no_landlock);
}

static void
test_proxy_config_parents(void **state)
{
	struct proxy_config config;
	struct json_fault fault;

	(void)state;
	test_proxy_config_load("{\"resolver\":\"x\",\"upstream_proxy\":"
			       "\"proxy.corp.example:3128\"}",
	    &config, &fault);
	assert_string_equal(fault.text, "");
	assert_int_equal(config.upstream.port, 3128);
	assert_string_equal(config.upstream.name.name, "proxy.corp.example");
	test_proxy_config_load("{\"resolver\":\"x\",\"upstream_proxy\":"
			       "\"[2001:db8::1]:80\"}",
	    &config, &fault);
	assert_string_equal(fault.text, "");
	assert_int_equal(config.upstream.address.family, 6);
	test_proxy_config_load("{\"resolver\":\"x\",\"upstream_proxy\":"
			       "\"10.0.0.1:80\"}",
	    &config, &fault);
	assert_string_equal(fault.text, "");
	assert_int_equal(config.upstream.address.family, 4);
}

static void
test_proxy_config_faults(void **state)
{
	/* JSON, and a word the fault must hold */
	static const char *const rows[][2] = {
	    {"{}", "resolver"},
	    {"{\"resolver\":\"x\",\"max_tunnels\":0}", "max_tunnels"},
	    {"{\"resolver\":\"x\",\"max_tunnels\":\"1\"}", "max_tunnels"},
	    {"{\"resolver\":\"x\",\"idle_timeout_s\":1e3}", "idle_timeout_s"},
	    {"{\"resolver\":\"x\",\"surprise\":1}", "surprise"},
	    {"{\"resolver\":\"x\",\"log_level\":\"loud\"}", "log_level"},
	    {"{\"resolver\":\"x\",\"upstream_proxy\":\"x\"}", "upstream_proxy"},
	    {"{\"resolver\":\"x\",\"upstream_proxy\":\"x:0\"}",
		"upstream_proxy"},
	    {"{\"resolver\":\"x\",\"upstream_proxy\":\"a b:80\"}",
		"upstream_proxy"},
	    {"{\"resolver\":\"x\",\"upstream_proxy\":\"[10.0.0.1]:80\"}",
		"upstream_proxy"},
	    {"{\"resolver\":\"x\",\"no_landlock\":1}", "no_landlock"},
	    {"{\"resolver\":\"x\",\"congestion\":\"averyverylongname\"}",
		"congestion"},
	};
	struct proxy_config config;
	struct json_fault fault;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		test_proxy_config_load(rows[i][0], &config, &fault);
		if (strstr(fault.text, rows[i][1]) == NULL)
			fail_msg("%s: \"%s\"", rows[i][0], fault.text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_proxy_config_defaults),
	    cmocka_unit_test(test_proxy_config_parents),
	    cmocka_unit_test(test_proxy_config_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
