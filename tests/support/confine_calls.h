/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process's profile, tried call by call: each row in a child of its own
 * that enters the profile first. confine_calls_forbidden is what no process
 * of ours that was confined without a path may do.
 */
#ifndef TESTS_SUPPORT_CONFINE_CALLS_H
#define TESTS_SUPPORT_CONFINE_CALLS_H

#include <stddef.h>

enum confine_calls_outcome {
	CONFINE_CALLS_WORKED = 10,
	CONFINE_CALLS_EACCES,
	CONFINE_CALLS_PASSED, /* the filter let it through, the kernel found
			       * fault with the arguments */
	CONFINE_CALLS_SETUP,  /* the profile could not be entered */
	CONFINE_CALLS_KILLED, /* by SIGSYS */
	CONFINE_CALLS_ENDED,  /* otherwise */
};

struct confine_calls_row {
	const char *name;
	long number, a, b, c, d;
	enum confine_calls_outcome expected;
};

/* Enters the profile; 0: it is in force. */
typedef int confine_calls_enter(void);

/* Fails the test with the names of the rows that are not as expected. */
void confine_calls_check(const struct confine_calls_row *rows, size_t count,
    confine_calls_enter *enter);

/* Without ioctl, which sanitizers need. */
extern const struct confine_calls_row confine_calls_forbidden[];
extern const size_t confine_calls_forbidden_count;

/* Run a function inside the profile; its result, or a negative outcome. */
int confine_calls_run(confine_calls_enter *enter, int (*inside)(void));

#endif
