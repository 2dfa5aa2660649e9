/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The block of a run's secrets: what init reads is what was put in, two
 * blocks join, a name is there once, and the bounds hold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/init/init_go.h"
#include "supervisor/policy/secret_block.h"

static enum result
test_secret_block_put(
    struct secret_block *block, const char *name, const char *value)
{
	struct secret *secret;
	enum result result;

	assert_int_equal(secret_new(SECRET_MAX, &secret), RESULT_OK);
	assert_int_equal(secret_set(secret, value, strlen(value)), RESULT_OK);
	result = secret_block_add(block, name, secret);
	secret_free(&secret);
	return result;
}

static void
test_secret_block_round(void **state)
{
	struct secret_block *first, *second;
	const struct init_go *go;
	char *words[4];
	int fd, both;

	(void)state;
	assert_int_equal(secret_block_new(&first), RESULT_OK);
	assert_int_equal(test_secret_block_put(first, "A", "one=1"), RESULT_OK);
	assert_int_equal(test_secret_block_put(first, "B", ""), RESULT_OK);
	assert_int_equal(test_secret_block_put(first, "A", "x"), RESULT_BAD);
	assert_int_equal(secret_block_seal(first, &fd), RESULT_OK);
	assert_int_equal(secret_block_new(&second), RESULT_OK);
	assert_int_equal(test_secret_block_put(second, "AB", "2"), RESULT_OK);
	assert_int_equal(secret_block_join(second, fd), RESULT_OK);
	assert_int_equal(secret_block_join(second, fd), RESULT_BAD);
	assert_int_equal(secret_block_seal(second, &both), RESULT_OK);
	go = init_go_map(both, INIT_GO_SECRET);
	assert_non_null(go);
	assert_int_equal(go->envc, 3);
	init_go_words(go, go->env_offset, go->envc, words);
	assert_string_equal(words[0], "AB=2");
	assert_string_equal(words[1], "A=one=1");
	assert_string_equal(words[2], "B=");
	init_go_unmap(go);
	close(fd);
	close(both);
	secret_block_free(&first);
	secret_block_free(&second);
}

static void
test_secret_block_bounds(void **state)
{
	static char big[SECRET_MAX];
	struct secret_block *block;
	char name[16];
	int ends[2];

	(void)state;
	assert_int_equal(secret_block_new(&block), RESULT_OK);
	memset(big, 'x', 8192);
	assert_int_equal(test_secret_block_put(block, "A", big), RESULT_OK);
	assert_int_equal(
	    test_secret_block_put(block, "B", big), RESULT_TOO_LONG);
	for (unsigned i = 1; i < SECRET_BLOCK_MAX; i++) {
		(void)snprintf(name, sizeof(name), "N%u", i);
		assert_int_equal(
		    test_secret_block_put(block, name, "v"), RESULT_OK);
	}
	assert_int_equal(
	    test_secret_block_put(block, "LAST", "v"), RESULT_TOO_LONG);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(secret_block_join(block, ends[0]), RESULT_BAD);
	close(ends[0]);
	close(ends[1]);
	secret_block_free(&block);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_secret_block_round),
	    cmocka_unit_test(test_secret_block_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
