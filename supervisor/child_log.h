/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The size of a process's log while it runs: a workload can make a process
 * of ours write lines for as long as it lives. Looks at the file every two
 * seconds; a full one is rotated and the process gets a new descriptor.
 * Used by child.c, and by mcp_run.c for the supervisor's own.
 */
#ifndef SUPERVISOR_CHILD_LOG_H
#define SUPERVISOR_CHILD_LOG_H

#include <event2/event.h>

#include "common/result.h"

struct child_log; /* opaque */

/* Hands fd (borrowed) to the process; anything but RESULT_OK: it keeps the
 * old one for now. */
typedef enum result child_log_replace(int fd, void *context);

/* fd: the log the process has, borrowed; one that is no file is never full.
 * name: of the log (log_files.h), static. */
enum result child_log_new(struct event_base *base, int fd, const char *name,
    child_log_replace *replace, void *context, struct child_log **log_r);
/* Accepts NULL, clears. */
void child_log_free(struct child_log **log);

#endif
