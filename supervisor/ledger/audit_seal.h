/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keyed seal of audit.head: HMAC-SHA256 over where the chain ends. As
 * each record's hash covers all before it, one seal covers the whole chain.
 * The key is AGENTNODE_HOME/audit.key (supervisor/policy/audit_key.h); what
 * it shows, and against whom, is in docs/audit.md. Pure.
 */
#ifndef SUPERVISOR_LEDGER_AUDIT_SEAL_H
#define SUPERVISOR_LEDGER_AUDIT_SEAL_H

#include "common/secret.h"
#include "supervisor/ledger/audit_head.h"

#define AUDIT_SEAL_KEY_FILE "audit.key"
#define AUDIT_SEAL_KEY_TEXT 65U /* 64 hex digits and a newline */

/* Is this the text of a key? */
bool audit_seal_is_key(const struct secret *key);

/* Set head->mac; key NULL: none. */
enum result audit_seal_put(const struct secret *key, struct audit_head *head);

/* RESULT_OK: sealed with this key, or neither seal nor key;
 * RESULT_NOT_FOUND (without a fault): a key but no seal, which only an empty
 * chain may have, and one that is older than the key; RESULT_MISMATCH:
 * another seal, or one and no key. */
enum result audit_seal_check(const struct secret *key,
    const struct audit_head *head, struct json_fault *fault);

/* The fault of a seal that should be there: RESULT_MISMATCH. */
enum result audit_seal_missing(struct json_fault *fault);

#endif
