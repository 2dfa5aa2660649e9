/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit chain's files as the command line reads them. Used by `audit`
 * and `runs`.
 */
#ifndef SUPERVISOR_COMMAND_AUDIT_FILES_H
#define SUPERVISOR_COMMAND_AUDIT_FILES_H

#include "common/json_field.h"
#include "common/result.h"

struct audit_files {
	int log_fd, head_fd; /* -1: there is none */
};

/* A chain that was never begun is RESULT_OK with both -1. */
enum result audit_files_open(
    struct audit_files *files_r, struct json_fault *fault);
void audit_files_close(struct audit_files *files);

#endif
