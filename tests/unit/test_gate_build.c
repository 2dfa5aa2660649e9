/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is shown and kept of a build's output: i11 (bounded), nothing
 * unescaped, and the words that say why.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/gate/gate_build.h"

struct test_gate_build {
	struct gate_build build;
	uint64_t now;
};

static int
test_gate_build_open(void **state)
{
	static struct test_gate_build test;

	test.now = 1000;
	gate_build_init(&test.build, "npm");
	*state = &test;
	return 0;
}

static int
test_gate_build_close(void **state)
{
	struct test_gate_build *test = *state;

	gate_build_free(&test->build);
	return 0;
}

static void
test_gate_build_say(struct test_gate_build *test, const char *text)
{
	gate_build_feed(&test->build, text, strlen(text), test->now);
}

static void
test_gate_build_expect(struct test_gate_build *test, const char *text)
{
	struct buffer *out = &test->build.out;

	assert_int_equal(out->len, strlen(text));
	assert_memory_equal(buffer_bytes_borrow(out), text, out->len);
	buffer_clear(out);
}

static void
test_gate_build_one_a_second(void **state)
{
	struct test_gate_build *test = *state;

	test_gate_build_say(test, "fir");
	test_gate_build_expect(test, "");
	test_gate_build_say(test, "st\r\nsecond\n\nthird\n");
	test_gate_build_expect(test, "npm: first\n");
	test->now += GATE_BUILD_EVERY_MS - 1;
	test_gate_build_say(test, "fourth\n");
	test_gate_build_expect(test, "");
	test->now++;
	test_gate_build_say(test, "fifth\nsixth\nlast, not ended");
	test_gate_build_expect(test, "npm: fifth\n");
	gate_build_end(&test->build, false, test->now);
	test_gate_build_expect(test, "npm: last, not ended\n");
	assert_string_equal(test->build.reason, "");
	assert_int_equal(test->build.count, 7);
}

static void
test_gate_build_shown_once(void **state)
{
	struct test_gate_build *test = *state;

	test_gate_build_say(test, "only\n");
	test_gate_build_expect(test, "npm: only\n");
	gate_build_end(&test->build, true, test->now);
	test_gate_build_expect(test, "");
	assert_string_equal(test->build.reason, "only");
}

static void
test_gate_build_failed(void **state)
{
	struct test_gate_build *test = *state;

	test_gate_build_say(test, "0\n1\n2\n3\n4\n5\n6\n7\n");
	test_gate_build_expect(test, "npm: 0\n");
	gate_build_end(&test->build, true, test->now);
	test_gate_build_expect(
	    test, "npm: 3\nnpm: 4\nnpm: 5\nnpm: 6\nnpm: 7\n");
	assert_string_equal(test->build.reason, "7");
	assert_false(test->build.full);
}

static void
test_gate_build_reasons(void **state)
{
	struct test_gate_build *test = *state;

	test_gate_build_say(test,
	    "npm warn nothing\nnpm error code E404\n"
	    "npm error 404 Not Found\nnpm error 404 Not Found\nnpm error \n"
	    "ERROR: No matching distribution\x1b[31m\n"
	    "npm ERR! A complete log of this run\nbye\n");
	gate_build_end(&test->build, true, test->now);
	assert_string_equal(test->build.reason,
	    "404 Not Found; No matching distribution\\u001b[31m");
	assert_false(test->build.full);
}

static void
test_gate_build_no_room(void **state)
{
	static const char *const lines[] = {"npm error ENOSPC: no space\n",
	    "ERROR: [Errno 28] No space left on device\n"};
	struct test_gate_build *test = *state;

	for (size_t i = 0; i < 2; i++) {
		test->build.full = false;
		test_gate_build_say(test, lines[i]);
		assert_true(test->build.full);
	}
	test->build.full = false;
	test_gate_build_say(test, "a package called ENOSPC\n");
	assert_false(test->build.full);
}

/* Escapes, cut characters, and lines without an end. */
static void
test_gate_build_hostile(void **state)
{
	struct test_gate_build *test = *state;
	char line[3000];
	const uint8_t *out;

	test_gate_build_say(test, "a\x1b]0;x\x07\x7f\xff\xe2\x80\xae z\n");
	test_gate_build_expect(
	    test, "npm: a\\u001b]0;x\\u0007\\u007f\\ufffd\\u202e z\n");
	memset(line, '\xc3', sizeof(line));
	for (size_t i = 1; i < sizeof(line); i += 2)
		line[i] = '\xa9';
	memcpy(line, "ERROR: ", 7);
	for (size_t i = 0; i < 5000; i++) {
		test->now += GATE_BUILD_EVERY_MS;
		gate_build_feed(&test->build, line, sizeof(line), test->now);
		test_gate_build_say(test, i % 2 == 0 ? "\n" : "\r");
	}
	gate_build_end(&test->build, true, test->now);
	assert_true(test->build.out.len <= GATE_BUILD_OUT_MAX);
	assert_true(strlen(test->build.reason) < GATE_BUILD_REASON_MAX);
	out = buffer_bytes_borrow(&test->build.out);
	for (size_t i = 0; i < test->build.out.len; i++)
		assert_true(out[i] >= 0x20 || out[i] == '\n');
}

#define TEST(name)                       \
	cmocka_unit_test_setup_teardown( \
	    name, test_gate_build_open, test_gate_build_close)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_gate_build_one_a_second),
	    TEST(test_gate_build_shown_once),
	    TEST(test_gate_build_failed),
	    TEST(test_gate_build_reasons),
	    TEST(test_gate_build_no_room),
	    TEST(test_gate_build_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
