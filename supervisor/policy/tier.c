/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiers by name; see tier.h. A word that is not known is never taken for a
 * higher tier.
 */
#include "supervisor/policy/tier.h"

#include <stddef.h>
#include <string.h>

static const char *const tier_names[TIER_COUNT] = {
    "unknown", "unverified", "verified", "trusted", "curated"};

const char *
tier_name(enum tier tier)
{
	return (unsigned)tier < TIER_COUNT ? tier_names[tier]
					   : tier_names[TIER_UNKNOWN];
}

enum tier
tier_parse(const char *name)
{
	if (name == NULL)
		return TIER_UNKNOWN;
	for (unsigned i = 0; i < TIER_COUNT; i++) {
		if (strcmp(tier_names[i], name) == 0)
			return (enum tier)i;
	}
	return TIER_UNKNOWN;
}

bool
tier_is_community(enum tier tier)
{
	return tier != TIER_TRUSTED && tier != TIER_CURATED;
}
