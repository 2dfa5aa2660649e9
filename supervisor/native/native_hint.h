/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths that a command says it could not use, from what it printed: "touch:
 * cannot touch '/etc/x': Read-only file system". A hint and no more: the
 * kernel tells nobody which path it refused, and a command can print what
 * it likes. Never a reason to grant anything. Pure. The bytes
 * are the command's: agentnode-collect reads them, the supervisor has its
 * list (native_denied.h).
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_HINT_H
#define SUPERVISOR_NATIVE_NATIVE_HINT_H

#include <stdbool.h>
#include <stddef.h>

#define NATIVE_HINT_MAX 16U
#define NATIVE_HINT_PATH_MAX 512U
#define NATIVE_HINT_LINE_MAX 2048U /* longer lines are passed over */

enum native_hint_need {
	NATIVE_HINT_READ,
	NATIVE_HINT_WRITE,
	NATIVE_HINT_ANY
};

/* "read", "write", "any": what the call was about. */
const char *native_hint_word(enum native_hint_need need);

struct native_hint {
	char path[NATIVE_HINT_PATH_MAX]; /* printable, as it was printed */
	enum native_hint_need need;
};

struct native_hints {
	struct native_hint hints[NATIVE_HINT_MAX];
	size_t count; /* each path once */
	bool full;    /* there were more */
};

/* All lines of a text; more texts may follow into the same hints. */
void native_hint_read(const char *text, size_t len, struct native_hints *hints);

#endif
