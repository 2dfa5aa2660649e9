/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the team policy narrows one value, by the rule of the key's row. The
 * result never allows more than the value did. Used by config.c; pure.
 */
#ifndef SUPERVISOR_POLICY_CONFIG_NARROW_H
#define SUPERVISOR_POLICY_CONFIG_NARROW_H

#include <jansson.h>
#include <stdbool.h>

#include "common/result.h"
#include "supervisor/policy/config_table.h"

/* value: what env, user or default gave (NULL unset); policy: what the
 * team policy says (not NULL). *value_r is new, caller owns. */
enum result config_narrow_value(const struct config_key *key,
    const json_t *value, const json_t *policy, json_t **value_r);

/* True when canonical entry `wide` allows everything that `entry` does:
 * equal, a wildcard above it, or a CIDR around it, on the same port. */
bool config_narrow_covers(const char *wide, const char *entry);

#endif
