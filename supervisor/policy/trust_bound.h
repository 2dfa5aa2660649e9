/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which entries this host's own install made from an attested artifact:
 * AGENTNODE_HOME/attested.json, a set of hashes, each with its slug and
 * whether the entry is for the host. An attestation names the
 * artifact, the entry names the volume; only install saw that one was made
 * from the other. So an entry that was written by hand, or edited and sealed,
 * keeps no tier. Used by trust.c, install and remove.
 */
#ifndef SUPERVISOR_POLICY_TRUST_BOUND_H
#define SUPERVISOR_POLICY_TRUST_BOUND_H

#include <jansson.h>
#include <stdbool.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/policy/digest.h"

#define TRUST_BOUND_NAME "attested.json"
#define TRUST_BOUND_MAX 4096U /* the oldest goes: then install again */

/* Before the lockfile has the entry: lock, strict read, write anew. With one
 * that is not for the host every one of slug that is goes: whoever writes it
 * back, from whatever lockfile, does not undo that choice. */
enum result trust_bound_add(
    const char *slug, const json_t *entry, struct json_fault *fault);

/* Whether it is there; on any fault it is not. */
enum result trust_bound_has(const char *slug, const json_t *entry,
    bool *there_r, struct json_fault *fault);

/* What is kept of an entry. */
enum result trust_bound_hash(
    const char *slug, const json_t *entry, char hex_r[DIGEST_HEX + 1]);

/* The entry of that hash (NULL: none) and every one of slug that is for the
 * host. RESULT_OK also when there is none. */
enum result trust_bound_drop(
    const char *slug, const char *hash, struct json_fault *fault);

#endif
