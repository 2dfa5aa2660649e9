/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks of databases that could not be let go of. SQLite takes no notice of
 * that: it goes on, holds what it believes to have let go of, and waits for
 * itself some ten seconds at the next transaction, and at each one after it.
 * Here such a connection gets no lock any more, so that what it does next
 * fails at once (SQLITE_IOERR), and whoever holds it closes it and opens
 * another, which lets go of everything. Used by budget_vfs.c, and by those
 * who hold a connection.
 */
#ifndef SUPERVISOR_LEDGER_BUDGET_LOCK_H
#define SUPERVISOR_LEDGER_BUDGET_LOCK_H

#include <sqlite3.h>

/* file was opened as a database by the VFS "unix". */
void budget_lock_take(sqlite3_file *file);

/* How many could not be let go of in this process, of any database; compare
 * with what it was when the connection was opened. */
unsigned budget_lock_losses(void);

#endif
