/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To which packages the user of this host gives secrets:
 * AGENTNODE_HOME/secret_grants.json, names and hashes only, never a value.
 * A grant is bound to what secret_need_key covers and ends by itself. Used
 * by run_secret before every run, and by the consent commands.
 */
#ifndef SUPERVISOR_POLICY_SECRET_GRANT_H
#define SUPERVISOR_POLICY_SECRET_GRANT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/policy/digest.h"

#define SECRET_GRANT_NAME "secret_grants.json"
#define SECRET_GRANT_MAX 1024U
#define SECRET_GRANT_LIFETIMES "7d, 30d, 90d, forever"

enum secret_grant_state {
	SECRET_GRANT_NONE = 0,
	SECRET_GRANT_GOOD,
	SECRET_GRANT_EXPIRED, /* or given in the future: a clock is wrong */
	SECRET_GRANT_REVOKED
};

/* All borrowed. */
struct secret_grant {
	const char *key; /* of secret_need_key */
	const char *package, *version, *artifact_hash;
	json_t *names, *domains; /* lists of texts */
	time_t granted, expires; /* expires 0: forever */
};

/* False: no such lifetime. NULL means 90d. */
bool secret_grant_lifetime(const char *text, time_t now, time_t *expires_r);

/* Lock, strict read, write anew, rename. It takes the place of one with the
 * same key. RESULT_TOO_LONG: SECRET_GRANT_MAX are there. */
enum result secret_grant_add(
    const struct secret_grant *grant, struct json_fault *fault);

/* Mark every grant of a package; count_r of those that were not yet. */
enum result secret_grant_revoke(
    const char *package, size_t *count_r, struct json_fault *fault);

/* On any fault (RESULT_BAD: unreadable) the state is NONE. */
enum result secret_grant_find(const char *key, time_t now,
    enum secret_grant_state *state_r, time_t *expires_r,
    struct json_fault *fault);

/* All of them, checked: {"key","package","version","artifact_hash","names",
 * "domains","granted","expires","revoked"}. The caller owns *list_r. */
enum result secret_grant_load(json_t **list_r, struct json_fault *fault);
enum secret_grant_state secret_grant_state_of(const json_t *grant, time_t now);
/* "none", "good", "expired", "revoked". */
const char *secret_grant_state_text(enum secret_grant_state state);

#endif
