/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's profile and the table are one list: each base row is one
 * rule of the profile, in order, and there is nothing else in it. Guard
 * rows are init's alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "config/seccomp/seccomp_table.h"

#define PROFILE AGENTNODE_BUILD_DIR "/share/agentnode/seccomp/agentnode.json"

static int
load(void **state)
{
	json_error_t error;
	json_t *profile =
	    json_load_file(PROFILE, JSON_REJECT_DUPLICATES, &error);

	if (profile == NULL)
		print_error("%s: %s\n", PROFILE, error.text);
	*state = profile;
	return profile == NULL ? -1 : 0;
}

static int
unload(void **state)
{
	json_decref(*state);
	return 0;
}

static const char *
text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	assert_non_null(text);
	return text;
}

static void
compare_names(const json_t *names, const char *want)
{
	char *joined = calloc(1, strlen(want) + 128);
	const json_t *name;
	size_t i;

	assert_non_null(joined);
	json_array_foreach(names, i, name)
	{
		assert_true(strlen(joined) < strlen(want));
		if (i > 0)
			strcat(joined, " ");
		strncat(joined, json_string_value(name), 64);
	}
	assert_string_equal(joined, want);
	free(joined);
}

static void
compare_condition(const json_t *arg, const struct seccomp_condition *want)
{
	static const char *const operators[] = {
	    [SECCOMP_COMPARE_EQUAL] = "SCMP_CMP_EQ",
	    [SECCOMP_COMPARE_DIFFERS] = "SCMP_CMP_NE",
	    [SECCOMP_COMPARE_AT_LEAST] = "SCMP_CMP_GE",
	    [SECCOMP_COMPARE_NO_BIT] = "SCMP_CMP_MASKED_EQ"};

	/* LOW32 only refuses, so it is never in the base. */
	assert_true(want->compare != SECCOMP_COMPARE_LOW32);
	assert_int_equal(
	    json_integer_value(json_object_get(arg, "index")), want->arg);
	assert_int_equal(
	    json_integer_value(json_object_get(arg, "value")), want->value);
	assert_int_equal(
	    json_integer_value(json_object_get(arg, "valueTwo")), 0);
	assert_string_equal(text_of(arg, "op"), operators[want->compare]);
}

static void
compare_rule(const json_t *rule, const struct seccomp_rule *want)
{
	const json_t *args = json_object_get(rule, "args");
	size_t count = 0;

	compare_names(json_object_get(rule, "names"), want->names);
	assert_string_equal(text_of(rule, "action"),
	    want->refuse_errno == 0 ? "SCMP_ACT_ALLOW" : "SCMP_ACT_ERRNO");
	assert_int_equal(json_integer_value(json_object_get(rule, "errnoRet")),
	    want->refuse_errno);
	while (count < SECCOMP_TABLE_ARGS_MAX &&
	       want->conditions[count].compare != SECCOMP_COMPARE_NONE) {
		compare_condition(
		    json_array_get(args, count), &want->conditions[count]);
		count++;
	}
	assert_int_equal(json_array_size(args), count);
}

static void
test_rules(void **state)
{
	const json_t *rules = json_object_get(*state, "syscalls");
	size_t at = 0;

	for (size_t i = 0; i < seccomp_table_count; i++) {
		if (seccomp_table[i].part == SECCOMP_PART_BASE)
			compare_rule(
			    json_array_get(rules, at++), &seccomp_table[i]);
	}
	assert_int_equal(json_array_size(rules), at);
}

static void
test_default(void **state)
{
	assert_string_equal(text_of(*state, "defaultAction"), "SCMP_ACT_ERRNO");
	assert_int_equal(
	    json_integer_value(json_object_get(*state, "defaultErrnoRet")),
	    SECCOMP_TABLE_DEFAULT_ERRNO);
}

/* A second set of numbers would need a second look at every row. */
static void
test_architectures(void **state)
{
	const json_t *map = json_object_get(*state, "archMap"), *entry;
	size_t i;

	assert_int_equal(json_array_size(map), 2);
	json_array_foreach(map, i, entry) assert_int_equal(
	    json_array_size(json_object_get(entry, "subArchitectures")), 0);
}

/* A guard row must refuse, and its base must allow: else it says nothing. */
static void
test_guard(void **state)
{
	unsigned guards = 0;

	(void)state;
	for (size_t i = 0; i < seccomp_table_count; i++) {
		if (seccomp_table[i].part != SECCOMP_PART_GUARD)
			continue;
		assert_int_not_equal(seccomp_table[i].refuse_errno, 0);
		assert_int_equal(seccomp_table[i].conditions[0].compare,
		    SECCOMP_COMPARE_LOW32);
		guards++;
	}
	assert_true(guards >= 8);
}

static bool
has_word(const char *names, const char *word)
{
	size_t len = strlen(word);

	for (; *names != '\0'; names += strcspn(names, " ")) {
		names += *names == ' ';
		if (strncmp(names, word, len) == 0 &&
		    (names[len] == ' ' || names[len] == '\0'))
			return true;
	}
	return false;
}

/* Every call of the base that takes a mode is in the owner part. */
static void
test_owner(void **state)
{
	static const char *const calls[] = {"chmod", "fchmod", "fchmodat",
	    "open", "openat", "openat2", "creat", "mknod", "mknodat"};
	unsigned found = 0;

	(void)state;
	for (size_t n = 0; n < sizeof(calls) / sizeof(calls[0]); n++) {
		for (size_t i = 0; i < seccomp_table_count; i++) {
			if (seccomp_table[i].part != SECCOMP_PART_OWNER)
				continue;
			assert_int_not_equal(seccomp_table[i].refuse_errno, 0);
			if (!has_word(seccomp_table[i].names, calls[n]))
				continue;
			found++;
			break;
		}
	}
	assert_int_equal(found, sizeof(calls) / sizeof(calls[0]));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_owner),
	    cmocka_unit_test(test_rules),
	    cmocka_unit_test(test_default),
	    cmocka_unit_test(test_architectures),
	    cmocka_unit_test(test_guard),
	};

	return cmocka_run_group_tests_name(
	    "seccomp_profile", tests, load, unload);
}
