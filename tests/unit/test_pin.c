/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pins: a table of texts with the verdict, and that every refusal names the
 * form to use.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/package/pin.h"

struct test_pin_row {
	const char *text;
	enum pin_verdict verdict;
	enum pin_kind kind;
	const char *name, *version;
};

static const struct test_pin_row test_pin_rows[] = {
    {"npm:left-pad@1.3.0", PIN_OK, PIN_NPM, "left-pad", "1.3.0"},
    {"npm:@scope/x.y_z@0.0.1-rc.1+b.7", PIN_OK, PIN_NPM, "@scope/x.y_z",
	"0.0.1-rc.1+b.7"},
    {"npm:a@2025.9.12", PIN_OK, PIN_NPM, "a", "2025.9.12"},
    {"pypi:Plain_MCP==1.0", PIN_OK, PIN_PYPI, "plain-mcp", "1.0"},
    {"pypi:a.b--c==1", PIN_OK, PIN_PYPI, "a-b-c", "1"},
    {"pypi:x==2!1.0rc1.post2.dev3+local.1", PIN_OK, PIN_PYPI, "x",
	"2!1.0rc1.post2.dev3+local.1"},
    {"./server", PIN_OK, PIN_DIR, "", ""},
    {"/srv/server", PIN_OK, PIN_DIR, "", ""},
    {"..", PIN_OK, PIN_DIR, "", ""},
    {"npm:left-pad", PIN_FLOATING, PIN_NPM, NULL, NULL},
    {"npm:@scope/x", PIN_FLOATING, PIN_NPM, NULL, NULL},
    {"npm:left-pad@", PIN_FLOATING, PIN_NPM, NULL, NULL},
    {"pypi:x", PIN_FLOATING, PIN_PYPI, NULL, NULL},
    {"npm:left-pad@latest", PIN_TAG, PIN_NPM, NULL, NULL},
    {"npm:left-pad@current", PIN_TAG, PIN_NPM, NULL, NULL},
    {"npm:left-pad@stable", PIN_TAG, PIN_NPM, NULL, NULL},
    {"pypi:x==latest", PIN_TAG, PIN_PYPI, NULL, NULL},
    {"npm:left-pad@*", PIN_RANGE, PIN_NPM, NULL, NULL},
    {"npm:left-pad@x", PIN_RANGE, PIN_NPM, NULL, NULL},
    {"npm:left-pad@1", PIN_RANGE, PIN_NPM, NULL, NULL},
    {"npm:left-pad@1.3", PIN_RANGE, PIN_NPM, NULL, NULL},
    {"npm:left-pad@1.x", PIN_RANGE, PIN_NPM, NULL, NULL},
    {"npm:left-pad@^1.3.0", PIN_RANGE, PIN_NPM, NULL, NULL},
    {"npm:left-pad@~1.3.0", PIN_RANGE, PIN_NPM, NULL, NULL},
    {"npm:left-pad@>=1.3.0", PIN_RANGE, PIN_NPM, NULL, NULL},
    {"npm:left-pad@=1.3.0", PIN_RANGE, PIN_NPM, NULL, NULL},
    {"npm:left-pad@1.3.0 || 2.0.0", PIN_RANGE, PIN_NPM, NULL, NULL},
    {"npm:left-pad@1.0.0 - 2.0.0", PIN_RANGE, PIN_NPM, NULL, NULL},
    {"pypi:x>=1.0", PIN_RANGE, PIN_PYPI, NULL, NULL},
    {"pypi:x~=1.0", PIN_RANGE, PIN_PYPI, NULL, NULL},
    {"pypi:x==1.*", PIN_RANGE, PIN_PYPI, NULL, NULL},
    {"pypi:x===1.0", PIN_RANGE, PIN_PYPI, NULL, NULL},
    {"pypi:x==1.0,<2", PIN_RANGE, PIN_PYPI, NULL, NULL},
    {"git+https://example.com/x.git", PIN_SOURCE, PIN_NPM, NULL, NULL},
    {"https://example.com/x.tgz", PIN_SOURCE, PIN_NPM, NULL, NULL},
    {"file:/tmp/x", PIN_SOURCE, PIN_NPM, NULL, NULL},
    {"github:a/b", PIN_SOURCE, PIN_NPM, NULL, NULL},
    {"npm:x@git+ssh://host/x", PIN_SOURCE, PIN_NPM, NULL, NULL},
    {"npm:x@file:../x", PIN_SOURCE, PIN_NPM, NULL, NULL},
    {"npm:x@link:../x", PIN_SOURCE, PIN_NPM, NULL, NULL},
    {"npm:x@workspace:*", PIN_SOURCE, PIN_NPM, NULL, NULL},
    {"npm:x@npm:y@1.0.0", PIN_SOURCE, PIN_NPM, NULL, NULL},
    {"pypi:x @ https://example.com/x.whl", PIN_SOURCE, PIN_PYPI, NULL, NULL},
    {"pypi:git+https://example.com/x", PIN_SOURCE, PIN_PYPI, NULL, NULL},
    {"pypi:x[cli]==1.0", PIN_EXTRAS, PIN_PYPI, NULL, NULL},
    {"npm:Left-Pad@1.0.0", PIN_NAME, PIN_NPM, NULL, NULL},
    {"npm:.hidden@1.0.0", PIN_NAME, PIN_NPM, NULL, NULL},
    {"npm:-flag@1.0.0", PIN_NAME, PIN_NPM, NULL, NULL},
    {"npm:a/b@1.0.0", PIN_NAME, PIN_NPM, NULL, NULL},
    {"npm:@/x@1.0.0", PIN_NAME, PIN_NPM, NULL, NULL},
    {"npm:@a/../b@1.0.0", PIN_NAME, PIN_NPM, NULL, NULL},
    {"npm:a b@1.0.0", PIN_NAME, PIN_NPM, NULL, NULL},
    {"npm:", PIN_NAME, PIN_NPM, NULL, NULL},
    {"pypi:-x==1.0", PIN_NAME, PIN_PYPI, NULL, NULL},
    {"pypi:x-==1.0", PIN_NAME, PIN_PYPI, NULL, NULL},
    {"pypi:==1.0", PIN_NAME, PIN_PYPI, NULL, NULL},
    {"npm:x@01.0.0", PIN_VERSION, PIN_NPM, NULL, NULL},
    {"npm:x@1.0.0-", PIN_VERSION, PIN_NPM, NULL, NULL},
    {"npm:x@1.0.0-01", PIN_VERSION, PIN_NPM, NULL, NULL},
    {"npm:x@1.0.0+", PIN_VERSION, PIN_NPM, NULL, NULL},
    {"npm:x@v1.0.0", PIN_VERSION, PIN_NPM, NULL, NULL},
    {"npm:x@1.0.0\n", PIN_VERSION, PIN_NPM, NULL, NULL},
    {"npm:x@1.0.0;rm", PIN_VERSION, PIN_NPM, NULL, NULL},
    {"pypi:x==1.0-1", PIN_VERSION, PIN_PYPI, NULL, NULL},
    {"pypi:x==1..0", PIN_VERSION, PIN_PYPI, NULL, NULL},
    {"left-pad@1.3.0", PIN_FORM, PIN_NPM, NULL, NULL},
    {"left-pad", PIN_FORM, PIN_NPM, NULL, NULL},
    {"@scope/x@1.0.0", PIN_FORM, PIN_NPM, NULL, NULL},
    {"", PIN_FORM, PIN_NPM, NULL, NULL},
    {"--allow", PIN_FORM, PIN_NPM, NULL, NULL},
};

static void
test_pin_table(void **state)
{
	char sentence[512];
	struct pin pin;

	(void)state;
	for (size_t i = 0; i < sizeof(test_pin_rows) / sizeof(test_pin_rows[0]);
	     i++) {
		const struct test_pin_row *row = &test_pin_rows[i];
		enum pin_verdict got = pin_parse(row->text, &pin);

		pin_explain(got, row->text, sentence, sizeof(sentence));
		if (got != row->verdict)
			fail_msg("\"%s\": want %d: %s", row->text, row->verdict,
			    sentence);
		if (got != PIN_OK) {
			assert_non_null(strstr(sentence, "use "));
			continue;
		}
		assert_int_equal(pin.kind, row->kind);
		assert_string_equal(pin.name, row->name);
		assert_string_equal(pin.version, row->version);
	}
}

static void
test_pin_explains(void **state)
{
	char sentence[512];

	(void)state;
	pin_explain(PIN_TAG, "npm:@a/b@latest", sentence, sizeof(sentence));
	assert_non_null(strstr(sentence, "npm:@a/b@X.Y.Z"));
	pin_explain(PIN_RANGE, "pypi:x>=1", sentence, sizeof(sentence));
	assert_non_null(strstr(sentence, "pypi:x==X.Y.Z"));
	pin_explain(PIN_FORM, "thing@1.0.0", sentence, sizeof(sentence));
	assert_non_null(strstr(sentence, "npm:thing@X.Y.Z"));
	assert_non_null(strstr(sentence, "pypi:thing==X.Y.Z"));
}

static void
test_pin_long(void **state)
{
	char text[8192];
	struct pin pin;

	(void)state;
	memset(text, 'a', sizeof(text));
	memcpy(text, "npm:", 4);
	text[4 + PIN_NAME_MAX + 1] = '\0';
	assert_int_equal(pin_parse(text, &pin), PIN_LONG);
	text[4 + PIN_NAME_MAX] = '\0';
	assert_int_equal(pin_parse(text, &pin), PIN_FLOATING);
	memset(text, 'a', sizeof(text));
	memcpy(text, "npm:x@1.0.0-", 12);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(pin_parse(text, &pin), PIN_LONG);
	memset(text, 'a', sizeof(text));
	text[0] = '/';
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(pin_parse(text, &pin), PIN_LONG);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_pin_table),
	    cmocka_unit_test(test_pin_explains),
	    cmocka_unit_test(test_pin_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
