/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal filter: what passes, what is escaped, and that cutting the
 * input anywhere changes nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/gate/gate_text.h"

static const char test_gate_text_in[] =
    "plain\tand\nline\r\n\x1b[31mred\x07 \x7f \xc3\xa9 \xe2\x82\xac "
    "\xf0\x9f\x98\x80 c1 \xc2\x9b rtl \xe2\x80\xae zw \xe2\x80\x8b "
    "bad \xff\xc0\xaf\xed\xa0\x80 cut \xe2\x82";
static const char test_gate_text_out[] =
    "plain\tand\nline\\x0d\n\\x1b[31mred\\x07 \\x7f \xc3\xa9 \xe2\x82\xac "
    "\xf0\x9f\x98\x80 c1 \\x9b rtl \\u{202e} zw \\u{200b} "
    "bad \\xff\\xc0\\xaf\\xed\\xa0\\x80 cut \\xe2\\x82";

static void
test_gate_text_pieces(void **state)
{
	struct gate_text text;
	struct buffer out;
	size_t step, at, part, len = sizeof(test_gate_text_in) - 1;

	(void)state;
	for (step = 1; step <= len; step++) {
		buffer_init(&out, 4096);
		gate_text_start(&text);
		for (at = 0; at < len; at += part) {
			part = len - at < step ? len - at : step;
			assert_int_equal(
			    gate_text_feed(
				&text, test_gate_text_in + at, part, &out),
			    RESULT_OK);
		}
		assert_int_equal(gate_text_finish(&text, &out), RESULT_OK);
		assert_int_equal(out.len, sizeof(test_gate_text_out) - 1);
		assert_memory_equal(
		    buffer_bytes_borrow(&out), test_gate_text_out, out.len);
		buffer_free(&out);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_gate_text_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
