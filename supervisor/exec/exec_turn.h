/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many commands at once start a few at a time: each start writes the audit
 * chain, which takes one writer at a time and does not wait for ever. A
 * turn is a lock in AGENTNODE_HOME/exec, given back by the kernel whatever
 * happens. Used by exec_run, from before the ledger until the command runs.
 */
#ifndef SUPERVISOR_EXEC_EXEC_TURN_H
#define SUPERVISOR_EXEC_EXEC_TURN_H

#include <stdbool.h>

#define EXEC_TURN_COUNT 8U
#define EXEC_TURN_WAIT_MS 60000U

/* Called between tries; false: it is not wanted any more. */
typedef bool exec_turn_wanted(void *context);

/* Waits while others have all, at most EXEC_TURN_WAIT_MS. A descriptor to
 * close; -1: go on without, since a turn protects nothing. */
int exec_turn_take(exec_turn_wanted *wanted, void *context);

#endif
