/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker's headers between a container's bytes, cut wherever a read may cut
 * them, and each byte that is wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "supervisor/mux/docker_stream.h"

/* "abc", "d", "efghi". */
static const uint8_t test_docker_stream_bytes[] = {1, 0, 0, 0, 0, 0, 0, 3, 'a',
    'b', 'c', 1, 0, 0, 0, 0, 0, 0, 1, 'd', 1, 0, 0, 0, 0, 0, 0, 5, 'e', 'f',
    'g', 'h', 'i'};
#define TEST_LEN sizeof(test_docker_stream_bytes)

static void
test_docker_stream_cut(void **state)
{
	uint8_t bytes[TEST_LEN];
	size_t first, second;

	(void)state;
	for (size_t cut = 0; cut <= TEST_LEN; cut++) {
		struct docker_stream stream = {.left = 0};

		memcpy(bytes, test_docker_stream_bytes, TEST_LEN);
		assert_int_equal(
		    docker_stream_strip(&stream, bytes, cut, &first),
		    DOCKER_STREAM_OK);
		assert_int_equal(docker_stream_is_within(&stream),
		    cut != 0 && cut != 11 && cut != 20 && cut != TEST_LEN);
		/* As a bridge reads: behind what was kept. */
		memmove(bytes + first, bytes + cut, TEST_LEN - cut);
		assert_int_equal(docker_stream_strip(&stream, bytes + first,
				     TEST_LEN - cut, &second),
		    DOCKER_STREAM_OK);
		assert_int_equal(first + second, 9);
		assert_memory_equal(bytes, "abcdefghi", 9);
		assert_false(docker_stream_is_within(&stream));
	}
}

static void
test_docker_stream_byte_by_byte(void **state)
{
	struct docker_stream stream = {.left = 0};
	uint8_t got[16];
	size_t count = 0, kept;

	(void)state;
	for (size_t i = 0; i < TEST_LEN; i++) {
		uint8_t one = test_docker_stream_bytes[i];

		assert_int_equal(docker_stream_strip(&stream, &one, 1, &kept),
		    DOCKER_STREAM_OK);
		if (kept > 0)
			got[count++] = one;
	}
	assert_int_equal(count, 9);
	assert_memory_equal(got, "abcdefghi", 9);
}

static void
test_docker_stream_bad(void **state)
{
	static const struct {
		uint8_t head[DOCKER_STREAM_HEADER];
		enum docker_stream_result want;
	} rows[] = {
	    {{1, 0, 0, 0, 1, 0, 0, 0}, DOCKER_STREAM_OK},
	    {{0, 0, 0, 0, 0, 0, 0, 1}, DOCKER_STREAM_BAD_KIND},
	    {{2, 0, 0, 0, 0, 0, 0, 1}, DOCKER_STREAM_BAD_KIND},
	    {{3, 0, 0, 0, 0, 0, 0, 1}, DOCKER_STREAM_BAD_KIND},
	    {{'H', 'T', 'T', 'P', '/', '1', '.', '1'}, DOCKER_STREAM_BAD_KIND},
	    {{1, 1, 0, 0, 0, 0, 0, 1}, DOCKER_STREAM_BAD_HEADER},
	    {{1, 0, 1, 0, 0, 0, 0, 1}, DOCKER_STREAM_BAD_HEADER},
	    {{1, 0, 0, 1, 0, 0, 0, 1}, DOCKER_STREAM_BAD_HEADER},
	    {{1, 0, 0, 0, 0, 0, 0, 0}, DOCKER_STREAM_BAD_LENGTH},
	    {{1, 0, 0, 0, 1, 0, 0, 1}, DOCKER_STREAM_BAD_LENGTH},
	    {{1, 0, 0, 0, 255, 255, 255, 255}, DOCKER_STREAM_BAD_LENGTH},
	};
	uint8_t bytes[DOCKER_STREAM_HEADER];
	size_t kept;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct docker_stream stream = {.left = 0};

		memcpy(bytes, rows[i].head, sizeof(bytes));
		assert_int_equal(
		    docker_stream_strip(&stream, bytes, sizeof(bytes), &kept),
		    rows[i].want);
		assert_int_equal(kept, 0);
		assert_true(docker_stream_text(rows[i].want)[0] != '\0');
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_docker_stream_cut),
	    cmocka_unit_test(test_docker_stream_byte_by_byte),
	    cmocka_unit_test(test_docker_stream_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
