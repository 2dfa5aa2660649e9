/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Public keys in the configuration: trust.registry_keys is {name: key}. A
 * key is typed as 64 hex digits or as base64, and kept as lower-case hex.
 * Used by config_shape, config_value and `trust keys`. Pure.
 */
#ifndef SUPERVISOR_POLICY_TRUST_KEY_H
#define SUPERVISOR_POLICY_TRUST_KEY_H

#include <jansson.h>
#include <stdbool.h>

#include "common/json_field.h"
#include "common/result.h"

#define TRUST_KEY_HEX 64U
#define TRUST_KEY_NAME_MAX 31U
#define TRUST_KEY_COUNT_MAX 32U
/* What a name is, for sentences. */
#define TRUST_KEY_NAME_RULE "1 to 31 of a-z, 0-9, '-' and '_'"

bool trust_key_is_name(const char *text);

/* Hex or base64 to lower-case hex; false: no key of 32 bytes, or one that
 * every signature could fit. */
bool trust_key_parse(const char *text, char hex_r[TRUST_KEY_HEX + 1]);

/* An object of names and keys, checked and canonical; a key under two names
 * is refused. Caller owns *value_r. */
enum result trust_key_object(const json_t *raw, const char *where,
    json_t **value_r, struct json_fault *fault);

#endif
