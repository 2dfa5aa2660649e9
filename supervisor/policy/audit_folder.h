/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder that the ledger gets: its own below AGENTNODE_HOME, made when it
 * is not there. Used by audit.c.
 */
#ifndef SUPERVISOR_POLICY_AUDIT_FOLDER_H
#define SUPERVISOR_POLICY_AUDIT_FOLDER_H

#include "common/json_field.h"
#include "common/result.h"

/* The caller closes *fd_r. RESULT_BAD: another's, or others may write it. */
enum result audit_folder_open(
    const char *home, int *fd_r, struct json_fault *fault);

#endif
