/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See audit_case.h. Called by the tests of the chain; it must leave nothing
 * behind.
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
#include "supervisor/ledger/audit_seal.h"
#include "tests/support/audit_case.h"
#include "tests/support/test_folder.h"

#define NOW INT64_C(1767323045678)
#define KEY_ONE \
	"1111111111111111111111111111111111111111111111111111111111111111\n"
#define KEY_TWO \
	"1111111111111111111111111111111111111111111111111111111111111112\n"

static struct secret *
audit_case_key(const char *text)
{
	struct secret *key = NULL;

	assert_int_equal(secret_new(AUDIT_SEAL_KEY_TEXT, &key), RESULT_OK);
	assert_int_equal(secret_set(key, text, strlen(text)), RESULT_OK);
	assert_true(audit_seal_is_key(key));
	return key;
}

int
audit_case_setup(void **state)
{
	struct audit_case *test = calloc(1, sizeof(*test));

	(void)snprintf(test->path, sizeof(test->path), "/tmp/test_rot_XXXXXX");
	assert_non_null(test_folder_new(test->path));
	test->fd = open(test->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test->one = audit_case_key(KEY_ONE);
	test->two = audit_case_key(KEY_TWO);
	*state = test;
	return 0;
}

int
audit_case_teardown(void **state)
{
	struct audit_case *test = *state;
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

void
audit_case_open(struct audit_case *test, struct audit_chain *chain,
    const struct secret *key, uint64_t max_size)
{
	struct json_fault fault = {""};

	audit_chain_init(chain);
	chain->key = key;
	chain->max_size = max_size;
	chain->max_files = 3;
	assert_int_equal(audit_chain_open(chain, test->fd, &fault), RESULT_OK);
}

enum result
audit_case_batch(struct audit_chain *chain, int count)
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
enum result
audit_case_write(struct audit_case *test, const struct secret *key, int batches,
    uint64_t max_size)
{
	struct audit_chain chain;
	enum result result = RESULT_OK;

	audit_case_open(test, &chain, key, max_size);
	for (int i = 0; result == RESULT_OK && i < batches; i++)
		result = audit_case_batch(&chain, 2);
	audit_chain_close(&chain);
	return result;
}

enum result
audit_case_verify(struct audit_case *test, const struct secret *key,
    struct audit_verify_report *report_r)
{
	struct json_fault fault = {""};
	enum result result =
	    audit_verify_files(test->fd, key, NULL, NULL, report_r, &fault);

	if (result != RESULT_OK)
		print_message("verify: %s\n", fault.text);
	return result;
}

long
audit_case_size(struct audit_case *test, const char *name)
{
	struct stat status;

	return fstatat(test->fd, name, &status, 0) == 0 ? (long)status.st_size
							: -1;
}

char *
audit_case_read(struct audit_case *test, const char *name, size_t *len_r)
{
	int fd FD_CLEANUP = openat(test->fd, name, O_RDONLY | O_CLOEXEC);
	char *bytes;

	assert_int_equal(fd_read_all(fd, 1 << 20, &bytes, len_r), RESULT_OK);
	return bytes;
}

void
audit_case_put(
    struct audit_case *test, const char *name, const char *bytes, size_t len)
{
	int fd FD_CLEANUP = openat(
	    test->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(fd_write_all(fd, bytes, len), RESULT_OK);
}

void
audit_case_head(struct audit_case *test, struct audit_head *head)
{
	struct json_fault fault = {""};
	size_t len;
	char *block = audit_case_read(test, "audit.head", &len);

	assert_int_equal(audit_head_read(block, len, head, &fault), RESULT_OK);
	free(block);
}

void
audit_case_head_put(struct audit_case *test, const struct audit_head *head)
{
	char block[AUDIT_HEAD_SIZE];

	audit_head_write(head, block);
	audit_case_put(test, "audit.head", block, sizeof(block));
}

/* A ledger that starts and writes nothing. */
void
audit_case_start(struct audit_case *test, const struct secret *key)
{
	struct audit_chain chain;

	audit_case_open(test, &chain, key, 0);
	assert_int_equal(audit_case_batch(&chain, 0), RESULT_OK);
	audit_chain_close(&chain);
}
