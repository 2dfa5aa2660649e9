/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command was refused, for its result: each with the code, what it
 * was about, the flag that would allow it, and how that is known. "proxy":
 * exact, egress-proxy refused it. "output": a hint, the command printed it.
 * Used by exec for a native run.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_DENIED_H
#define SUPERVISOR_NATIVE_NATIVE_DENIED_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/result.h"
#include "supervisor/native/native_view.h"

#define NATIVE_DENIED_HOSTS_MAX 32U
#define NATIVE_DENIED_PATHS_MAX 16U
#define NATIVE_DENIED_PATH_MAX 512U
#define NATIVE_DENIED_TARGET_MAX 262U /* name, colon, port, NUL */
#define NATIVE_DENIED_CODE_MAX 32U

struct native_denied_host {
	char target[NATIVE_DENIED_TARGET_MAX]; /* "api.example.com:443" */
	char code[NATIVE_DENIED_CODE_MAX];
	uint64_t count;
	bool grantable; /* an --allow of it would have let it pass */
};

struct native_denied {
	struct native_denied_host hosts[NATIVE_DENIED_HOSTS_MAX];
	size_t host_count;
	bool full; /* there were more */
};

/* A decision message of egress-proxy (common/ipc); allowed ones and odd
 * ones are passed over. */
void native_denied_decision(struct native_denied *denied, const json_t *body);

/* [{"kind":"host"|"path","target","code","flag"?,"known_by","count"?}]:
 * hosts, then paths that the view explains, of hints: what collect.h says of
 * the printed text; one that is odd is passed over. Caller decrefs; NULL: no
 * memory. view and hints may be NULL. */
json_t *native_denied_json(const struct native_denied *denied,
    const struct native_view *view, const json_t *hints);

#endif
