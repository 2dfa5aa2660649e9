/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keyed seal of the chain's end: a rewritten tail, a cut one, another
 * key, no key, a head without a seal, and one of before the first record.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/ledger/audit_seal.h"
#include "tests/support/audit_case.h"

#define AUDIT_SEAL_VECTOR \
	"c19c1b99004fb7e208bda3efd1682f28387c27e9e4de8d2893cab3e1b16b5cc9"

/* A tail that was rewritten by somebody with every file in hand, but not the
 * key: hashes, order and head fit, the seal does not. */
static void
test_audit_seal_rewritten(void **state)
{
	struct audit_case *test = *state;
	struct audit_verify_report report;
	char *log, *head;
	size_t log_len, head_len;

	assert_int_equal(audit_case_write(test, test->one, 2, 0), RESULT_OK);
	assert_int_equal(
	    audit_case_verify(test, test->one, &report), RESULT_OK);
	assert_true(report.sealed);
	assert_int_equal(report.unsealed, 0);
	log = audit_case_read(test, "audit.jsonl", &log_len);
	head = audit_case_read(test, "audit.head", &head_len);
	assert_int_equal(
	    audit_case_verify(test, test->two, &report), RESULT_MISMATCH);
	assert_int_equal(
	    audit_case_write(test, test->two, 1, 0), RESULT_MISMATCH);
	/* Rewritten: another chain, without key, and with another one. */
	for (int i = 0; i < 2; i++) {
		(void)unlinkat(test->fd, "audit.jsonl", 0);
		(void)unlinkat(test->fd, "audit.head", 0);
		assert_int_equal(
		    audit_case_write(test, i == 0 ? NULL : test->two, 2, 0),
		    RESULT_OK);
		assert_int_equal(
		    audit_case_verify(test, i == 0 ? NULL : test->two, &report),
		    RESULT_OK);
		assert_int_equal(audit_case_verify(test, test->one, &report),
		    RESULT_MISMATCH);
	}
	/* Sealed, and the key is gone. */
	assert_int_equal(
	    audit_case_verify(test, NULL, &report), RESULT_MISMATCH);
	assert_int_equal(audit_case_write(test, NULL, 1, 0), RESULT_MISMATCH);
	assert_int_equal(
	    audit_case_write(test, test->one, 1, 0), RESULT_MISMATCH);
	audit_case_put(test, "audit.jsonl", log, log_len);
	audit_case_put(test, "audit.head", head, head_len);
	assert_int_equal(audit_case_write(test, test->one, 1, 0), RESULT_OK);
	free(log);
	free(head);
}

/* From before there was a key: taken over in the start that made the key, and
 * the chain says so. */
static void
test_audit_seal_unsealed(void **state)
{
	struct audit_case *test = *state;
	struct audit_verify_report report;
	struct audit_chain chain;
	struct audit_head head;
	char *log;
	size_t len;

	assert_int_equal(audit_case_write(test, NULL, 2, 0), RESULT_OK);
	assert_int_equal(
	    audit_case_verify(test, test->one, &report), RESULT_MISMATCH);
	assert_int_equal(
	    audit_case_write(test, test->one, 1, 0), RESULT_MISMATCH);
	audit_case_open(test, &chain, test->one, 0);
	chain.is_key_new = true;
	assert_int_equal(audit_case_batch(&chain, 1), RESULT_OK);
	assert_int_equal(
	    audit_case_verify(test, test->one, &report), RESULT_OK);
	assert_true(report.sealed);
	log = audit_case_read(test, "audit.jsonl", &len);
	assert_non_null(strstr(log, "\"chain_unsealed\""));
	free(log);
	/* Once there was a seal the same ledger wants one too. */
	audit_case_head(test, &head);
	head.mac[0] = '\0';
	audit_case_head_put(test, &head);
	assert_int_equal(audit_case_batch(&chain, 1), RESULT_MISMATCH);
	audit_chain_close(&chain);
}

/* Nobody wrote a record yet: whatever the head has, there is nothing that a
 * seal could cover; and a log behind such a head is somebody else's. */
static void
test_audit_seal_forged(void **state)
{
	struct audit_case *test = *state;
	struct audit_verify_report report;
	struct audit_head head, first = {.size = 0};
	size_t len;
	char *log;

	assert_int_equal(audit_case_write(test, NULL, 1, 0), RESULT_OK);
	log = audit_case_read(test, "audit.jsonl", &len);
	audit_record_first(&first.link);
	for (int i = 0; i < 3; i++) {
		/* In the first file, behind it, and not even a whole line. */
		audit_case_put(test, "audit.jsonl", log,
		    i == 0   ? len
		    : i == 1 ? 0
			     : 40);
		audit_case_put(test, "audit.1.jsonl", log, i == 1 ? len : 0);
		audit_case_head_put(test, &first);
		assert_int_equal(audit_case_verify(test, test->one, &report),
		    RESULT_MISMATCH);
		assert_int_equal(
		    audit_case_write(test, test->one, 1, 0), RESULT_MISMATCH);
		audit_case_put(test, "audit.head", "", 0);
		assert_int_equal(
		    audit_case_write(test, test->one, 1, 0), RESULT_MISMATCH);
	}
	audit_case_put(test, "audit.jsonl", "", 0);
	audit_case_head_put(test, &first);
	assert_int_equal(
	    audit_case_verify(test, test->one, &report), RESULT_OK);
	assert_false(report.sealed);
	assert_int_equal(audit_case_write(test, test->one, 1, 0), RESULT_OK);
	/* A head that was sealed, stripped of it. */
	audit_case_head(test, &head);
	assert_true(head.mac[0] != '\0');
	head.mac[0] = '\0';
	audit_case_head_put(test, &head);
	assert_int_equal(
	    audit_case_verify(test, test->one, &report), RESULT_MISMATCH);
	assert_int_equal(
	    audit_case_write(test, test->one, 1, 0), RESULT_MISMATCH);
	free(log);
}

/* A sealed head before the first record, put back: what is behind it is
 * told as unsealed. */
static void
test_audit_seal_behind(void **state)
{
	struct audit_case *test = *state;
	struct audit_verify_report report;
	size_t len;
	char *head;

	assert_int_equal(audit_case_write(test, test->one, 1, 0), RESULT_OK);
	(void)unlinkat(test->fd, "audit.jsonl", 0);
	(void)unlinkat(test->fd, "audit.head", 0);
	audit_case_start(test, test->one);
	head = audit_case_read(test, "audit.head", &len);
	assert_int_equal(audit_case_write(test, test->one, 2, 0), RESULT_OK);
	audit_case_put(test, "audit.head", head, len);
	assert_int_equal(
	    audit_case_verify(test, test->one, &report), RESULT_OK);
	assert_int_equal(report.records, 4);
	assert_int_equal(report.unsealed, 4);
	free(head);
}

/* RFC 2104 with the text of the head: worked out with another program. */
static void
test_audit_seal_vector(void **state)
{
	struct audit_case *test = *state;
	struct audit_head head = {.size = 1234, .file = 2};

	head.link.seq = 7;
	memset(head.link.hash, 'a', DIGEST_HEX);
	assert_int_equal(audit_seal_put(test->one, &head), RESULT_OK);
	assert_string_equal(head.mac, AUDIT_SEAL_VECTOR);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name)                       \
	cmocka_unit_test_setup_teardown( \
	    name, audit_case_setup, audit_case_teardown)
	    TEST(test_audit_seal_rewritten),
	    TEST(test_audit_seal_unsealed),
	    TEST(test_audit_seal_forged),
	    TEST(test_audit_seal_behind),
	    TEST(test_audit_seal_vector),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
