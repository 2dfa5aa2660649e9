/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AGENTNODE_HOME/audit.key: the key of this host that seals the end of the
 * audit chain (supervisor/ledger/audit_seal.h). Made at first use; handed to
 * agentnode-ledger as a descriptor, which may not open it itself. Used by
 * audit.c and the audit commands.
 */
#ifndef SUPERVISOR_POLICY_AUDIT_KEY_H
#define SUPERVISOR_POLICY_AUDIT_KEY_H

#include <stdbool.h>

#include "common/json_field.h"
#include "common/result.h"
#include "common/secret.h"
#include "supervisor/policy/state_dir.h"

/* The file for reading; make: with a new random key when there is none.
 * RESULT_NOT_FOUND (without a fault): there is none. A file that others may
 * read or write, or that is not ours, is refused. */
enum result audit_key_open(const struct state_dir *home, bool make, int *fd_r,
    struct json_fault *fault);

/* The same, made, in the folder of that path. */
enum result audit_key_make_home(
    const char *home, int *fd_r, struct json_fault *fault);

/* The key itself; *key_r NULL when there is none. Caller frees. */
enum result audit_key_load(const struct state_dir *home, struct secret **key_r,
    struct json_fault *fault);

#endif
