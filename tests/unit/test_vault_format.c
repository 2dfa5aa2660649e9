/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of keys.enc: what is written is read again, every cut and every
 * wrong field is refused under its own name, no reading goes beyond the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "llm-broker/keyring/vault_format.h"

#define KEY_LEN 16U
#define ENTRY (1U + 6U + 2U + VAULT_NONCE + KEY_LEN + VAULT_TAG)

static uint8_t test_vault_format_sealed[KEY_LEN + VAULT_TAG];

/* Two keys, "openai" and "gemini". */
static struct buffer
test_vault_format_file(void)
{
	static const char *const names[] = {"openai", "gemini"};
	struct vault *vault = calloc(1, sizeof(*vault));
	struct buffer out;

	assert_non_null(vault);
	memset(vault->salt, 's', VAULT_SALT);
	memset(vault->check_nonce, 'n', VAULT_NONCE);
	memset(vault->check_tag, 't', VAULT_TAG);
	memset(test_vault_format_sealed, 'x', sizeof(test_vault_format_sealed));
	for (vault->count = 0; vault->count < 2; vault->count++) {
		struct vault_entry *entry = &vault->entries[vault->count];

		(void)snprintf(entry->name, sizeof(entry->name), "%s",
		    names[vault->count]);
		memset(entry->nonce, 'o', VAULT_NONCE);
		entry->key_len = KEY_LEN;
		entry->sealed = test_vault_format_sealed;
	}
	buffer_init(&out, VAULT_FILE_MAX);
	assert_int_equal(vault_format_write(vault, &out), RESULT_OK);
	assert_int_equal(out.len, VAULT_HEAD + 2 * ENTRY);
	free(vault);
	return out;
}

static enum vault_fault
test_vault_format_read(const void *bytes, size_t len, struct vault *vault_r)
{
	/* In memory of exactly this size, so that a sanitizer sees more. */
	uint8_t *copy = malloc(len + (len == 0));
	enum vault_fault fault;

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	fault = vault_format_read(KEYRING_KEY, copy, len, vault_r);
	free(copy);
	return fault;
}

static void
test_vault_format_round(void **state)
{
	struct buffer file = test_vault_format_file(), again;
	struct vault *vault = calloc(1, sizeof(*vault));

	(void)state;
	assert_non_null(vault);
	assert_int_equal(vault_format_read(KEYRING_KEY,
			     buffer_bytes_borrow(&file), file.len, vault),
	    VAULT_OK);
	assert_int_equal(vault->count, 2);
	assert_non_null(vault_format_find(vault, "gemini"));
	assert_string_equal(vault_format_find(vault, "openai")->name, "openai");
	assert_null(vault_format_find(vault, "openai2"));
	buffer_init(&again, VAULT_FILE_MAX);
	assert_int_equal(vault_format_write(vault, &again), RESULT_OK);
	assert_int_equal(again.len, file.len);
	assert_memory_equal(
	    buffer_bytes_borrow(&again), buffer_bytes_borrow(&file), file.len);
	buffer_free(&again);
	buffer_free(&file);
	free(vault);
}

static void
test_vault_format_cut(void **state)
{
	struct buffer file = test_vault_format_file();
	struct vault *vault = calloc(1, sizeof(*vault));

	(void)state;
	assert_non_null(vault);
	for (size_t len = 0; len < file.len; len++)
		assert_int_equal(test_vault_format_read(
				     buffer_bytes_borrow(&file), len, vault),
		    VAULT_CUT);
	buffer_free(&file);
	free(vault);
}

/* One byte is another one: which fault is that? */
static void
test_vault_format_faults(void **state)
{
	static const struct {
		size_t at;
		uint8_t byte;
		enum vault_fault fault;
	} rows[] = {
	    {0, 'a', VAULT_MAGIC}, {5, 's', VAULT_MAGIC},
	    {7, '2', VAULT_VERSION}, {6, '1', VAULT_VERSION},
	    {8, 4, VAULT_SCRYPT}, {8, 63, VAULT_SCRYPT}, {9, 0, VAULT_SCRYPT},
	    {10, 255, VAULT_SCRYPT}, {11, 65, VAULT_COUNT}, {11, 64, VAULT_CUT},
	    {11, 1, VAULT_REST}, {11, 0, VAULT_REST},
	    {VAULT_HEAD, 0, VAULT_NAME}, {VAULT_HEAD, 32, VAULT_NAME},
	    {VAULT_HEAD + 1, 'O', VAULT_NAME},
	    {VAULT_HEAD + 3, '\0', VAULT_NAME},
	    {VAULT_HEAD + 1, '/', VAULT_NAME},
	    {VAULT_HEAD + 7, 0xff, VAULT_LENGTH},
	    {VAULT_HEAD + 8, 15, VAULT_LENGTH},
	    {VAULT_HEAD + 8, 17, VAULT_NAME}, /* the next begins too late */
	};
	struct buffer file = test_vault_format_file();
	struct vault *vault = calloc(1, sizeof(*vault));
	uint8_t *bytes = file.data + file.start, old;

	(void)state;
	assert_non_null(vault);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum vault_fault fault;

		old = bytes[rows[i].at];
		bytes[rows[i].at] = rows[i].byte;
		fault = test_vault_format_read(bytes, file.len, vault);
		bytes[rows[i].at] = old;
		if (fault != rows[i].fault)
			fail_msg("row %zu: %s", i, vault_format_text(fault));
	}
	/* The same name twice. */
	memcpy(bytes + VAULT_HEAD + ENTRY + 1, "openai", 6);
	assert_int_equal(
	    test_vault_format_read(bytes, file.len, vault), VAULT_NAME);
	buffer_free(&file);
	free(vault);
}

/* Keys and secrets never pass as each other; a secret may be short. */
static void
test_vault_format_kinds(void **state)
{
	struct buffer file = test_vault_format_file();
	struct vault *vault = calloc(1, sizeof(*vault));
	uint8_t byte[1 + VAULT_TAG] = {0};

	(void)state;
	assert_non_null(vault);
	assert_int_equal(vault_format_read(KEYRING_SECRET,
			     buffer_bytes_borrow(&file), file.len, vault),
	    VAULT_MAGIC);
	buffer_free(&file);
	memset(vault, 0, sizeof(*vault));
	vault->kind = KEYRING_SECRET;
	vault->count = 1;
	(void)snprintf(vault->entries[0].name, sizeof(vault->entries[0].name),
	    "API_TOKEN");
	vault->entries[0].key_len = 1;
	vault->entries[0].sealed = byte;
	buffer_init(&file, VAULT_FILE_MAX);
	assert_int_equal(vault_format_write(vault, &file), RESULT_OK);
	assert_int_equal(vault_format_read(KEYRING_SECRET,
			     buffer_bytes_borrow(&file), file.len, vault),
	    VAULT_OK);
	assert_string_equal(vault->entries[0].name, "API_TOKEN");
	assert_int_equal(vault_format_read(KEYRING_KEY,
			     buffer_bytes_borrow(&file), file.len, vault),
	    VAULT_MAGIC);
	buffer_free(&file);
	free(vault);
}

/* What is authenticated differs by salt and by name, not by the count. */
static void
test_vault_format_aad_binds(void **state)
{
	uint8_t check[VAULT_AAD_MAX], entry[VAULT_AAD_MAX];
	struct vault *vault = calloc(1, sizeof(*vault));
	size_t check_len, entry_len;

	(void)state;
	assert_non_null(vault);
	check_len = vault_format_aad(vault, NULL, check);
	vault->count = 7;
	assert_int_equal(vault_format_aad(vault, NULL, entry), check_len);
	assert_memory_equal(check, entry, check_len);
	entry_len = vault_format_aad(vault, "openai", entry);
	assert_int_equal(entry_len, check_len + 6);
	vault->salt[3] = 1;
	(void)vault_format_aad(vault, NULL, entry);
	assert_memory_not_equal(check, entry, check_len);
	/* And by what the file is for. */
	(void)vault_format_aad(vault, NULL, check);
	vault->kind = KEYRING_SECRET;
	(void)vault_format_aad(vault, NULL, entry);
	assert_memory_not_equal(check, entry, check_len);
	assert_int_equal(
	    vault_format_aad(vault,
		"A23456789_123456789_123456789_123456789_123456789_123456789_"
		"1234",
		entry),
	    VAULT_AAD_MAX);
	free(vault);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_vault_format_round),
	    cmocka_unit_test(test_vault_format_cut),
	    cmocka_unit_test(test_vault_format_faults),
	    cmocka_unit_test(test_vault_format_kinds),
	    cmocka_unit_test(test_vault_format_aad_binds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
