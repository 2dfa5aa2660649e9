/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of a key: each is found again, by its digest, in the form as an
 * encoder of the test's own writes it, with anything before and behind; and
 * no pattern tells more of the key than it may.
 */
#include <jansson.h>
#include <openssl/evp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "llm-broker/key/key_pattern.h"
#include "llm-broker/redact.h"

static struct secret *
test_key_pattern_secret(const char *text, size_t len)
{
	struct secret *secret = NULL;

	assert_int_equal(secret_new(len, &secret), RESULT_OK);
	assert_int_equal(secret_set(secret, text, len), RESULT_OK);
	return secret;
}

static size_t
test_key_pattern_unhex(const char *hex, uint8_t *bytes_r)
{
	size_t len = strlen(hex) / 2;

	for (size_t i = 0; i < len; i++) {
		unsigned byte = 0;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		bytes_r[i] = (uint8_t)byte;
	}
	return len;
}

static const char *
test_key_pattern_text(const json_t *pattern, const char *field)
{
	const char *text = json_string_value(json_object_get(pattern, field));

	assert_non_null(text);
	return text;
}

/* Is there a place in text where this pattern's prefix and digest are? */
static bool
test_key_pattern_finds(const json_t *pattern, const char *text, size_t text_len)
{
	uint8_t salted[REDACT_SALT_LEN + REDACT_LENGTH_MAX], digest[32];
	uint8_t got[32], prefix[REDACT_PREFIX_MAX];
	size_t len =
	    (size_t)json_integer_value(json_object_get(pattern, "length"));
	size_t prefix_len = test_key_pattern_unhex(
	    test_key_pattern_text(pattern, "prefix"), prefix);

	test_key_pattern_unhex(test_key_pattern_text(pattern, "salt"), salted);
	test_key_pattern_unhex(
	    test_key_pattern_text(pattern, "digest"), digest);
	for (size_t at = 0; at + len <= text_len; at++) {
		if (memcmp(text + at, prefix, prefix_len) != 0)
			continue;
		memcpy(salted + REDACT_SALT_LEN, text + at, len);
		EVP_Digest(salted, REDACT_SALT_LEN + len, got, NULL,
		    EVP_sha256(), NULL);
		if (memcmp(got, digest, sizeof(got)) == 0)
			return true;
	}
	return false;
}

static bool
test_key_pattern_any(const json_t *patterns, const char *text)
{
	for (size_t i = 0; i < json_array_size(patterns); i++)
		if (test_key_pattern_finds(
			json_array_get(patterns, i), text, strlen(text)))
			return true;
	return false;
}

static void
test_key_pattern_base64(const json_t *patterns, const char *before,
    const char *key, const char *behind)
{
	static unsigned char text[8192];
	static char plain[4096];
	int len = snprintf(plain, sizeof(plain), "%s%s%s", before, key, behind);

	EVP_EncodeBlock(text, (const unsigned char *)plain, len);
	if (!test_key_pattern_any(patterns, (const char *)text))
		fail_msg("%s is not found in base64 of %s", key, plain);
}

static void
test_key_pattern_hex(const json_t *patterns, const char *key)
{
	static char text[8192];
	size_t len = strlen(key);

	for (size_t i = 0; i < len; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", (unsigned)key[i]);
	assert_true(test_key_pattern_any(patterns, text));
}

static void
i02_key_pattern_forms(void **state)
{
	static const char *const before[] = {
	    "", "x", "yy", "Bearer ", ":", "user:", "{\"a\":\""};
	static const char *const behind[] = {"", "z", "zz", "zzz"};
	char key[200];

	(void)state;
	for (size_t len = KEY_PATTERN_LENGTH_MIN; len < 70; len++) {
		struct secret *secret;
		json_t *patterns = NULL;

		for (size_t i = 0; i < len; i++)
			key[i] = (char)('!' + (i * 37 + len * 11) % 94);
		key[len] = '\0';
		secret = test_key_pattern_secret(key, len);
		assert_int_equal(
		    key_pattern_build(secret, &patterns), RESULT_OK);
		assert_int_equal(json_array_size(patterns), 5);
		assert_true(test_key_pattern_any(patterns, key));
		test_key_pattern_hex(patterns, key);
		for (size_t b = 0; b < 7; b++)
			for (size_t e = 0; e < 4; e++)
				test_key_pattern_base64(
				    patterns, before[b], key, behind[e]);
		key[len / 2] ^= 1;
		assert_false(test_key_pattern_any(patterns, key));
		json_decref(patterns);
		secret_free(&secret);
	}
}

/* The bits of a key that all prefixes tell together are a sixth at most. */
static void
i02_key_pattern_tells_little(void **state)
{
	char key[400];

	(void)state;
	memset(key, 'k', sizeof(key));
	for (size_t len = KEY_PATTERN_LENGTH_MIN; len <= sizeof(key); len++) {
		struct secret *secret = test_key_pattern_secret(key, len);
		json_t *patterns = NULL;
		size_t told = len / 6 < 4 ? len / 6 : 4;

		assert_int_equal(
		    key_pattern_build(secret, &patterns), RESULT_OK);
		for (size_t i = 0; i < json_array_size(patterns); i++) {
			const json_t *pattern = json_array_get(patterns, i);
			const char *form =
			    test_key_pattern_text(pattern, "form");
			size_t prefix =
			    strlen(test_key_pattern_text(pattern, "prefix")) /
			    2;

			assert_true(prefix >= 1);
			if (strcmp(form, "raw") == 0)
				assert_true(prefix <= told);
			else if (strcmp(form, "hex") == 0)
				assert_true(prefix <= 2 * told);
			else
				assert_true(prefix * 6 <= told * 8);
		}
		json_decref(patterns);
		secret_free(&secret);
	}
}

/* A salt of its own each: equal keys have no equal digests. */
static void
i02_key_pattern_salted(void **state)
{
	const char *key = "sk-test-0123456789abcdefghij";
	struct secret *secret = test_key_pattern_secret(key, strlen(key));
	json_t *one = NULL, *two = NULL;

	(void)state;
	assert_int_equal(key_pattern_build(secret, &one), RESULT_OK);
	assert_int_equal(key_pattern_build(secret, &two), RESULT_OK);
	for (size_t i = 0; i < 5; i++)
		for (size_t k = 0; k < 5; k++)
			assert_string_not_equal(
			    test_key_pattern_text(
				json_array_get(one, i), "digest"),
			    test_key_pattern_text(
				json_array_get(two, k), "digest"));
	json_decref(one);
	json_decref(two);
	secret_free(&secret);
}

static void
i02_key_pattern_refuses(void **state)
{
	static const struct {
		const char *key;
		size_t len;
		const char *says; /* NULL: nothing */
	} rows[] = {
	    {"sk-0123456789abc", 16, NULL},
	    {"sk-0123456789ab", 15, "shorter"},
	    {"sk-0123456789 bc", 16, "space"},
	    {"sk-0123456789%bc", 16, "'%'"},
	    {"sk-0123456789\\bc", 16, "'%'"},
	    {"sk-0123456789\tbc", 16, "printable"},
	    {"sk-0123456789\r\nc", 16, "printable"},
	    {"sk-0123456789\0bc", 16, "printable"},
	    {"sk-0123456789\x7f"
	     "bc",
		16, "printable"},
	    {"sk-0123456789\xc3\xa9"
	     "c",
		16, "printable"},
	};
	char *longest = malloc(KEY_PATTERN_LENGTH_MAX + 1);
	struct secret *secret;
	json_t *patterns = NULL;

	(void)state;
	assert_non_null(longest);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *said;

		secret = test_key_pattern_secret(rows[i].key, rows[i].len);
		said = key_pattern_refusal(secret);
		if (rows[i].says == NULL)
			assert_null(said);
		else
			assert_non_null(strstr(said, rows[i].says));
		secret_free(&secret);
	}
	memset(longest, 'k', KEY_PATTERN_LENGTH_MAX + 1);
	secret = test_key_pattern_secret(longest, KEY_PATTERN_LENGTH_MAX);
	assert_null(key_pattern_refusal(secret));
	assert_int_equal(key_pattern_build(secret, &patterns), RESULT_OK);
	json_decref(patterns);
	secret_free(&secret);
	secret = test_key_pattern_secret(longest, KEY_PATTERN_LENGTH_MAX + 1);
	assert_non_null(key_pattern_refusal(secret));
	assert_int_equal(key_pattern_build(secret, &patterns), RESULT_TOO_LONG);
	secret_free(&secret);
	free(longest);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(i02_key_pattern_forms),
	    cmocka_unit_test(i02_key_pattern_tells_little),
	    cmocka_unit_test(i02_key_pattern_salted),
	    cmocka_unit_test(i02_key_pattern_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
