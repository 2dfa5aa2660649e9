/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit chain's folder and key as the command line reads them. Used by
 * `audit`, `runs` and who looks for living runs.
 */
#ifndef SUPERVISOR_COMMAND_AUDIT_FILES_H
#define SUPERVISOR_COMMAND_AUDIT_FILES_H

#include "common/json_field.h"
#include "common/result.h"
#include "common/secret.h"

struct audit_files {
	int dir_fd;         /* the ledger's folder; -1: there is none */
	struct secret *key; /* of the seal; NULL: there is none */
};

/* A chain that was never begun is RESULT_OK without folder. */
enum result audit_files_open(
    struct audit_files *files_r, struct json_fault *fault);
void audit_files_close(struct audit_files *files);

#endif
