/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit chain over real files: what is written verifies; every edit,
 * deletion, exchange and cut of every record is noticed; a torn end is
 * repaired with a record that says so; two writers share one chain.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/ledger/audit_chain.h"
#include "supervisor/ledger/audit_verify.h"
#include "tests/support/test_folder.h"

#define TEST_AUDIT_CHAIN_NOW INT64_C(1767323045678)

struct test_audit_chain_dir {
	char path[64];
	int fd;
};

static int
test_audit_chain_setup(void **state)
{
	struct test_audit_chain_dir *dir = calloc(1, sizeof(*dir));

	snprintf(dir->path, sizeof(dir->path), "/tmp/test_audit_XXXXXX");
	assert_non_null(test_folder_new(dir->path));
	dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir->fd >= 0);
	*state = dir;
	return 0;
}

static int
test_audit_chain_teardown(void **state)
{
	struct test_audit_chain_dir *dir = *state;

	unlinkat(dir->fd, AUDIT_HEAD_LOG, 0);
	unlinkat(dir->fd, AUDIT_HEAD_FILE, 0);
	close(dir->fd);
	assert_int_equal(rmdir(dir->path), 0);
	free(dir);
	return 0;
}

static void
test_audit_chain_begin(
    const struct test_audit_chain_dir *dir, struct audit_chain *chain_r)
{
	struct json_fault fault = {""};

	audit_chain_init(chain_r);
	assert_int_equal(audit_chain_open(chain_r, dir->fd, &fault), RESULT_OK);
}

/* One batch of count records. */
static enum result
test_audit_chain_batch(struct audit_chain *chain, int count)
{
	struct json_fault fault = {""};
	enum result result;
	json_t *fields;
	int i;

	assert_int_equal(audit_chain_lock(chain), RESULT_OK);
	result = audit_chain_catch_up(chain, TEST_AUDIT_CHAIN_NOW, &fault);
	for (i = 0; result == RESULT_OK && i < count; i++) {
		fields = json_pack(
		    "{s:i, s:s}", "n", i, "text", "\xc3\xbc \x1b[31m \" \\");
		result = audit_chain_add(
		    chain, TEST_AUDIT_CHAIN_NOW, "launch", fields);
		json_decref(fields);
	}
	if (result == RESULT_OK)
		result = audit_chain_commit(chain, &fault);
	audit_chain_unlock(chain);
	if (result != RESULT_OK)
		print_message("batch: %s\n", fault.text);
	return result;
}

static void
test_audit_chain_write(const struct test_audit_chain_dir *dir, int count)
{
	struct audit_chain chain;

	test_audit_chain_begin(dir, &chain);
	assert_int_equal(test_audit_chain_batch(&chain, count), RESULT_OK);
	audit_chain_close(&chain);
}

static enum result
test_audit_chain_verify(const struct test_audit_chain_dir *dir,
    struct audit_verify_report *report_r, struct json_fault *fault)
{
	fault->text[0] = '\0';
	return audit_verify_files(dir->fd, NULL, NULL, NULL, report_r, fault);
}

static char *
test_audit_chain_read(
    const struct test_audit_chain_dir *dir, const char *name, size_t *len_r)
{
	int fd = openat(dir->fd, name, O_RDONLY | O_CLOEXEC);
	char *bytes;

	assert_int_equal(fd_read_all(fd, 1 << 20, &bytes, len_r), RESULT_OK);
	close(fd);
	return bytes;
}

static void
test_audit_chain_put(const struct test_audit_chain_dir *dir, const char *name,
    const char *bytes, size_t len)
{
	int fd = openat(
	    dir->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(fd_write_all(fd, bytes, len), RESULT_OK);
	close(fd);
}

static void
test_audit_chain_whole(void **state)
{
	struct audit_verify_report report;
	struct json_fault fault;
	struct stat status;
	size_t len;
	char *bytes;

	assert_int_equal(
	    audit_verify_files(-1, NULL, NULL, NULL, &report, &fault),
	    RESULT_OK);
	test_audit_chain_write(*state, 0);
	assert_int_equal(
	    test_audit_chain_verify(*state, &report, &fault), RESULT_OK);
	assert_int_equal(report.records, 0);
	test_audit_chain_write(*state, 3);
	test_audit_chain_write(*state, 2);
	assert_int_equal(
	    test_audit_chain_verify(*state, &report, &fault), RESULT_OK);
	assert_int_equal(report.records, 5);
	assert_string_equal(report.last_ts, "2026-01-02T03:04:05.678Z");
	bytes = test_audit_chain_read(*state, AUDIT_HEAD_LOG, &len);
	assert_null(memchr(bytes, 0x1b, len)); /* escaped by JSON */
	free(bytes);
	assert_int_equal(fstatat(((struct test_audit_chain_dir *)*state)->fd,
			     AUDIT_HEAD_LOG, &status, 0),
	    0);
	assert_int_equal(status.st_mode & 0777, 0600);
}

/* Change every single byte of the log, one at a time. */
static void
test_audit_chain_every_byte(void **state)
{
	struct audit_verify_report report;
	struct json_fault fault;
	size_t len, i;
	char *bytes;

	test_audit_chain_write(*state, 3);
	bytes = test_audit_chain_read(*state, AUDIT_HEAD_LOG, &len);
	for (i = 0; i < len; i++) {
		bytes[i] ^= 1;
		test_audit_chain_put(*state, AUDIT_HEAD_LOG, bytes, len);
		if (test_audit_chain_verify(*state, &report, &fault) !=
		    RESULT_MISMATCH)
			fail_msg("byte %zu of %zu", i, len);
		bytes[i] ^= 1;
	}
	free(bytes);
}

/* A changed copy of the log's lines: order lists line numbers. */
static void
test_audit_chain_reorder(const struct test_audit_chain_dir *dir,
    const char *bytes, const char *order)
{
	const char *lines[8] = {bytes}, *end;
	char out[8192];
	size_t used = 0, count = 1, len;

	while (count < 8 && (end = strchr(lines[count - 1], '\n')) != NULL)
		lines[count++] = end + 1;
	for (; *order != '\0'; order++) {
		len = (size_t)(strchr(lines[*order - '0'], '\n') + 1 -
			       lines[*order - '0']);
		memcpy(out + used, lines[*order - '0'], len);
		used += len;
	}
	test_audit_chain_put(dir, AUDIT_HEAD_LOG, out, used);
}

static void
test_audit_chain_tampered(void **state)
{
	/* Which lines remain, the first wrong line (0: the end is cut). */
	static const struct {
		const char *order;
		uint64_t line;
	} rows[] = {{"1234", 1}, {"0234", 2}, {"0134", 3}, {"0124", 4},
	    {"0123", 0}, {"01", 0}, {"", 0}, {"10234", 1}, {"01243", 4},
	    {"011234", 3}, {"0123440", 6}};
	struct audit_verify_report report;
	struct audit_chain chain;
	struct json_fault fault;
	size_t len, i;
	char *bytes;

	test_audit_chain_write(*state, 5);
	bytes = test_audit_chain_read(*state, AUDIT_HEAD_LOG, &len);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		test_audit_chain_reorder(*state, bytes, rows[i].order);
		assert_int_equal(
		    test_audit_chain_verify(*state, &report, &fault),
		    RESULT_MISMATCH);
		if (report.line != rows[i].line)
			fail_msg("'%s': line %d: %s", rows[i].order,
			    (int)report.line, fault.text);
		/* The writer looks at the end only. */
		if (strcmp(rows[i].order + strlen(rows[i].order) -
			       (strlen(rows[i].order) > 0),
			"4") == 0)
			continue;
		test_audit_chain_begin(*state, &chain);
		assert_int_equal(
		    test_audit_chain_batch(&chain, 1), RESULT_MISMATCH);
		audit_chain_close(&chain);
	}
	free(bytes);
}

static void
test_audit_chain_head(void **state)
{
	struct audit_verify_report report;
	struct audit_chain chain;
	struct json_fault fault;
	size_t len, head_len, i;
	char *bytes, *head;

	test_audit_chain_write(*state, 3);
	head = test_audit_chain_read(*state, AUDIT_HEAD_FILE, &head_len);
	assert_int_equal(head_len, AUDIT_HEAD_SIZE);
	bytes = test_audit_chain_read(*state, AUDIT_HEAD_LOG, &len);
	for (i = 0; i < head_len; i++) { /* blanks at the end do not count */
		if (head[i] == ' ' || head[i] == '\n')
			continue;
		head[i] ^= 1;
		test_audit_chain_put(*state, AUDIT_HEAD_FILE, head, head_len);
		if (test_audit_chain_verify(*state, &report, &fault) !=
		    RESULT_MISMATCH)
			fail_msg("byte %zu: %s", i, fault.text);
		head[i] ^= 1;
	}
	/* A log without head is no new chain. */
	test_audit_chain_put(*state, AUDIT_HEAD_FILE, "", 0);
	assert_int_equal(
	    test_audit_chain_verify(*state, &report, &fault), RESULT_MISMATCH);
	test_audit_chain_begin(*state, &chain);
	assert_int_equal(test_audit_chain_batch(&chain, 1), RESULT_MISMATCH);
	audit_chain_close(&chain);
	free(head);
	free(bytes);
}

/* A writer died after k bytes of a record. */
static void
test_audit_chain_torn(void **state)
{
	static const size_t cuts[] = {1, 20, 150};
	struct audit_verify_report report;
	struct json_fault fault;
	size_t len, whole, i;
	char *bytes;
	int fd;

	test_audit_chain_write(*state, 2);
	for (i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		bytes = test_audit_chain_read(*state, AUDIT_HEAD_LOG, &whole);
		fd = openat(((struct test_audit_chain_dir *)*state)->fd,
		    AUDIT_HEAD_LOG, O_WRONLY | O_APPEND | O_CLOEXEC);
		assert_int_equal(fd_write_all(fd, bytes, cuts[i]), RESULT_OK);
		close(fd);
		free(bytes);
		assert_int_equal(
		    test_audit_chain_verify(*state, &report, &fault),
		    RESULT_OK);
		assert_int_equal(report.torn_bytes, cuts[i]);
		test_audit_chain_write(*state, 1);
		assert_int_equal(
		    test_audit_chain_verify(*state, &report, &fault),
		    RESULT_OK);
		assert_int_equal(report.torn_bytes, 0);
		assert_int_equal(report.records, 2 + 2 * (i + 1));
		bytes = test_audit_chain_read(*state, AUDIT_HEAD_LOG, &len);
		assert_non_null(strstr(bytes + whole, "\"torn_tail\""));
		free(bytes);
	}
}

/* The head may lag behind whole records: their writer died in between. */
static void
test_audit_chain_lagging_head(void **state)
{
	struct audit_verify_report report;
	struct json_fault fault;
	size_t len;
	char *head;

	test_audit_chain_write(*state, 2);
	head = test_audit_chain_read(*state, AUDIT_HEAD_FILE, &len);
	test_audit_chain_write(*state, 3);
	test_audit_chain_put(*state, AUDIT_HEAD_FILE, head, len);
	free(head);
	assert_int_equal(
	    test_audit_chain_verify(*state, &report, &fault), RESULT_OK);
	test_audit_chain_write(*state, 1);
	assert_int_equal(
	    test_audit_chain_verify(*state, &report, &fault), RESULT_OK);
	assert_int_equal(report.records, 6);
}

static void
test_audit_chain_two_writers(void **state)
{
	struct audit_verify_report report;
	struct audit_chain one, two;
	struct json_fault fault;
	int i;

	test_audit_chain_begin(*state, &one);
	test_audit_chain_begin(*state, &two);
	for (i = 0; i < 20; i++) {
		assert_int_equal(test_audit_chain_batch(&one, 2), RESULT_OK);
		assert_int_equal(test_audit_chain_batch(&two, 1), RESULT_OK);
	}
	assert_int_equal(audit_chain_lock(&one), RESULT_OK);
	assert_int_equal(audit_chain_lock(&two), RESULT_NEED_MORE);
	audit_chain_unlock(&one);
	audit_chain_close(&one);
	audit_chain_close(&two);
	assert_int_equal(
	    test_audit_chain_verify(*state, &report, &fault), RESULT_OK);
	assert_int_equal(report.records, 60);
}

static void
test_audit_chain_bad_records(void **state)
{
	static const char *const events[] = {
	    "", "Launch", "a b", "x\n", "a-b", "\xc3\xbc"};
	struct audit_chain chain;
	struct json_fault fault = {""};
	json_t *fields = json_object(), *large;
	char *text;
	size_t i;

	test_audit_chain_begin(*state, &chain);
	assert_int_equal(audit_chain_lock(&chain), RESULT_OK);
	assert_int_equal(
	    audit_chain_catch_up(&chain, TEST_AUDIT_CHAIN_NOW, &fault),
	    RESULT_OK);
	for (i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		assert_int_equal(audit_chain_add(&chain, TEST_AUDIT_CHAIN_NOW,
				     events[i], fields),
		    RESULT_BAD);
	text = malloc(AUDIT_RECORD_LINE_MAX + 1);
	memset(text, 'x', AUDIT_RECORD_LINE_MAX);
	text[AUDIT_RECORD_LINE_MAX] = '\0';
	large = json_pack("{s:s}", "x", text);
	assert_int_equal(
	    audit_chain_add(&chain, TEST_AUDIT_CHAIN_NOW, "launch", large),
	    RESULT_TOO_LONG);
	assert_int_equal(chain.pending.len, 0);
	json_decref(large);
	json_decref(fields);
	free(text);
	audit_chain_close(&chain);
}

static void
test_audit_chain_dates(void **state)
{
	static const struct {
		int64_t ms;
		const char *text;
	} rows[] = {{0, "1970-01-01T00:00:00.000Z"},
	    {INT64_C(951782400000), "2000-02-29T00:00:00.000Z"},
	    {INT64_C(951868799999), "2000-02-29T23:59:59.999Z"},
	    {INT64_C(1709164800000), "2024-02-29T00:00:00.000Z"},
	    {INT64_C(1735689599001), "2024-12-31T23:59:59.001Z"},
	    {INT64_C(4107542400000), "2100-03-01T00:00:00.000Z"},
	    {INT64_C(253402300799999), "9999-12-31T23:59:59.999Z"}};
	char text[AUDIT_RECORD_TS_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		audit_record_time(rows[i].ms, text);
		assert_string_equal(text, rows[i].text);
	}
}

#define TEST(function)                   \
	cmocka_unit_test_setup_teardown( \
	    function, test_audit_chain_setup, test_audit_chain_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_audit_chain_whole),
	    TEST(test_audit_chain_every_byte),
	    TEST(test_audit_chain_tampered),
	    TEST(test_audit_chain_head),
	    TEST(test_audit_chain_torn),
	    TEST(test_audit_chain_lagging_head),
	    TEST(test_audit_chain_two_writers),
	    TEST(test_audit_chain_bad_records),
	    cmocka_unit_test(test_audit_chain_dates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
