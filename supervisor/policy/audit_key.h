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

struct audit_key {
	int fd;      /* for reading; -1: there is none */
	bool is_new; /* just made: what is there has no seal of it */
};

/* The key for the ledger whose folder is ledger_fd (borrowed), made when
 * there is none, unless that folder's head is sealed: a new key would not fit
 * it, and the ledger refuses it without one. The caller closes key_r->fd. A
 * file that others may read or write, or that is not ours, is refused. */
enum result audit_key_home(const char *home, int ledger_fd,
    struct audit_key *key_r, struct json_fault *fault);

/* The key itself; *key_r NULL when there is none. Caller frees. */
enum result audit_key_load(const struct state_dir *home, struct secret **key_r,
    struct json_fault *fault);

#endif
