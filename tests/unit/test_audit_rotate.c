/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain over several files: rotation keeps it whole, what was dropped is
 * named in it, ledgers follow each other into the next file, a writer that
 * died in a rotation, or whose disk failed in one, is found again; who reads
 * meanwhile sees it whole.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/audit_case.h"

/* The link is made so that the ledger's fsync is this one: EIO, once, for
 * that descriptor. */
static int test_audit_rotate_sync_fd = -1;
int __real_fsync(int fd);
int __wrap_fsync(int fd);

int
__wrap_fsync(int fd)
{
	if (fd != test_audit_rotate_sync_fd)
		return __real_fsync(fd);
	test_audit_rotate_sync_fd = -1;
	errno = EIO;
	return -1;
}

/* Two records per batch and file: with three files kept, all is whole and
 * the oldest are empty. */
static void
test_audit_rotate_files(void **state)
{
	struct audit_case *test = *state;
	struct audit_verify_report report;

	assert_int_equal(audit_case_write(test, NULL, 3, 200), RESULT_OK);
	assert_int_equal(audit_case_verify(test, NULL, &report), RESULT_OK);
	assert_int_equal(report.records, 8); /* 6 and two rotations */
	assert_int_equal(report.first, 1);
	assert_true(audit_case_size(test, "audit.2.jsonl") > 0);
	assert_int_equal(audit_case_write(test, NULL, 5, 200), RESULT_OK);
	assert_int_equal(audit_case_verify(test, NULL, &report), RESULT_OK);
	assert_int_equal(report.records, 9); /* three files */
	assert_true(report.first > 1);
	assert_int_equal(audit_case_size(test, "audit.jsonl"), 0);
	assert_int_equal(audit_case_size(test, "audit.4.jsonl"), 0);
	assert_true(audit_case_size(test, "audit.5.jsonl") > 0);
	assert_int_equal(audit_case_size(test, "audit.8.jsonl"), -1);
}

/* Each file that is kept, emptied, cut, exchanged or gone is noticed. */
static void
test_audit_rotate_tampered(void **state)
{
	static const char *const names[] = {
	    "audit.5.jsonl", "audit.6.jsonl", "audit.7.jsonl"};
	struct audit_case *test = *state;
	struct audit_verify_report report;
	char *bytes, *other;
	size_t len, other_len;

	assert_int_equal(audit_case_write(test, NULL, 8, 200), RESULT_OK);
	for (size_t i = 0; i < 3; i++) {
		bytes = audit_case_read(test, names[i], &len);
		other = audit_case_read(test, names[(i + 1) % 3], &other_len);
		audit_case_put(test, names[i], other, other_len);
		assert_int_not_equal(
		    audit_case_verify(test, NULL, &report), RESULT_OK);
		audit_case_put(test, names[i], bytes, len - 1);
		assert_int_not_equal(
		    audit_case_verify(test, NULL, &report), RESULT_OK);
		audit_case_put(test, names[i], "", 0);
		assert_int_not_equal(
		    audit_case_verify(test, NULL, &report), RESULT_OK);
		assert_int_equal(unlinkat(test->fd, names[i], 0), 0);
		assert_int_not_equal(
		    audit_case_verify(test, NULL, &report), RESULT_OK);
		bytes[len / 2] ^= 1;
		audit_case_put(test, names[i], bytes, len);
		assert_int_not_equal(
		    audit_case_verify(test, NULL, &report), RESULT_OK);
		assert_string_equal(report.file, names[i]);
		bytes[len / 2] ^= 1;
		audit_case_put(test, names[i], bytes, len);
		assert_int_equal(
		    audit_case_verify(test, NULL, &report), RESULT_OK);
		free(bytes);
		free(other);
	}
}

/* Two ledgers, one of which sleeps while the other fills files. */
static void
test_audit_rotate_two(void **state)
{
	struct audit_case *test = *state;
	struct audit_verify_report report;
	struct audit_chain one, two;

	audit_case_open(test, &one, NULL, 400);
	audit_case_open(test, &two, NULL, 400);
	for (int round = 0; round < 12; round++) {
		assert_int_equal(audit_case_batch(&one, 1), RESULT_OK);
		for (int i = 0; i < round; i++)
			assert_int_equal(audit_case_batch(&two, 2), RESULT_OK);
	}
	audit_chain_close(&one);
	audit_chain_close(&two);
	assert_int_equal(audit_case_verify(test, NULL, &report), RESULT_OK);
}

/* Died after the new file was synced and before the head moved; before the
 * old file was emptied; with half a record in the new file. */
static void
test_audit_rotate_died(void **state)
{
	struct audit_case *test = *state;
	struct audit_verify_report report;
	char *head, *dropped, *bytes;
	size_t head_len, dropped_len, len;

	assert_int_equal(audit_case_write(test, test->one, 4, 200), RESULT_OK);
	head = audit_case_read(test, "audit.head", &head_len);
	dropped = audit_case_read(test, "audit.1.jsonl", &dropped_len);
	assert_int_equal(audit_case_write(test, test->one, 1, 200), RESULT_OK);
	audit_case_put(test, "audit.head", head, head_len);
	audit_case_put(test, "audit.1.jsonl", dropped, dropped_len);
	assert_int_equal(
	    audit_case_verify(test, test->one, &report), RESULT_OK);
	assert_int_equal(report.unsealed, 3);
	bytes = audit_case_read(test, "audit.4.jsonl", &len);
	audit_case_put(test, "audit.4.jsonl", bytes, 40);
	assert_int_equal(
	    audit_case_verify(test, test->one, &report), RESULT_OK);
	assert_int_equal(report.torn_bytes, 40);
	audit_case_put(test, "audit.4.jsonl", bytes, len);
	assert_int_equal(
	    audit_case_write(test, test->one, 1, 1 << 20), RESULT_OK);
	assert_int_equal(
	    audit_case_verify(test, test->one, &report), RESULT_OK);
	assert_int_equal(report.unsealed, 0);
	free(bytes);
	bytes = audit_case_read(test, "audit.4.jsonl", &len);
	assert_non_null(strstr(bytes, "\"chain_adopted\""));
	free(bytes);
	free(head);
	free(dropped);
}

/* A head's sync fails once, at the first batch or at a rotation: that ledger
 * writes no more, the next one goes on, and the chain is whole. */
static void
test_audit_rotate_sync_fails(void **state)
{
	struct audit_case *test = *state;
	struct audit_verify_report report;
	struct audit_chain chain;
	uint64_t before = 0;

	for (int i = 0; i < 3; i++) {
		audit_case_open(test, &chain, test->one, 200);
		/* The head is made; its first batch; a rotation. */
		if (i > 0)
			test_audit_rotate_sync_fd = -1;
		if (i == 1)
			audit_case_start(test, test->one);
		test_audit_rotate_sync_fd = chain.head_fd;
		assert_int_equal(audit_case_batch(&chain, 2), RESULT_SYSTEM);
		assert_int_equal(test_audit_rotate_sync_fd, -1);
		assert_int_equal(audit_case_batch(&chain, 2), RESULT_SYSTEM);
		assert_true(chain.failed);
		audit_chain_close(&chain);
		assert_int_equal(
		    audit_case_verify(test, test->one, &report), RESULT_OK);
		assert_true(report.records >= before);
		before = report.records;
		if (i > 0)
			assert_int_equal(
			    audit_case_write(test, test->one, 1, 200),
			    RESULT_OK);
		assert_int_equal(
		    audit_case_verify(test, test->one, &report), RESULT_OK);
	}
}

struct test_audit_rotate_reader {
	struct audit_case *test;
	uint64_t last;
	unsigned told, rotations; /* of how many records; done in the first */
};

static void
test_audit_rotate_on_record(const json_t *record, void *context)
{
	struct test_audit_rotate_reader *reader = context;
	uint64_t seq =
	    (uint64_t)json_integer_value(json_object_get(record, "seq"));

	assert_true(seq > reader->last); /* each once, in order */
	reader->last = seq;
	if (reader->told++ == 0)
		assert_int_equal(audit_case_write(reader->test, NULL,
				     (int)reader->rotations, 200),
		    RESULT_OK);
}

/* Rotations drop what is being read. */
static void
test_audit_rotate_read_meanwhile(void **state)
{
	struct audit_case *test = *state;
	struct audit_verify_report report;
	struct json_fault fault = {""};

	assert_int_equal(audit_case_write(test, NULL, 4, 200), RESULT_OK);
	for (unsigned rotations = 1; rotations <= 8; rotations++) {
		struct test_audit_rotate_reader reader = {
		    test, 0, 0, rotations};

		if (audit_verify_files(test->fd, NULL,
			test_audit_rotate_on_record, &reader, &report,
			&fault) != RESULT_OK)
			fail_msg("%u: %s", rotations, fault.text);
		assert_string_equal(fault.text, "");
		assert_true(report.records > 3);
		assert_int_equal(
		    reader.last, report.first + report.records - 1);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name)                       \
	cmocka_unit_test_setup_teardown( \
	    name, audit_case_setup, audit_case_teardown)
	    TEST(test_audit_rotate_files),
	    TEST(test_audit_rotate_tampered),
	    TEST(test_audit_rotate_two),
	    TEST(test_audit_rotate_died),
	    TEST(test_audit_rotate_sync_fails),
	    TEST(test_audit_rotate_read_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
