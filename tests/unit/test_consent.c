/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Consent to a lockfile entry: every field that decides changes its hash,
 * the file of consents is read strictly, bounded and kept whole.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/package/lockfile_field.h"
#include "supervisor/package/lockfile_hash.h"
#include "supervisor/policy/consent.h"
#include "tests/support/test_folder.h"

static char test_consent_home[64];
static char test_consent_file[128];

static int
test_consent_setup(void **state)
{
	(void)state;
	snprintf(test_consent_home, sizeof(test_consent_home),
	    "/tmp/test_consent_XXXXXX");
	assert_non_null(test_folder_new(test_consent_home));
	snprintf(test_consent_file, sizeof(test_consent_file),
	    "%s/" CONSENT_NAME, test_consent_home);
	return setenv("AGENTNODE_HOME", test_consent_home, 1);
}

static int
test_consent_teardown(void **state)
{
	(void)state;
	unlink(test_consent_file);
	return rmdir(test_consent_home);
}

static void
test_consent_hash_of(const char *slug, const json_t *entry, char *hex_r)
{
	assert_int_equal(lockfile_hash_consent(slug, entry, hex_r), RESULT_OK);
	assert_true(digest_is_hex(hex_r));
}

/* An entry in which each field has a value, and then another one. */
static void
test_consent_fields(void **state)
{
	static const char *const must[] = {"version", "tools", "mcp_command",
	    "mcp_install", "mcp_preinstall", "mcp_preinstall_command",
	    "mcp_sandbox_volume", "volume_content_hash", "volume_host_path",
	    "mcp_allowed_domains", "files", "state", "dependencies", NULL};
	const struct lockfile_field *field;
	char before[DIGEST_HEX + 1], after[DIGEST_HEX + 1];
	json_t *entry = json_object();
	size_t decisive = 0, i;

	(void)state;
	for (field = lockfile_field_table; field->name != NULL; field++)
		json_object_set_new(entry, field->name, json_pack("[s]", "a"));
	test_consent_hash_of("a-server", entry, before);
	test_consent_hash_of("b-server", entry, after);
	assert_string_not_equal(before, after);
	for (field = lockfile_field_table; field->name != NULL; field++) {
		json_t *copy = json_deep_copy(entry);
		bool same = field->version == LOCKFILE_FIELD_MUTABLE;

		json_object_set_new(copy, field->name, json_pack("[s]", "b"));
		test_consent_hash_of("a-server", copy, after);
		assert_int_equal(strcmp(before, after) == 0, same);
		json_object_del(copy, field->name);
		test_consent_hash_of("a-server", copy, after);
		assert_int_equal(strcmp(before, after) == 0, same);
		json_decref(copy);
		for (i = 0; must[i] != NULL; i++)
			decisive += !same && strcmp(must[i], field->name) == 0;
	}
	assert_int_equal(decisive, sizeof(must) / sizeof(must[0]) - 1);
	json_decref(entry);
}

/* A seal of a low version covers less; consent covers all the same. */
static void
test_consent_version(void **state)
{
	char before[DIGEST_HEX + 1], after[DIGEST_HEX + 1];
	json_t *entry = json_pack("{s:s}", "version", "1.0.0");

	(void)state;
	assert_int_equal(lockfile_hash_seal_entry(entry), RESULT_OK);
	test_consent_hash_of("a-server", entry, before);
	json_object_set_new(entry, "files", json_pack("{s:s}", "dir", "/etc"));
	test_consent_hash_of("a-server", entry, after);
	assert_string_not_equal(before, after);
	json_decref(entry);
}

static void
test_consent_make(unsigned number, struct consent_item *item_r)
{
	item_r->guard = NULL;
	snprintf(item_r->hash, sizeof(item_r->hash), "%064x", number);
	item_r->slug = "a-server";
}

static bool
test_consent_there(unsigned number)
{
	struct json_fault fault = {""};
	struct consent_item item;
	bool there = true;

	test_consent_make(number, &item);
	assert_int_equal(consent_has(item.hash, &there, &fault), RESULT_OK);
	return there;
}

static void
test_consent_store(void **state)
{
	struct json_fault fault = {""};
	struct consent_item items[2];
	struct stat status;

	(void)state;
	assert_false(test_consent_there(1));
	test_consent_make(1, &items[0]);
	test_consent_make(2, &items[1]);
	assert_int_equal(consent_add(items, 2, &fault), RESULT_OK);
	assert_int_equal(consent_add(items, 1, &fault), RESULT_OK);
	assert_true(test_consent_there(1) && test_consent_there(2));
	assert_false(test_consent_there(3));
	assert_int_equal(stat(test_consent_file, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(consent_drop(items[0].hash, &fault), RESULT_OK);
	assert_int_equal(consent_drop(items[0].hash, &fault), RESULT_OK);
	assert_false(test_consent_there(1));
	assert_true(test_consent_there(2));
}

static void
test_consent_bound(void **state)
{
	struct consent_item *items = calloc(CONSENT_MAX, sizeof(*items));
	struct json_fault fault = {""};
	struct consent_item more;
	unsigned i;

	(void)state;
	assert_non_null(items);
	for (i = 0; i < CONSENT_MAX; i++)
		test_consent_make(i + 1, &items[i]);
	assert_int_equal(consent_add(items, CONSENT_MAX, &fault), RESULT_OK);
	test_consent_make(CONSENT_MAX + 1, &more);
	assert_int_equal(consent_add(&more, 1, &fault), RESULT_OK);
	assert_false(test_consent_there(1));
	assert_true(test_consent_there(2));
	assert_true(test_consent_there(CONSENT_MAX + 1));
	free(items);
}

static void
test_consent_put_file(const char *text, mode_t mode)
{
	FILE *file;

	unlink(test_consent_file);
	file = fopen(test_consent_file, "we");
	assert_non_null(file);
	assert_int_equal(fputs(text, file) >= 0, 1);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(test_consent_file, mode), 0);
}

/* Nothing is consented to by a file that is not ours to the letter, and it
 * is not written over. */
static void
test_consent_refused(void **state)
{
#define ONE "{\"hash\": \"%064x\", \"package\": \"a-server\"}"
	static const char *const bad[] = {"", "[]", "{\"version\": 1}",
	    "{\"version\": 2, \"consents\": []}",
	    "{\"version\": 1, \"consents\": [\"x\"]}",
	    "{\"version\": 1, \"consents\": [" ONE "], \"more\": 1}",
	    "{\"version\": 1, \"consents\": [" ONE "], \"version\": 1}",
	    "{\"version\": 1, \"consents\": [{\"hash\": \"%064x\"}]}",
	    "{\"version\": 1, \"consents\": [" ONE
	    ", {\"hash\": \"A\", \"package\": \"b\"}]}",
	    "{\"version\": 1, \"consents\": [" ONE "]}x", NULL};
	struct consent_item item;
	char text[256], after[256];
	bool there;

	(void)state;
	test_consent_make(7, &item);
	for (size_t i = 0; bad[i] != NULL; i++) {
		struct json_fault fault = {""}, other = {""};
		FILE *file;
		char *hole = strstr(bad[i], "%064x");

		snprintf(text, sizeof(text), "%.*s%s%s",
		    hole == NULL ? (int)strlen(bad[i]) : (int)(hole - bad[i]),
		    bad[i], hole == NULL ? "" : item.hash,
		    hole == NULL ? "" : hole + 5);
		test_consent_put_file(text, 0600);
		there = true;
		assert_int_equal(
		    consent_has(item.hash, &there, &fault), RESULT_BAD);
		assert_false(there);
		assert_non_null(strstr(fault.text, CONSENT_NAME));
		assert_int_equal(consent_add(&item, 1, &other), RESULT_BAD);
		file = fopen(test_consent_file, "re");
		assert_non_null(file);
		after[fread(after, 1, sizeof(after) - 1, file)] = '\0';
		fclose(file);
		assert_string_equal(text, after);
	}
#undef ONE
}

static void
test_consent_foreign(void **state)
{
	struct json_fault fault = {""}, other = {""};
	struct consent_item item;
	bool there = true;

	(void)state;
	test_consent_make(1, &item);
	test_consent_put_file("{\"version\": 1, \"consents\": []}", 0622);
	assert_int_equal(consent_has(item.hash, &there, &fault), RESULT_BAD);
	assert_false(there);
	unlink(test_consent_file);
	assert_int_equal(symlink("/dev/null", test_consent_file), 0);
	assert_int_equal(consent_has(item.hash, &there, &other), RESULT_BAD);
	assert_false(there);
}

#define TEST(function)                   \
	cmocka_unit_test_setup_teardown( \
	    function, test_consent_setup, test_consent_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_consent_fields),
	    TEST(test_consent_version),
	    TEST(test_consent_store),
	    TEST(test_consent_bound),
	    TEST(test_consent_refused),
	    TEST(test_consent_foreign),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
