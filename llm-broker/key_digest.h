/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The salted digest that stands for a key where the key itself must not be:
 * SHA-256(salt || text), by libcrypto. Used by redact.c and by llm-key,
 * which makes the patterns.
 */
#ifndef LLM_BROKER_KEY_DIGEST_H
#define LLM_BROKER_KEY_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "common/result.h"

#define KEY_DIGEST_SALT 16U
#define KEY_DIGEST_LEN 32U

/* Load libcrypto's implementation; once, before confinement. */
enum result key_digest_prepare(void);

/* Not RESULT_OK: digest_r is not set, and nothing may count as equal. */
enum result key_digest_make(const uint8_t salt[KEY_DIGEST_SALT],
    const void *text, size_t len, uint8_t digest_r[KEY_DIGEST_LEN]);

#endif
