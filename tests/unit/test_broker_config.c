/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llm-broker/broker_config: what is left out has its standard value, what
 * is unknown or out of range is refused with its place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "llm-broker/broker_config.h"

#define FILES AGENTNODE_SOURCE_DIR "/config/providers/"

static json_t *
test_broker_config_options(void)
{
	json_t *list = json_array();
	static const char *const files[] = {FILES "openai.json",
	    FILES "anthropic.json", FILES "examples/ollama.json"};

	for (size_t i = 0; i < 3; i++) {
		json_t *object = json_load_file(files[i], 0, NULL);

		assert_non_null(object);
		json_array_append_new(list, object);
	}
	return json_pack("{s:o}", "providers", list);
}

static void
test_broker_config_standard(void **state)
{
	json_t *options = test_broker_config_options();
	struct broker_config config;
	struct json_fault fault = {""};

	(void)state;
	broker_config_read(options, &config, &fault);
	assert_string_equal(fault.text, "");
	assert_string_equal(provider_name(config.providers[0]), "openai");
	assert_null(config.providers[3]);
	assert_false(config.keyless[0]);
	assert_false(config.keyless[1]);
	assert_true(config.keyless[2]);
	assert_int_equal(config.port, 4100);
	assert_int_equal(config.lanes, 1024);
	assert_int_equal(config.head_timeout_ms, 10000);
	assert_int_equal(config.log_level, LOG_INFO_LEVEL);
	assert_false(config.no_landlock);
	broker_config_clear(&config);
	json_decref(options);
}

static void
test_broker_config_faults(void **state)
{
	static const struct {
		const char *key, *value, *fault;
	} rows[] = {
	    {"port", "0", "options.port"},
	    {"port", "\"4100\"", "options.port"},
	    {"lanes", "1025", "options.lanes"},
	    {"log_level", "\"loud\"", "options.log_level"},
	    {"no_landlock", "1", "options.no_landlock"},
	    {"resolver", "\"192.0.2.1:53\"", "resolver"},
	    {"providers", "{}", "options.providers"},
	    {"providers", "[{}]", "options.providers[0]"},
	    {"providers", "[3]", "options.providers[0]"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *options = test_broker_config_options();
		struct broker_config config;
		struct json_fault fault = {""};

		json_object_set_new(options, rows[i].key,
		    json_loads(rows[i].value, JSON_DECODE_ANY, NULL));
		broker_config_read(options, &config, &fault);
		if (strstr(fault.text, rows[i].fault) == NULL)
			fail_msg("%s = %s: %s", rows[i].key, rows[i].value,
			    fault.text);
		broker_config_clear(&config);
		json_decref(options);
	}
}

static void
test_broker_config_twice(void **state)
{
	json_t *options = test_broker_config_options();
	json_t *list = json_object_get(options, "providers");
	struct broker_config config;
	struct json_fault fault = {""};

	(void)state;
	json_array_append(list, json_array_get(list, 0));
	broker_config_read(options, &config, &fault);
	assert_non_null(strstr(fault.text, "twice"));
	broker_config_clear(&config);
	json_decref(options);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_broker_config_standard),
	    cmocka_unit_test(test_broker_config_faults),
	    cmocka_unit_test(test_broker_config_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
