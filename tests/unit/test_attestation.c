/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The form of attestations as bytes: each code of the parser, and the times
 * and keys that they are made of.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/policy/attestation.h"
#include "supervisor/policy/trust_key.h"
#include "supervisor/policy/utc_time.h"

#define HEX64 "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define ATTESTATION(slug, version, hash, tier, issued, expires, more)    \
	"{\"slug\":\"" slug "\",\"version\":\"" version                  \
	"\",\"artifact_hash\":\"" hash "\",\"tier\":\"" tier             \
	"\",\"publisher\":\"acme-tools\",\"publisher_key\":\"" HEX64     \
	"\",\"issued\":\"" issued "\",\"expires\":\"" expires            \
	"\",\"registry_key\":\"" HEX64 "\",\"signature\":\"" HEX64 HEX64 \
	"\"" more "}"
#define GOOD_HASH "sha256:" HEX64
#define FROM "2026-01-02T03:04:05Z"
#define TO "2027-01-02T03:04:05Z"

struct test_attestation_row {
	const char *text;
	enum attestation_code code;
};

static const struct test_attestation_row test_attestation_rows[] = {
    {ATTESTATION("word-count", "1.0", GOOD_HASH, "curated", FROM, TO, ""),
	ATTESTATION_OK},
    {ATTESTATION("word-count", "1.0", GOOD_HASH, "unverified", FROM, TO,
	 ",\"serial\":3"),
	ATTESTATION_OK},
    {"", ATTESTATION_SYNTAX},
    {"{", ATTESTATION_SYNTAX},
    {ATTESTATION("word-count", "1.0", GOOD_HASH, "curated", FROM, TO, "") "x",
	ATTESTATION_SYNTAX},
    {ATTESTATION("word-count", "1.0", GOOD_HASH, "curated", FROM, TO,
	 ",\"tier\":\"curated\""),
	ATTESTATION_DUPLICATE},
    {"[]", ATTESTATION_FIELD},
    {"null", ATTESTATION_FIELD},
    {"{}", ATTESTATION_FIELD},
    {ATTESTATION(
	 "word-count", "1.0", GOOD_HASH, "curated", FROM, TO, ",\"note\":1"),
	ATTESTATION_FIELD},
    {ATTESTATION(
	 "word-count", "1.0", GOOD_HASH, "curated", FROM, TO, ",\"serial\":0"),
	ATTESTATION_FIELD},
    {ATTESTATION("word-count", "1.0", GOOD_HASH, "curated", FROM, TO,
	 ",\"serial\":\"1\""),
	ATTESTATION_FIELD},
    {ATTESTATION("Word", "1.0", GOOD_HASH, "curated", FROM, TO, ""),
	ATTESTATION_FIELD},
    {ATTESTATION("a--b", "1.0", GOOD_HASH, "curated", FROM, TO, ""),
	ATTESTATION_FIELD},
    {ATTESTATION("word-count", "-1", GOOD_HASH, "curated", FROM, TO, ""),
	ATTESTATION_FIELD},
    {ATTESTATION("word-count", "", GOOD_HASH, "curated", FROM, TO, ""),
	ATTESTATION_FIELD},
    {ATTESTATION("word-count", "1.0", HEX64, "curated", FROM, TO, ""),
	ATTESTATION_FIELD},
    {ATTESTATION(
	 "word-count", "1.0", "sha256:" HEX64 "0", "curated", FROM, TO, ""),
	ATTESTATION_FIELD},
    {ATTESTATION("word-count", "1.0", GOOD_HASH, "Curated", FROM, TO, ""),
	ATTESTATION_TIER},
    {ATTESTATION("word-count", "1.0", GOOD_HASH, "unknown", FROM, TO, ""),
	ATTESTATION_TIER},
    {ATTESTATION("word-count", "1.0", GOOD_HASH, "gold", FROM, TO, ""),
	ATTESTATION_TIER},
    {ATTESTATION("word-count", "1.0", GOOD_HASH, "curated", TO, FROM, ""),
	ATTESTATION_TIME},
    {ATTESTATION("word-count", "1.0", GOOD_HASH, "curated", FROM, FROM, ""),
	ATTESTATION_TIME},
    {ATTESTATION("word-count", "1.0", GOOD_HASH, "curated", FROM,
	 "2036-01-02T03:04:05Z", ""),
	ATTESTATION_TIME},
    {ATTESTATION("word-count", "1.0", GOOD_HASH, "curated",
	 "2026-01-02 03:04:05Z", TO, ""),
	ATTESTATION_TIME},
    {ATTESTATION("word-count", "1.0", GOOD_HASH, "curated", FROM,
	 "2027-02-29T00:00:00Z", ""),
	ATTESTATION_TIME},
};

static void
test_attestation_codes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(test_attestation_rows) /
				   sizeof(test_attestation_rows[0]);
	     i++) {
		const struct test_attestation_row *row =
		    &test_attestation_rows[i];
		struct attestation attestation;
		struct json_fault fault = {""};
		json_t *object = NULL;
		enum attestation_code code = attestation_parse(row->text,
		    strlen(row->text), &attestation, &object, &fault);

		if (code != row->code)
			fail_msg("row %zu: %s instead of %s: %s", i,
			    attestation_code_text(code),
			    attestation_code_text(row->code), fault.text);
		assert_int_equal(object != NULL, code == ATTESTATION_OK);
		assert_int_equal(fault.text[0] == '\0', code == ATTESTATION_OK);
		json_decref(object);
	}
}

static void
test_attestation_long(void **state)
{
	static char text[ATTESTATION_BYTES_MAX + 1];
	struct attestation attestation;
	struct json_fault fault = {""};

	(void)state;
	memset(text, ' ', sizeof(text));
	assert_int_equal(
	    attestation_parse(text, sizeof(text), &attestation, NULL, &fault),
	    ATTESTATION_SYNTAX);
	assert_non_null(strstr(fault.text, "bytes"));
}

/* Every code has a word of its own. */
static void
test_attestation_words(void **state)
{
	(void)state;
	assert_string_equal(attestation_code_text(ATTESTATION_OK), "");
	for (unsigned i = 1; i < ATTESTATION_CODE_COUNT; i++) {
		const char *word =
		    attestation_code_text((enum attestation_code)i);

		assert_int_equal(strncmp(word, "trust_", 6), 0);
		for (unsigned j = 1; j < i; j++)
			assert_string_not_equal(word,
			    attestation_code_text((enum attestation_code)j));
	}
}

static void
test_attestation_utc(void **state)
{
	static const char *const wrong[] = {"", "2026-01-02T03:04:05",
	    "2026-01-02T03:04:05z", "2026-01-02T03:04:05Z ",
	    "2026-13-02T03:04:05Z", "2026-00-02T03:04:05Z",
	    "2026-01-32T03:04:05Z", "2026-01-02T24:00:00Z",
	    "2026-01-02T03:60:05Z", "2026-01-02T03:04:60Z",
	    "1999-01-02T03:04:05Z", "2026-02-29T03:04:05Z",
	    "2026-1-02T003:04:05Z", "+026-01-02T03:04:05Z"};
	char text[UTC_TIME_LEN + 1];
	time_t time;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (utc_time_parse(wrong[i], &time))
			fail_msg("%s", wrong[i]);
	assert_true(utc_time_parse("2028-02-29T23:59:59Z", &time));
	assert_int_equal(time, 1835481599);
	assert_true(utc_time_text(time, text));
	assert_string_equal(text, "2028-02-29T23:59:59Z");
	assert_false(utc_time_text(0, text));
}

static void
test_attestation_keys(void **state)
{
	static const char base64[] =
	    "ABEiM0RVZneImaq7zN3u/wARIjNEVWZ3iJmqu8zd7v8=";
	static const char *const wrong[] = {"", HEX64 "0",
	    "0000000000000000000000000000000000000000000000000000000000000000",
	    "0100000000000000000000000000000000000000000000000000000000000000",
	    "0100000000000000000000000000000000000000000000000000000000000080",
	    "ABEiM0RVZneImaq7zN3u/wARIjNEVWZ3iJmqu8zd7v9=",
	    "ABEiM0RVZneImaq7zN3u_wARIjNEVWZ3iJmqu8zd7v8=",
	    "ABEiM0RVZneImaq7zN3u/wARIjNEVWZ3iJmqu8zd7v8"};
	struct json_fault fault = {""};
	char hex[TRUST_KEY_HEX + 1];
	json_t *raw, *value;

	(void)state;
	assert_true(trust_key_parse(base64, hex));
	assert_string_equal(hex, HEX64);
	assert_true(trust_key_parse(
	    "00112233445566778899AABBCCDDEEFF00112233445566778899aabbccddeeff",
	    hex));
	assert_string_equal(hex, HEX64);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (trust_key_parse(wrong[i], hex))
			fail_msg("%s", wrong[i]);
	raw = json_pack("{s:s, s:s}", "a", base64, "b", HEX64);
	assert_int_equal(
	    trust_key_object(raw, "keys", &value, &fault), RESULT_BAD);
	assert_non_null(strstr(fault.text, "same key as 'a'"));
	json_decref(raw);
	raw = json_pack("{s:s}", "Corp", HEX64);
	fault = (struct json_fault){""};
	assert_int_equal(
	    trust_key_object(raw, "keys", &value, &fault), RESULT_BAD);
	assert_non_null(strstr(fault.text, "Corp"));
	json_decref(raw);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_attestation_codes),
	    cmocka_unit_test(test_attestation_long),
	    cmocka_unit_test(test_attestation_words),
	    cmocka_unit_test(test_attestation_utc),
	    cmocka_unit_test(test_attestation_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
