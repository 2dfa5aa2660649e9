/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions on a real pseudo terminal: what each answer does, that nothing
 * is asked twice, that too long a line is a no, and that a signal, an end or
 * silence ends the questions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "supervisor/native/native_approval.h"

static struct native_denied denied;
static struct native_approval approval;
static int master, slave;

static int
setup(void **state)
{
	(void)state;
	memset(&denied, 0, sizeof(denied));
	memset(&approval, 0, sizeof(approval));
	approval.mode = NATIVE_APPROVAL_ON_REQUEST;
	approval.can_keep = true;
	for (int i = 0; i < 3; i++) {
		struct native_denied_host *host =
		    &denied.hosts[denied.host_count++];

		(void)snprintf(host->target, sizeof(host->target),
		    "h%d.example.com:443", i);
		(void)strcpy(host->code, "host_not_allowed");
		host->grantable = i != 1;
	}
	master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
		return -1;
	slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	return slave < 0 ? -1 : 0;
}

static int
teardown(void **state)
{
	(void)state;
	(void)close(slave);
	(void)close(master);
	return 0;
}

/* A person at the other end: waits for each question, then types. NULL
 * ends the list; a "!" in front sends SIGTERM first, as another would. */
static pid_t
person(const char *const *answers)
{
	pid_t child = fork();
	char text[4096];

	if (child != 0)
		return child;
	(void)close(slave);
	for (size_t i = 0; answers[i] != NULL; i++) {
		size_t used = 0;

		do {
			ssize_t got =
			    read(master, text + used, sizeof(text) - used - 1);

			if (got <= 0)
				_exit(2);
			used += (size_t)got;
			text[used] = '\0';
		} while (strstr(text, "]o ") == NULL);
		if (answers[i][0] == '!' && kill(getppid(), SIGTERM) != 0)
			_exit(4);
		if (write(master, answers[i], strlen(answers[i])) < 0)
			_exit(3);
	}
	/* What echoes is read, so that nobody waits on a full line. */
	while (read(master, text, sizeof(text)) > 0)
		continue;
	_exit(0);
}

static size_t
ask(const char *const *answers, enum result expected)
{
	pid_t child = person(answers);
	size_t granted = 99;

	assert_true(child > 0);
	(void)close(master);
	master = -1;
	assert_int_equal(
	    native_approval_ask(&approval, &denied, slave, &granted), expected);
	(void)close(slave);
	slave = -1;
	assert_int_equal(waitpid(child, NULL, 0), child);
	return granted;
}

static void
each_host_is_asked_about_once(void **state)
{
	static const char *const answers[] = {"o\n", "Always \n", NULL};

	(void)state;
	assert_int_equal(ask(answers, RESULT_OK), 2);
	assert_int_equal(approval.count, 2);
	assert_string_equal(approval.asked[0].target, "h0.example.com:443");
	assert_int_equal(approval.asked[0].answer, NATIVE_APPROVAL_ONCE);
	assert_string_equal(approval.asked[1].target, "h2.example.com:443");
	assert_int_equal(approval.asked[1].answer, NATIVE_APPROVAL_ALWAYS);
	assert_null(native_approval_next(&approval, &denied));
}

static void
anything_else_is_a_no(void **state)
{
	static const char *const answers[] = {"\n",
	    "ooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooo"
	    "ooooooooooooooooooo\n",
	    NULL};

	(void)state;
	assert_int_equal(ask(answers, RESULT_OK), 0);
	assert_int_equal(approval.asked[0].answer, NATIVE_APPROVAL_NO);
	assert_int_equal(approval.asked[1].answer, NATIVE_APPROVAL_NO);
}

static void
an_end_of_input_is_a_no(void **state)
{
	static const char *const answers[] = {"\004", NULL};

	(void)state;
	assert_int_equal(ask(answers, RESULT_EOF), 0);
	assert_int_equal(approval.count, 1);
	assert_int_equal(approval.asked[0].answer, NATIVE_APPROVAL_NO);
}

static void
what_was_typed_before_is_no_answer(void **state)
{
	static const char *const answers[] = {"n\n", "n\n", NULL};

	(void)state;
	assert_int_equal(write(master, "a\na\na\n", 6), 6);
	assert_int_equal(ask(answers, RESULT_OK), 0);
}

static volatile sig_atomic_t came;

static void
on_signal(int number)
{
	(void)number;
	came++;
}

/* As the loop's own handlers are: restarting, so that no read ends. */
static void
a_signal_ends_it(void **state)
{
	static const char *const first[] = {"!o\n", NULL};
	static const char *const second[] = {"a\n", "!o\n", NULL};
	struct sigaction action = {.sa_flags = SA_RESTART}, old;
	sigset_t mask;

	action.sa_handler = on_signal;
	assert_int_equal(sigaction(SIGTERM, &action, &old), 0);
	came = 0;
	assert_int_equal(ask(first, RESULT_EOF), 0);
	assert_int_equal(came, 1);
	assert_int_equal(approval.asked[0].answer, NATIVE_APPROVAL_NO);
	assert_int_equal(teardown(state), 0);
	assert_int_equal(setup(state), 0);
	/* An earlier yes does not count either. */
	assert_int_equal(ask(second, RESULT_EOF), 0);
	assert_int_equal(came, 2);
	assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &mask), 0);
	assert_int_equal(sigismember(&mask, SIGTERM), 0);
	assert_int_equal(sigaction(SIGTERM, &old, NULL), 0);
}

static void
silence_ends_it(void **state)
{
	static const char *const answers[] = {NULL};

	(void)state;
	approval.wait_ms = 50;
	assert_int_equal(ask(answers, RESULT_EOF), 0);
	assert_int_equal(approval.count, 1);
	assert_int_equal(approval.asked[0].answer, NATIVE_APPROVAL_NO);
}

static void
never_asks_nothing(void **state)
{
	(void)state;
	approval.mode = NATIVE_APPROVAL_NEVER;
	assert_null(native_approval_next(&approval, &denied));
}

static void
always_needs_a_workspace(void **state)
{
	(void)state;
	assert_int_equal(
	    native_approval_read("a", 1, false), NATIVE_APPROVAL_NO);
	assert_int_equal(
	    native_approval_read("a", 1, true), NATIVE_APPROVAL_ALWAYS);
	assert_int_equal(
	    native_approval_read(" ONCE\r", 6, false), NATIVE_APPROVAL_ONCE);
	assert_int_equal(
	    native_approval_read("yes", 3, true), NATIVE_APPROVAL_NO);
}

static void
nobody_is_there_without_a_terminal(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0) {
		/* A session of its own has no terminal at all. */
		if (setsid() < 0 || unsetenv("CI") != 0)
			_exit(2);
		_exit(native_approval_missing() != NULL ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(setenv("AGENTNODE_NON_INTERACTIVE", "1", 1), 0);
	assert_non_null(strstr(native_approval_missing(), "NON_INTERACTIVE"));
	assert_int_equal(unsetenv("AGENTNODE_NON_INTERACTIVE"), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    CASE(each_host_is_asked_about_once),
	    CASE(anything_else_is_a_no),
	    CASE(an_end_of_input_is_a_no),
	    CASE(what_was_typed_before_is_no_answer),
	    CASE(a_signal_ends_it),
	    CASE(silence_ends_it),
	    CASE(never_asks_nothing),
	    CASE(always_needs_a_workspace),
	    CASE(nobody_is_there_without_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
