/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker's lists, its `info`, and the words that differ between the two
 * clients.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/engine/docker_info.h"
#include "supervisor/engine/docker_list.h"
#include "supervisor/engine/engine_words.h"

static void
test_docker_list_lines(void **state)
{
	static const char *const bad[] = {"a\n", "a\t\"b c\"\n",
	    "-a\t\"b\"\t\"\"\n", "\t\"b\"\t\"\"\n", "a\t\"b\"\t\"c\"\t\"d\"\n",
	    "a b\t\"c\"\t\"d\"\n", "a\t\"b\"\t\nc\n", "a,b\t\"c\"\t\"\"\n"};
	/* Nobody's whom we know: left alone. */
	static const char *const odd[] = {"a\tb\t\"c\"\n", "a\t\"b\"\tc d\n",
	    "a\t\"b\t\"c\"\n", "a\t1\t\"c\"\n", "a\t\"\\u0000b\"\t\"c\"\n",
	    "a\t\"b\"\"d\"\t\"c\"\n", "a\t\t\n"};
	json_t *list = NULL, *one;

	(void)state;
	assert_int_equal(
	    docker_list_parse("x-1\t\"0a\"\t\"0-f\"\ny.2\t\"\"\t\"\"\n"
			      "z\t\"a\\nvictim\\t0\\t0\"\t\"0\\n\"\n",
		"l", &list),
	    RESULT_OK);
	assert_int_equal(json_array_size(list), 3);
	one = json_object_get(json_array_get(list, 2), "Labels");
	assert_string_equal(
	    json_string_value(json_object_get(one, "l")), "a\nvictim\t0\t0");
	assert_string_equal(
	    json_string_value(json_object_get(one, ENGINE_FILES_OWNER)), "0\n");
	one = json_array_get(list, 0);
	assert_string_equal(
	    json_string_value(json_object_get(one, "Name")), "x-1");
	assert_string_equal(
	    json_string_value(json_array_get(json_object_get(one, "Names"), 0)),
	    "x-1");
	assert_string_equal(json_string_value(json_object_get(
				json_object_get(one, "Labels"), "l")),
	    "0a");
	assert_string_equal(
	    json_string_value(json_object_get(
		json_object_get(one, "Labels"), ENGINE_FILES_OWNER)),
	    "0-f");
	json_decref(list);
	assert_int_equal(docker_list_parse("", "l", &list), RESULT_OK);
	assert_int_equal(json_array_size(list), 0);
	json_decref(list);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		assert_int_equal(
		    docker_list_parse(odd[i], "l", &list), RESULT_OK);
		assert_int_equal(json_array_size(list), 0);
		json_decref(list);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (docker_list_parse(bad[i], "l", &list) != RESULT_BAD)
			fail_msg("understood: %s", bad[i]);
	}
}

static void
test_docker_list_info(void **state)
{
	static const struct {
		const char *security, *says; /* NULL: taken */
	} rows[] = {{"[\"name=seccomp,profile=default\"]", NULL},
	    {"[\"name=seccomp\",\"name=rootless\"]", "rootless"},
	    {"[\"name=userns\"]", "userns-remap"}};
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct engine_memory memory = {.known = false};
		struct json_fault fault = {""};
		json_t *info;
		enum result result;

		(void)snprintf(text, sizeof(text),
		    "{\"ServerVersion\":\"20.10.24\",\"DockerRootDir\":"
		    "\"/var/lib/docker\",\"Driver\":\"overlay2\","
		    "\"DefaultRuntime\":\"runc\",\"CgroupDriver\":\"cgroupfs\","
		    "\"CgroupVersion\":\"1\",\"SecurityOptions\":%s}",
		    rows[i].security);
		info = json_loads(text, 0, NULL);
		assert_non_null(info);
		result = docker_info_take(&memory, info, &fault);
		json_decref(info);
		if (rows[i].says == NULL) {
			assert_int_equal(result, RESULT_OK);
			assert_string_equal(
			    memory.volume_path, "/var/lib/docker/volumes");
			continue;
		}
		assert_int_equal(result, RESULT_UNSUPPORTED);
		assert_non_null(strstr(fault.text, rows[i].says));
	}
}

static void
test_docker_list_silent(void **state)
{
	struct engine_memory memory = {.known = false};
	struct json_fault fault = {""};
	json_t *info =
	    json_loads("{\"ServerErrors\":[\"Cannot connect\"]}", 0, NULL);

	(void)state;
	assert_int_equal(
	    docker_info_take(&memory, info, &fault), RESULT_UNSUPPORTED);
	assert_non_null(strstr(fault.text, "Cannot connect"));
	json_decref(info);
}

static void
test_docker_list_words(void **state)
{
	struct engine_memory podman = {.client = "/p"};
	struct engine_memory docker = {
	    .client = "/d", .kind = ENGINE_MEMORY_DOCKER};
	struct engine_call_end nothing = {.exit_code = 0, .output_len = 0};
	struct engine_call_end one = {.exit_code = 1};
	struct engine_words words;

	(void)state;
	engine_words_remove(&podman, "x", &words);
	assert_string_equal(words.argv[3], "--ignore");
	assert_string_equal(words.argv[words.count - 1], "x");
	engine_words_remove(&docker, "x", &words);
	assert_string_equal(words.argv[3], "--");
	assert_string_equal(words.argv[4], "x");
	assert_null(words.argv[5]);
	engine_words_ask(&docker, "container", "x", &words);
	assert_string_equal(words.argv[words.count - 1], "--filter=name=^/?x$");
	/* A daemon that does not answer has not said that it is gone. */
	assert_true(engine_words_is_gone(&docker, &nothing));
	assert_false(engine_words_is_gone(&docker, &one));
	assert_true(engine_words_is_gone(&podman, &one));
	assert_false(engine_words_is_gone(&podman, &nothing));
	for (size_t i = 0; i < 2 * ENGINE_WORDS_MAX; i++)
		engine_words_add(&words, "more");
	assert_null(words.argv[ENGINE_WORDS_MAX - 1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_docker_list_lines),
	    cmocka_unit_test(test_docker_list_info),
	    cmocka_unit_test(test_docker_list_silent),
	    cmocka_unit_test(test_docker_list_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
