/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of runs: every line of the story, sums by code, no word of an
 * agent's, a bound on bytes, and files that go when they are old.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "llm-broker/call_code.h"
#include "supervisor/policy/run_counts.h"
#include "supervisor/policy/run_files.h"
#include "supervisor/policy/run_record.h"
#include "tests/support/test_folder.h"

#define RUN_ID "0123456789abcdef"

static char test_run_record_home[64];

static int
test_run_record_setup(void **state)
{
	(void)state;
	snprintf(test_run_record_home, sizeof(test_run_record_home),
	    "/tmp/test_run_record_XXXXXX");
	return test_folder_new(test_run_record_home) == NULL ? -1 : 0;
}

static int
test_run_record_remove(
    const char *path, const struct stat *status, int kind, struct FTW *walk)
{
	(void)status;
	(void)kind;
	(void)walk;
	return remove(path);
}

static int
test_run_record_teardown(void **state)
{
	(void)state;
	return nftw(test_run_record_home, test_run_record_remove, 8,
	    FTW_DEPTH | FTW_PHYS);
}

static json_t *
test_run_record_parse(const char *text)
{
	struct json_fault fault = {""};
	json_t *value;

	if (json_field_parse(text, strlen(text), &value, &fault) != RESULT_OK)
		fail_msg("%s: %s", text, fault.text);
	return value;
}

static struct run_record *
test_run_record_open(const char *run, const json_t *grant)
{
	struct run_record_facts facts = {run, "agent", "1.0.0", grant};
	struct json_fault fault = {""};
	struct run_record *record;

	if (run_record_open(test_run_record_home, &facts, &record, &fault) !=
	    RESULT_OK)
		fail_msg("%s", fault.text);
	return record;
}

static void
test_run_record_use(struct run_record *record, const char *model,
    const char *code, int count, int requests, int cost)
{
	json_t *usage = json_pack("{s:s, s:s, s:s, s:s, s:i, s:b, s:{s:i, s:i,"
				  " s:i, s:i, s:i}}",
	    "sandbox", RUN_ID, "provider", "openai", "model", model, "code",
	    code, "count", count, "estimated", cost < 0, "amounts", "requests",
	    requests, "input_chars", 10 * requests, "output_chars",
	    20 * requests, "tokens", 30 * requests, "cost_microusd", cost);

	assert_non_null(usage);
	run_record_usage(record, usage);
	json_decref(usage);
}

static json_t *
test_run_record_lines(const char *run)
{
	struct json_fault fault = {""};
	struct state_dir home;
	json_t *lines;

	assert_int_equal(
	    state_dir_open(test_run_record_home, STATE_DIR_OURS, &home, &fault),
	    RESULT_OK);
	if (run_record_read(&home, run, &lines, &fault) != RESULT_OK)
		lines = NULL;
	state_dir_close(&home);
	return lines;
}

static const char *
test_run_record_text(const json_t *lines, size_t index, const char *key)
{
	const char *text = json_string_value(
	    json_object_get(json_array_get(lines, index), key));

	return text != NULL ? text : "";
}

static int64_t
test_run_record_number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

/* A whole run. */
static void
test_run_record_story(void **state)
{
	json_t *grant = test_run_record_parse(
	    "{\"providers\":[{\"name\":\"openai\",\"models\":[\"m\",\"n\"]},"
	    "{\"name\":\"gemini\"}],\"opt_in\":[],"
	    "\"limits\":{\"requests\":20,\"input_chars\":5,"
	    "\"output_chars\":6}}");
	struct run_record *record = test_run_record_open(RUN_ID, grant);
	static const char *const events[] = {
	    "start", "usage", "usage", "tool", "tool", "refusal", "end"};
	const json_t *llm;
	json_t *fields, *lines;
	struct stat status;
	char path[128];
	size_t i;

	(void)state;
	test_run_record_use(record, "m", "", 3, 3, 9);
	test_run_record_use(
	    record, "ignore the above", "model_not_allowed", 2, 0, -1);
	run_record_tool(
	    record, &(struct run_record_tool){"web", "fetch", "", false, 12});
	run_record_tool(record, &(struct run_record_tool){"other", NULL,
				    "tool_not_allowed", true, 0});
	run_record_refusal(record, "proxy", "host_not_allowed", 4);
	fields =
	    run_record_finish(record, &(struct run_record_outcome){"", 0, 0});
	run_record_free(&record);
	assert_null(record);

	llm = json_object_get(fields, "llm");
	assert_true(json_is_true(json_object_get(llm, "enabled")));
	assert_int_equal(test_run_record_number(llm, "max_calls"), 20);
	assert_int_equal(test_run_record_number(llm, "requests"), 5);
	assert_int_equal(test_run_record_number(llm, "calls"), 3);
	assert_int_equal(test_run_record_number(llm, "ok"), 3);
	assert_int_equal(test_run_record_number(llm, "refused_model"), 2);
	assert_int_equal(test_run_record_number(llm, "tokens"), 90);
	assert_int_equal(test_run_record_number(llm, "cost_microusd"), 9);
	assert_int_equal(test_run_record_number(llm, "unpriced"), 2);
	assert_int_equal(test_run_record_number(fields, "tool_calls"), 1);
	assert_int_equal(test_run_record_number(fields, "tool_refusals"), 1);
	assert_int_equal(
	    json_array_size(json_object_get(llm, "allowed_models")), 3);
	assert_string_equal(json_string_value(json_array_get(
				json_object_get(llm, "models"), 0)),
	    "openai/m");
	json_decref(fields);
	json_decref(grant);

	lines = test_run_record_lines(RUN_ID);
	assert_int_equal(json_array_size(lines), 7);
	for (i = 0; i < 7; i++)
		assert_string_equal(
		    test_run_record_text(lines, i, "event"), events[i]);
	assert_string_equal(test_run_record_text(lines, 1, "model"), "m");
	assert_string_equal(test_run_record_text(lines, 2, "model"), "");
	json_decref(lines);
	snprintf(path, sizeof(path), "%s/runs/" RUN_ID ".jsonl",
	    test_run_record_home);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
}

/* Every code of the broker has its place, an unknown one is an error. */
static void
test_run_record_codes(void **state)
{
	static const struct {
		enum call_code code;
		enum run_counts_end end;
	} rows[] = {
	    {CALL_OK, RUN_COUNTS_OK},
	    {CALL_BAD_REQUEST, RUN_COUNTS_REFUSED_REQUEST},
	    {CALL_METHOD_REFUSED, RUN_COUNTS_REFUSED_REQUEST},
	    {CALL_MISDIRECTED, RUN_COUNTS_REFUSED_REQUEST},
	    {CALL_UPGRADE_REFUSED, RUN_COUNTS_REFUSED_REQUEST},
	    {CALL_PATH_NOT_ALLOWED, RUN_COUNTS_REFUSED_DISABLED},
	    {CALL_PROVIDER_NOT_ALLOWED, RUN_COUNTS_REFUSED_DISABLED},
	    {CALL_MODEL_NOT_ALLOWED, RUN_COUNTS_REFUSED_MODEL},
	    {CALL_FIELD_NOT_ALLOWED, RUN_COUNTS_REFUSED_REQUEST},
	    {CALL_HEADER_NOT_ALLOWED, RUN_COUNTS_REFUSED_REQUEST},
	    {CALL_TOO_LARGE, RUN_COUNTS_REFUSED_INPUT},
	    {CALL_BUDGET_EXCEEDED, RUN_COUNTS_REFUSED_LIMIT},
	    {CALL_TOO_MANY_CALLS, RUN_COUNTS_REFUSED_LIMIT},
	    {CALL_CREDENTIAL_UNAVAILABLE, RUN_COUNTS_PROVIDER_ERRORS},
	    {CALL_KEY_REFUSED, RUN_COUNTS_PROVIDER_ERRORS},
	    {CALL_POLICY_UNAVAILABLE, RUN_COUNTS_REFUSED_DISABLED},
	    {CALL_LOOKUP_FAILED, RUN_COUNTS_PROVIDER_ERRORS},
	    {CALL_ADDRESS_NOT_ALLOWED, RUN_COUNTS_PROVIDER_ERRORS},
	    {CALL_DIAL_FAILED, RUN_COUNTS_PROVIDER_ERRORS},
	    {CALL_UPSTREAM_TLS, RUN_COUNTS_PROVIDER_ERRORS},
	    {CALL_UPSTREAM_BAD, RUN_COUNTS_PROVIDER_ERRORS},
	    {CALL_UPSTREAM_CLOSED, RUN_COUNTS_PROVIDER_ERRORS},
	    {CALL_UPSTREAM_ERROR, RUN_COUNTS_PROVIDER_ERRORS},
	    {CALL_REDIRECT_REFUSED, RUN_COUNTS_PROVIDER_ERRORS},
	    {CALL_TIMEOUT, RUN_COUNTS_PROVIDER_ERRORS},
	    {CALL_CANCELLED, RUN_COUNTS_CANCELLED},
	    {CALL_OUTPUT_LIMIT, RUN_COUNTS_REFUSED_OUTPUT},
	};
	size_t i;

	(void)state;
	assert_int_equal(sizeof(rows) / sizeof(rows[0]), CALL_CODE_COUNT);
	for (i = 0; i < CALL_CODE_COUNT; i++) {
		assert_int_equal(rows[i].code, i);
		if (run_counts_end_of(call_code_text(rows[i].code)) !=
		    rows[i].end)
			fail_msg("%s", call_code_text(rows[i].code));
	}
	assert_int_equal(
	    run_counts_end_of("new_code"), RUN_COUNTS_PROVIDER_ERRORS);
}

/* Without an LLM. */
static void
test_run_record_no_llm(void **state)
{
	struct run_record *record = test_run_record_open(RUN_ID, NULL);
	json_t *fields = run_record_finish(
	    record, &(struct run_record_outcome){"gate_died", 1, 9});

	(void)state;
	assert_true(json_is_false(
	    json_object_get(json_object_get(fields, "llm"), "enabled")));
	assert_int_equal(test_run_record_number(fields, "signal"), 9);
	json_decref(fields);
	run_record_free(&record);
}

/* A file does not grow for ever, and its end still comes. */
static void
test_run_record_bound(void **state)
{
	struct run_record *record = test_run_record_open(RUN_ID, NULL);
	json_t *fields, *lines;
	struct stat status;
	char path[128];
	size_t count;
	int i;

	(void)state;
	for (i = 0; i < 20000; i++)
		run_record_refusal(record, "broker", "bad_request", i + 1);
	for (i = 0; i < 30; i++) {
		char model[300];

		snprintf(model, sizeof(model), "m%d-%0190d", i, 0);
		test_run_record_use(record, model, "", 1, 1, 1);
	}
	fields =
	    run_record_finish(record, &(struct run_record_outcome){"", 0, 0});
	json_decref(fields);
	run_record_free(&record);
	snprintf(path, sizeof(path), "%s/runs/" RUN_ID ".jsonl",
	    test_run_record_home);
	assert_int_equal(stat(path, &status), 0);
	assert_true(status.st_size <= RUN_RECORD_MAX);
	lines = test_run_record_lines(RUN_ID);
	count = json_array_size(lines);
	assert_string_equal(
	    test_run_record_text(lines, count - 1, "event"), "end");
	assert_string_equal(
	    test_run_record_text(lines, count - 2, "event"), "truncated");
	assert_int_equal(
	    test_run_record_number(
		json_object_get(json_array_get(lines, count - 1), "llm"),
		"calls"),
	    30);
	json_decref(lines);
}

/* Neither a name that is none, nor one that is taken. */
static void
test_run_record_names(void **state)
{
	static const char *const bad[] = {"", "../../etc/x", "0123456789abcde",
	    "0123456789abcdeF", "0123456789abcdef0"};
	struct run_record_facts facts = {RUN_ID, "agent", "1", NULL};
	struct run_record *record = test_run_record_open(RUN_ID, NULL);
	struct json_fault fault = {""};
	struct run_record *other;
	size_t i;

	(void)state;
	assert_int_equal(
	    run_record_open(test_run_record_home, &facts, &other, &fault),
	    RESULT_SYSTEM);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		facts.run = bad[i];
		fault.text[0] = '\0';
		assert_int_equal(run_record_open(test_run_record_home, &facts,
				     &other, &fault),
		    RESULT_BAD);
		assert_null(test_run_record_lines(bad[i]));
	}
	run_record_free(&record);
}

static void
test_run_record_touch(
    const struct state_dir *runs, const char *name, time_t changed, bool link)
{
	struct timespec times[2] = {{changed, 0}, {changed, 0}};
	int fd;

	if (link) {
		assert_int_equal(symlinkat("/etc/passwd", runs->fd, name), 0);
		return;
	}
	fd = openat(runs->fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

static bool
test_run_record_there(const struct state_dir *runs, const char *name)
{
	return faccessat(runs->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Old ones and many go; living ones and strangers stay. */
static void
test_run_record_expiry(void **state)
{
	const time_t now = 2000000000, day = 86400;
	struct run_record *record = test_run_record_open(RUN_ID, NULL);
	struct json_fault fault = {""};
	struct state_dir home, runs;
	char name[32];
	int i;

	(void)state;
	assert_int_equal(
	    state_dir_open(test_run_record_home, STATE_DIR_OURS, &home, &fault),
	    RESULT_OK);
	assert_int_equal(run_files_folder(&home, &runs, &fault), RESULT_OK);
	for (i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "%016d.jsonl", i);
		test_run_record_touch(&runs, name, now - i * day, false);
	}
	test_run_record_touch(&runs, "notes.jsonl", 1, false);
	test_run_record_touch(&runs, "00000000000000aa.txt", 1, false);
	test_run_record_touch(&runs, "00000000000000bb.jsonl", 1, true);
	test_run_record_touch(&runs, RUN_ID ".jsonl", 1, false);
	run_files_expire(&runs, 100, 5, now);
	for (i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "%016d.jsonl", i);
		assert_int_equal(test_run_record_there(&runs, name), i <= 5);
	}
	run_files_expire(&runs, 3, 5, now);
	for (i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "%016d.jsonl", i);
		assert_int_equal(test_run_record_there(&runs, name), i <= 2);
	}
	assert_true(test_run_record_there(&runs, "notes.jsonl"));
	assert_true(test_run_record_there(&runs, "00000000000000aa.txt"));
	assert_true(test_run_record_there(&runs, "00000000000000bb.jsonl"));
	assert_true(test_run_record_there(&runs, RUN_ID ".jsonl"));
	run_record_free(&record);
	run_files_expire(&runs, 3, 5, now);
	assert_false(test_run_record_there(&runs, RUN_ID ".jsonl"));
	state_dir_close(&runs);
	state_dir_close(&home);
}

/* A line that a death cut is left out; one that is no JSON is a fault. */
static void
test_run_record_torn(void **state)
{
	struct run_record *record = test_run_record_open(RUN_ID, NULL);
	char path[128];
	json_t *lines;
	int fd;

	(void)state;
	run_record_refusal(record, "gate", "x", 1);
	run_record_free(&record);
	snprintf(path, sizeof(path), "%s/runs/" RUN_ID ".jsonl",
	    test_run_record_home);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(write(fd, "{\"ts\":", 6), 6);
	lines = test_run_record_lines(RUN_ID);
	assert_int_equal(json_array_size(lines), 2);
	json_decref(lines);
	assert_int_equal(write(fd, "\n", 1), 1);
	close(fd);
	assert_null(test_run_record_lines(RUN_ID));
}

int
main(void)
{
#define ROW(name)                                               \
	cmocka_unit_test_setup_teardown(test_run_record_##name, \
	    test_run_record_setup, test_run_record_teardown)
	const struct CMUnitTest tests[] = {
	    ROW(story),
	    ROW(codes),
	    ROW(no_llm),
	    ROW(bound),
	    ROW(names),
	    ROW(expiry),
	    ROW(torn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
