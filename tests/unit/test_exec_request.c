/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may be asked of exec: names of inputs, times, sizes, variables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/exec/exec_request.h"

static struct exec_request request;
static struct exec_request_fault fault;

static int
setup(void **state)
{
	(void)state;
	memset(&request, 0, sizeof(request));
	memset(&fault, 0, sizeof(fault));
	return 0;
}

static void
inputs_are_plain_names(void **state)
{
	static const char *const bad[] = {"", ".", "..", "a/b", "/a", "a/",
	    "../a", "a\\b", "a\nb", "a\x7f", "\x1b[2J", "a\xff", "=x", "a/b=x",
	    "..=x", ".=x", "a\x01=x"};
	char word[400];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		fault.text[0] = '\0';
		assert_false(exec_request_input(&request, bad[i], &fault));
		assert_string_not_equal(fault.text, "");
		assert_int_equal(request.input_count, 0);
	}
	memset(word, 'a', sizeof(word));
	word[256] = '\0';
	assert_false(exec_request_input(&request, word, &fault));
	word[255] = '\0';
	assert_true(exec_request_input(&request, word, &fault));
	assert_true(exec_request_input(&request, "a b.txt", &fault));
	assert_true(exec_request_input(&request, "...", &fault));
	assert_true(exec_request_input(&request, "\xc3\xa4", &fault));
	assert_true(exec_request_input(&request, "n=/etc/../x=y", &fault));
	assert_string_equal(request.inputs[4].name, "n");
	assert_string_equal(request.inputs[4].path, "/etc/../x=y");
	assert_int_equal(request.input_count, 5);
}

static void
inputs_do_not_repeat(void **state)
{
	char name[16];

	(void)state;
	assert_true(exec_request_input(&request, "a", &fault));
	assert_false(exec_request_input(&request, "a", &fault));
	assert_non_null(strstr(fault.text, "'a'"));
	assert_false(exec_request_input(&request, "a=/other/a", &fault));
	for (size_t i = 1; i < EXEC_REQUEST_INPUTS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "n%zu", i);
		assert_true(exec_request_input(&request, name, &fault));
	}
	assert_false(exec_request_input(&request, "more", &fault));
	assert_non_null(strstr(fault.text, "too many"));
}

static void
times(void **state)
{
	static const struct {
		const char *word;
		uint64_t ms; /* 0: refused */
	} rows[] = {{"10s", 10000}, {"10", 10000}, {"250ms", 250},
	    {"2m", 120000}, {"1h", 3600000}, {"12h", 43200000}, {"13h", 0},
	    {"43200s", 43200000}, {"43201s", 0}, {"0", 0}, {"0ms", 0}, {"", 0},
	    {"-1", 0}, {"+1", 0}, {"1.5s", 0}, {" 1s", 0}, {"1s ", 0},
	    {"1S", 0}, {"1d", 0}, {"99999999999999999999", 0},
	    {"999999999999h", 0}, {"s", 0}, {"0x10", 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		request.timeout_ms = 0;
		assert_int_equal(
		    exec_request_timeout(&request, rows[i].word, &fault),
		    rows[i].ms != 0);
		assert_int_equal(request.timeout_ms, rows[i].ms);
	}
}

static void
sizes(void **state)
{
	static const struct {
		const char *word;
		uint64_t bytes;
	} rows[] = {{"8k", 8192}, {"8192", 8192}, {"1", 1}, {"1m", 1048576},
	    {"1024k", 1048576}, {"1025k", 0}, {"2m", 0}, {"0", 0}, {"", 0},
	    {"8K", 0}, {"8kb", 0}, {"-8", 0}, {"1g", 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		request.max_output = 0;
		assert_int_equal(
		    exec_request_output(&request, rows[i].word, &fault),
		    rows[i].bytes != 0);
		assert_int_equal(request.max_output, rows[i].bytes);
	}
}

static void
variables(void **state)
{
	static const struct {
		const char *entry;
		enum exec_env_verdict verdict;
	} rows[] = {{"A=1", EXEC_ENV_OK}, {"PATH=/bin", EXEC_ENV_OK},
	    {"NODE_ENV=test", EXEC_ENV_OK}, {"EMPTY=", EXEC_ENV_OK},
	    {"A=/home/dev", EXEC_ENV_HOST_HOME},
	    {"A=/home/dev/x", EXEC_ENV_HOST_HOME},
	    {"A=/bin:/home/dev/bin", EXEC_ENV_HOST_HOME},
	    {"A=/home/developer", EXEC_ENV_OK}, {"A=x/home/dev", EXEC_ENV_OK},
	    {"HOME=/tmp", EXEC_ENV_HOME}, {"home=/tmp", EXEC_ENV_HOME},
	    {"TMPDIR=/x", EXEC_ENV_HOME}, {"XDG_CONFIG_HOME=/x", EXEC_ENV_HOME},
	    {"HOME", EXEC_ENV_FORWARD},
	    {"AWS_SECRET_ACCESS_KEY", EXEC_ENV_FORWARD},
	    {"AWS_SECRET_ACCESS_KEY=x", EXEC_ENV_CREDENTIAL},
	    {"aws_profile=x", EXEC_ENV_CREDENTIAL},
	    {"OPENAI_API_KEY=x", EXEC_ENV_CREDENTIAL},
	    {"GITHUB_TOKEN=x", EXEC_ENV_CREDENTIAL},
	    {"MY_SECRET=x", EXEC_ENV_CREDENTIAL},
	    {"PGPASSWORD=x", EXEC_ENV_CREDENTIAL},
	    {"DB_PASSWORD_FILE=x", EXEC_ENV_CREDENTIAL},
	    {"GIT_SSH_COMMAND=x", EXEC_ENV_CREDENTIAL},
	    {"SSH_AUTH_SOCK=/run/x", EXEC_ENV_CREDENTIAL},
	    {"DOCKER_HOST=x", EXEC_ENV_CREDENTIAL},
	    {"KUBECONFIG=x", EXEC_ENV_CREDENTIAL},
	    {"HTTP_PROXY=", EXEC_ENV_PROXY}, {"https_proxy=x", EXEC_ENV_PROXY},
	    {"All_Proxy=x", EXEC_ENV_PROXY}, {"no_proxy=*", EXEC_ENV_PROXY},
	    {"LD_PRELOAD=x", EXEC_ENV_LOADER},
	    {"ld_library_path=x", EXEC_ENV_LOADER},
	    {"NODE_OPTIONS=x", EXEC_ENV_LOADER},
	    {"PYTHONPATH=x", EXEC_ENV_LOADER}, {"BASH_ENV=x", EXEC_ENV_LOADER},
	    {"A=AKIAIOSFODNN7EXAMPLE", EXEC_ENV_KEY},
	    {"A=ghp_abcdefghijklmnopqrstuvwxyz0123456789", EXEC_ENV_KEY},
	    {"A=postgres://u:pw@db/x", EXEC_ENV_KEY}, {"=x", EXEC_ENV_FORM},
	    {"", EXEC_ENV_FORM}, {"1A=x", EXEC_ENV_FORM},
	    {"A B=x", EXEC_ENV_FORM}, {"A-B=x", EXEC_ENV_FORM},
	    {"\xc3\xa4=x", EXEC_ENV_FORM}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum exec_env_verdict verdict =
		    exec_env_judge(rows[i].entry, "/home/dev/");

		if (verdict != rows[i].verdict)
			print_error("%s is %s\n", rows[i].entry,
			    exec_env_word(verdict));
		assert_int_equal(verdict, rows[i].verdict);
	}
	assert_int_equal(exec_env_judge("A=/", "/"), EXEC_ENV_OK);
	assert_int_equal(exec_env_judge("A=", ""), EXEC_ENV_OK);
	assert_int_equal(exec_env_judge("A=x", NULL), EXEC_ENV_OK);
}

/* Every row of the table decides, whatever the case of the name. */
static void
variables_of_the_table(void **state)
{
	(void)state;
	for (const struct exec_env_row *row = exec_env_rows; row->text != NULL;
	     row++) {
		char entry[160];

		(void)snprintf(entry, sizeof(entry), "%s%s%s=1",
		    row->match == EXEC_ENV_ENDS ? "X" : "", row->text,
		    row->match == EXEC_ENV_BEGINS ? "X" : "");
		assert_int_equal(exec_env_judge(entry, NULL), row->verdict);
		assert_true(exec_env_may_be_known(row->verdict));
		for (char *at = entry; *at != '='; at++)
			*at = (char)(*at >= 'A' && *at <= 'Z' ? *at + 32 : *at);
		assert_int_equal(exec_env_judge(entry, NULL), row->verdict);
		assert_string_not_equal(exec_env_text(row->verdict), "");
	}
}

static void
variables_together(void **state)
{
	static const char *const argv[] = {"true", NULL};

	(void)state;
	request.argv = argv;
	assert_false(exec_request_env(&request, "HOME", NULL, &fault));
	assert_non_null(strstr(fault.text, "'HOME' has no value"));
	assert_false(exec_request_env(&request, "A B=secret", NULL, &fault));
	assert_null(strstr(fault.text, "secret"));
	assert_true(exec_request_env(&request, "A=1", NULL, &fault));
	assert_false(exec_request_env(&request, "A=hush", NULL, &fault));
	assert_non_null(strstr(fault.text, "'A' "));
	assert_null(strstr(fault.text, "hush"));
	assert_true(exec_request_env(&request, "AB=1", NULL, &fault));
	assert_null(exec_request_check(&request, &fault));
	assert_true(exec_request_env(&request, "MY_TOKEN=hush", NULL, &fault));
	assert_string_equal(
	    exec_request_check(&request, &fault), "env_refused");
	assert_non_null(strstr(fault.text, "MY_TOKEN"));
	assert_non_null(strstr(fault.text, "--i-know"));
	assert_null(strstr(fault.text, "hush"));
	request.i_know = true;
	assert_null(exec_request_check(&request, &fault));
}

static void
boundaries(void **state)
{
	static const char *const argv[] = {"true", NULL};
	static const char *const none[] = {NULL};
	static const char *const empty[] = {"", NULL};

	(void)state;
	request.argv = none;
	assert_string_equal(exec_request_check(&request, &fault), "bad_args");
	request.argv = empty;
	assert_string_equal(exec_request_check(&request, &fault), "bad_args");
	request.argv = argv;
	assert_true(exec_request_boundary(&request, "container", &fault));
	assert_null(exec_request_check(&request, &fault));
	assert_true(exec_request_boundary(&request, "vm", &fault));
	assert_string_equal(
	    exec_request_check(&request, &fault), "boundary_unavailable");
	assert_false(exec_request_boundary(&request, "Container", &fault));
	assert_false(exec_request_boundary(&request, "", &fault));
}

/* What is for one boundary is refused in the others. */
static void
natives(void **state)
{
	static const char *const argv[] = {"true", NULL};

	(void)state;
	request.argv = argv;
	assert_false(exec_request_mode(&request, "write", &fault));
	setup(NULL);
	request.argv = argv;
	assert_true(exec_request_mode(&request, "workspace-write", &fault));
	assert_string_equal(exec_request_check(&request, &fault), "bad_args");
	request.boundary = EXEC_NATIVE;
	assert_null(exec_request_check(&request, &fault));
	assert_true(exec_request_protect(&request, "x", &fault));
	assert_true(exec_request_writable(&request, "/x", &fault));
	assert_false(exec_request_protect(&request, "", &fault));
	assert_null(exec_request_check(&request, &fault));
	assert_true(exec_request_mode(&request, "read-only", &fault));
	assert_string_equal(exec_request_check(&request, &fault), "bad_args");
	setup(NULL);
	request.argv = argv;
	request.boundary = EXEC_NATIVE;
	assert_true(exec_request_mode(&request, "danger-full-access", &fault));
	assert_string_equal(
	    exec_request_check(&request, &fault), "danger_refused");
	assert_non_null(strstr(fault.text, "--i-know"));
	request.i_know = true;
	assert_null(exec_request_check(&request, &fault));
	request.image = "x";
	assert_string_equal(exec_request_check(&request, &fault), "bad_args");
	setup(NULL);
	request.argv = argv;
	assert_false(exec_request_approval(&request, "always", &fault));
	assert_true(exec_request_approval(&request, "on-request", &fault));
	assert_string_equal(exec_request_check(&request, &fault), "bad_args");
	setup(NULL);
	request.argv = argv;
	request.boundary = EXEC_POLICY;
	assert_true(exec_request_allow(&request, "a.example:443", &fault));
	assert_true(exec_request_allow(&request, "a.example:443", &fault));
	assert_int_equal(request.allow_count, 1);
	assert_false(exec_request_only_granted(&request));
	assert_string_equal(exec_request_check(&request, &fault), "bad_args");
}

/* A grant is told from an --allow, and never takes one's place. */
static void
grants(void **state)
{
	(void)state;
	assert_true(exec_request_only_granted(&request));
	assert_true(exec_request_grant(&request, "a.example:443", &fault));
	assert_true(exec_request_grant(&request, "a.example:443", &fault));
	assert_int_equal(request.allow_count, 1);
	assert_true(exec_request_only_granted(&request));
	assert_true(exec_request_allow(&request, "b.example:443", &fault));
	assert_true(exec_request_grant(&request, "b.example:443", &fault));
	assert_int_equal(request.allow_count, 2);
	assert_true(request.granted[0]);
	assert_false(request.granted[1]);
	assert_false(exec_request_only_granted(&request));
	assert_false(request.has_approval);
	assert_true(exec_request_approval(&request, "never", &fault));
	assert_true(request.has_approval);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(inputs_are_plain_names, setup),
	    cmocka_unit_test_setup(inputs_do_not_repeat, setup),
	    cmocka_unit_test_setup(times, setup),
	    cmocka_unit_test_setup(sizes, setup),
	    cmocka_unit_test_setup(variables, setup),
	    cmocka_unit_test_setup(variables_of_the_table, setup),
	    cmocka_unit_test_setup(variables_together, setup),
	    cmocka_unit_test_setup(boundaries, setup),
	    cmocka_unit_test_setup(natives, setup),
	    cmocka_unit_test_setup(grants, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
