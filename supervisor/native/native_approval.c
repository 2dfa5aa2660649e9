/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions on the terminal (see the header). Called by exec between two
 * runs; must never take silence for a yes, nor a line that was typed before
 * the question was there, nor one that was typed after a signal.
 */
#include "supervisor/native/native_approval.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "supervisor/end_signals.h"
#include "supervisor/policy/guard_terminal.h"

/* One question: where it is put, and what ends it. */
struct native_approval_wait {
	int tty, signals; /* a signalfd */
	uint64_t until_ms;
};

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

/* True: the terminal is ready and nothing has ended the question. */
static bool
native_approval_ready(const struct native_approval_wait *wait, short events)
{
	struct pollfd watched[2] = {{.fd = wait->tty, .events = events},
	    {.fd = wait->signals, .events = POLLIN}};
	uint64_t now = event_loop_now_ms();

	/* An interruption by any other handler is no answer either. */
	return now < wait->until_ms &&
	       poll(watched, 2, (int)(wait->until_ms - now)) > 0 &&
	       watched[1].revents == 0 && (watched[0].revents & events) != 0;
}

/* No signal came up to now. */
static bool
native_approval_quiet(const struct native_approval_wait *wait)
{
	struct pollfd watched = {.fd = wait->signals, .events = POLLIN};

	return poll(&watched, 1, 0) == 0;
}

/* One line; what does not fit is read and makes it a no. False: the end. */
static bool
native_approval_line(const struct native_approval_wait *wait,
    char line_r[NATIVE_APPROVAL_LINE_MAX], size_t *len_r)
{
	size_t len = 0;

	for (;;) {
		char byte;
		ssize_t got;

		if (!native_approval_ready(wait, POLLIN))
			return false;
		got = read(wait->tty, &byte, 1);
		if (got < 0 && errno == EAGAIN)
			continue;
		if (got != 1)
			return false;
		if (byte == '\n')
			break;
		if (len < NATIVE_APPROVAL_LINE_MAX)
			line_r[len++] = byte;
	}
	*len_r = len < NATIVE_APPROVAL_LINE_MAX ? len : 0;
	return native_approval_quiet(wait);
}

static bool
native_approval_write(
    const struct native_approval_wait *wait, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t done;

		if (!native_approval_ready(wait, POLLOUT))
			return false;
		done = write(wait->tty, text, len);
		if (done < 0 && errno != EAGAIN)
			return false;
		if (done > 0) {
			text += done;
			len -= (size_t)done;
		}
	}
	return true;
}

static bool
native_approval_question(const struct native_approval *approval,
    const struct native_denied_host *host,
    const struct native_approval_wait *wait)
{
	char text[NATIVE_DENIED_TARGET_MAX + 160];
	int len = snprintf(text, sizeof(text),
	    "agentnode: the command was refused %s (%s). Allow it and run "
	    "the command again? %s ",
	    host->target, host->code,
	    approval->can_keep ? "[o]nce, [a]lways here, [N]o"
			       : "[o]nce, [N]o");

	if (len < 0 || (size_t)len >= sizeof(text))
		return false;
	/* What was typed before was typed for something else. */
	(void)tcflush(wait->tty, TCIFLUSH);
	return native_approval_write(wait, text, (size_t)len);
}

/* Each in turn, while nothing ends it. */
static enum result
native_approval_each(struct native_approval *approval,
    const struct native_denied *denied, struct native_approval_wait *wait,
    size_t *granted_r)
{
	const struct native_denied_host *host;
	unsigned ms = approval->wait_ms != 0 ? approval->wait_ms
					     : NATIVE_APPROVAL_WAIT_MS;

	while ((host = native_approval_next(approval, denied)) != NULL) {
		char line[NATIVE_APPROVAL_LINE_MAX];
		size_t len = 0;
		enum native_approval_answer answer = NATIVE_APPROVAL_NO;
		bool good;

		wait->until_ms = event_loop_now_ms() + ms;
		good = native_approval_question(approval, host, wait) &&
		       native_approval_line(wait, line, &len);
		if (good)
			answer =
			    native_approval_read(line, len, approval->can_keep);
		if (!native_approval_keep(approval, host->target, answer))
			return RESULT_TOO_LONG;
		if (!good)
			return RESULT_EOF;
		*granted_r += answer != NATIVE_APPROVAL_NO ? 1 : 0;
	}
	return RESULT_OK;
}

enum result
native_approval_ask(struct native_approval *approval,
    const struct native_denied *denied, int tty, size_t *granted_r)
{
	struct native_approval_wait wait = {.tty = tty, .signals = -1};
	int flags = fcntl(tty, F_GETFL);
	enum result result = RESULT_SYSTEM;
	sigset_t ends, before;

	*granted_r = 0;
	end_signals_mask(&ends);
	/* A read that a signal's flush left without its line would wait. */
	if (flags < 0 || fcntl(tty, F_SETFL, flags | O_NONBLOCK) != 0 ||
	    sigprocmask(SIG_BLOCK, &ends, &before) != 0)
		return RESULT_SYSTEM;
	wait.signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	if (wait.signals >= 0)
		result =
		    native_approval_each(approval, denied, &wait, granted_r);
	if (result != RESULT_OK)
		*granted_r = 0;
	fd_close(&wait.signals);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return result;
}
