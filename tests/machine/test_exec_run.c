/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of one command, event by event: what is started in which order,
 * that nothing is said before all that was started has ended, which fault is
 * told when several come, and how the clock is read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/exec/exec_result.h"
#include "tests/machine/exec_script.h"

#define READY EXEC_SCRIPT_LEDGER_READY
#define GO EXEC_SCRIPT_GO
#define LATER EXEC_SCRIPT_LATER
#define EXIT EXEC_SCRIPT_EXIT
#define END EXEC_SCRIPT_END
#define COLLECTED EXEC_SCRIPT_COLLECTED
#define A_STOP EXEC_SCRIPT_A_STOP

static void
test_exec_run_has(
    const struct exec_script *script, const char *trace, const char *code)
{
	assert_string_equal(script->trace, trace);
	assert_non_null(script->result);
	assert_string_equal(
	    json_string_value(json_object_get(script->result, "code")), code);
}

static bool
test_exec_run_is(const struct exec_script *script, const char *name)
{
	return json_is_true(json_object_get(script->result, name));
}

/* Its namespaces are made while it is planned, and it is put up while the
 * ledger starts: it waits for it itself. */
static void
test_exec_run_native(void **state)
{
	struct exec_script script = {.boundary = EXEC_NATIVE,
	    .steps = {READY, GO, LATER, EXIT, LATER, END, COLLECTED}};

	(void)state;
	exec_script_run(&script);
	test_exec_run_has(&script,
	    "config turn launcher plan start ledger watch recorded GO EXIT END "
	    "free "
	    "finish "
	    "COLLECTED over said clear",
	    "");
	assert_int_equal(script.code, 0);
	assert_true(test_exec_run_is(&script, "ok"));
	assert_true(test_exec_run_is(&script, "files_complete"));
	/* From go to init's word, not to the end of all. */
	assert_int_equal(
	    json_integer_value(json_object_get(script.result, "duration_ms")),
	    750);
	exec_script_close(&script);
}

/* A container is not started before the ledger is ready. */
static void
test_exec_run_container(void **state)
{
	struct exec_script script = {.boundary = EXEC_CONTAINER,
	    .steps = {LATER, READY, GO, EXIT, END, COLLECTED}};

	(void)state;
	exec_script_run(&script);
	test_exec_run_has(&script,
	    "config plan turn ledger watch start GO EXIT END free finish "
	    "COLLECTED "
	    "over said clear",
	    "");
	exec_script_close(&script);
}

/* Its results are written here, so somebody reads from the first on. */
static void
test_exec_run_policy(void **state)
{
	struct exec_script script = {.boundary = EXEC_POLICY,
	    .steps = {READY, GO, LATER, END, COLLECTED}};

	(void)state;
	exec_script_run(&script);
	test_exec_run_has(&script,
	    "config plan turn ledger read host GO END results free finish "
	    "COLLECTED "
	    "over said clear",
	    "");
	assert_int_equal(
	    json_integer_value(json_object_get(script.result, "duration_ms")),
	    750);
	exec_script_close(&script);
}

static void
test_exec_run_refused(void **state)
{
	struct exec_script script = {
	    .boundary = EXEC_NATIVE, .no_config = true};

	(void)state;
	/* The whole program may have to take over: nothing was started. */
	exec_script_run(&script);
	test_exec_run_has(&script, "config said clear", "bad_config");
	assert_int_not_equal(script.code, 0);
	exec_script_close(&script);
	/* What was started for it meanwhile is ended. */
	script = (struct exec_script){.boundary = EXEC_NATIVE, .no_plan = true};
	exec_script_run(&script);
	test_exec_run_has(&script,
	    "config turn launcher plan said dismissed clear", "view_refused");
	exec_script_close(&script);
}

/* --- the ledger --------------------------------------------------------- */

static void
test_exec_run_ledger_fails(void **state)
{
	struct exec_script container = {.boundary = EXEC_CONTAINER,
	    .not_started = true,
	    .steps = {EXEC_SCRIPT_LEDGER_FAILED, COLLECTED}};
	struct exec_script native = {.boundary = EXEC_NATIVE,
	    .not_started = true,
	    .steps = {EXEC_SCRIPT_LEDGER_FAILED, END, COLLECTED}};

	(void)state;
	exec_script_run(&container);
	test_exec_run_has(&container,
	    "config plan turn ledger watch finish COLLECTED over said clear",
	    "audit_failed");
	exec_script_close(&container);
	/* What was put up is told, and is waited for. */
	exec_script_run(&native);
	test_exec_run_has(&native,
	    "config turn launcher plan start ledger watch unrecorded END free "
	    "finish "
	    "COLLECTED over said clear",
	    "stopped");
	exec_script_close(&native);
}

static void
test_exec_run_ledger_begins_not(void **state)
{
	struct exec_script container = {
	    .boundary = EXEC_CONTAINER, .no_begin = true};
	struct exec_script native = {.boundary = EXEC_NATIVE,
	    .no_begin = true,
	    .not_started = true,
	    .steps = {END}};

	(void)state;
	exec_script_run(&container);
	test_exec_run_has(&container, "config plan turn ledger over said clear",
	    "audit_failed");
	exec_script_close(&container);
	exec_script_run(&native);
	test_exec_run_has(&native,
	    "config turn launcher plan start ledger unrecorded END free finish "
	    "over "
	    "said "
	    "clear",
	    "stopped");
	exec_script_close(&native);
}

/* A command goes on for nobody whose end cannot be recorded. */
static void
test_exec_run_ledger_dies(void **state)
{
	struct exec_script script = {.boundary = EXEC_NATIVE,
	    .steps = {
		READY, GO, EXEC_SCRIPT_LEDGER_ENDED, A_STOP, END, COLLECTED}};

	(void)state;
	exec_script_run(&script);
	test_exec_run_has(&script,
	    "config turn launcher plan start ledger watch recorded GO "
	    "stop:audit_failed END "
	    "free finish COLLECTED over said clear",
	    "audit_failed");
	exec_script_close(&script);
}

/* --- ends --------------------------------------------------------------- */

static void
test_exec_run_time_limit(void **state)
{
	struct exec_script script = {.boundary = EXEC_NATIVE,
	    .timeout_ms = 1,
	    .steps = {READY, GO, A_STOP, EXIT, END, COLLECTED}};

	(void)state;
	exec_script_run(&script);
	test_exec_run_has(&script,
	    "config turn launcher plan start ledger watch recorded GO stop: "
	    "EXIT END "
	    "free "
	    "finish COLLECTED over said clear",
	    "");
	assert_int_equal(script.code, EXEC_RESULT_TIMED_OUT);
	assert_true(test_exec_run_is(&script, "timed_out"));
	exec_script_close(&script);
}

/* The limit begins with go: what takes long before is not the command's. */
static void
test_exec_run_no_limit_before_go(void **state)
{
	struct exec_script script = {.boundary = EXEC_NATIVE,
	    .timeout_ms = 1,
	    .not_started = true,
	    .steps = {READY, LATER, LATER, LATER, END, COLLECTED}};

	(void)state;
	exec_script_run(&script);
	test_exec_run_has(&script,
	    "config turn launcher plan start ledger watch recorded END free "
	    "finish "
	    "COLLECTED "
	    "over said clear",
	    "stopped");
	assert_false(test_exec_run_is(&script, "timed_out"));
	exec_script_close(&script);
}

/* One that does not start is the sandbox's to try again. */
static void
test_exec_run_no_launcher(void **state)
{
	struct exec_script script = {.boundary = EXEC_NATIVE,
	    .no_launcher = true,
	    .steps = {READY, GO, EXIT, END, COLLECTED}};

	(void)state;
	exec_script_run(&script);
	test_exec_run_has(&script,
	    "config turn plan start ledger watch recorded GO EXIT END free "
	    "finish "
	    "COLLECTED over said clear",
	    "");
	exec_script_close(&script);
}

static void
test_exec_run_signal(void **state)
{
	struct exec_script script = {.boundary = EXEC_NATIVE,
	    .steps = {READY, GO, EXEC_SCRIPT_SIGNAL, A_STOP, END, COLLECTED}};

	(void)state;
	exec_script_run(&script);
	test_exec_run_has(&script,
	    "config turn launcher plan start ledger watch recorded GO "
	    "stop:stopped "
	    "END free "
	    "finish COLLECTED over said clear",
	    "stopped");
	exec_script_close(&script);
}

/* Also while it waits for its turn: nothing was started, nothing is. */
static void
test_exec_run_signal_in_turn(void **state)
{
	struct exec_script native = {.boundary = EXEC_NATIVE, .no_turn = true};
	struct exec_script policy = {.boundary = EXEC_POLICY, .no_turn = true};

	(void)state;
	exec_script_run(&native);
	test_exec_run_has(&native, "config turn said clear", "stopped");
	exec_script_close(&native);
	exec_script_run(&policy);
	test_exec_run_has(&policy, "config plan turn said clear", "stopped");
	exec_script_close(&policy);
}

static void
test_exec_run_no_memory(void **state)
{
	struct exec_script script = {.boundary = EXEC_NATIVE,
	    .no_start = true,
	    .not_started = true,
	    .steps = {COLLECTED}};

	(void)state;
	exec_script_run(&script);
	test_exec_run_has(&script,
	    "config turn launcher plan start ledger watch finish COLLECTED "
	    "over said "
	    "dismissed clear",
	    "internal");
	exec_script_close(&script);
}

/* --- the reader --------------------------------------------------------- */

/* Without one nothing runs on; the first fault is the one that is told. */
static void
test_exec_run_reader_fails(void **state)
{
	struct exec_script early = {.boundary = EXEC_NATIVE,
	    .steps = {READY, GO, EXEC_SCRIPT_COLLECT_FAILED, A_STOP,
		EXEC_SCRIPT_SIGNAL, END}};
	struct exec_script never = {.boundary = EXEC_NATIVE,
	    .no_reader = true,
	    .not_started = true,
	    .steps = {A_STOP, END}};

	(void)state;
	exec_script_run(&early);
	test_exec_run_has(&early,
	    "config turn launcher plan start ledger watch recorded GO "
	    "COLLECT_FAILED "
	    "stop:collect_failed stop:stopped END free finish over said clear",
	    "collect_failed");
	assert_false(test_exec_run_is(&early, "files_complete"));
	exec_script_close(&early);
	exec_script_run(&never);
	test_exec_run_has(&never,
	    "config turn launcher plan start ledger watch stop:collect_failed "
	    "END "
	    "free finish "
	    "over said clear",
	    "collect_failed");
	exec_script_close(&never);
}

/* It has its own time once the boundary is gone. */
static void
test_exec_run_reader_hangs(void **state)
{
	struct exec_script script = {.boundary = EXEC_NATIVE,
	    .short_waits = true,
	    .steps = {READY, GO, EXIT, END}};

	(void)state;
	exec_script_run(&script);
	test_exec_run_has(&script,
	    "config turn launcher plan start ledger watch recorded GO EXIT END "
	    "free "
	    "finish "
	    "over said clear",
	    "collect_failed");
	exec_script_close(&script);
}

/* --- once more ---------------------------------------------------------- */

/* Nothing of the first lives when a person is asked, nor is it said. */
static void
test_exec_run_again(void **state)
{
	struct exec_script script = {.boundary = EXEC_NATIVE,
	    .again = true,
	    .steps = {READY, GO, EXIT, END, COLLECTED}};

	(void)state;
	exec_script_run(&script);
	test_exec_run_has(&script,
	    "config turn launcher plan start ledger watch recorded GO EXIT END "
	    "free "
	    "finish "
	    "COLLECTED ASKED clear "
	    "config turn launcher plan start ledger watch recorded GO EXIT END "
	    "free "
	    "finish "
	    "COLLECTED over said clear",
	    "");
	exec_script_close(&script);
}

static const struct CMUnitTest test_exec_run_table[] = {
    cmocka_unit_test(test_exec_run_native),
    cmocka_unit_test(test_exec_run_container),
    cmocka_unit_test(test_exec_run_policy),
    cmocka_unit_test(test_exec_run_refused),
    cmocka_unit_test(test_exec_run_ledger_fails),
    cmocka_unit_test(test_exec_run_ledger_begins_not),
    cmocka_unit_test(test_exec_run_ledger_dies),
    cmocka_unit_test(test_exec_run_time_limit),
    cmocka_unit_test(test_exec_run_no_limit_before_go),
    cmocka_unit_test(test_exec_run_no_launcher),
    cmocka_unit_test(test_exec_run_signal),
    cmocka_unit_test(test_exec_run_signal_in_turn),
    cmocka_unit_test(test_exec_run_no_memory),
    cmocka_unit_test(test_exec_run_reader_fails),
    cmocka_unit_test(test_exec_run_reader_hangs),
    cmocka_unit_test(test_exec_run_again),
};

int
main(void)
{
	return cmocka_run_group_tests(test_exec_run_table, NULL, NULL);
}
