/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 of bytes as lower-case hex, and the canonical JSON that is hashed
 * in the lockfile and the audit chain: sorted keys, no spaces, UTF-8 as it
 * is. Used by supervisor and ledger.
 */
#ifndef SUPERVISOR_POLICY_DIGEST_H
#define SUPERVISOR_POLICY_DIGEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/result.h"

#define DIGEST_HEX 64U
#define DIGEST_JSON_MAX (64U * 1024U * 1024U)

enum result digest_sha256(
    const void *bytes, size_t len, char hex_r[DIGEST_HEX + 1]);

/* Exactly 64 lower-case hex digits. */
bool digest_is_hex(const char *text);

/* Canonical text of a value; caller frees *text_r. */
enum result digest_canonical(const json_t *value, char **text_r, size_t *len_r);

/* SHA-256 of the canonical text. */
enum result digest_json(const json_t *value, char hex_r[DIGEST_HEX + 1]);

#endif
