/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exit codes of exec, and what a result says of who held the line.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/exec/exec_result.h"

static struct exec_request request;
static struct sandbox_outcome outcome;
static struct exec_native native;
static struct native_denied denied;
static struct exec_result_facts facts;

static int
setup(void **state)
{
	(void)state;
	memset(&request, 0, sizeof(request));
	memset(&outcome, 0, sizeof(outcome));
	outcome.started = true;
	facts = (struct exec_result_facts){.request = &request,
	    .outcome = &outcome,
	    .run = "0123456789abcdef",
	    .code = "",
	    .detail = "",
	    .native = &native,
	    .denied = &denied};
	return 0;
}

static void
codes(void **state)
{
	(void)state;
	assert_int_equal(exec_result_code(&facts), 0);
	outcome.exit_code = 42;
	assert_int_equal(exec_result_code(&facts), 42);
	outcome.signal = SIGSEGV;
	assert_int_equal(exec_result_code(&facts), 128 + SIGSEGV);
	facts.code = "init_died";
	assert_int_equal(exec_result_code(&facts), 137);
	facts.timed_out = true;
	assert_int_equal(exec_result_code(&facts), 124);
	outcome.started = false;
	assert_int_equal(exec_result_code(&facts), 125);
}

static json_t *
made(void)
{
	json_t *result = exec_result_make(&facts);

	assert_non_null(result);
	assert_true(json_is_false(json_object_get(result, "files_complete")));
	return result;
}

static void
words(void **state)
{
	json_t *result;

	(void)state;
	outcome.exit_code = 3;
	result = made();
	assert_int_equal(
	    json_integer_value(json_object_get(result, "exit_code")), 3);
	assert_true(json_is_true(json_object_get(result, "is_boundary")));
	assert_string_equal(
	    json_string_value(json_object_get(result, "note")), "");
	json_decref(result);
	facts.timed_out = true;
	outcome.signal = SIGKILL;
	result = made();
	assert_true(json_is_null(json_object_get(result, "exit_code")));
	assert_true(json_is_true(json_object_get(result, "timed_out")));
	json_decref(result);
}

/* What does not contain never says that it did. */
static void
honest(void **state)
{
	json_t *result;

	(void)state;
	request.boundary = EXEC_POLICY;
	request.env[0] = "MY_TOKEN=hush";
	request.env_verdicts[0] = EXEC_ENV_CREDENTIAL;
	request.env_count = 1;
	request.i_know = true;
	result = made();
	assert_true(json_is_false(json_object_get(result, "is_boundary")));
	assert_non_null(
	    strstr(json_string_value(json_object_get(result, "note")),
		"policy, not a boundary"));
	assert_string_equal(
	    json_string_value(json_object_get(
		json_array_get(json_object_get(result, "i_know"), 0), "name")),
	    "MY_TOKEN");
	json_decref(result);
	request.boundary = EXEC_NATIVE;
	request.native.mode = NATIVE_DANGER;
	result = made();
	assert_true(json_is_false(json_object_get(result, "is_boundary")));
	assert_int_equal(json_array_size(json_object_get(result, "i_know")), 2);
	assert_string_not_equal(
	    json_string_value(json_object_get(result, "note")), "");
	json_decref(result);
	/* What was refused was not handed over. */
	outcome.started = false;
	result = made();
	assert_int_equal(json_array_size(json_object_get(result, "i_know")), 0);
	assert_string_equal(
	    json_string_value(json_object_get(result, "note")), "");
	json_decref(result);
	outcome.started = true;
	request.i_know = false;
	result = made();
	assert_int_equal(json_array_size(json_object_get(result, "i_know")), 0);
	json_decref(result);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(codes, setup),
	    cmocka_unit_test_setup(words, setup),
	    cmocka_unit_test_setup(honest, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
