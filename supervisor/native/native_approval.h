/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A person is asked about each host a command was refused: once, always,
 * no. Only with --approval on-request, only about what egress-proxy itself
 * reports (a path is a hint, and hints are never asked about), only on the
 * supervisor's own terminal and in its foreground; everywhere else the
 * denial stands. After a yes the caller runs the command again. A signal or
 * two minutes of silence end the questions. Used by exec.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_APPROVAL_H
#define SUPERVISOR_NATIVE_NATIVE_APPROVAL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/result.h"
#include "supervisor/native/native_denied.h"

#define NATIVE_APPROVAL_ASKED_MAX 64U
#define NATIVE_APPROVAL_LINE_MAX 64U
#define NATIVE_APPROVAL_WAIT_MS 120000U

enum native_approval_mode {
	NATIVE_APPROVAL_NEVER, /* the default: a denial is an answer */
	NATIVE_APPROVAL_ON_REQUEST
};

enum native_approval_answer {
	NATIVE_APPROVAL_NO, /* anything else, silence, an end */
	NATIVE_APPROVAL_ONCE,
	NATIVE_APPROVAL_ALWAYS
};

/* All of one `exec`, over its repetitions: nothing is asked twice. */
struct native_approval {
	enum native_approval_mode mode;
	bool can_keep;    /* there is a workspace an "always" belongs to */
	unsigned wait_ms; /* for each answer; 0: NATIVE_APPROVAL_WAIT_MS */
	struct {
		char target[NATIVE_DENIED_TARGET_MAX];
		enum native_approval_answer answer;
	} asked[NATIVE_APPROVAL_ASKED_MAX];
	size_t count;
};

/* "on-request" or "never"; false: it is neither. */
bool native_approval_mode_parse(
    const char *word, enum native_approval_mode *mode_r);

/* What a line means ("o", "once", "a", "always"; any case, blanks around).
 * Pure. */
enum native_approval_answer native_approval_read(
    const char *line, size_t len, bool can_keep);

/* The next refused host that was not asked about, or NULL. Pure. */
const struct native_denied_host *native_approval_next(
    const struct native_approval *approval, const struct native_denied *denied);
/* Keep an answer. False: there is no room, and nothing more is asked. */
bool native_approval_keep(struct native_approval *approval, const char *target,
    enum native_approval_answer answer);

/* NULL: somebody can be asked; else why nobody can. */
const char *native_approval_missing(void);

/* Ask on the terminal at tty about each host in turn; granted_r: how many
 * got a yes. RESULT_EOF: a signal of end_signals.h came, nobody answered in
 * time, or the input ended; then no yes counts, not even an earlier one, and
 * granted_r is 0. These signals are blocked meanwhile, and delivered after
 * it to whoever handles them. tty is an open file of the caller's alone:
 * O_NONBLOCK is set on it. */
enum result native_approval_ask(struct native_approval *approval,
    const struct native_denied *denied, int tty, size_t *granted_r);

#endif
