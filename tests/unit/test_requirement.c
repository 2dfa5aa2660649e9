/* SPDX-License-Identifier: Apache-2.0 */
/* Requirements: what is pinned and hashed is taken and written anew, all
 * else is refused with its line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/package/requirement.h"

#define HASH "--hash=sha256:" HEX
#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* The file, whether hashes may lack, what pip would read (NULL: refused),
 * part of the first fault. */
static const struct {
	const char *file;
	bool may_lack;
	const char *text, *fault;
} test_requirement_rows[] = {
    {"", false, "", NULL},
    {"# a comment\n\n   \n\t# another\n", false, "", NULL},
    {"a==1 " HASH "\n", false, "a==1 \\\n    " HASH "\n", NULL},
    {"a == 1.0.post1 " HASH, false, "a==1.0.post1 \\\n    " HASH "\n", NULL},
    {"A.b__C==2 # why\n", true, "a-b-c==2\n", NULL},
    {"a==1 \\\n  " HASH " \\\n  " HASH "\nb==2 " HASH "\n", false,
	"a==1 \\\n    " HASH " \\\n    " HASH "\nb==2 \\\n    " HASH "\n",
	NULL},
    {"a==1\r\n", true, "a==1\n", NULL},
    {"a==1\n", false, NULL, "requirements.txt:1 has no hash: a==1"},
    {"#\n\na>=1 " HASH "\n", false, NULL, "requirements.txt:3 'a>=1"},
    {"a===1 " HASH "\n", false, NULL, "is not pinned"},
    {"a==1.* " HASH "\n", false, NULL, "is not pinned"},
    {"a==v1 " HASH "\n", false, NULL, "is not pinned"},
    {"a[x]==1 " HASH "\n", false, NULL, "is not pinned"},
    {"a==1;b " HASH "\n", false, NULL, "is not pinned"},
    {"a==1 ; b " HASH "\n", false, NULL, "has something else"},
    {"a==1 --hash=sha256:" HEX "0\n", false, NULL, "has something else"},
    {"a==1 --hash=sha256:abc\n", false, NULL, "has something else"},
    {"a==1 --hash=sha512:" HEX "\n", false, NULL, "has something else"},
    {"-r x\n", true, NULL, "is not pinned"},
    {"--index-url=https://x/\n", true, NULL, "is not pinned"},
    {"git+https://x/y\n", true, NULL, "is not pinned"},
    {"a @ https://x/y\n", true, NULL, "is not pinned"},
    {"./x\n", true, NULL, "is not pinned"},
    {"a==1\nA==2\n", true, NULL, "requirements.txt:2 names a a second"},
};

static void
test_requirement_files(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(test_requirement_rows) /
			    sizeof(test_requirement_rows[0]);
	     i++) {
		const char *file = test_requirement_rows[i].file;
		const char *want = test_requirement_rows[i].text;
		const char *part = test_requirement_rows[i].fault;
		struct manifest_report report;
		struct json_fault fault = {""};
		json_t *list = json_array();
		char *text;

		manifest_report_init(&report);
		requirement_parse_file(file, strlen(file),
		    test_requirement_rows[i].may_lack, list, &report);
		manifest_report_first(&report, &fault);
		text = requirement_text(list);
		if ((want != NULL) != (report.count == 0) ||
		    (want != NULL && strcmp(text, want) != 0) ||
		    (part != NULL && strstr(fault.text, part) == NULL))
			fail_msg("'%s': '%s', '%s'", file, text, fault.text);
		free(text);
		json_decref(list);
		manifest_report_clear(&report);
	}
}

/* A line that never ends is one fault, not memory. */
static void
test_requirement_long(void **state)
{
	size_t len = REQUIREMENT_LINE_MAX + 10;
	char *file = malloc(len);
	struct manifest_report report;
	json_t *list = json_array();

	(void)state;
	assert_non_null(file);
	memset(file, 'a', len);
	manifest_report_init(&report);
	requirement_parse_file(file, len, true, list, &report);
	assert_int_equal(report.count, 1);
	assert_int_equal(json_array_size(list), 0);
	manifest_report_clear(&report);
	json_decref(list);
	free(file);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_requirement_files),
	    cmocka_unit_test(test_requirement_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
