/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's own log of a run, rotated as those of its children. Used
 * by mcp_run and agent_run.
 */
#ifndef SUPERVISOR_COMMAND_RUN_LOG_H
#define SUPERVISOR_COMMAND_RUN_LOG_H

#include <event2/event.h>

#include "supervisor/child_log.h"
#include "supervisor/package/run_entry.h"

struct run_log {
	struct child_log *watch; /* NULL: there is no log */
};

/* A log that cannot be opened is no reason not to run: the terminal's
 * sentences stay. */
void run_log_open(
    struct run_log *log, struct event_base *base, const struct run_entry *run);
void run_log_close(struct run_log *log);

#endif
