/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credentials.json: read strictly, written whole and private, never over a
 * file that cannot be read; it holds no key.
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

#include "common/fd.h"
#include "supervisor/policy/credential.h"
#include "tests/support/test_folder.h"

#define STAMP "\"stored_at\":\"2026-01-02T03:04:05.678Z\""
#define ONE(entry) "{\"version\":1,\"providers\":{" entry "}}"

static char test_credential_home[64];
static char test_credential_file[128];

static int
test_credential_setup(void **state)
{
	(void)state;
	snprintf(test_credential_home, sizeof(test_credential_home),
	    "/tmp/test_credential_XXXXXX");
	assert_non_null(test_folder_new(test_credential_home));
	snprintf(test_credential_file, sizeof(test_credential_file),
	    "%s/" CREDENTIAL_FILE, test_credential_home);
	return setenv("AGENTNODE_HOME", test_credential_home, 1);
}

static int
test_credential_teardown(void **state)
{
	(void)state;
	unlink(test_credential_file);
	return rmdir(test_credential_home);
}

static void
test_credential_parses(void **state)
{
	static const struct {
		const char *text;
		const char *word; /* of the fault; NULL: it is good */
	} rows[] = {
	    {ONE(""), NULL},
	    {ONE("\"openai\":{\"backend\":\"secret_service\"," STAMP "}"),
		NULL},
	    {ONE("\"a-1\":{\"backend\":\"file\",\"last4\":\"ab\\\"~\"," STAMP
		 "}"),
		NULL},
	    {"", "1"},
	    {"[]", "object"},
	    {"{}", "version"},
	    {"{\"version\":1}", "providers"},
	    {"{\"version\":2,\"providers\":{}}", "version"},
	    {"{\"version\":1,\"providers\":[]}", "providers"},
	    {"{\"version\":1,\"providers\":{},\"keys\":{}}", "keys"},
	    {"{\"version\":1,\"version\":1,\"providers\":{}}", "duplicate"},
	    {ONE("\"openai\":1"), "openai"},
	    {ONE("\"OpenAI\":{\"backend\":\"file\"," STAMP "}"), "name"},
	    {ONE("\"\":{\"backend\":\"file\"," STAMP "}"), "name"},
	    {ONE("\"a/b\":{\"backend\":\"file\"," STAMP "}"), "name"},
	    {ONE("\"openai\":{" STAMP "}"), "backend"},
	    {ONE("\"openai\":{\"backend\":\"plain\"," STAMP "}"), "plain"},
	    {ONE("\"openai\":{\"backend\":\"file\"}"), "stored_at"},
	    {ONE("\"openai\":{\"backend\":\"file\",\"stored_at\":\"now\"}"),
		"stored_at"},
	    {ONE("\"openai\":{\"backend\":\"file\",\"key\":\"sk\"," STAMP "}"),
		"key"},
	    {ONE("\"openai\":{\"backend\":\"file\",\"last4\":\"abcde\"," STAMP
		 "}"),
		"last4"},
	    {ONE("\"openai\":{\"backend\":\"file\",\"last4\":\"abc\"," STAMP
		 "}"),
		"last4"},
	    {ONE("\"openai\":{\"backend\":\"file\",\"last4\":\"a b\\n\"," STAMP
		 "}"),
		"last4"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json_fault fault = {""};
		json_t *root;
		enum result result = credential_parse(KEYRING_KEY, rows[i].text,
		    strlen(rows[i].text), "F", &root, &fault);

		if ((result == RESULT_OK) != (rows[i].word == NULL) ||
		    (root != NULL) != (rows[i].word == NULL) ||
		    (rows[i].word != NULL &&
			strstr(fault.text, rows[i].word) == NULL))
			fail_msg("row %zu: %s", i, fault.text);
		json_decref(root);
	}
}

static void
test_credential_keeps(void **state)
{
	struct json_fault fault = {""};
	struct credential credential;
	struct stat status;

	(void)state;
	assert_int_equal(
	    credential_find(KEYRING_KEY, "openai", &credential, &fault),
	    RESULT_NOT_FOUND);
	assert_int_equal(
	    credential_drop(KEYRING_KEY, "openai", &fault), RESULT_NOT_FOUND);
	assert_int_equal(credential_put(KEYRING_KEY, "openai",
			     KEYRING_SECRET_SERVICE, "wxyz", &fault),
	    RESULT_OK);
	assert_int_equal(
	    credential_put(KEYRING_KEY, "gemini", KEYRING_FILE, "", &fault),
	    RESULT_OK);
	assert_int_equal(stat(test_credential_file, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(
	    credential_find(KEYRING_KEY, "openai", &credential, &fault),
	    RESULT_OK);
	assert_int_equal(credential.backend, KEYRING_SECRET_SERVICE);
	assert_string_equal(credential.last4, "wxyz");
	assert_int_equal(strlen(credential.stored_at), 24);
	assert_int_equal(
	    credential_find(KEYRING_KEY, "gemini", &credential, &fault),
	    RESULT_OK);
	assert_int_equal(credential.backend, KEYRING_FILE);
	assert_string_equal(credential.last4, "");
	assert_int_equal(
	    credential_put(KEYRING_KEY, "openai", KEYRING_FILE, "", &fault),
	    RESULT_OK);
	assert_int_equal(
	    credential_find(KEYRING_KEY, "openai", &credential, &fault),
	    RESULT_OK);
	assert_int_equal(credential.backend, KEYRING_FILE);
	assert_int_equal(
	    credential_drop(KEYRING_KEY, "openai", &fault), RESULT_OK);
	assert_int_equal(
	    credential_find(KEYRING_KEY, "openai", &credential, &fault),
	    RESULT_NOT_FOUND);
	assert_int_equal(
	    credential_drop(KEYRING_KEY, "gemini", &fault), RESULT_OK);
	assert_string_equal(fault.text, "");
}

/* A file that cannot be read is neither used nor written over. */
static void
test_credential_refuses(void **state)
{
	static const char text[] = "{\"version\":1,\"providers\":{}";
	struct json_fault fault = {""}, second = {""};
	struct credential credential;
	FILE *file = fopen(test_credential_file, "we");
	char read[64];

	(void)state;
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(
	    credential_find(KEYRING_KEY, "openai", &credential, &fault),
	    RESULT_BAD);
	assert_non_null(strstr(fault.text, CREDENTIAL_FILE));
	assert_int_equal(
	    credential_put(KEYRING_KEY, "openai", KEYRING_FILE, "", &second),
	    RESULT_BAD);
	file = fopen(test_credential_file, "re");
	assert_non_null(file);
	assert_non_null(fgets(read, sizeof(read), file));
	assert_int_equal(fclose(file), 0);
	assert_string_equal(read, text);
	assert_int_equal(unlink(test_credential_file), 0);
}

static void
test_credential_homes_differ(void **state)
{
	char first[CREDENTIAL_HOME_ID + 1], second[CREDENTIAL_HOME_ID + 1];
	char other[96];
	struct json_fault fault = {""};

	(void)state;
	assert_int_equal(credential_home_id(first, &fault), RESULT_OK);
	assert_int_equal(strlen(first), CREDENTIAL_HOME_ID);
	snprintf(other, sizeof(other), "%s/", test_credential_home);
	assert_int_equal(setenv("AGENTNODE_HOME", other, 1), 0);
	assert_int_equal(credential_home_id(second, &fault), RESULT_OK);
	assert_string_equal(first, second);
	snprintf(other, sizeof(other), "%s/x", test_credential_home);
	assert_int_equal(setenv("AGENTNODE_HOME", other, 1), 0);
	assert_int_equal(credential_home_id(second, &fault), RESULT_OK);
	assert_string_not_equal(first, second);
	assert_int_equal(rmdir(other), 0);
	assert_int_equal(setenv("AGENTNODE_HOME", test_credential_home, 1), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_credential_parses),
	    cmocka_unit_test(test_credential_keeps),
	    cmocka_unit_test(test_credential_refuses),
	    cmocka_unit_test(test_credential_homes_differ),
	};

	return cmocka_run_group_tests(
	    tests, test_credential_setup, test_credential_teardown);
}
