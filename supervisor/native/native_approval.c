/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions on the terminal (see the header). Called by exec between two
 * runs; must never take silence for a yes, nor a line that was typed before
 * the question was there.
 */
#include "supervisor/native/native_approval.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <termios.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/policy/guard_terminal.h"

bool
native_approval_mode_parse(const char *word, enum native_approval_mode *mode_r)
{
	if (strcmp(word, "on-request") == 0)
		*mode_r = NATIVE_APPROVAL_ON_REQUEST;
	else if (strcmp(word, "never") == 0)
		*mode_r = NATIVE_APPROVAL_NEVER;
	else
		return false;
	return true;
}

static bool
native_approval_is(const char *line, size_t len, const char *word)
{
	return len == strlen(word) && strncasecmp(line, word, len) == 0;
}

enum native_approval_answer
native_approval_read(const char *line, size_t len, bool can_keep)
{
	while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\t' ||
			      line[len - 1] == '\r'))
		len--;
	while (len > 0 && (line[0] == ' ' || line[0] == '\t')) {
		line++;
		len--;
	}
	if (native_approval_is(line, len, "o") ||
	    native_approval_is(line, len, "once"))
		return NATIVE_APPROVAL_ONCE;
	if (can_keep && (native_approval_is(line, len, "a") ||
			    native_approval_is(line, len, "always")))
		return NATIVE_APPROVAL_ALWAYS;
	return NATIVE_APPROVAL_NO;
}

static bool
native_approval_was_asked(
    const struct native_approval *approval, const char *target)
{
	for (size_t i = 0; i < approval->count; i++) {
		if (strcmp(approval->asked[i].target, target) == 0)
			return true;
	}
	return false;
}

const struct native_denied_host *
native_approval_next(
    const struct native_approval *approval, const struct native_denied *denied)
{
	if (approval->mode != NATIVE_APPROVAL_ON_REQUEST ||
	    approval->count == NATIVE_APPROVAL_ASKED_MAX)
		return NULL;
	for (size_t i = 0; i < denied->host_count; i++) {
		const struct native_denied_host *host = &denied->hosts[i];

		if (host->grantable &&
		    !native_approval_was_asked(approval, host->target))
			return host;
	}
	return NULL;
}

bool
native_approval_keep(struct native_approval *approval, const char *target,
    enum native_approval_answer answer)
{
	size_t len = strlen(target);

	if (approval->count == NATIVE_APPROVAL_ASKED_MAX ||
	    len >= sizeof(approval->asked[0].target))
		return false;
	memcpy(approval->asked[approval->count].target, target, len + 1);
	approval->asked[approval->count++].answer = answer;
	return true;
}

const char *
native_approval_missing(void)
{
	const char *why = guard_terminal_forbidden();
	int tty FD_CLEANUP = -1;

	if (why != NULL)
		return why;
	if (isatty(STDERR_FILENO) != 1)
		return "standard error is no terminal";
	tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (tty < 0)
		return "there is no terminal";
	return tcgetpgrp(tty) == getpgrp() ? NULL
					   : "this is not in the foreground";
}

/* One line; what does not fit is read and makes it a no. False: the end. */
static bool
native_approval_line(
    int tty, char line_r[NATIVE_APPROVAL_LINE_MAX], size_t *len_r)
{
	size_t len = 0;

	for (;;) {
		char byte;
		ssize_t got = read(tty, &byte, 1);

		if (got != 1)
			return false; /* a signal is no answer either */
		if (byte == '\n')
			break;
		if (len < NATIVE_APPROVAL_LINE_MAX)
			line_r[len++] = byte;
	}
	*len_r = len < NATIVE_APPROVAL_LINE_MAX ? len : 0;
	return true;
}

static enum result
native_approval_question(const struct native_approval *approval,
    const struct native_denied_host *host, int tty)
{
	char text[NATIVE_DENIED_TARGET_MAX + 160];
	int len = snprintf(text, sizeof(text),
	    "agentnode: the command was refused %s (%s). Allow it and run "
	    "the command again? %s ",
	    host->target, host->code,
	    approval->can_keep ? "[o]nce, [a]lways here, [N]o"
			       : "[o]nce, [N]o");

	if (len < 0 || (size_t)len >= sizeof(text))
		return RESULT_INTERNAL;
	/* What was typed before was typed for something else. */
	(void)tcflush(tty, TCIFLUSH);
	return fd_write_all(tty, text, (size_t)len);
}

enum result
native_approval_ask(struct native_approval *approval,
    const struct native_denied *denied, int tty, size_t *granted_r)
{
	const struct native_denied_host *host;
	enum result result = RESULT_OK;

	*granted_r = 0;
	while (result == RESULT_OK &&
	       (host = native_approval_next(approval, denied)) != NULL) {
		char line[NATIVE_APPROVAL_LINE_MAX];
		size_t len = 0;
		enum native_approval_answer answer = NATIVE_APPROVAL_NO;

		result = native_approval_question(approval, host, tty);
		if (result != RESULT_OK)
			break;
		if (native_approval_line(tty, line, &len))
			answer =
			    native_approval_read(line, len, approval->can_keep);
		else
			result = RESULT_EOF;
		if (!native_approval_keep(approval, host->target, answer))
			break;
		*granted_r += answer != NATIVE_APPROVAL_NO ? 1 : 0;
	}
	return result;
}
