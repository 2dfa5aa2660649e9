/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the broker must look for so that a key does not come back, without
 * telling it the key: redact.h's patterns. Per form the first bytes (at most
 * four, and never more than a sixth of the key), the length, a random salt
 * and SHA-256 of salt and form. Called by key_store.c when a key arrived;
 * every form is made in secret memory and wiped.
 */
#ifndef LLM_BROKER_KEY_KEY_PATTERN_H
#define LLM_BROKER_KEY_KEY_PATTERN_H

#include <jansson.h>

#include "common/result.h"
#include "common/secret.h"

/* Shorter keys can be guessed from a digest, and longer ones fit no field. */
#define KEY_PATTERN_LENGTH_MIN 16U
#define KEY_PATTERN_LENGTH_MAX 2048U

/* The list for `key_pattern`: raw, base64 at each of three alignments (which
 * covers "Bearer KEY" and ":KEY" too), hex. Caller owns it. RESULT_TOO_LONG:
 * the key's length is out of range. */
enum result key_pattern_build(const struct secret *key, json_t **patterns_r);

/* May this be a key at all? Printable ASCII without a space, in range; a
 * fixed sentence says what is wrong, NULL: nothing. */
const char *key_pattern_refusal(const struct secret *key);

#endif
