/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a process that does jobs of unpack_jobs.h. The libraries that
 * its jobs need are loaded before: nothing can be opened afterwards.
 */
#ifndef SUPERVISOR_UNPACK_UNPACK_SERVE_H
#define SUPERVISOR_UNPACK_UNPACK_SERVE_H

#include "supervisor/unpack/job_table.h"

/* rows ends with one without a name. */
_Noreturn void unpack_serve(const struct job_table_row *rows);

#endif
