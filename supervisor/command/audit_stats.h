/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts over the records of the audit chain, for `audit stats`.
 */
#ifndef SUPERVISOR_COMMAND_AUDIT_STATS_H
#define SUPERVISOR_COMMAND_AUDIT_STATS_H

#include "supervisor/command/audit_files.h"
#include "supervisor/command/audit_filter.h"

/* Read the chain and print the counts, also when it is broken further on.
 * Exit code. */
int audit_stats_run(
    const struct audit_files *files, const struct audit_filter *filter);

#endif
