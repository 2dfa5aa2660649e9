/* SPDX-License-Identifier: Apache-2.0 */
/* llm-broker/call_charge: what is reserved and what is charged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "llm-broker/call_charge.h"

static struct grant *test_call_charge_grant;

struct test_call_charge_row {
	const char *name;
	enum call_charge_end end;
	bool is_stream, has_counts;
	struct usage_counts counts;
	/* expected */
	uint64_t requests, input, output, chars;
	int64_t cost;
	bool estimated;
};

/* Reserved: 30 characters (10 tokens), 100 tokens of output. */
static const struct test_call_charge_row test_call_charge_rows[] = {
    {"not sent", CALL_CHARGE_NOT_SENT, true, false, {0}, 0, 0, 0, 0, 0, false},
    {"the provider's error", CALL_CHARGE_REFUSED, false, false, {0}, 1, 0, 0, 0,
	0, false},
    {"said", CALL_CHARGE_ENDED, true, true,
	{.input_tokens = 12,
	    .output_tokens = 7,
	    .output_chars = 20,
	    .known = 1},
	1, 12, 7, 20, 26, false},
    {"not said", CALL_CHARGE_ENDED, true, true, {.output_chars = 20}, 1, 10, 7,
	20, 24, true},
    {"half said", CALL_CHARGE_ENDED, true, true,
	{.input_tokens = 40, .output_chars = 20}, 1, 40, 7, 20, 54, true},
    {"a stream cut in the middle", CALL_CHARGE_CUT, true, true,
	{.input_tokens = 12, .output_tokens = 1, .output_chars = 20}, 1, 12,
	100, 20, 212, true},
    {"a stream that gave more than was reserved", CALL_CHARGE_CUT, true, true,
	{.input_tokens = 12, .output_chars = 600}, 1, 12, 200, 600, 412, true},
    {"a stream cut before its text", CALL_CHARGE_CUT, true, true,
	{.input_tokens = 12}, 1, 12, 100, 0, 212, true},
    {"a body cut", CALL_CHARGE_CUT, false, true, {.output_chars = 20}, 1, 10,
	100, 20, 210, true},
    {"nothing came", CALL_CHARGE_CUT, false, false, {0}, 1, 10, 100, 0, 210,
	true},
    {"cut, and it was said", CALL_CHARGE_CUT, true, true,
	{.input_tokens = 12,
	    .output_tokens = 50,
	    .output_chars = 20,
	    .known = 1},
	1, 12, 50, 20, 112, true},
    {"a body that says nothing", CALL_CHARGE_ENDED, false, true,
	{.output_chars = 20}, 1, 10, 100, 20, 210, true},
    {"a stream that cannot be read", CALL_CHARGE_ENDED, true, true,
	{.output_chars = 20, .odd = 1}, 1, 10, 100, 20, 210, true},
    {"nonsense", CALL_CHARGE_ENDED, true, true,
	{.input_tokens = UINT64_C(1) << 62, .output_tokens = 1, .known = 1}, 1,
	UINT64_C(1) << 40, 1, 0, -1, false},
};

static void
test_call_charge_table(void **state)
{
	size_t rows =
	    sizeof(test_call_charge_rows) / sizeof(test_call_charge_rows[0]);

	(void)state;
	for (size_t i = 0; i < rows; i++) {
		const struct test_call_charge_row *row =
		    &test_call_charge_rows[i];
		struct call_charge charge;
		const struct call_amounts *used = &charge.used;

		call_charge_reserve(
		    &charge, test_call_charge_grant, "openai", "m", 30, 100);
		assert_int_equal(charge.reserve.requests, 1);
		assert_int_equal(charge.reserve.input_chars, 30);
		assert_int_equal(charge.reserve.output_chars, 1);
		assert_int_equal(charge.reserve.input_tokens, 10);
		assert_int_equal(charge.reserve.output_tokens, 100);
		assert_int_equal(charge.reserve.cost, 210);
		call_charge_settle(&charge, test_call_charge_grant, "openai",
		    "m", row->has_counts ? &row->counts : NULL, row->is_stream,
		    row->end);
		if (used->requests != row->requests ||
		    used->input_chars != (row->requests ? 30U : 0U) ||
		    used->input_tokens != row->input ||
		    used->output_tokens != row->output ||
		    used->output_chars != row->chars ||
		    used->cost != row->cost ||
		    charge.estimated != row->estimated)
			fail_msg("%s: %lu %lu %lu %ld", row->name,
			    used->input_tokens, used->output_tokens,
			    used->output_chars, used->cost);
	}
}

static void
test_call_charge_unknown_price(void **state)
{
	struct call_charge charge;

	(void)state;
	call_charge_reserve(
	    &charge, test_call_charge_grant, "openai", "other", 30, 100);
	assert_int_equal(charge.reserve.cost, -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_call_charge_table),
	    cmocka_unit_test(test_call_charge_unknown_price),
	};
	json_t *object = json_loads(
	    "{\"providers\":[{\"name\":\"openai\"}],\"prices\":[{\"provider\":"
	    "\"openai\",\"model\":\"m\",\"input_microusd_per_million\":1000000,"
	    "\"output_microusd_per_million\":2000000}],\"ledger\":false}",
	    0, NULL);
	struct json_fault fault = {""};
	int status = 1;

	if (grant_load(object, "grant", &test_call_charge_grant, &fault) ==
	    RESULT_OK)
		status = cmocka_run_group_tests(tests, NULL, NULL);
	grant_free(&test_call_charge_grant);
	json_decref(object);
	return status;
}
