/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is to be told when the ledger dies: every sandbox that lives, and the
 * run they belong to. Each is known by its context. Leaf of audit.
 */
#ifndef SUPERVISOR_POLICY_AUDIT_ENDS_H
#define SUPERVISOR_POLICY_AUDIT_ENDS_H

#include <stdbool.h>

#include "supervisor/policy/audit.h"

#define AUDIT_ENDS_MAX 40U

struct audit_ends {
	struct {
		audit_done *ended; /* NULL: unused */
		void *context;
	} rows[AUDIT_ENDS_MAX];
};

/* ended NULL: context is not told any more. False: no room. */
bool audit_ends_set(struct audit_ends *ends, audit_done *ended, void *context);
/* Tell each of them once, while *stop is false; they may go meanwhile. */
void audit_ends_tell(struct audit_ends *ends, enum result why,
    const char *detail, const bool *stop);

#endif
