/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of run records: names, making, expiry. Used by run_record.c.
 */
#ifndef SUPERVISOR_POLICY_RUN_FILES_H
#define SUPERVISOR_POLICY_RUN_FILES_H

#include <stdbool.h>
#include <time.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/policy/state_dir.h"

#define RUN_FILES_ID_MAX 16U
#define RUN_FILES_NAME_MAX 32U

/* "0123456789abcdef.jsonl"; false: not a run's id. */
bool run_files_name(const char *run, char name_r[RUN_FILES_NAME_MAX]);

/* The folder of records, not made; RESULT_NOT_FOUND without fault. */
enum result run_files_folder(const struct state_dir *home,
    struct state_dir *runs_r, struct json_fault *fault);

/* A new file for appending, locked for as long as it is open. */
enum result run_files_make(const struct state_dir *runs, const char *run,
    int *fd_r, struct json_fault *fault);

/* Remove what is older than days, and the oldest beyond kept; never one
 * that is locked or whose name is not a run's. What cannot be removed
 * stays. */
void run_files_expire(
    const struct state_dir *runs, size_t kept, int days, time_t now);

#endif
