/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain over several files: rotation keeps it whole, what was dropped is
 * named in it, ledgers follow each other into the next file, a writer that
 * died in a rotation is found again; and the keyed seal of its end: a
 * rewritten tail, a cut one, another key, no key.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/ledger/audit_chain.h"
#include "supervisor/ledger/audit_file.h"
#include "supervisor/ledger/audit_seal.h"
#include "supervisor/ledger/audit_verify.h"
#include "tests/support/test_folder.h"

#define NOW INT64_C(1767323045678)
#define KEY_ONE \
	"1111111111111111111111111111111111111111111111111111111111111111\n"
#define KEY_TWO \
	"1111111111111111111111111111111111111111111111111111111111111112\n"

#define AUDIT_ROTATE_VECTOR \
	"c19c1b99004fb7e208bda3efd1682f28387c27e9e4de8d2893cab3e1b16b5cc9"

struct test_audit_rotate {
	char path[64];
	int fd;
	struct secret *one, *two;
};

static struct secret *
test_audit_rotate_key(const char *text)
{
	struct secret *key = NULL;

	assert_int_equal(secret_new(AUDIT_SEAL_KEY_TEXT, &key), RESULT_OK);
	assert_int_equal(secret_set(key, text, strlen(text)), RESULT_OK);
	assert_true(audit_seal_is_key(key));
	return key;
}

static int
test_audit_rotate_setup(void **state)
{
	struct test_audit_rotate *test = calloc(1, sizeof(*test));

	(void)snprintf(test->path, sizeof(test->path), "/tmp/test_rot_XXXXXX");
	assert_non_null(test_folder_new(test->path));
	test->fd = open(test->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test->one = test_audit_rotate_key(KEY_ONE);
	test->two = test_audit_rotate_key(KEY_TWO);
	*state = test;
	return 0;
}

static int
test_audit_rotate_teardown(void **state)
{
	struct test_audit_rotate *test = *state;
	DIR *folder = opendir(test->path);
	struct dirent *entry;

	while ((entry = readdir(folder)) != NULL)
		if (entry->d_name[0] == 'a')
			assert_int_equal(
			    unlinkat(test->fd, entry->d_name, 0), 0);
	closedir(folder);
	close(test->fd);
	assert_int_equal(rmdir(test->path), 0);
	secret_free(&test->one);
	secret_free(&test->two);
	free(test);
	return 0;
}

static void
test_audit_rotate_open(struct test_audit_rotate *test,
    struct audit_chain *chain, const struct secret *key, uint64_t max_size)
{
	struct json_fault fault = {""};

	audit_chain_init(chain);
	chain->key = key;
	chain->max_size = max_size;
	chain->max_files = 3;
	assert_int_equal(audit_chain_open(chain, test->fd, &fault), RESULT_OK);
}

static enum result
test_audit_rotate_batch(struct audit_chain *chain, int count)
{
	json_t *fields = json_pack("{s:s}", "text", "some words of a record");
	struct json_fault fault = {""};
	enum result result;

	assert_int_equal(audit_chain_lock(chain), RESULT_OK);
	result = audit_chain_catch_up(chain, NOW, &fault);
	for (int i = 0; result == RESULT_OK && i < count; i++)
		result = audit_chain_add(chain, NOW, "launch", fields);
	if (result == RESULT_OK)
		result = audit_chain_commit(chain, &fault);
	audit_chain_unlock(chain);
	json_decref(fields);
	if (result != RESULT_OK)
		print_message("batch: %s\n", fault.text);
	return result;
}

/* Some batches of a ledger of its own. */
static enum result
test_audit_rotate_write(struct test_audit_rotate *test,
    const struct secret *key, int batches, uint64_t max_size)
{
	struct audit_chain chain;
	enum result result = RESULT_OK;

	test_audit_rotate_open(test, &chain, key, max_size);
	for (int i = 0; result == RESULT_OK && i < batches; i++)
		result = test_audit_rotate_batch(&chain, 2);
	audit_chain_close(&chain);
	return result;
}

static enum result
test_audit_rotate_verify(struct test_audit_rotate *test,
    const struct secret *key, struct audit_verify_report *report_r)
{
	struct json_fault fault = {""};
	enum result result =
	    audit_verify_files(test->fd, key, NULL, NULL, report_r, &fault);

	if (result != RESULT_OK)
		print_message("verify: %s\n", fault.text);
	return result;
}

static long
test_audit_rotate_size(struct test_audit_rotate *test, const char *name)
{
	struct stat status;

	return fstatat(test->fd, name, &status, 0) == 0 ? (long)status.st_size
							: -1;
}

static char *
test_audit_rotate_read(
    struct test_audit_rotate *test, const char *name, size_t *len_r)
{
	int fd FD_CLEANUP = openat(test->fd, name, O_RDONLY | O_CLOEXEC);
	char *bytes;

	assert_int_equal(fd_read_all(fd, 1 << 20, &bytes, len_r), RESULT_OK);
	return bytes;
}

static void
test_audit_rotate_put(struct test_audit_rotate *test, const char *name,
    const char *bytes, size_t len)
{
	int fd FD_CLEANUP = openat(
	    test->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(fd_write_all(fd, bytes, len), RESULT_OK);
}

/* Two records per batch and file: with three files kept, all is whole and
 * the oldest are empty. */
static void
test_audit_rotate_files(void **state)
{
	struct test_audit_rotate *test = *state;
	struct audit_verify_report report;

	assert_int_equal(
	    test_audit_rotate_write(test, NULL, 3, 200), RESULT_OK);
	assert_int_equal(
	    test_audit_rotate_verify(test, NULL, &report), RESULT_OK);
	assert_int_equal(report.records, 8); /* 6 and two rotations */
	assert_int_equal(report.first, 1);
	assert_true(test_audit_rotate_size(test, "audit.2.jsonl") > 0);
	assert_int_equal(
	    test_audit_rotate_write(test, NULL, 5, 200), RESULT_OK);
	assert_int_equal(
	    test_audit_rotate_verify(test, NULL, &report), RESULT_OK);
	assert_int_equal(report.records, 9); /* three files */
	assert_true(report.first > 1);
	assert_int_equal(test_audit_rotate_size(test, "audit.jsonl"), 0);
	assert_int_equal(test_audit_rotate_size(test, "audit.4.jsonl"), 0);
	assert_true(test_audit_rotate_size(test, "audit.5.jsonl") > 0);
	assert_int_equal(test_audit_rotate_size(test, "audit.8.jsonl"), -1);
}

/* Each file that is kept, emptied, cut, exchanged or gone is noticed. */
static void
test_audit_rotate_tampered(void **state)
{
	static const char *const names[] = {
	    "audit.5.jsonl", "audit.6.jsonl", "audit.7.jsonl"};
	struct test_audit_rotate *test = *state;
	struct audit_verify_report report;
	char *bytes, *other;
	size_t len, other_len;

	assert_int_equal(
	    test_audit_rotate_write(test, NULL, 8, 200), RESULT_OK);
	for (size_t i = 0; i < 3; i++) {
		bytes = test_audit_rotate_read(test, names[i], &len);
		other = test_audit_rotate_read(
		    test, names[(i + 1) % 3], &other_len);
		test_audit_rotate_put(test, names[i], other, other_len);
		assert_int_not_equal(
		    test_audit_rotate_verify(test, NULL, &report), RESULT_OK);
		test_audit_rotate_put(test, names[i], bytes, len - 1);
		assert_int_not_equal(
		    test_audit_rotate_verify(test, NULL, &report), RESULT_OK);
		test_audit_rotate_put(test, names[i], "", 0);
		assert_int_not_equal(
		    test_audit_rotate_verify(test, NULL, &report), RESULT_OK);
		assert_int_equal(unlinkat(test->fd, names[i], 0), 0);
		assert_int_not_equal(
		    test_audit_rotate_verify(test, NULL, &report), RESULT_OK);
		bytes[len / 2] ^= 1;
		test_audit_rotate_put(test, names[i], bytes, len);
		assert_int_not_equal(
		    test_audit_rotate_verify(test, NULL, &report), RESULT_OK);
		assert_string_equal(report.file, names[i]);
		bytes[len / 2] ^= 1;
		test_audit_rotate_put(test, names[i], bytes, len);
		assert_int_equal(
		    test_audit_rotate_verify(test, NULL, &report), RESULT_OK);
		free(bytes);
		free(other);
	}
}

/* Two ledgers, one of which sleeps while the other fills files. */
static void
test_audit_rotate_two(void **state)
{
	struct test_audit_rotate *test = *state;
	struct audit_verify_report report;
	struct audit_chain one, two;

	test_audit_rotate_open(test, &one, NULL, 400);
	test_audit_rotate_open(test, &two, NULL, 400);
	for (int round = 0; round < 12; round++) {
		assert_int_equal(test_audit_rotate_batch(&one, 1), RESULT_OK);
		for (int i = 0; i < round; i++)
			assert_int_equal(
			    test_audit_rotate_batch(&two, 2), RESULT_OK);
	}
	audit_chain_close(&one);
	audit_chain_close(&two);
	assert_int_equal(
	    test_audit_rotate_verify(test, NULL, &report), RESULT_OK);
}

/* Died after the new file was synced and before the head moved; before the
 * old file was emptied; with half a record in the new file. */
static void
test_audit_rotate_died(void **state)
{
	struct test_audit_rotate *test = *state;
	struct audit_verify_report report;
	char *head, *dropped, *bytes;
	size_t head_len, dropped_len, len;

	assert_int_equal(
	    test_audit_rotate_write(test, test->one, 4, 200), RESULT_OK);
	head = test_audit_rotate_read(test, "audit.head", &head_len);
	dropped = test_audit_rotate_read(test, "audit.1.jsonl", &dropped_len);
	assert_int_equal(
	    test_audit_rotate_write(test, test->one, 1, 200), RESULT_OK);
	test_audit_rotate_put(test, "audit.head", head, head_len);
	test_audit_rotate_put(test, "audit.1.jsonl", dropped, dropped_len);
	assert_int_equal(
	    test_audit_rotate_verify(test, test->one, &report), RESULT_OK);
	assert_int_equal(report.unsealed, 3);
	bytes = test_audit_rotate_read(test, "audit.4.jsonl", &len);
	test_audit_rotate_put(test, "audit.4.jsonl", bytes, 40);
	assert_int_equal(
	    test_audit_rotate_verify(test, test->one, &report), RESULT_OK);
	assert_int_equal(report.torn_bytes, 40);
	test_audit_rotate_put(test, "audit.4.jsonl", bytes, len);
	assert_int_equal(
	    test_audit_rotate_write(test, test->one, 1, 1 << 20), RESULT_OK);
	assert_int_equal(
	    test_audit_rotate_verify(test, test->one, &report), RESULT_OK);
	assert_int_equal(report.unsealed, 0);
	free(bytes);
	bytes = test_audit_rotate_read(test, "audit.4.jsonl", &len);
	assert_non_null(strstr(bytes, "\"chain_adopted\""));
	free(bytes);
	free(head);
	free(dropped);
}

/* A tail that was rewritten by somebody with every file in hand, but not the
 * key: hashes, order and head fit, the seal does not. */
static void
test_audit_rotate_seal(void **state)
{
	struct test_audit_rotate *test = *state;
	struct audit_verify_report report;
	char *log, *head;
	size_t log_len, head_len;

	assert_int_equal(
	    test_audit_rotate_write(test, test->one, 2, 0), RESULT_OK);
	assert_int_equal(
	    test_audit_rotate_verify(test, test->one, &report), RESULT_OK);
	assert_true(report.sealed);
	assert_int_equal(report.unsealed, 0);
	log = test_audit_rotate_read(test, "audit.jsonl", &log_len);
	head = test_audit_rotate_read(test, "audit.head", &head_len);
	assert_int_equal(test_audit_rotate_verify(test, test->two, &report),
	    RESULT_MISMATCH);
	assert_int_equal(
	    test_audit_rotate_write(test, test->two, 1, 0), RESULT_MISMATCH);
	/* Rewritten: another chain, without key, and with another one. */
	for (int i = 0; i < 2; i++) {
		(void)unlinkat(test->fd, "audit.jsonl", 0);
		(void)unlinkat(test->fd, "audit.head", 0);
		assert_int_equal(test_audit_rotate_write(
				     test, i == 0 ? NULL : test->two, 2, 0),
		    RESULT_OK);
		assert_int_equal(
		    test_audit_rotate_verify(test, NULL, &report), RESULT_OK);
		assert_int_equal(
		    test_audit_rotate_verify(test, test->one, &report),
		    RESULT_MISMATCH);
	}
	assert_int_equal(
	    test_audit_rotate_write(test, test->one, 1, 0), RESULT_MISMATCH);
	test_audit_rotate_put(test, "audit.jsonl", log, log_len);
	test_audit_rotate_put(test, "audit.head", head, head_len);
	assert_int_equal(
	    test_audit_rotate_write(test, test->one, 1, 0), RESULT_OK);
	free(log);
	free(head);
}

/* From before there was a key: taken over, and the chain says so. */
static void
test_audit_rotate_unsealed(void **state)
{
	struct test_audit_rotate *test = *state;
	struct audit_verify_report report;
	char *log;
	size_t len;

	assert_int_equal(test_audit_rotate_write(test, NULL, 2, 0), RESULT_OK);
	assert_int_equal(test_audit_rotate_verify(test, test->one, &report),
	    RESULT_MISMATCH);
	assert_int_equal(
	    test_audit_rotate_write(test, test->one, 1, 0), RESULT_OK);
	assert_int_equal(
	    test_audit_rotate_verify(test, test->one, &report), RESULT_OK);
	assert_true(report.sealed);
	log = test_audit_rotate_read(test, "audit.jsonl", &len);
	assert_non_null(strstr(log, "\"chain_unsealed\""));
	free(log);
}

/* RFC 2104 with the text of the head: worked out with another program. */
static void
test_audit_rotate_vector(void **state)
{
	struct test_audit_rotate *test = *state;
	struct audit_head head = {.size = 1234, .file = 2};

	head.link.seq = 7;
	memset(head.link.hash, 'a', DIGEST_HEX);
	assert_int_equal(audit_seal_put(test->one, &head), RESULT_OK);
	assert_string_equal(head.mac, AUDIT_ROTATE_VECTOR);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name)                       \
	cmocka_unit_test_setup_teardown( \
	    name, test_audit_rotate_setup, test_audit_rotate_teardown)
	    TEST(test_audit_rotate_files),
	    TEST(test_audit_rotate_tampered),
	    TEST(test_audit_rotate_two),
	    TEST(test_audit_rotate_died),
	    TEST(test_audit_rotate_seal),
	    TEST(test_audit_rotate_unsealed),
	    TEST(test_audit_rotate_vector),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
