/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bounded buffer and the texts of results.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "common/buffer.h"

static void
never_over_max(void **state)
{
	struct buffer buffer;
	char block[100] = {0};

	(void)state;
	buffer_init(&buffer, 150);
	assert_int_equal(buffer_append(&buffer, block, 100), RESULT_OK);
	assert_int_equal(buffer_append(&buffer, block, 51), RESULT_TOO_LONG);
	assert_int_equal(buffer.len, 100);
	assert_int_equal(buffer_append(&buffer, block, 50), RESULT_OK);
	assert_int_equal(buffer_append(&buffer, block, 1), RESULT_TOO_LONG);
	assert_int_equal(buffer_append(&buffer, block, 0), RESULT_OK);
	assert_true(buffer.capacity <= 150);
	assert_int_equal(
	    buffer_append(&buffer, block, SIZE_MAX), RESULT_TOO_LONG);
	buffer_free(&buffer);
	assert_int_equal(buffer.max, 150);
}

static void
order_is_kept(void **state)
{
	struct buffer buffer;
	uint8_t next_in = 0, next_out = 0, byte;
	unsigned round, i;

	(void)state;
	buffer_init(&buffer, 1000);
	for (round = 0; round < 2000; round++) {
		for (i = 0; i < round % 7; i++, next_in++)
			assert_int_equal(
			    buffer_append(&buffer, &next_in, 1), RESULT_OK);
		while (buffer.len > round % 5) {
			byte = *buffer_bytes_borrow(&buffer);
			assert_int_equal(byte, next_out++);
			buffer_consume(&buffer, 1);
		}
	}
	buffer_free(&buffer);
}

static void
reserve_is_clipped(void **state)
{
	struct buffer buffer;
	uint8_t *space;
	size_t room;

	(void)state;
	buffer_init(&buffer, 600);
	assert_int_equal(
	    buffer_reserve(&buffer, 1000, &space, &room), RESULT_OK);
	assert_int_equal(room, 600);
	memset(space, 'x', room);
	buffer_commit(&buffer, 600);
	assert_int_equal(
	    buffer_reserve(&buffer, 1, &space, &room), RESULT_TOO_LONG);
	assert_null(space);
	buffer_consume(&buffer, 10);
	assert_int_equal(buffer_reserve(&buffer, 20, &space, &room), RESULT_OK);
	assert_int_equal(room, 10);
	assert_int_equal(buffer_bytes_borrow(&buffer)[0], 'x');
	buffer_clear(&buffer);
	assert_int_equal(buffer.len, 0);
	buffer_free(&buffer);
	assert_non_null(buffer_bytes_borrow(&buffer));
}

static void
printf_is_whole_or_nothing(void **state)
{
	struct buffer buffer;
	char long_text[400];

	(void)state;
	memset(long_text, 'y', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	buffer_init(&buffer, 410);
	assert_int_equal(buffer_printf(&buffer, "%s-%d", "a", 7), RESULT_OK);
	assert_int_equal(buffer.len, 3);
	assert_memory_equal(buffer_bytes_borrow(&buffer), "a-7", 3);
	assert_int_equal(buffer_printf(&buffer, "%s", long_text), RESULT_OK);
	assert_int_equal(buffer.len, 402);
	assert_int_equal(
	    buffer_printf(&buffer, "%s", "123456789"), RESULT_TOO_LONG);
	assert_int_equal(buffer.len, 402);
	assert_int_equal(buffer_append_text(&buffer, "12345678"), RESULT_OK);
	buffer_free(&buffer);
}

static void
every_result_has_a_text(void **state)
{
	int i, j;

	(void)state;
	for (i = 0; i < RESULT_COUNT; i++) {
		assert_string_not_equal(
		    result_text((enum result)i), "unknown result");
		for (j = 0; j < i; j++)
			assert_string_not_equal(result_text((enum result)i),
			    result_text((enum result)j));
	}
	assert_string_equal(result_text((enum result) - 1), "unknown result");
	assert_string_equal(
	    result_text((enum result)RESULT_COUNT), "unknown result");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(never_over_max),
	    cmocka_unit_test(order_is_kept),
	    cmocka_unit_test(reserve_is_clipped),
	    cmocka_unit_test(printf_is_whole_or_nothing),
	    cmocka_unit_test(every_result_has_a_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
