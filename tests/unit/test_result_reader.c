/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Result streams in any pieces; what is refused; bytes as text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/unpack/result_reader.h"
#include "supervisor/unpack/result_text.h"

static uint8_t stream[4096];
static size_t stream_len;
static char said[4096];

static void
on_entry(
    const struct result_stream_header *header, const char *name, void *context)
{
	size_t used = strlen(said);

	(void)context;
	(void)snprintf(said + used, sizeof(said) - used, "%u:%s:%llu ",
	    header->kind, name, (unsigned long long)header->size);
}

static void
on_data(const uint8_t *bytes, size_t len, void *context)
{
	size_t used = strlen(said);

	(void)context;
	(void)snprintf(said + used, sizeof(said) - used, "%.*s", (int)len,
	    (const char *)bytes);
}

static void
on_done(void *context)
{
	size_t used = strlen(said);

	(void)context;
	(void)snprintf(said + used, sizeof(said) - used, "; ");
}

static const struct result_reader_sink sink = {
    on_entry, on_data, on_done, NULL};

static void
put(uint32_t kind, const char *name, uint64_t size, const char *content)
{
	struct result_stream_header header = {.magic = RESULT_STREAM_MAGIC,
	    .kind = kind,
	    .name_len = (uint32_t)strlen(name),
	    .size = size,
	    .sent = strlen(content)};

	memcpy(stream + stream_len, &header, sizeof(header));
	stream_len += sizeof(header);
	memcpy(stream + stream_len, name, strlen(name));
	stream_len += strlen(name);
	memcpy(stream + stream_len, content, strlen(content));
	stream_len += strlen(content);
}

static int
setup(void **state)
{
	(void)state;
	stream_len = 0;
	said[0] = '\0';
	return 0;
}

/* All of it in pieces of this size. */
static enum result_reader_verdict
read_all(size_t piece)
{
	struct result_reader reader;

	result_reader_init(&reader, &sink);
	said[0] = '\0';
	for (size_t at = 0; at < stream_len; at += piece)
		(void)result_reader_feed(&reader, stream + at,
		    stream_len - at < piece ? stream_len - at : piece);
	return reader.verdict;
}

static void
whole(void **state)
{
	(void)state;
	put(RESULT_STREAM_FILE, "a", 5, "hello");
	put(RESULT_STREAM_DIR, "b", 4, "");
	put(RESULT_STREAM_FILE, "c", 900, "cut");
	put(RESULT_STREAM_FILE, "d", 0, "");
	put(RESULT_STREAM_LINK, "e", 0, "");
	put(RESULT_STREAM_MORE, "", 77, "");
	put(RESULT_STREAM_END, "", 0, "");
	for (size_t piece = 1; piece <= stream_len; piece++) {
		assert_int_equal(read_all(piece), RESULT_READER_END);
		assert_string_equal(said,
		    "1:a:5 hello; 2:b:4 1:c:900 cut; 1:d:0 ; 3:e:0 6::77 ");
	}
	stream_len--;
	assert_int_equal(read_all(7), RESULT_READER_MORE);
	stream_len += 2;
	assert_int_equal(read_all(7), RESULT_READER_AFTER);
}

static void
refused(void **state)
{
	static const char *const names[] = {".", "..", "a/b", "/", "a"};
	uint32_t huge = RESULT_STREAM_NAME_MAX + 1;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		stream_len = 0;
		put(RESULT_STREAM_FILE, "a", 1, "x");
		put(RESULT_STREAM_FILE, names[i], 1, "y");
		assert_int_equal(read_all(3), RESULT_READER_NAME);
		assert_string_equal(said, "1:a:1 x; ");
	}
	setup(NULL);
	put(RESULT_STREAM_FILE, "b", 0, "");
	put(RESULT_STREAM_DIR, "a", 0, "");
	assert_int_equal(read_all(9), RESULT_READER_NAME);
	setup(NULL);
	put(RESULT_STREAM_DIR, "d", 0, "x");
	assert_int_equal(read_all(9), RESULT_READER_SIZE);
	setup(NULL);
	put(RESULT_STREAM_FILE, "f", 1, "xx");
	assert_int_equal(read_all(9), RESULT_READER_SIZE);
	setup(NULL);
	put(RESULT_STREAM_LINK, "l", 1, "");
	assert_int_equal(read_all(9), RESULT_READER_SIZE);
	setup(NULL);
	put(RESULT_STREAM_DIR, "d", (uint64_t)UINT32_MAX + 1, "");
	assert_int_equal(read_all(9), RESULT_READER_SIZE);
	setup(NULL);
	put(RESULT_STREAM_FILE, "", 0, "");
	assert_int_equal(read_all(9), RESULT_READER_SIZE);
	setup(NULL);
	put(RESULT_STREAM_END, "x", 0, "");
	assert_int_equal(read_all(9), RESULT_READER_SIZE);
	setup(NULL);
	put(8, "x", 0, "");
	assert_int_equal(read_all(9), RESULT_READER_KIND);
	setup(NULL);
	put(0, "x", 0, "");
	assert_int_equal(read_all(9), RESULT_READER_KIND);
	setup(NULL);
	put(RESULT_STREAM_DIR, "d", 0, "");
	memcpy(stream + offsetof(struct result_stream_header, name_len), &huge,
	    sizeof(huge));
	assert_int_equal(read_all(9), RESULT_READER_SIZE);
	stream[0] ^= 1;
	assert_int_equal(read_all(9), RESULT_READER_MAGIC);
	setup(NULL);
	put(RESULT_STREAM_DIR, "d", 0, "");
	stream[sizeof(struct result_stream_header)] = '\0';
	assert_int_equal(read_all(9), RESULT_READER_NAME);
}

/* A directory's count may be a least one; nothing else has a flag. */
static void
flags(void **state)
{
	const struct {
		uint32_t kind, flags;
		enum result_reader_verdict verdict;
	} cases[] = {{RESULT_STREAM_DIR, 1, RESULT_READER_MORE},
	    {RESULT_STREAM_DIR, 2, RESULT_READER_KIND},
	    {RESULT_STREAM_FILE, 1, RESULT_READER_KIND},
	    {RESULT_STREAM_LINK, 1, RESULT_READER_KIND}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		stream_len = 0;
		put(cases[i].kind, "n", 0, "");
		memcpy(stream + offsetof(struct result_stream_header, flags),
		    &cases[i].flags, sizeof(cases[i].flags));
		assert_int_equal(read_all(5), cases[i].verdict);
	}
}

static void
text_is(const char *bytes, size_t len, size_t max, const char *shown,
    bool truncated, bool escaped)
{
	struct result_text text;
	json_t *json;

	result_text_init(&text, max);
	assert_int_equal(
	    result_text_put(&text, (const uint8_t *)bytes, len / 2), RESULT_OK);
	assert_int_equal(result_text_put(&text,
			     (const uint8_t *)bytes + len / 2, len - len / 2),
	    RESULT_OK);
	json = result_text_json(&text, text.total);
	assert_non_null(json);
	assert_string_equal(
	    json_string_value(json_object_get(json, "text")), shown);
	assert_int_equal(
	    json_integer_value(json_object_get(json, "bytes")), len);
	assert_int_equal(
	    json_is_true(json_object_get(json, "truncated")), truncated);
	assert_int_equal(
	    json_is_true(json_object_get(json, "escaped")), escaped);
	json_decref(json);
	result_text_free(&text);
}

#define TEXT_IS(bytes, ...) text_is((bytes), sizeof(bytes) - 1, __VA_ARGS__)

static void
texts(void **state)
{
	(void)state;
	TEXT_IS("", 10, "", false, false);
	TEXT_IS("abc", 10, "abc", false, false);
	TEXT_IS("abc", 3, "abc", false, false);
	TEXT_IS("abc", 2, "ab", true, false);
	TEXT_IS("abc", 0, "", true, false);
	TEXT_IS("a\\b\x1b[2J\n", 20, "a\\b\x1b[2J\n", false, false);
	TEXT_IS("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 20,
	    "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", false, false);
	/* cut inside of a character */
	TEXT_IS("a\xc3\xa4", 2, "a", true, false);
	TEXT_IS("a\xe2\x82\xac", 3, "a", true, false);
	TEXT_IS("a\xf0\x9f\x98\x80", 4, "a", true, false);
	/* the same, but nothing is missing */
	TEXT_IS("a\xc3", 9, "a\\xc3", false, true);
	TEXT_IS("a\0b", 9, "a\\x00b", false, true);
	TEXT_IS("\\\xff", 9, "\\\\\\xff", false, true);
	/* too long, a surrogate, beyond the last */
	TEXT_IS("\xc0\xaf", 9, "\\xc0\\xaf", false, true);
	TEXT_IS("\xe0\x80\xaf", 9, "\\xe0\\x80\\xaf", false, true);
	TEXT_IS("\xed\xa0\x80", 9, "\\xed\\xa0\\x80", false, true);
	TEXT_IS("\xf4\x90\x80\x80", 9, "\\xf4\\x90\\x80\\x80", false, true);
	TEXT_IS("\xff\xff\xff", 2, "\\xff\\xff", true, true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(whole, setup),
	    cmocka_unit_test_setup(refused, setup),
	    cmocka_unit_test_setup(flags, setup),
	    cmocka_unit_test(texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
