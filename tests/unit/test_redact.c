/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llm-broker/redact: every form that is claimed, wherever the bytes are
 * split; what is not the key is left alone and not held back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/redact_key.h"

#define TEXT_MAX 16384U
#define BEFORE "{\"text\":\"the key is "
#define AFTER "\", and \\n more\"}"

static struct redact_set test_redact_patterns;

/* How one byte of the key is written. */
typedef void test_redact_writer(char byte, size_t at, char *out);

static void
test_redact_raw(char byte, size_t at, char *out)
{
	(void)at;
	sprintf(out, "%c", byte);
}

static void
test_redact_percent(char byte, size_t at, char *out)
{
	sprintf(out, at % 2 ? "%%%02x" : "%%%02X", byte);
}

static void
test_redact_percent_twice(char byte, size_t at, char *out)
{
	sprintf(out, at % 2 ? "%%25%02x" : "%%2525%02X", byte);
}

static void
test_redact_percent_digits(char byte, size_t at, char *out)
{
	(void)at;
	sprintf(out, "%%%%3%x%x", byte >> 4, byte & 15);
	if ((byte & 15) > 9)
		sprintf(out, "%%%02x", byte);
}

static void
test_redact_json(char byte, size_t at, char *out)
{
	sprintf(out, at % 2 ? "\\u%04x" : "\\u%04X", byte);
}

static void
test_redact_json_deep(char byte, size_t at, char *out)
{
	size_t run = (1U << (at % 7 + 1)) - 1; /* 1, 3, 7 ... 127 */

	memset(out, '\\', run);
	sprintf(out + run, "u%04x", byte);
}

static void
test_redact_json_slash(char byte, size_t at, char *out)
{
	(void)at;
	sprintf(out, byte == '/' ? "\\\\\\%c" : "%c", byte);
}

static void
test_redact_json_in_percent(char byte, size_t at, char *out)
{
	sprintf(out, at % 2 ? "%%5Cu%04x" : "%%5c%%5C%%75%%30%%30%02x", byte);
}

static void
test_redact_percent_in_json(char byte, size_t at, char *out)
{
	sprintf(out, at % 2 ? "\\u0025%02x" : "\\u0025\\u003%x%x", byte >> 4,
	    byte & 15);
	if (at % 2)
		sprintf(out, "\\u0025%02x", byte);
}

static void
test_redact_mixed(char byte, size_t at, char *out)
{
	static test_redact_writer *const writers[] = {test_redact_raw,
	    test_redact_percent, test_redact_json, test_redact_json_deep,
	    test_redact_percent_twice, test_redact_json_in_percent};

	writers[at % 6](byte, at / 6, out);
}

static const struct {
	const char *name;
	test_redact_writer *writer;
} test_redact_writers[] = {
    {"raw", test_redact_raw},
    {"percent", test_redact_percent},
    {"percent twice", test_redact_percent_twice},
    {"percent in its digits", test_redact_percent_digits},
    {"json", test_redact_json},
    {"json, any depth", test_redact_json_deep},
    {"json, slash", test_redact_json_slash},
    {"json in percent", test_redact_json_in_percent},
    {"percent in json", test_redact_percent_in_json},
    {"mixed", test_redact_mixed},
};

#define WRITERS (sizeof(test_redact_writers) / sizeof(test_redact_writers[0]))

static void
test_redact_write(test_redact_writer *writer, const char *text, char *out)
{
	for (size_t i = 0; text[i] != '\0'; i++) {
		writer(text[i], i, out);
		out += strlen(out);
	}
}

/* What comes out of text, fed in pieces of these lengths, then the rest. */
static void
test_redact_run(const char *text, size_t first, size_t piece, char *out_r)
{
	struct redact *redact;
	struct buffer out;
	size_t len = strlen(text), at = 0;

	assert_int_equal(redact_new(&test_redact_patterns, &redact), RESULT_OK);
	buffer_init(&out, 2 * TEXT_MAX + REDACT_HELD_MAX);
	for (size_t next = first; at < len; next = piece) {
		size_t count = len - at < next ? len - at : next;

		assert_int_equal(
		    redact_feed(redact, text + at, count, &out), RESULT_OK);
		at += count;
	}
	assert_int_equal(redact_finish(redact, &out), RESULT_OK);
	assert_int_equal(out.len, len);
	if (len > 0)
		memcpy(out_r, buffer_bytes_borrow(&out), len);
	out_r[len] = '\0';
	buffer_free(&out);
	redact_free(&redact);
}

static void
test_redact_expect(
    const char *name, const char *before, const char *form, const char *after)
{
	static char text[TEXT_MAX], wanted[TEXT_MAX], got[TEXT_MAX];
	size_t len = strlen(before) + strlen(form) + strlen(after);

	assert_true(len < TEXT_MAX);
	snprintf(text, sizeof(text), "%s%s%s", before, form, after);
	snprintf(wanted, sizeof(wanted), "%s%s%s", before, form, after);
	memset(wanted + strlen(before), '*', strlen(form));
	for (size_t first = 0; first <= len; first++) {
		test_redact_run(text, first, len + 1, got);
		if (strcmp(got, wanted) != 0)
			fail_msg("%s, split at %zu: %s", name, first, got);
	}
	for (size_t piece = 1; piece < 4; piece++) {
		test_redact_run(text, piece, piece, got);
		assert_string_equal(got, wanted);
	}
	assert_true(redact_text(&test_redact_patterns, text, len));
	assert_string_equal(text, wanted);
}

static void
test_redact_escapes(void **state)
{
	static char form[TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < WRITERS; i++) {
		test_redact_write(
		    test_redact_writers[i].writer, REDACT_KEY, form);
		test_redact_expect(
		    test_redact_writers[i].name, BEFORE, form, AFTER);
		test_redact_expect(test_redact_writers[i].name, "", form, "");
		test_redact_expect(
		    test_redact_writers[i].name, "a%", form, "%41");
	}
}

/* The stable middle of a base64 text: characters that hold bits of the key
 * alone. */
static void
test_redact_base64_one(size_t skip, test_redact_writer *writer, bool url)
{
	static char bytes[512], coded[1024], before[64], form[TEXT_MAX];
	size_t len = strlen(REDACT_KEY);
	size_t first = (8 * skip + 5) / 6, last = 8 * (skip + len) / 6;

	memcpy(bytes, "Bearer Bearer ", skip);
	memcpy(bytes + skip, REDACT_KEY, len);
	memcpy(bytes + skip + len, "tail", 5);
	redact_key_base64(bytes, skip + len + 4, coded);
	for (char *at = coded; url && *at != '\0'; at++)
		*at = *at == '+' ? '-' : *at == '/' ? '_' : *at;
	snprintf(before, sizeof(before), "%.*s", (int)first, coded);
	coded[last] = '\0';
	test_redact_write(writer, coded + first, form);
	test_redact_expect("base64", before, form, "\"");
}

static void
test_redact_base64(void **state)
{
	(void)state;
	for (size_t skip = 0; skip < 8; skip++) {
		test_redact_base64_one(skip, test_redact_raw, false);
		test_redact_base64_one(skip, test_redact_raw, true);
		test_redact_base64_one(skip, test_redact_json_slash, false);
		test_redact_base64_one(skip, test_redact_percent, true);
	}
}

static void
test_redact_hex(void **state)
{
	char form[1024], escaped[8192];

	(void)state;
	for (size_t i = 0; i < strlen(REDACT_KEY); i++)
		sprintf(form + 2 * i, i % 3 ? "%02x" : "%02X", REDACT_KEY[i]);
	test_redact_expect("hex", BEFORE, form, AFTER);
	test_redact_write(test_redact_json, form, escaped);
	test_redact_expect("hex in json", BEFORE, escaped, AFTER);
}

/* Keys beside keys, and beginnings of keys before keys. */
static void
test_redact_neighbours(void **state)
{
	static const char *const before[] = {"sk-a", "sk-agentnode-test-4Zq8w1",
	    "s", "sk", "\\\\", "%", "%7", "\\u00", "\\u007", "c2st", "736b2d61",
	    "sk-agentnode-test-4Zq8w1Xy7Rb3/Kd5+Nf9_j2", "\\\\\\u0073k-"};
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
		static char got[512];

		snprintf(text, sizeof(text), "%s%s.", before[i], REDACT_KEY);
		for (size_t first = 0; first <= strlen(text); first++) {
			test_redact_run(text, first, 500, got);
			if (strspn(got + strlen(before[i]), "*") !=
			    strlen(REDACT_KEY))
				fail_msg("%s, split at %zu: %s", before[i],
				    first, got);
		}
	}
	test_redact_expect("twice", "", REDACT_KEY REDACT_KEY, "");
}

/* What is not the whole key stays as it is. */
static void
test_redact_others(void **state)
{
	static const char *const texts[] = {"", "s", "sk-", "sk-agentnode",
	    "sk-agentnode-test-4Zq8w1Xy7Rb3/Kd5+Nf9_j2",
	    "sk-agentnode-test-4Zq8w1Xy7Rb3/Kd5+Nf9_j2U",
	    "Sk-agentnode-test-4Zq8w1Xy7Rb3/Kd5+Nf9_j2T",
	    "sk-agentnode-test- 4Zq8w1Xy7Rb3/Kd5+Nf9_j2T",
	    "sk-agentnode-test-\\n4Zq8w1Xy7Rb3/Kd5+Nf9_j2T", "100%",
	    "\\\\\\\\\\", "\\u", "\\u0073", "%73%6b%2d", "c2stYWdlbnRub2Rl",
	    "{\"a\":\"b\\\\c \\u00e9 \\ud83d\\ude00\"}", "%zz%%%"};
	char got[256];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		for (size_t first = 0; first <= strlen(texts[i]); first++) {
			test_redact_run(texts[i], first, 1, got);
			assert_string_equal(got, texts[i]);
		}
}

/* Held back: a suffix that may begin a key, and nothing else. */
static void
test_redact_held(void **state)
{
	static const struct {
		const char *text;
		size_t held;
	} rows[] = {{"data: {\"content\":\"hello\"}\n\n", 0},
	    {"the sk-abc of ", 0}, {"some text s", 1}, {"some text sk-a", 4},
	    {"some text sk-agentnode", 12}, {"is \\", 1}, {"is \\u007", 5},
	    {"is \\n", 0}, {"100%", 1}, {"100% ", 0}, {"x %73%6", 5}};
	struct redact *redact;
	struct buffer out;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(
		    redact_new(&test_redact_patterns, &redact), RESULT_OK);
		buffer_init(&out, TEXT_MAX);
		assert_int_equal(redact_feed(redact, rows[i].text,
				     strlen(rows[i].text), &out),
		    RESULT_OK);
		if (strlen(rows[i].text) - out.len != rows[i].held)
			fail_msg("%s: %zu held", rows[i].text,
			    strlen(rows[i].text) - out.len);
		assert_int_equal(redact_count(redact), 0);
		redact_free(&redact);
		buffer_free(&out);
	}
}

/* No more than the bound is ever held, and what is let go is in order. */
static void
test_redact_bound(void **state)
{
	size_t len = 4 * REDACT_HELD_MAX, passed;
	char *text = malloc(len);
	struct redact *redact;
	struct buffer out;

	(void)state;
	assert_non_null(text);
	memset(text, '\\', len);
	assert_int_equal(redact_new(&test_redact_patterns, &redact), RESULT_OK);
	buffer_init(&out, 2 * len);
	for (size_t at = 0; at < len; at += 4096) {
		assert_int_equal(
		    redact_feed(redact, text + at, 4096, &out), RESULT_OK);
		passed = at + 4096 - out.len;
		assert_true(passed <= REDACT_HELD_MAX + 1);
	}
	assert_int_equal(redact_finish(redact, &out), RESULT_OK);
	assert_int_equal(out.len, len);
	assert_memory_equal(buffer_bytes_borrow(&out), text, len);
	redact_free(&redact);
	buffer_free(&out);
	free(text);
}

/* No room: nothing is taken, and it goes on once there is. */
static void
test_redact_full(void **state)
{
	struct redact *redact;
	struct buffer out;

	(void)state;
	assert_int_equal(redact_new(&test_redact_patterns, &redact), RESULT_OK);
	buffer_init(&out, 16);
	assert_int_equal(redact_feed(redact, "sk-agent", 8, &out), RESULT_OK);
	assert_int_equal(out.len, 0);
	assert_int_equal(
	    redact_feed(redact, "123456789", 9, &out), RESULT_TOO_LONG);
	assert_int_equal(out.len, 0);
	assert_int_equal(redact_feed(redact, " 2345678", 8, &out), RESULT_OK);
	assert_memory_equal(buffer_bytes_borrow(&out), "sk-agent 2345678", 16);
	redact_free(&redact);
	buffer_free(&out);
}

/* A key with signs of its own is found as it stands. */
static void
test_redact_signs(void **state)
{
	static const char key[] = "sk-a%41\\u0041%25\\\\b-Zq8w1Xy7";
	struct redact_set old = test_redact_patterns;

	(void)state;
	redact_key_set(key, &test_redact_patterns);
	test_redact_expect("signs", BEFORE, key, AFTER);
	test_redact_patterns = old;
}

/* A set that grows: a stream that began before looks for what was added,
 * and goes on to look for what was there. */
static void
test_redact_grows(void **state)
{
	static struct redact_set set;
	char key[40], text[64];
	struct redact *redact;
	struct buffer out;
	size_t keys = 0;

	(void)state;
	assert_int_equal(redact_new(&set, &redact), RESULT_OK);
	buffer_init(&out, 1U << 20);
	for (; set.count + 5 <= REDACT_SET_MAX; keys++) {
		(void)snprintf(
		    key, sizeof(key), "sk-a%02zu-Zq8w1Xy7Kp4Rt", keys);
		redact_key_more(key, &set);
		for (size_t i = 0; i <= keys; i++) {
			(void)snprintf(
			    text, sizeof(text), "(sk-a%02zu-Zq8w1Xy7Kp4Rt)", i);
			assert_int_equal(
			    redact_feed(redact, text, strlen(text), &out),
			    RESULT_OK);
			assert_int_equal(out.len, strlen(text));
			assert_memory_equal(
			    buffer_bytes_borrow(&out), "(*******", 8);
			buffer_consume(&out, out.len);
		}
	}
	assert_int_equal(keys, 12);
	assert_int_equal(redact_count(redact), 12 * 13 / 2);
	redact_free(&redact);
	buffer_free(&out);
}

static void
test_redact_read(void **state)
{
	static const char good[] =
	    "[{\"form\":\"raw\",\"prefix\":\"736b2d\",\"length\":51,\"salt\":"
	    "\"000102030405060708090a0b0c0d0e0f\",\"digest\":"
	    "\"000102030405060708090a0b0c0d0e0f"
	    "000102030405060708090a0b0c0d0e0f\"}]";
	static const char *const bad[][2] = {{"raw", "rot"}, {"736b2d", ""},
	    {"736b2d", "736"}, {"736b2d", "73 b2d"}, {"736b2d", "736B2D"},
	    {"736b2d", "736b2d736b2d736b2d"}, {":51", ":11"}, {":51", ":4097"},
	    {"form", "from"}, {"\"salt\":\"00", "\"salt\":\""}};
	static struct redact_set set;
	struct json_fault fault = {""};
	json_t *value = json_loads(good, 0, NULL);

	(void)state;
	redact_set_read(value, "p", &set, &fault);
	assert_string_equal(fault.text, "");
	assert_int_equal(set.count, 1);
	assert_int_equal(set.patterns[0].prefix_len, 3);
	assert_memory_equal(set.patterns[0].prefix, "sk-", 3);
	assert_int_equal(set.patterns[0].length, 51);
	json_decref(value);
	memset(&set, 0, sizeof(set));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char text[512];
		const char *at = strstr(good, bad[i][0]);

		assert_non_null(at);
		snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - good), good,
		    bad[i][1], at + strlen(bad[i][0]));
		value = json_loads(text, 0, NULL);
		assert_non_null(value);
		memset(&fault, 0, sizeof(fault));
		redact_set_read(value, "p", &set, &fault);
		if (fault.text[0] == '\0' || set.count != 0)
			fail_msg("accepted: %s", text);
		assert_non_null(strstr(fault.text, "p[0]"));
		json_decref(value);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_redact_escapes),
	    cmocka_unit_test(test_redact_base64),
	    cmocka_unit_test(test_redact_hex),
	    cmocka_unit_test(test_redact_neighbours),
	    cmocka_unit_test(test_redact_others),
	    cmocka_unit_test(test_redact_held),
	    cmocka_unit_test(test_redact_bound),
	    cmocka_unit_test(test_redact_full),
	    cmocka_unit_test(test_redact_signs),
	    cmocka_unit_test(test_redact_grows),
	    cmocka_unit_test(test_redact_read),
	};

	redact_key_set(REDACT_KEY, &test_redact_patterns);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
