/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be a key, what is cut off, and how much of it may be shown; the
 * words of the helper are what they are, both ways.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "llm-broker/keyring/key_rule.h"
#include "llm-broker/keyring/keyring_words.h"

#define KEY "sk-0123456789abc" /* 16 bytes */

static void
test_key_rule_table(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		enum key_rule rule;
		size_t at;
	} rows[] = {
	    {KEY, 16, KEY_RULE_OK, 0},
	    {"", 0, KEY_RULE_EMPTY, 0},
	    {KEY, 15, KEY_RULE_SHORT, 0},
	    {"sk 0123456789abc", 16, KEY_RULE_BYTE, 2},
	    {" k-0123456789abc", 16, KEY_RULE_BYTE, 0},
	    {"sk-0123456789ab\t", 16, KEY_RULE_BYTE, 15},
	    {"sk-0123\0"
	     "56789abc",
		16, KEY_RULE_BYTE, 7},
	    {"sk-0123456789ab\x7f", 16, KEY_RULE_BYTE, 15},
	    {"sk-0123456789a\xc3\xa9", 16, KEY_RULE_BYTE, 14},
	    {"sk-0123456789ab\n", 16, KEY_RULE_BYTE, 15},
	    {"\r\n", 2, KEY_RULE_BYTE, 0},
	    {"~!#$&'()*+,-./:;", 16, KEY_RULE_OK, 0},
	    {"sk-0123456789ab%", 16, KEY_RULE_BYTE, 15},
	    {"sk-0123456789a\\c", 16, KEY_RULE_BYTE, 14},
	};
	size_t at;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum key_rule rule = key_rule_check(KEYRING_KEY,
		    (const uint8_t *)rows[i].bytes, rows[i].len, &at);

		if (rule != rows[i].rule || at != rows[i].at)
			fail_msg("row %zu: rule %d at %zu", i, rule, at);
	}
}

/* A secret is whatever a variable can hold. */
static void
test_key_rule_secrets(void **state)
{
	static uint8_t long_one[KEY_RULE_SECRET_MAX + 1];
	size_t at;

	(void)state;
	memset(long_one, 'x', sizeof(long_one));
	assert_int_equal(key_rule_check(KEYRING_SECRET,
			     (const uint8_t *)"a b\n\xff%", 6, &at),
	    KEY_RULE_OK);
	assert_int_equal(
	    key_rule_check(KEYRING_SECRET, (const uint8_t *)"x", 1, &at),
	    KEY_RULE_OK);
	assert_int_equal(
	    key_rule_check(KEYRING_SECRET, (const uint8_t *)"", 0, &at),
	    KEY_RULE_EMPTY);
	assert_int_equal(
	    key_rule_check(KEYRING_SECRET, (const uint8_t *)"ab\0c", 4, &at),
	    KEY_RULE_BYTE);
	assert_int_equal(at, 2);
	assert_int_equal(
	    key_rule_check(KEYRING_SECRET, long_one, sizeof(long_one), &at),
	    KEY_RULE_LONG);
	assert_int_equal(
	    key_rule_check(KEYRING_SECRET, long_one, sizeof(long_one) - 1, &at),
	    KEY_RULE_OK);
	assert_true(keyring_words_is_name(KEYRING_SECRET, "GITHUB_TOKEN"));
	assert_false(keyring_words_is_name(KEYRING_SECRET, "open-ai"));
	assert_false(keyring_words_is_name(KEYRING_SECRET, "1A"));
	assert_false(keyring_words_is_name(KEYRING_SECRET, ""));
	assert_false(keyring_words_is_name(KEYRING_KEY, "GITHUB_TOKEN"));
}

static void
test_key_rule_longest(void **state)
{
	uint8_t *bytes = malloc(KEY_RULE_MAX + 1);
	size_t at;

	(void)state;
	assert_non_null(bytes);
	memset(bytes, 'k', KEY_RULE_MAX + 1);
	assert_int_equal(
	    key_rule_check(KEYRING_KEY, bytes, KEY_RULE_MAX, &at), KEY_RULE_OK);
	assert_int_equal(
	    key_rule_check(KEYRING_KEY, bytes, KEY_RULE_MAX + 1, &at),
	    KEY_RULE_LONG);
	free(bytes);
}

/* One line end, and no more. */
static void
test_key_rule_trims(void **state)
{
	static const struct {
		const char *text;
		size_t len;
	} rows[] = {{"", 0}, {"\n", 0}, {"\r\n", 0}, {"\r", 1}, {"a\n", 1},
	    {"a\r\n", 1}, {"a\n\n", 2}, {"a\n\r\n", 2}, {"a \n", 2}, {"a", 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(key_rule_trim((const uint8_t *)rows[i].text,
				     strlen(rows[i].text)),
		    rows[i].len);
}

static void
test_key_rule_shows_little(void **state)
{
	const uint8_t *key = (const uint8_t *)"sk-0123456789abcdefg";
	static const enum key_rule faults[] = {KEY_RULE_OK, KEY_RULE_EMPTY,
	    KEY_RULE_SHORT, KEY_RULE_LONG, KEY_RULE_BYTE};
	char last4[5], text[192];

	(void)state;
	key_rule_last4(key, 20, last4);
	assert_string_equal(last4, "defg");
	key_rule_last4(key, 19, last4);
	assert_string_equal(last4, "");
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		key_rule_sentence(
		    KEYRING_KEY, faults[i], 19, 3, text, sizeof(text));
		assert_int_equal(text[0] == '\0', faults[i] == KEY_RULE_OK);
		assert_null(strstr(text, "sk-0"));
	}
}

static void
test_key_rule_words(void **state)
{
	enum keyring_status status;
	enum keyring_backend backend;
	enum keyring_input input;
	enum keyring_op op;
	int i;

	(void)state;
	for (i = 0; i < KEYRING_STATUS_COUNT; i++) {
		assert_true(keyring_words_find_status(
		    keyring_words_status((enum keyring_status)i), &status));
		assert_int_equal(status, i);
	}
	for (i = 0; i < KEYRING_BACKEND_COUNT; i++) {
		assert_true(keyring_words_find_backend(
		    keyring_words_backend((enum keyring_backend)i), &backend));
		assert_int_equal(backend, i);
	}
	for (i = 0; i < KEYRING_INPUT_COUNT; i++) {
		assert_true(keyring_words_find_input(
		    keyring_words_input((enum keyring_input)i), &input));
		assert_int_equal(input, i);
	}
	for (i = 0; i < KEYRING_OP_COUNT; i++) {
		assert_true(keyring_words_find_op(
		    keyring_words_op((enum keyring_op)i), &op));
		assert_int_equal(op, i);
	}
	assert_false(keyring_words_find_status("OK", &status));
	assert_false(keyring_words_find_backend("plain", &backend));
	assert_false(keyring_words_find_backend(NULL, &backend));
	assert_false(keyring_words_find_op("", &op));
}

static void
test_key_rule_providers(void **state)
{
	static const char *const good[] = {
	    "a", "openai", "my-own-2", "0123456789012345678901234567890"};
	static const char *const bad[] = {"", "OpenAI", "a_b", "a.b", "a/b",
	    "..", "a b", "01234567890123456789012345678901", "\xc3\xa9"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(keyring_words_is_provider(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(keyring_words_is_provider(bad[i]));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_key_rule_table),
	    cmocka_unit_test(test_key_rule_secrets),
	    cmocka_unit_test(test_key_rule_longest),
	    cmocka_unit_test(test_key_rule_trims),
	    cmocka_unit_test(test_key_rule_shows_little),
	    cmocka_unit_test(test_key_rule_words),
	    cmocka_unit_test(test_key_rule_providers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
