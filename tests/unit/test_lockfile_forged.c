/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every row of the lockfile's table of fields, forged: a sealed field that
 * is changed, removed, emptied, moved to another package or given another
 * type never verifies; one that is not sealed decides nothing; and the
 * digest over all notices entries that were added, removed or exchanged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/package/lockfile_field.h"
#include "supervisor/package/lockfile_hash.h"
#include "supervisor/package/lockfile_parse.h"

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEX46 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define PIN "{\"manager\":\"npm\",\"package\":\"a\",\"version\":"
#define SUM "\"artifact_hash\":\"sha256:" HEX64 "\"}"

/* Values of which any field of the table takes at least two. One that takes
 * fewer fails the test by its name: put values for it here. */
static const char *const test_lockfile_forged_values[] = {
    "\"sha256:" HEX64 "\"",
    "\"sha256:" HEX46 "\"",
    "\"toolpack\"",
    "\"agent\"",
    "\"node\"",
    "\"python\"",
    "\"1.0.0\"",
    "\"1.0.1\"",
    "\"agentnode-pack-a\"",
    "\"agentnode-pack-b\"",
    "\"/srv/a\"",
    "\"/srv/b\"",
    "\"module:function\"",
    "\"other:function\"",
    "\"curated\"",
    "\"verified\"",
    "\"host\"",
    "\"sandbox_volume\"",
    "true",
    "false",
    "[]",
    "[\"a\"]",
    "[\"a\",\"b\"]",
    "[\"node\",\"/pack/a.js\"]",
    "[\"python\",\"/pack/a.py\"]",
    "[{\"name\":\"A\",\"required\":true}]",
    "[{\"name\":\"B\",\"required\":true}]",
    "[{\"name\":\"a\",\"version\":\"1\",\"integrity\":\"sha512-a\"}]",
    "[{\"name\":\"a\",\"version\":\"2\",\"integrity\":\"sha512-a\"}]",
    "{\"network_level\":\"none\"}",
    "{\"network_level\":\"restricted\",\"allowed_domains\":[\"a.example\"]}",
    PIN "\"1.0.0\"}",
    PIN "\"1.0.1\"}",
    PIN "\"1.0.0\"," SUM,
    PIN "\"1.0.1\"," SUM,
    "{\"dir\":\"/srv/a\"}",
    "{\"dir\":\"/srv/b\"}",
    "{\"size\":1024}",
    "{\"size\":2048}",
    "{\"NAME\":\"a\"}",
    "{\"NAME\":\"b\"}",
};

#define TEST_LOCKFILE_FORGED_VALUES            \
	(sizeof(test_lockfile_forged_values) / \
	    sizeof(test_lockfile_forged_values[0]))

static json_t *
test_lockfile_forged_value(size_t i)
{
	json_t *value =
	    json_loads(test_lockfile_forged_values[i], JSON_DECODE_ANY, NULL);

	assert_non_null(value);
	return value;
}

static bool
test_lockfile_forged_fits(const char *name, json_t *value)
{
	json_t *entry = json_pack("{s:O}", name, value);
	struct json_fault fault = {""};

	lockfile_field_check(entry, "abc", &fault);
	json_decref(entry);
	return fault.text[0] == '\0';
}

/* Two different values that the field takes. */
static void
test_lockfile_forged_pair(
    const struct lockfile_field *field, json_t **one_r, json_t **other_r)
{
	*one_r = *other_r = NULL;
	for (size_t i = 0; i < TEST_LOCKFILE_FORGED_VALUES && *other_r == NULL;
	     i++) {
		json_t *value = test_lockfile_forged_value(i);

		if (!test_lockfile_forged_fits(field->name, value))
			json_decref(value);
		else if (*one_r == NULL)
			*one_r = value;
		else
			*other_r = value;
	}
	if (*other_r == NULL)
		fail_msg("%s: the test has no two values for it", field->name);
}

/* An entry with every field that is hashed since this version or before. */
static json_t *
test_lockfile_forged_entry(int version)
{
	const struct lockfile_field *field = lockfile_field_table;
	json_t *entry = json_object(), *one, *other;

	for (; field->name != NULL; field++) {
		if (field->version > version ||
		    strcmp(field->name, "_integrity") == 0)
			continue;
		test_lockfile_forged_pair(field, &one, &other);
		assert_int_equal(
		    json_object_set_new(entry, field->name, one), 0);
		json_decref(other);
	}
	assert_int_equal(lockfile_hash_seal_entry(entry), RESULT_OK);
	assert_int_equal(lockfile_hash_entry(entry), LOCKFILE_HASH_VERIFIED);
	return entry;
}

static void
test_lockfile_forged_expect(const char *name, const char *what,
    const json_t *entry, enum lockfile_hash_status status)
{
	if (lockfile_hash_entry(entry) != status)
		fail_msg("%s, %s: %s", name, what,
		    lockfile_hash_status_text(lockfile_hash_entry(entry)));
}

/* One field of a copy of the entry: changed, gone, null. */
static void
test_lockfile_forged_one(
    const json_t *entry, const struct lockfile_field *field)
{
	enum lockfile_hash_status status = field->version == 0
					       ? LOCKFILE_HASH_VERIFIED
					       : LOCKFILE_HASH_MISMATCH;
	json_t *copy = json_deep_copy(entry), *one, *other;
	char before[DIGEST_HEX + 1], after[DIGEST_HEX + 1];

	test_lockfile_forged_pair(field, &one, &other);
	assert_int_equal(lockfile_hash_consent("abc", copy, before), RESULT_OK);
	assert_int_equal(json_object_set(copy, field->name, other), 0);
	test_lockfile_forged_expect(field->name, "changed", copy, status);
	assert_int_equal(lockfile_hash_seal_entry(copy), RESULT_OK);
	test_lockfile_forged_expect(
	    field->name, "sealed again", copy, LOCKFILE_HASH_VERIFIED);
	assert_int_equal(lockfile_hash_consent("abc", copy, after), RESULT_OK);
	if ((strcmp(before, after) == 0) != (field->version == 0))
		fail_msg("%s: consent to another value", field->name);
	json_decref(copy);
	copy = json_deep_copy(entry);
	assert_int_equal(json_object_del(copy, field->name), 0);
	test_lockfile_forged_expect(field->name, "removed", copy, status);
	assert_int_equal(
	    json_object_set_new(copy, field->name, json_null()), 0);
	test_lockfile_forged_expect(field->name, "null", copy, status);
	json_decref(one);
	json_decref(other);
	json_decref(copy);
}

static void
test_lockfile_forged_every_field(void **state)
{
	const struct lockfile_field *field;
	json_t *entry;

	(void)state;
	for (int version = 1; version <= LOCKFILE_FIELD_VERSION_OURS;
	     version++) {
		entry = test_lockfile_forged_entry(version);
		for (field = lockfile_field_table; field->name != NULL; field++)
			if (field->version <= version &&
			    strcmp(field->name, "_integrity") != 0)
				test_lockfile_forged_one(entry, field);
		json_decref(entry);
	}
}

/* A field of a higher version beside an older seal is not covered by it. */
static void
test_lockfile_forged_added_field(void **state)
{
	const struct lockfile_field *field;
	json_t *entry, *one, *other;

	(void)state;
	for (int version = 1; version < LOCKFILE_FIELD_VERSION_OURS; version++)
		for (field = lockfile_field_table; field->name != NULL;
		     field++) {
			if (field->version <= version)
				continue;
			entry = test_lockfile_forged_entry(version);
			test_lockfile_forged_pair(field, &one, &other);
			json_object_set(entry, field->name, other);
			if (lockfile_hash_entry(entry) ==
			    LOCKFILE_HASH_VERIFIED)
				fail_msg("%s added to a seal of version %d",
				    field->name, version);
			json_decref(entry);
			json_decref(one);
			json_decref(other);
		}
}

static const char *
test_lockfile_forged_parse(const char *text, struct json_fault *fault)
{
	json_t *root = NULL;

	fault->text[0] = '\0';
	(void)lockfile_parse(
	    "agentnode.lock", text, strlen(text), &root, fault);
	json_decref(root);
	return fault->text;
}

/* A value of a type that no field has: refused with the path of the field,
 * sealed or not. */
static void
test_lockfile_forged_types(void **state)
{
	const struct lockfile_field *field = lockfile_field_table;
	struct json_fault fault;
	char text[256], path[128];

	(void)state;
	for (; field->name != NULL; field++) {
		if (field->kind == LOCKFILE_FIELD_ANY)
			continue;
		snprintf(text, sizeof(text),
		    "{\"lockfile_version\":\"0.1\",\"packages\":{\"abc\":"
		    "{\"%s\":0.5}}}",
		    field->name);
		snprintf(path, sizeof(path), "abc.%s", field->name);
		if (strstr(test_lockfile_forged_parse(text, &fault), path) ==
		    NULL)
			fail_msg("%s: '%s'", field->name, fault.text);
		snprintf(text, sizeof(text),
		    "{\"lockfile_version\":\"0.1\",\"packages\":{\"abc\":"
		    "{\"%s\":null,\n \"%s\":null}}}",
		    field->name, field->name);
		if (strstr(test_lockfile_forged_parse(text, &fault),
			": line 2, ") == NULL)
			fail_msg("%s twice: '%s'", field->name, fault.text);
		snprintf(text, sizeof(text),
		    "{\"lockfile_version\":\"0.1\",\"packages\":{\"abc\":"
		    "{\"%s_\":null}}}",
		    field->name);
		snprintf(path, sizeof(path), "abc.%s_", field->name);
		if (strstr(test_lockfile_forged_parse(text, &fault), path) ==
		    NULL)
			fail_msg("%s_: '%s'", field->name, fault.text);
	}
}

/* A whole seal, or a value with its seal, of another entry. */
static void
test_lockfile_forged_transplant(void **state)
{
	json_t *one = test_lockfile_forged_entry(LOCKFILE_FIELD_VERSION_OURS);
	json_t *other = json_deep_copy(one);
	json_t *seal;

	(void)state;
	json_object_set_new(other, "version", json_string("6.6.6"));
	test_lockfile_forged_expect(
	    "_integrity", "of another", other, LOCKFILE_HASH_MISMATCH);
	assert_int_equal(lockfile_hash_seal_entry(other), RESULT_OK);
	json_object_set(
	    one, "_integrity", json_object_get(other, "_integrity"));
	test_lockfile_forged_expect(
	    "_integrity", "transplanted", one, LOCKFILE_HASH_MISMATCH);
	seal = json_object_get(other, "_integrity");
	json_object_set_new(seal, "canonical_version", json_integer(5));
	test_lockfile_forged_expect(
	    "_integrity", "version 5", other, LOCKFILE_HASH_UNSUPPORTED);
	for (int version = 1; version < LOCKFILE_FIELD_VERSION_OURS;
	     version++) {
		json_object_set_new(
		    seal, "canonical_version", json_integer(version));
		assert_int_not_equal(
		    lockfile_hash_entry(other), LOCKFILE_HASH_VERIFIED);
	}
	json_object_set_new(other, "_integrity", json_object());
	assert_int_not_equal(
	    lockfile_hash_entry(other), LOCKFILE_HASH_VERIFIED);
	json_object_del(other, "_integrity");
	test_lockfile_forged_expect(
	    "_integrity", "gone", other, LOCKFILE_HASH_MISSING);
	json_decref(one);
	json_decref(other);
}

static enum lockfile_hash_status
test_lockfile_forged_structure(json_t *root, json_t *packages)
{
	json_t *copy = json_copy(root);
	enum lockfile_hash_status status;

	json_object_set_new(copy, "packages", packages);
	status = lockfile_hash_structure(copy);
	json_decref(copy);
	return status;
}

/* Each entry whole and with its own good seal: added, removed, exchanged,
 * renamed, doubled. */
static void
test_lockfile_forged_entries(void **state)
{
	json_t *one = test_lockfile_forged_entry(1),
	       *two = test_lockfile_forged_entry(4);
	json_t *three = test_lockfile_forged_entry(2);
	json_t *root = json_pack("{s:s, s:{s:O, s:O}}", "lockfile_version",
	    "0.1", "packages", "one", one, "two", two);

	(void)state;
	assert_int_equal(lockfile_hash_seal_structure(root), RESULT_OK);
	assert_int_equal(test_lockfile_forged_structure(root,
			     json_pack("{s:O, s:O}", "two", two, "one", one)),
	    LOCKFILE_HASH_VERIFIED);
	assert_int_equal(test_lockfile_forged_structure(
			     root, json_pack("{s:O, s:O, s:O}", "one", one,
				       "two", two, "three", three)),
	    LOCKFILE_HASH_MISMATCH);
	assert_int_equal(test_lockfile_forged_structure(
			     root, json_pack("{s:O}", "one", one)),
	    LOCKFILE_HASH_MISMATCH);
	assert_int_equal(test_lockfile_forged_structure(root, json_object()),
	    LOCKFILE_HASH_MISMATCH);
	assert_int_equal(test_lockfile_forged_structure(root,
			     json_pack("{s:O, s:O}", "one", two, "two", one)),
	    LOCKFILE_HASH_MISMATCH);
	assert_int_equal(test_lockfile_forged_structure(root,
			     json_pack("{s:O, s:O}", "one", one, "2wo", two)),
	    LOCKFILE_HASH_MISMATCH);
	assert_int_equal(test_lockfile_forged_structure(root,
			     json_pack("{s:O, s:O}", "one", one, "two", one)),
	    LOCKFILE_HASH_MISMATCH);
	assert_int_equal(test_lockfile_forged_structure(root,
			     json_pack("{s:O, s:O}", "one", one, "two", three)),
	    LOCKFILE_HASH_MISMATCH);
	json_object_del(root, "structure_digest");
	assert_int_equal(lockfile_hash_structure(root), LOCKFILE_HASH_MISSING);
	json_decref(root);
	json_decref(one);
	json_decref(two);
	json_decref(three);
}

/* What stands in the file beside the packages. */
static void
test_lockfile_forged_file(void **state)
{
	static const char *const rows[][2] = {
	    {"{\"lockfile_version\":\"0.2\",\"packages\":{}}",
		"lockfile_version"},
	    {"{\"lockfile_version\":1,\"packages\":{}}", "lockfile_version"},
	    {"{\"packages\":{}}", "lockfile_version"},
	    {"{\"lockfile_version\":\"0.1\"}", "packages"},
	    {"{\"lockfile_version\":\"0.1\",\"packages\":[]}", "packages"},
	    {"{\"lockfile_version\":\"0.1\",\"packages\":{},\"more\":1}",
		"more"},
	    {"{\"lockfile_version\":\"0.1\",\n\"packages\":{},\n"
	     "\"packages\":{}}",
		": line 3, "},
	    {"{\"lockfile_version\":\"0.1\",\"packages\":{\"abc\":{},\n"
	     "\"abc\":{}}}",
		": line 2, "},
	    {"{\"lockfile_version\":\"0.1\",\n\"packages\":{]}", ": line 2, "},
	    {"{\"lockfile_version\":\"0.1\",\"packages\":{\"A b\":{}}}", "A b"},
	    {"{\"lockfile_version\":\"0.1\",\"packages\":{\"abc\":1}}", "abc"},
	    {"", "agentnode.lock"},
	    {"null", "agentnode.lock"},
	};
	struct json_fault fault;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strstr(test_lockfile_forged_parse(rows[i][0], &fault),
			rows[i][1]) == NULL)
			fail_msg("%s: '%s'", rows[i][0], fault.text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lockfile_forged_every_field),
	    cmocka_unit_test(test_lockfile_forged_added_field),
	    cmocka_unit_test(test_lockfile_forged_types),
	    cmocka_unit_test(test_lockfile_forged_transplant),
	    cmocka_unit_test(test_lockfile_forged_entries),
	    cmocka_unit_test(test_lockfile_forged_file),
	};

	json_field_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
