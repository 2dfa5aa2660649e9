/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of the chain that is full is followed by another one, and the
 * oldest ones go. The new file's first record, `audit_rotated`, names what
 * went, so that the rest can still be verified (audit_verify.c). Part of
 * audit_chain.c.
 */
#ifndef SUPERVISOR_LEDGER_AUDIT_ROTATE_H
#define SUPERVISOR_LEDGER_AUDIT_ROTATE_H

#include "supervisor/ledger/audit_chain.h"

#define AUDIT_ROTATE_EVENT "audit_rotated"

/* Under the lock, with nothing pending: when the file is full, make the next
 * one, and its first record pending. */
enum result audit_rotate_begin(
    struct audit_chain *chain, int64_t now_ms, struct json_fault *fault);

/* The batch is on disk in the new file and the head says so: go on in it,
 * and empty what was dropped. */
void audit_rotate_end(struct audit_chain *chain);

#endif
