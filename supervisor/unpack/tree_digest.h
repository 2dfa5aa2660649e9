/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A running SHA-256 or SHA-512 by libcrypto. Used by agentnode-unpack only;
 * the algorithms are loaded before confinement, nothing is read later.
 */
#ifndef SUPERVISOR_UNPACK_TREE_DIGEST_H
#define SUPERVISOR_UNPACK_TREE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "common/result.h"

#define TREE_DIGEST_SHA256 32U
#define TREE_DIGEST_SHA512 64U

struct tree_digest; /* opaque */

/* Load the algorithms; before confinement. RESULT_UNSUPPORTED when
 * libcrypto does not have them. */
enum result tree_digest_load(void);

enum result tree_digest_new(struct tree_digest **digest_r);
void tree_digest_free(struct tree_digest **digest);
/* Start anew; length is that of the sum in bytes. */
enum result tree_digest_start(struct tree_digest *digest, size_t length);
enum result tree_digest_put(
    struct tree_digest *digest, const void *bytes, size_t len);
enum result tree_digest_end(struct tree_digest *digest, uint8_t *sum_r);

/* Lower-case hex, 2 * len + 1 bytes. */
void tree_digest_hex(const uint8_t *sum, size_t len, char *text_r);

#endif
