/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact bytes behind the signatures over an attestation and over an
 * artifact (docs/trust-registry.md): canonical JSON. One place, for those
 * who sign and those who verify.
 */
#ifndef SUPERVISOR_POLICY_SIGNED_TEXT_H
#define SUPERVISOR_POLICY_SIGNED_TEXT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "common/result.h"

/* The attestation without its signature. Caller frees *text_r. */
enum result signed_text_attestation(
    const json_t *attestation, char **text_r, size_t *len_r);

/* What a publisher signs; hash is "sha256:...". Caller frees *text_r. */
enum result signed_text_artifact(const char *slug, const char *version,
    const char *hash, char **text_r, size_t *len_r);

#endif
