/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private Ed25519 keys of publishers and registries: PEM files (PKCS #8, as
 * openssl writes them), read into locked memory and nowhere else. Used by
 * `trust keygen` and `trust sign`. No key of a provider, and never needed to
 * run anything.
 */
#ifndef SUPERVISOR_POLICY_SIGNING_KEY_H
#define SUPERVISOR_POLICY_SIGNING_KEY_H

#include "common/json_field.h"
#include "common/result.h"
#include "common/secret.h"

/* A regular file of our own that nobody else may read: 0600 or 0400, no
 * link. Caller frees with secret_free. */
enum result signing_key_load(
    const char *path, struct secret **key_r, struct json_fault *fault);
/* The same from a descriptor, to its end. */
enum result signing_key_read(
    int fd, struct secret **key_r, struct json_fault *fault);

/* A new file, 0600, synced; what is there already is never replaced
 * (RESULT_EXISTS). */
enum result signing_key_store(
    const char *path, const struct secret *key, struct json_fault *fault);

#endif
