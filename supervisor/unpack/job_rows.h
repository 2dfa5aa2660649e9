/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All jobs of unpack_jobs.h, for agentnode-unpack.
 */
#ifndef SUPERVISOR_UNPACK_JOB_ROWS_H
#define SUPERVISOR_UNPACK_JOB_ROWS_H

#include "supervisor/unpack/job_table.h"

/* Ends with a row without a name. */
extern const struct job_table_row job_rows[];

#endif
