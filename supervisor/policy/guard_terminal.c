/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking on the terminal. Called by guard_admit.c; it must never take
 * silence, an end of input or a pipe for a yes.
 */
#include "supervisor/policy/guard_terminal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GUARD_TERMINAL_LINE_MAX 16U

static bool
guard_terminal_is_set(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && value[0] != '\0';
}

const char *
guard_terminal_forbidden(void)
{
	static const char *const systems[] = {"CI", "GITHUB_ACTIONS",
	    "GITLAB_CI", "CIRCLECI", "JENKINS_URL", "TRAVIS", NULL};

	if (guard_terminal_is_set("AGENTNODE_NON_INTERACTIVE"))
		return "AGENTNODE_NON_INTERACTIVE is set";
	for (size_t i = 0; systems[i] != NULL; i++) {
		if (guard_terminal_is_set(systems[i]))
			return "this is CI";
	}
	return NULL;
}

const char *
guard_terminal_missing(void)
{
	const char *why = guard_terminal_forbidden();

	if (why != NULL)
		return why;
	if (isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1)
		return "there is no terminal";
	return NULL;
}

/* What does not fit is read and counts as no. */
static size_t
guard_terminal_read(char line_r[GUARD_TERMINAL_LINE_MAX])
{
	size_t len = 0;
	char c;

	for (;;) {
		ssize_t got = read(STDIN_FILENO, &c, 1);

		if (got < 0 && errno == EINTR)
			continue;
		if (got != 1 || c == '\n')
			break;
		if (len < GUARD_TERMINAL_LINE_MAX)
			line_r[len] = c;
		if (len <= GUARD_TERMINAL_LINE_MAX)
			len++;
	}
	return len;
}

bool
guard_terminal_confirm(const char *question)
{
	char line[GUARD_TERMINAL_LINE_MAX];
	size_t len;

	if (guard_terminal_missing() != NULL)
		return false;
	fprintf(stderr, "%s [y/N] ", question);
	(void)fflush(stderr);
	len = guard_terminal_read(line);
	return (len == 1 && line[0] == 'y') ||
	       (len == 3 && memcmp(line, "yes", 3) == 0);
}
