/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call's arguments hold, before anything is done with them: sizes,
 * paths that climb, absolute paths where there is no sandbox, URLs where
 * there is no network, and the tool's own schema where it is sealed with the
 * package. Pure; fuzzed. Called by the gate for foreign bytes, and before a
 * package is started for the operator's own. The bytes are JSON that
 * mcp_json_check accepted.
 */
#ifndef SUPERVISOR_POLICY_GUARD_ARGUMENTS_H
#define SUPERVISOR_POLICY_GUARD_ARGUMENTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "supervisor/gate/mcp_cursor.h"
#include "supervisor/policy/guard.h"

#define GUARD_ARGUMENTS_WHERE_MAX 128U

enum guard_arguments_fault {
	GUARD_ARGUMENTS_OK = 0,
	GUARD_ARGUMENTS_NO_OBJECT,
	GUARD_ARGUMENTS_TOO_LONG,  /* all of them */
	GUARD_ARGUMENTS_TEXT_LONG, /* one text */
	GUARD_ARGUMENTS_DEEP,
	GUARD_ARGUMENTS_MANY_KEYS,
	GUARD_ARGUMENTS_NO_TEXT,  /* NUL or half a surrogate pair */
	GUARD_ARGUMENTS_CLIMBS,   /* a ".." segment in a path */
	GUARD_ARGUMENTS_ABSOLUTE, /* outside a sandbox */
	GUARD_ARGUMENTS_URL,      /* and no network */
	/* From here on a person could be asked. */
	GUARD_ARGUMENTS_TYPE,
	GUARD_ARGUMENTS_REQUIRED,
	GUARD_ARGUMENTS_ENUM,
	GUARD_ARGUMENTS_LENGTH, /* of a text */
	GUARD_ARGUMENTS_RANGE,  /* of a number */
	GUARD_ARGUMENTS_ITEMS,  /* of a list */
	GUARD_ARGUMENTS_SHELL,  /* characters of a shell in a short field */
	GUARD_ARGUMENTS_FAULT_COUNT
};

struct guard_arguments_rules {
	bool inside;          /* a sandbox: absolute paths are its own */
	bool network;         /* it reaches hosts */
	const json_t *schema; /* sealed with the package; NULL: none */
	bool only_denied;     /* what a person could be asked is no fault */
	size_t bytes_max, text_max, depth_max, keys_max;
};

/* With the limits that hold: 1 MB, 1 MB, 20, 10,000. */
struct guard_arguments_rules guard_arguments_rules(
    bool inside, bool network, const json_t *schema);

/* The first fault of arguments, keys and values; absent ones are an empty
 * object. where_r is the path of its value, printable ASCII
 * ("$.files[2].path"). That a person could be asked about it says nothing of
 * what stands behind it: look with only_denied before asking. */
enum guard_arguments_fault guard_arguments_check(
    const struct guard_arguments_rules *rules, struct mcp_span arguments,
    char where_r[GUARD_ARGUMENTS_WHERE_MAX]);

/* GUARD_ALLOW, GUARD_PROMPT or GUARD_DENY; out of range: deny. */
enum guard_answer guard_arguments_answer(enum guard_arguments_fault fault);
/* "holds a path that climbs with '..'"; never NULL. */
const char *guard_arguments_text(enum guard_arguments_fault fault);

#endif
