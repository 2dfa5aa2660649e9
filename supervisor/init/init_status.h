/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel says of the calling process in /proc/self/status.
 */
#ifndef SUPERVISOR_INIT_STATUS_H
#define SUPERVISOR_INIT_STATUS_H

#include <stddef.h>

#include "supervisor/init/init_report.h"

/* Fills all but init_dumpable. 0 or errno. */
int init_status_read(struct init_report_status *status_r);

/* A whole file into bytes, cut at size; len_r is what the file had, up to
 * size + 1. 0 or errno; a missing file is empty. */
int init_status_file(
    const char *path, char *bytes_r, size_t size, size_t *len_r);

#endif
