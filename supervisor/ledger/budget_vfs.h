/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite's way to files for a confined process: names are taken as they are
 * (no getcwd, no walk over a path it may not read), nothing is unlinked
 * (a file that is to go is cut to nothing, which means the same), chance
 * comes from getrandom(2), and a commit of usage.db is one write
 * (budget_wal.h), and a lock that could not be let go of is noticed
 * (budget_lock.h).
 * Everything else is SQLite's own "unix".
 */
#ifndef SUPERVISOR_LEDGER_BUDGET_VFS_H
#define SUPERVISOR_LEDGER_BUDGET_VFS_H

#include "common/result.h"

#define BUDGET_VFS_NAME "agentnode-ledger"

/* Configure SQLite for one thread and register; once per process. */
enum result budget_vfs_register(void);

#endif
