/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one job of agentnode-unpack; unpack_jobs.h is the contract. Used by
 * main.c.
 */
#ifndef SUPERVISOR_UNPACK_JOB_TABLE_H
#define SUPERVISOR_UNPACK_JOB_TABLE_H

#include <jansson.h>

#include "common/json_field.h"
#include "supervisor/unpack/unpack_config.h"
#include "supervisor/unpack/unpack_io.h"

/* Do the job name with options. RESULT_OK: *result_r, caller owns.
 * RESULT_REFUSED: the request itself is wrong, fault says why (the
 * supervisor made a mistake). Anything else: io has code and detail. */
enum result job_table_run(const struct unpack_config *config,
    struct unpack_io *io, const char *name, const json_t *options,
    const int *fds, size_t fd_count, json_t **result_r,
    struct json_fault *fault);

#endif
