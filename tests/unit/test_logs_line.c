/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of logs: their time, what is asked for, and how they are shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/logs/logs_line.h"

#define TS "2026-01-02T03:04:05.678Z"
#define HEAD "{\"ts\":\"" TS "\",\"level\":\"info\",\"process\":\"p\","

static struct logs_line
line_of(const char *text)
{
	struct logs_line line = {.bytes = text, .len = strlen(text)};

	(void)logs_line_time(text, line.len, line.ts);
	return line;
}

static void
test_logs_line_time(void **state)
{
	static const char *const none[] = {"", "{", "{\"ts\":\"",
	    "{\"ts\":\"" TS, "{\"ts\":\"2026-01-02T03:04:05.67xZ\",",
	    "{\"ts\":\"2026-01-02 03:04:05.678Z\",", " {\"ts\":\"" TS "\"}",
	    "{\"ts\":\"" TS "0\"}"};
	char ts[LOGS_LINE_TIME] = "before";

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		assert_false(logs_line_time(none[i], strlen(none[i]), ts));
		assert_string_equal(ts, "before");
	}
	assert_true(logs_line_time(HEAD, strlen(HEAD), ts));
	assert_string_equal(ts, TS);
}

static void
test_logs_line_takes(void **state)
{
	static const struct {
		const char *text, *run, *request, *since;
		bool takes;
	} rows[] = {
	    {HEAD "\"event\":\"e\"}", NULL, NULL, NULL, true},
	    {HEAD "\"event\":\"e\"}", NULL, NULL, "2026-01-02", true},
	    {HEAD "\"event\":\"e\"}", NULL, NULL, "2026-01-02T03:04:06", false},
	    {HEAD "\"sandbox\":\"abc\"}", "abc", NULL, NULL, true},
	    {HEAD "\"run\":\"abc\"}", "abc", NULL, NULL, true},
	    {HEAD "\"request\":\"abc.c1\"}", "abc", NULL, NULL, true},
	    {HEAD "\"request\":\"abcd.c1\"}", "abc", NULL, NULL, false},
	    {HEAD "\"detail\":\"abc\"}", "abc", NULL, NULL, false},
	    {HEAD "\"sandbox\":\"abc\"}", "ab", NULL, NULL, false},
	    {HEAD "\"request\":\"abc.c1\"}", NULL, "abc.c1", NULL, true},
	    {HEAD "\"request\":\"abc.c11\"}", NULL, "abc.c1", NULL, false},
	    {HEAD "\"request\":\"abc.c1\",\"sandbox\":\"x\"}", "abc", "abc.c1",
		NULL, true},
	    {HEAD "\"request\":\"abc.c1\",\"sandbox\":\"x\"}", "y", "abc.c1",
		NULL, false},
	    {"crash of abc.c1", "abc", NULL, NULL, true},
	    {"crash of abc.c1", NULL, "abc.c2", NULL, false},
	    {"[\"abc\"]", "abc", NULL, NULL, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct logs_filter filter = {
		    rows[i].run, rows[i].request, rows[i].since};
		struct logs_line line = line_of(rows[i].text);

		if (logs_line_takes(&filter, &line) != rows[i].takes)
			fail_msg("row %zu", i);
	}
}

static void
check_shown(const struct logs_line *line, bool json, const char *wanted)
{
	struct buffer out;

	buffer_init(&out, 1U << 20);
	assert_int_equal(
	    logs_line_show(line, "agentnode-x", json, &out), RESULT_OK);
	assert_int_equal(buffer_append(&out, "", 1), RESULT_OK);
	assert_string_equal((const char *)buffer_bytes_borrow(&out), wanted);
	buffer_free(&out);
}

static void
test_logs_line_shown(void **state)
{
	struct logs_line line = line_of(
	    HEAD "\"event\":\"e\",\"n\":7,\"text\":\"a \\u001b\\u202eb\"}");

	(void)state;
	check_shown(&line, false,
	    TS " info agentnode-x e n=7 "
	       "text=\"a \\u001B\\u202eb\"\n");
	check_shown(&line, true,
	    "{\"ts\":\"" TS "\",\"level\":\"info\",\"process\":"
	    "\"agentnode-x\",\"event\":\"e\",\"n\":7,\"text\":"
	    "\"a \\u001B\\u202Eb\"}\n");
}

/* Whatever a crash, a workload or another program left there. */
static void
test_logs_line_foreign(void **state)
{
	struct logs_line line =
	    line_of("Segmentation \x1b]0;t\x07 \x9b\xff fault");

	(void)state;
	line.torn = true;
	check_shown(&line, false,
	    "- agentnode-x Segmentation \\u001b]0;t\\u0007 \\ufffd\\ufffd "
	    "fault (torn)\n");
	memcpy(line.ts, TS, sizeof(TS));
	check_shown(&line, true,
	    "{\"ts\":\"" TS "\",\"process\":\"agentnode-x\",\"text\":"
	    "\"Segmentation \\\\u001b]0;t\\\\u0007 \\\\ufffd\\\\ufffd fault\","
	    "\"torn\":true}\n");
	/* A part of an object is none, and one that is doubled neither. */
	line = line_of("{\"ts\":\"" TS "\",\"a\":1,\"a\":2}");
	line.cut = true;
	check_shown(&line, false,
	    TS " agentnode-x {\"ts\":\"" TS "\",\"a\":1,\"a\":2} (cut)\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_logs_line_time),
	    cmocka_unit_test(test_logs_line_takes),
	    cmocka_unit_test(test_logs_line_shown),
	    cmocka_unit_test(test_logs_line_foreign),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
