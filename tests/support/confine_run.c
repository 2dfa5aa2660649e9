/* SPDX-License-Identifier: Apache-2.0 */
/* See confine_run.h. */
#include "tests/support/confine_run.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define CONFINE_RUN_ERRNO_BASE 100 /* exit code of a try with an errno */

static const struct confine_syscall confine_run_none[] = {
    {-1, CONFINE_EACCES, 0, NULL}};

struct confine_spec
confine_run_spec(void)
{
	struct confine_spec spec = {.syscalls = confine_run_none,
	    .landlock_required = true,
	    .uid = CONFINE_RUN_UID,
	    .gid = CONFINE_RUN_UID,
	    .files_max = 64};

	return spec;
}

int
confine_run_errno(long result)
{
	return result >= 0 ? 0 : errno;
}

static _Noreturn void
confine_run_child(const struct confine_spec *spec,
    const struct confine_step *steps, confine_run_try *try)
{
	struct confine_layers layers;
	char detail[256];
	enum result result;
	int error;

	alarm(20); /* a try that hangs is a failure too */
	confine_preload();
	if (steps == NULL)
		result = confine_enter(spec, &layers, detail, sizeof(detail));
	else
		result = confine_enter_steps(
		    spec, steps, &layers, detail, sizeof(detail));
	if (result != RESULT_OK)
		_exit(CONFINE_RUN_FAILED);
	error = try();
	_exit(error == 0 ? 0 : CONFINE_RUN_ERRNO_BASE + error);
}

int
confine_run(const struct confine_spec *spec, const struct confine_step *steps,
    confine_run_try *try)
{
	int status = -1;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		confine_run_child(spec, steps, try);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

void
confine_run_without(struct confine_step *steps, const char *const names[4])
{
	size_t i, k, count = 0;
	bool is_named;

	for (i = 0; confine_steps[i].name != NULL; i++) {
		is_named = false;
		for (k = 0; k < 4; k++)
			if (strcmp(confine_steps[i].name, names[k]) == 0)
				is_named = true;
		if (!is_named)
			steps[count++] = confine_steps[i];
	}
	steps[count] = confine_steps[i];
}

bool
confine_run_killed(int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

bool
confine_run_got(int status, int error)
{
	return WIFEXITED(status) &&
	       WEXITSTATUS(status) == CONFINE_RUN_ERRNO_BASE + error;
}

bool
confine_run_passed(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
