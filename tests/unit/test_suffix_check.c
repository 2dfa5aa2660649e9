/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wildcards against the public suffix list that is installed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "supervisor/policy/suffix_check.h"

static void
b008_over_broad_wildcards(void **state)
{
	static const struct {
		const char *base;
		enum result result;
	} rows[] = {
	    {"com", RESULT_REFUSED},
	    {"co.uk", RESULT_REFUSED},
	    {"uk", RESULT_REFUSED},
	    {"github.io", RESULT_REFUSED},
	    {"s3.amazonaws.com", RESULT_REFUSED},
	    /* a public suffix lies below */
	    {"amazonaws.com", RESULT_REFUSED},
	    {"compute.amazonaws.com", RESULT_REFUSED},
	    {"xn--p1ai", RESULT_REFUSED},
	    /* an unknown top-level domain counts as one */
	    {"example", RESULT_REFUSED},
	    {"example.com", RESULT_OK},
	    {"api.example.co.uk", RESULT_OK},
	    {"someone.github.io", RESULT_OK},
	    {"wild.example", RESULT_OK},
	};
	char why[SUFFIX_CHECK_WHY_MAX];
	struct domain base;
	enum result result;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(
		    domain_parse_any(rows[i].base, strlen(rows[i].base), &base),
		    DOMAIN_OK);
		result = suffix_check_wildcard(&base, why);
		if (result != rows[i].result)
			fail_msg("%s: %s", rows[i].base, why);
		assert_int_equal(why[0] == '\0', result == RESULT_OK);
	}
}

static void
only_wildcards_are_asked(void **state)
{
	static const char *const entries[] = {
	    "github.io", "http://github.io", "tcp://203.0.113.7:22"};
	char why[SUFFIX_CHECK_WHY_MAX];
	struct policy_entry entry;
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		assert_int_equal(
		    policy_entry_parse(entries[i], strlen(entries[i]),
			POLICY_ENTRY_FROM_HOST, &entry),
		    POLICY_ENTRY_OK);
		assert_int_equal(suffix_check_entry(&entry, why), RESULT_OK);
	}
	assert_int_equal(policy_entry_parse(
			     "*.github.io", 11, POLICY_ENTRY_FROM_HOST, &entry),
	    POLICY_ENTRY_OK);
	assert_int_equal(suffix_check_entry(&entry, why), RESULT_REFUSED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(b008_over_broad_wildcards),
	    cmocka_unit_test(only_wildcards_are_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
