/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seals of keys.enc: what one master key closed it alone opens, under the
 * same name and salt, with no bit changed; a token is used again and again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#include "llm-broker/keyring/vault_seal.h"
#include "llm-broker/keyring/vault_token.h"

#define KEY "sk-0123456789abcdefghij"

static struct secret *
test_vault_seal_secret(const char *text)
{
	struct secret *secret;

	assert_int_equal(secret_new(strlen(text), &secret), RESULT_OK);
	assert_int_equal(secret_set(secret, text, strlen(text)), RESULT_OK);
	return secret;
}

/* A vault with one sealed key. */
struct test_vault_seal {
	struct vault vault;
	struct secret *master, *key;
	uint8_t sealed[sizeof(KEY) - 1 + VAULT_TAG];
};

static int
test_vault_seal_setup(void **state)
{
	struct test_vault_seal *test = calloc(1, sizeof(*test));
	struct secret *passphrase = test_vault_seal_secret("correct horse");
	struct vault_entry *entry = &test->vault.entries[0];

	assert_int_equal(vault_seal_new(KEYRING_KEY, &test->vault), RESULT_OK);
	assert_int_equal(
	    vault_seal_derive(&test->vault, passphrase, &test->master),
	    RESULT_OK);
	assert_int_equal(
	    vault_seal_check(&test->vault, test->master), RESULT_OK);
	test->key = test_vault_seal_secret(KEY);
	(void)snprintf(entry->name, sizeof(entry->name), "openai");
	assert_int_equal(vault_seal_close(&test->vault, test->master, test->key,
			     test->sealed, entry),
	    RESULT_OK);
	test->vault.count = 1;
	secret_free(&passphrase);
	*state = test;
	return 0;
}

static int
test_vault_seal_teardown(void **state)
{
	struct test_vault_seal *test = *state;

	secret_free(&test->master);
	secret_free(&test->key);
	free(test);
	return 0;
}

/* scrypt of RFC 7914's own parameters is OpenSSL's; ours are fixed: the
 * same passphrase and salt give the same key, another of either does not. */
static void
test_vault_seal_derives(void **state)
{
	struct test_vault_seal *test = *state;
	struct secret *same = test_vault_seal_secret("correct horse");
	struct secret *other = test_vault_seal_secret("correct horsf");
	struct secret *first = NULL, *second = NULL;

	assert_int_equal(
	    vault_seal_derive(&test->vault, same, &first), RESULT_OK);
	assert_true(secret_equal(first, test->master));
	assert_true(vault_seal_is_master(&test->vault, first));
	assert_int_equal(
	    vault_seal_derive(&test->vault, other, &second), RESULT_OK);
	assert_false(secret_equal(first, second));
	assert_false(vault_seal_is_master(&test->vault, second));
	test->vault.salt[0] ^= 1;
	assert_false(vault_seal_is_master(&test->vault, first));
	test->vault.salt[0] ^= 1;
	secret_free(&same);
	secret_free(&other);
	secret_free(&first);
	secret_free(&second);
}

static bool
test_vault_seal_opens(struct test_vault_seal *test)
{
	struct secret *opened = NULL;
	enum result result = vault_seal_open(
	    &test->vault, test->master, &test->vault.entries[0], &opened);
	bool same = result == RESULT_OK && secret_equal(opened, test->key);

	if (result != RESULT_OK) {
		assert_int_equal(result, RESULT_MISMATCH);
		assert_null(opened);
	} else
		assert_true(same);
	secret_free(&opened);
	return same;
}

/* The key is not in the file; and no bit of it may change. */
static void
test_vault_seal_holds(void **state)
{
	struct test_vault_seal *test = *state;
	struct vault_entry *entry = &test->vault.entries[0];

	assert_true(test_vault_seal_opens(test));
	assert_null(memmem(test->sealed, sizeof(test->sealed), KEY, 8));
	for (size_t bit = 0; bit < sizeof(test->sealed) * 8; bit++) {
		test->sealed[bit / 8] ^= (uint8_t)(1U << bit % 8);
		assert_false(test_vault_seal_opens(test));
		test->sealed[bit / 8] ^= (uint8_t)(1U << bit % 8);
	}
	entry->nonce[0] ^= 1;
	assert_false(test_vault_seal_opens(test));
	entry->nonce[0] ^= 1;
	entry->name[0] = 'O';
	assert_false(test_vault_seal_opens(test));
	entry->name[0] = 'o';
	test->vault.salt[15] ^= 1;
	assert_false(test_vault_seal_opens(test));
	test->vault.salt[15] ^= 1;
	test->vault.check_tag[0] ^= 1;
	assert_false(vault_seal_is_master(&test->vault, test->master));
	test->vault.check_tag[0] ^= 1;
	assert_true(test_vault_seal_opens(test));
}

/* The same key twice is sealed differently: every nonce is new. */
static void
test_vault_seal_is_fresh(void **state)
{
	struct test_vault_seal *test = *state;
	struct vault_entry again = test->vault.entries[0];
	uint8_t sealed[sizeof(test->sealed)];

	assert_int_equal(vault_seal_close(&test->vault, test->master, test->key,
			     sealed, &again),
	    RESULT_OK);
	assert_memory_not_equal(
	    again.nonce, test->vault.entries[0].nonce, VAULT_NONCE);
	assert_memory_not_equal(sealed, test->sealed, sizeof(sealed));
}

static void
test_vault_seal_token(void **state)
{
	struct test_vault_seal *test = *state;
	int token = vault_token_make(&test->vault, test->master), ends[2];
	struct secret *master = NULL;

	assert_true(token >= 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(
		    vault_token_use(token, &test->vault, &master), RESULT_OK);
		assert_true(secret_equal(master, test->master));
		secret_free(&master);
	}
	test->vault.salt[0] ^= 1;
	assert_int_equal(
	    vault_token_use(token, &test->vault, &master), RESULT_MISMATCH);
	test->vault.salt[0] ^= 1;
	assert_null(master);
	close(token);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], KEY, 8), 8);
	assert_int_equal(
	    vault_token_use(ends[0], &test->vault, &master), RESULT_BAD);
	assert_null(master);
	close(ends[0]);
	close(ends[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_vault_seal_derives),
	    cmocka_unit_test(test_vault_seal_holds),
	    cmocka_unit_test(test_vault_seal_is_fresh),
	    cmocka_unit_test(test_vault_seal_token),
	};

	return cmocka_run_group_tests(
	    tests, test_vault_seal_setup, test_vault_seal_teardown);
}
