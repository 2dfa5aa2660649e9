/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record of a volume counts only when every part of it fits: one row per
 * thing that may be wrong with its line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define VOLUME_SEAL_INTERNAL
#include "supervisor/engine/volume_seal.h"
#include "tests/support/test_folder.h"

#define BOOT "0f0e0d0c-1111-2222-3333-444455556666"
#define HASH      \
	"sha256:" \
	"1111111111111111111111111111111111111111111111111111111111111111"
#define PRINT     \
	"sha256:" \
	"2222222222222222222222222222222222222222222222222222222222222222"
#define SHORT     \
	"sha256:" \
	"222222222222222222222222222222222222222222222222222222222222222"
#define UPPER     \
	"sha256:" \
	"A222222222222222222222222222222222222222222222222222222222222222"
#define BEGIN "agentnode-seal 1 " BOOT " " HASH " "

struct row {
	const char *line;
	enum result result;
};

/* Now is 5000 s after 1970 and 1000 s after the boot. */
static const struct volume_seal_clock now = {5000000000000, 1000000000000};

static const struct row rows[] = {
    {BEGIN PRINT " 5000000000000 1000000000000\n", RESULT_OK},
    {BEGIN PRINT " 4999000000000 999000000000\n", RESULT_OK},
    {BEGIN PRINT " 4999000000000 997000000000\n", RESULT_OK},
    {BEGIN PRINT " 4999000000000 996999999999\n", RESULT_MISMATCH},
    {BEGIN PRINT " 4996999999999 999000000000\n", RESULT_MISMATCH},
    {BEGIN PRINT " 5000000000001 1000000000000\n", RESULT_MISMATCH},
    {BEGIN PRINT " 5000000000000 1000000000001\n", RESULT_MISMATCH},
    {BEGIN PRINT " 9223372036854775807 1\n", RESULT_MISMATCH},
    {BEGIN PRINT " 9223372036854775808 1\n", RESULT_BAD},
    {BEGIN PRINT " 50000000000000000000 1\n", RESULT_BAD},
    {BEGIN PRINT " -5 1\n", RESULT_BAD},
    {BEGIN PRINT " 5 1", RESULT_BAD},
    {BEGIN PRINT " 5 1\nx", RESULT_BAD},
    {BEGIN PRINT " 5 1 \n", RESULT_BAD},
    {BEGIN PRINT " 5\n", RESULT_BAD},
    {BEGIN PRINT "  5 1\n", RESULT_BAD},
    {BEGIN PRINT "\n", RESULT_BAD},
    {BEGIN SHORT " 5 1\n", RESULT_BAD},
    {BEGIN UPPER " 5 1\n", RESULT_BAD},
    {BEGIN "sha512" PRINT " 5 1\n", RESULT_MISMATCH},
    {BEGIN, RESULT_MISMATCH},
    {"", RESULT_MISMATCH},
    {"agentnode-seal 2 " BOOT " " HASH " " PRINT " 5 1\n", RESULT_MISMATCH},
    {"agentnode-seal 1 " BOOT "  " HASH " " PRINT " 5 1\n", RESULT_MISMATCH},
    {"agentnode-seal 1 " HASH " " HASH " " PRINT " 5 1\n", RESULT_MISMATCH},
    {"agentnode-seal 1 " BOOT " " PRINT " " PRINT " 5 1\n", RESULT_MISMATCH},
};

static void
test_volume_seal_rows(void **state)
{
	char stat[VOLUME_SEAL_STAT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum result result =
		    volume_seal_parse(rows[i].line, BOOT, HASH, &now, stat);

		if (result != rows[i].result)
			print_message("row %zu: %s", i, rows[i].line);
		assert_int_equal(result, rows[i].result);
		if (result == RESULT_OK)
			assert_string_equal(stat, PRINT);
	}
}

/* A cut at every length, and every byte of a good line exchanged: never a
 * fingerprint that is not the one written. */
static void
test_volume_seal_spoiled(void **state)
{
	char line[512], stat[VOLUME_SEAL_STAT_MAX];
	size_t len = strlen(rows[1].line);

	(void)state;
	for (size_t cut = 0; cut < len; cut++) {
		memcpy(line, rows[1].line, cut);
		line[cut] = '\0';
		assert_int_not_equal(
		    volume_seal_parse(line, BOOT, HASH, &now, stat), RESULT_OK);
	}
	for (size_t at = 0; at < len; at++) {
		(void)snprintf(line, sizeof(line), "%s", rows[1].line);
		line[at] = '!';
		assert_int_not_equal(
		    volume_seal_parse(line, BOOT, HASH, &now, stat), RESULT_OK);
	}
}

/* Written and read, in a home of its own. */
static void
test_volume_seal_kept(void **state)
{
	char home[] = "/tmp/agentnode-seal-XXXXXX", path[128];
	char stat[VOLUME_SEAL_STAT_MAX];
	struct json_fault fault = {""};
	struct volume_seal seal;

	(void)state;
	assert_non_null(test_folder_new(home));
	assert_int_equal(setenv("AGENTNODE_HOME", home, 1), 0);
	assert_int_equal(volume_seal_open(&seal, &fault), RESULT_OK);
	assert_int_equal(
	    volume_seal_read(&seal, "one", HASH, stat), RESULT_NOT_FOUND);
	assert_int_equal(
	    volume_seal_write(&seal, "one", HASH, PRINT), RESULT_OK);
	assert_int_equal(volume_seal_read(&seal, "one", HASH, stat), RESULT_OK);
	assert_string_equal(stat, PRINT);
	assert_int_not_equal(
	    volume_seal_read(&seal, "one", PRINT, stat), RESULT_OK);
	(void)snprintf(path, sizeof(path), "%s/seals/one", home);
	assert_int_equal(chmod(path, 0622), 0);
	assert_int_not_equal(
	    volume_seal_read(&seal, "one", HASH, stat), RESULT_OK);
	volume_seal_forget(&seal, "one");
	assert_int_equal(
	    volume_seal_read(&seal, "one", HASH, stat), RESULT_NOT_FOUND);
	volume_seal_close(&seal);
	(void)snprintf(path, sizeof(path), "%s/seals", home);
	assert_int_equal(remove(path), 0);
	assert_int_equal(remove(home), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_volume_seal_rows),
	    cmocka_unit_test(test_volume_seal_spoiled),
	    cmocka_unit_test(test_volume_seal_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
