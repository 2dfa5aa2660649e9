/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one job of the table a program has; unpack_jobs.h is the contract.
 * Used by unpack_serve.c.
 */
#ifndef SUPERVISOR_UNPACK_JOB_TABLE_H
#define SUPERVISOR_UNPACK_JOB_TABLE_H

#include <jansson.h>

#include "common/json_field.h"
#include "supervisor/unpack/job_options.h"
#include "supervisor/unpack/unpack_config.h"
#include "supervisor/unpack/unpack_io.h"

struct job_table_row {
	const char *name;
	unsigned flags; /* enum job_options_flag */
	size_t fd_count;
	enum result (*run)(struct job_options *job);
};

/* Do the job name of rows with options. RESULT_OK: *result_r, caller owns.
 * RESULT_REFUSED: the request itself is wrong, fault says why (the
 * supervisor made a mistake). Anything else: io has code and detail. */
enum result job_table_run(const struct job_table_row *rows,
    const struct unpack_config *config, struct unpack_io *io, const char *name,
    const json_t *options, const int *fds, size_t fd_count, json_t **result_r,
    struct json_fault *fault);

/* The job collect (collect.h), which two programs have. */
enum result job_table_collect(struct job_options *job);

#endif
