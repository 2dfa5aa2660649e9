/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `agentnode guard check` prints: the decision on one tool of an
 * installed package, each step of it, and what else stands in the way.
 * Used by command_guard.c.
 */
#ifndef SUPERVISOR_COMMAND_GUARD_SAY_H
#define SUPERVISOR_COMMAND_GUARD_SAY_H

#include <stdbool.h>

struct guard_say_ask {
	const char *slug, *tool;
	const char *action;   /* as if declared; NULL */
	const char *lockfile; /* --lockfile, or NULL */
	bool json;
};

/* Print it. Returns an enum command_exit: COMMAND_NO when the package is
 * not installed. */
int guard_say(const struct guard_say_ask *ask);

#endif
