/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hello_watch on both sides: each story in one piece, byte by byte and cut
 * in two everywhere, with the same verdict.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "egress-proxy/hello_watch.h"

#define TEST_WATCH_RANDOM                                                  \
	"\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91" \
	"\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c"
#define TEST_WATCH_PLAIN "0123456789abcdef0123456789abcdef"
/* A ServerHello of 40 bytes behind its header, in a record. */
#define TEST_WATCH_SERVER(random)                                            \
	"\x16\x03\x03\x00\x2c\x02\x00\x00\x28\x03\x03" random "\x00\x13\x01" \
	"\x00\x00\x00"
#define TEST_WATCH_CCS "\x14\x03\x03\x00\x01\x01"
#define TEST_WATCH_WARNING "\x15\x03\x03\x00\x02\x01\x70"
#define TEST_WATCH_FATAL "\x15\x03\x03\x00\x02\x02\x28"
#define TEST_WATCH_EARLY "\x17\x03\x03\x00\x04\x16\x03\x01\x01"
#define TEST_WATCH_HELLO "\x16\x03\x03\x00\x05\x01\x00\x00\x01\x00"
#define TEST_WATCH_FINISHED "\x16\x03\x03\x00\x05\x10\x00\x00\x01\x00"
#define TEST_WATCH_EMPTY "\x16\x03\x03\x00\x00"

struct test_watch {
	const char *name, *bytes;
	size_t len;
	enum hello_watch_verdict verdict;
	bool open; /* server */
	bool answered;
	size_t pass; /* client */
};

#define TEST_WATCH_TEXT(text) text, sizeof(text) - 1

static const struct test_watch test_watch_server[] = {
    {"a ServerHello", TEST_WATCH_TEXT(TEST_WATCH_SERVER(TEST_WATCH_PLAIN)),
	HELLO_WATCH_OPEN, true, false, 0},
    {"a retry", TEST_WATCH_TEXT(TEST_WATCH_SERVER(TEST_WATCH_RANDOM)),
	HELLO_WATCH_RETRY, false, false, 0},
    {"a retry, then CCS",
	TEST_WATCH_TEXT(TEST_WATCH_SERVER(TEST_WATCH_RANDOM) TEST_WATCH_CCS),
	HELLO_WATCH_RETRY, false, false, 0},
    {"a warning before a retry",
	TEST_WATCH_TEXT(
	    TEST_WATCH_WARNING TEST_WATCH_SERVER(TEST_WATCH_RANDOM)),
	HELLO_WATCH_RETRY, false, false, 0},
    {"a HelloRequest before a retry",
	TEST_WATCH_TEXT(
	    "\x16\x03\x03\x00\x04\x00\x00\x00\x00" TEST_WATCH_SERVER(
		TEST_WATCH_RANDOM)),
	HELLO_WATCH_RETRY, false, false, 0},
    {"a retry in three records",
	TEST_WATCH_TEXT("\x16\x03\x03\x00\x03\x02\x00\x00"
			"\x16\x03\x03\x00\x04\x28\x03\x03\xcf"
			"\x16\x03\x03\x00\x25\x21\xad\x74\xe5\x9a\x61\x11\xbe"
			"\x1d\x8c\x02\x1e\x65\xb8\x91\xc2\xa2\x11\x16\x7a\xbb"
			"\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c\x00\x13\x01"
			"\x00\x00\x00"),
	HELLO_WATCH_RETRY, false, false, 0},
    {"a retry and no second hello awaited",
	TEST_WATCH_TEXT(TEST_WATCH_SERVER(TEST_WATCH_RANDOM)
		TEST_WATCH_SERVER(TEST_WATCH_PLAIN)),
	HELLO_WATCH_RETRY, true, false, 0},
    {"two retries",
	TEST_WATCH_TEXT(TEST_WATCH_SERVER(TEST_WATCH_RANDOM)
		TEST_WATCH_SERVER(TEST_WATCH_RANDOM)),
	HELLO_WATCH_RETRY, false, false, 0},
    {"half a retry", TEST_WATCH_SERVER(TEST_WATCH_RANDOM), 30, HELLO_WATCH_MORE,
	false, false, 0},
    {"a warning", TEST_WATCH_TEXT(TEST_WATCH_WARNING), HELLO_WATCH_MORE, false,
	false, 0},
    {"a fatal alert", TEST_WATCH_TEXT(TEST_WATCH_FATAL), HELLO_WATCH_OPEN, true,
	false, 0},
    {"a short ServerHello",
	TEST_WATCH_TEXT("\x16\x03\x03\x00\x06\x02\x00\x00\x02\x03\x03"),
	HELLO_WATCH_OPEN, true, false, 0},
    {"HTTP", TEST_WATCH_TEXT("HTTP/1.1 400 Bad Request\r\n"), HELLO_WATCH_OPEN,
	true, false, 0},
    {"an odd version", TEST_WATCH_TEXT("\x16\x47"), HELLO_WATCH_OPEN, true,
	false, 0},
    {"too long a record", TEST_WATCH_TEXT("\x16\x03\x03\xff\xff"),
	HELLO_WATCH_OPEN, true, false, 0},
    {"empty records", TEST_WATCH_TEXT(TEST_WATCH_EMPTY TEST_WATCH_EMPTY),
	HELLO_WATCH_MORE, false, false, 0},
};

static const struct test_watch test_watch_client[] = {
    {"a second hello at once", TEST_WATCH_TEXT(TEST_WATCH_HELLO),
	HELLO_WATCH_STOP, false, false, 0},
    {"behind early data",
	TEST_WATCH_TEXT(TEST_WATCH_CCS TEST_WATCH_EARLY TEST_WATCH_HELLO),
	HELLO_WATCH_STOP, false, false, 15},
    {"behind an alert", TEST_WATCH_TEXT(TEST_WATCH_WARNING TEST_WATCH_HELLO),
	HELLO_WATCH_STOP, false, false, 7},
    {"behind a heartbeat",
	TEST_WATCH_TEXT("\x18\x03\x03\x00\x03\x01\x00\x00" TEST_WATCH_HELLO),
	HELLO_WATCH_STOP, false, false, 8},
    {"behind a record of an odd version",
	TEST_WATCH_TEXT("\x17\x09\x09\x00\x01x" TEST_WATCH_HELLO),
	HELLO_WATCH_STOP, false, false, 6},
    {"early data", TEST_WATCH_TEXT(TEST_WATCH_CCS TEST_WATCH_EARLY),
	HELLO_WATCH_MORE, false, false, 15},
    {"what is not TLS", TEST_WATCH_TEXT("GET / HTTP/1.1\r\n"), HELLO_WATCH_OPEN,
	false, false, 16},
    {"answered: a hello", TEST_WATCH_TEXT(TEST_WATCH_HELLO), HELLO_WATCH_HELLO,
	false, true, 5},
    {"answered: a hello behind empty records and an alert",
	TEST_WATCH_TEXT(TEST_WATCH_EMPTY TEST_WATCH_WARNING TEST_WATCH_EMPTY
		TEST_WATCH_HELLO),
	HELLO_WATCH_HELLO, false, true, 22},
    {"answered: a hello in records of one byte",
	TEST_WATCH_TEXT("\x16\x03\x01\x00\x01\x01\x16\x03\x01\x00\x01\x00"),
	HELLO_WATCH_HELLO, false, true, 5},
    {"answered: a key exchange", TEST_WATCH_TEXT(TEST_WATCH_FINISHED),
	HELLO_WATCH_OPEN, false, true, 10},
    {"answered: encrypted behind CCS",
	TEST_WATCH_TEXT(TEST_WATCH_CCS TEST_WATCH_HELLO), HELLO_WATCH_OPEN,
	false, true, 16},
    {"answered: data", TEST_WATCH_TEXT(TEST_WATCH_EARLY), HELLO_WATCH_OPEN,
	false, true, 9},
};

#define TEST_WATCH_COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* In pieces of step bytes, the first one of first. */
static void
test_watch_play_server(const struct test_watch *test, size_t first, size_t step)
{
	struct hello_watch watch = {0};
	enum hello_watch_verdict verdict = HELLO_WATCH_MORE, next;
	bool open = false;
	size_t at = 0, want = first;

	while (at < test->len && !open) {
		size_t len = test->len - at < want ? test->len - at : want;

		next = hello_watch_server(
		    &watch, (const uint8_t *)test->bytes + at, len, &open);
		if (verdict != HELLO_WATCH_RETRY && next != HELLO_WATCH_MORE)
			verdict = next;
		at += len;
		want = step;
	}
	if (verdict != test->verdict || open != test->open)
		fail_msg("%s, %zu then %zu: verdict %d, open %d", test->name,
		    first, step, (int)verdict, open);
}

static void
test_watch_play_client(const struct test_watch *test, size_t first, size_t step)
{
	struct hello_watch watch = {.answered = test->answered};
	enum hello_watch_verdict verdict = HELLO_WATCH_MORE;
	size_t at = 0, want = first, pass, passed = 0;

	while (at < test->len && verdict == HELLO_WATCH_MORE) {
		size_t len = test->len - at < want ? test->len - at : want;

		verdict = hello_watch_client(
		    &watch, (const uint8_t *)test->bytes + at, len, &pass);
		passed += pass;
		at += len;
		want = step;
	}
	if (verdict == HELLO_WATCH_OPEN)
		passed = test->len; /* whatever follows */
	if (verdict != test->verdict || passed != test->pass)
		fail_msg("%s, %zu then %zu: verdict %d, passed %zu", test->name,
		    first, step, (int)verdict, passed);
}

static void
test_hello_watch_server(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < TEST_WATCH_COUNT(test_watch_server); i++) {
		const struct test_watch *test = &test_watch_server[i];

		for (size_t cut = 1; cut <= test->len; cut++)
			test_watch_play_server(test, cut, test->len);
		test_watch_play_server(test, 1, 1);
	}
}

static void
test_hello_watch_client(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < TEST_WATCH_COUNT(test_watch_client); i++) {
		const struct test_watch *test = &test_watch_client[i];

		for (size_t cut = 1; cut <= test->len; cut++)
			test_watch_play_client(test, cut, test->len);
		test_watch_play_client(test, 1, 1);
	}
}

/* A record that began before the answer ends behind it. */
static void
test_hello_watch_across(void **unused)
{
	static const uint8_t bytes[] = TEST_WATCH_EARLY TEST_WATCH_HELLO;
	struct hello_watch watch = {0};
	size_t pass;

	(void)unused;
	assert_int_equal(
	    hello_watch_client(&watch, bytes, 7, &pass), HELLO_WATCH_MORE);
	assert_int_equal(pass, 7);
	watch.answered = true;
	assert_int_equal(
	    hello_watch_client(&watch, bytes + 7, sizeof(bytes) - 8, &pass),
	    HELLO_WATCH_HELLO);
	assert_int_equal(pass, 7);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_hello_watch_server),
	    cmocka_unit_test(test_hello_watch_client),
	    cmocka_unit_test(test_hello_watch_across),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
