/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which tier a lockfile entry really has: what its attestation and the
 * publisher's signature prove, with the registry keys that the
 * configuration pins. Read-only; used by run_entry before every run, by
 * install, verify, info, explain and doctor.
 */
#ifndef SUPERVISOR_POLICY_TRUST_H
#define SUPERVISOR_POLICY_TRUST_H

#include <jansson.h>
#include <time.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/tier.h"

#define TRUST_CODE_MAX 64U
#define TRUST_KEY_MAX 72U

struct trust_verdict {
	enum tier tier;            /* TIER_UNVERIFIED without attestation */
	char code[TRUST_CODE_MAX]; /* "" or why it is refused */
	char key[TRUST_KEY_MAX];   /* the registry key, as hex; "" */
	time_t expires;            /* of the attestation; 0: none */
};

/* RESULT_OK: the tier stands. Anything else: the attestation or signature
 * that the entry carries does not hold (expired, another hash, an unknown
 * key, a forged byte, ...), or this host did not make the entry from the
 * attested artifact: the entry is refused, never run as unverified;
 * verdict_r->code and fault say why. */
enum result trust_judge(const struct config *config, const char *slug,
    const json_t *entry, time_t now, struct trust_verdict *verdict_r,
    struct json_fault *fault);

/* The signatures alone: for install, before there is an entry of this host
 * (trust_bound_add makes it one), and for `info` of a registry's package.
 * entry needs version and artifact_hash; attestation, _signatures and
 * publisher_slug as far as they are there. */
enum result trust_prove(const struct config *config, const char *slug,
    const json_t *entry, time_t now, struct trust_verdict *verdict_r,
    struct json_fault *fault);

/* Is this key (hex) one of trust.registry_keys, and not revoked? */
bool trust_is_pinned(const struct config *config, const char *key);
bool trust_is_revoked(const struct config *config, const char *key);

#endif
