/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one place a key is written: what comes out is head, field, empty line
 * and body; and afterwards no byte of the key is in the memory it went
 * through, however the write ended.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "llm-broker/key/key_inject.h"

#define HEAD "GET / HTTP/1.1\r\nHost: a.example\r\n"
#define KEY_TEXT "sk-test-0123456789abcdef"

struct test_key_inject_sink {
	char *bytes;
	size_t len;
	unsigned writes, fail_at; /* 0: never */
	const uint8_t *last;      /* where the last write came from */
	size_t last_len;
};

static enum result
test_key_inject_write(void *context, const void *bytes, size_t len)
{
	struct test_key_inject_sink *sink = context;

	sink->last = bytes;
	sink->last_len = len;
	assert_in_range(len, 1, SECRET_MAX);
	if (++sink->writes == sink->fail_at)
		return RESULT_CLOSED;
	memcpy(sink->bytes + sink->len, bytes, len);
	sink->len += len;
	return RESULT_OK;
}

static struct secret *
test_key_inject_key(void)
{
	struct secret *key = NULL;

	assert_int_equal(secret_new(64, &key), RESULT_OK);
	assert_int_equal(
	    secret_set(key, KEY_TEXT, strlen(KEY_TEXT)), RESULT_OK);
	return key;
}

static bool
test_key_inject_is_wiped(const struct test_key_inject_sink *sink)
{
	for (size_t i = 0; i < sink->last_len; i++)
		if (sink->last[i] != 0)
			return false;
	return true;
}

/* A request with a head and a body of these lengths. */
static void
test_key_inject_once(size_t head_len, size_t body_len, bool with_key,
    unsigned fail_at, enum result expected)
{
	struct key_inject *inject = NULL;
	struct secret *key = test_key_inject_key();
	char *head = malloc(head_len), *body = malloc(body_len + 1), *want;
	struct test_key_inject_sink sink = {
	    .bytes = malloc(200000), .fail_at = fail_at};
	struct key_inject_parts parts = {.head = head,
	    .head_len = head_len,
	    .header = "Authorization",
	    .before = "Bearer ",
	    .after = ";v=1",
	    .key = with_key ? key : NULL,
	    .body = body,
	    .body_len = body_len};
	int want_len;

	memset(head, 'h', head_len);
	memset(body, 'b', body_len);
	want_len = asprintf(&want, "%.*s%s\r\n%.*s", (int)head_len, head,
	    with_key ? "Authorization: Bearer " KEY_TEXT ";v=1\r\n" : "",
	    (int)body_len, body);
	assert_int_equal(key_inject_new(&inject), RESULT_OK);
	assert_int_equal(
	    key_inject_request(inject, &parts, test_key_inject_write, &sink),
	    expected);
	assert_true(test_key_inject_is_wiped(&sink));
	if (expected == RESULT_OK) {
		assert_int_equal(sink.len, want_len);
		assert_memory_equal(sink.bytes, want, sink.len);
	}
	key_inject_free(&inject);
	secret_free(&key);
	free(head);
	free(body);
	free(want);
	free(sink.bytes);
}

static void
i02_key_inject_written(void **state)
{
	(void)state;
	test_key_inject_once(30, 0, true, 0, RESULT_OK);
	test_key_inject_once(30, 0, false, 0, RESULT_OK);
	test_key_inject_once(30, 1000, true, 0, RESULT_OK);
	test_key_inject_once(500, 80000, true, 0, RESULT_OK);
	/* The border of a record at every byte of the key's field. */
	for (size_t head = SECRET_MAX - 70; head <= SECRET_MAX; head++)
		test_key_inject_once(head, 10, true, 0, RESULT_OK);
}

static void
i02_key_inject_wiped_on_failure(void **state)
{
	(void)state;
	test_key_inject_once(30, 0, true, 1, RESULT_CLOSED);
	test_key_inject_once(SECRET_MAX - 30, 40000, true, 1, RESULT_CLOSED);
	test_key_inject_once(SECRET_MAX - 30, 40000, true, 2, RESULT_CLOSED);
	test_key_inject_once(SECRET_MAX - 30, 40000, true, 3, RESULT_CLOSED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(i02_key_inject_written),
	    cmocka_unit_test(i02_key_inject_wiped_on_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
