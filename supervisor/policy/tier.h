/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trust tiers of packages, in their order. A tier above unverified
 * comes from an attestation alone (trust.h), never from a text in a
 * lockfile. Pure; used wherever a tier decides.
 */
#ifndef SUPERVISOR_POLICY_TIER_H
#define SUPERVISOR_POLICY_TIER_H

#include <stdbool.h>

enum tier {
	TIER_UNKNOWN = 0, /* a word that is no tier: below everything */
	TIER_UNVERIFIED,
	TIER_VERIFIED,
	TIER_TRUSTED,
	TIER_CURATED, /* the project's own */
	TIER_COUNT
};

/* "unknown", "unverified", ...; never NULL. */
const char *tier_name(enum tier tier);
/* TIER_UNKNOWN for NULL and for every word that is none. */
enum tier tier_parse(const char *name);
/* Verified, unverified, unknown: never on the host. */
bool tier_is_community(enum tier tier);

#endif
