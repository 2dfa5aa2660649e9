/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The write-ahead log of usage.db, a transaction at a time: SQLite writes
 * each page of a commit as two writes, its header and its content. Here they
 * are kept until the last page of the commit, and written by one. That write
 * is the one that SQLite waits for before it tells anybody of the commit, so
 * nothing is told that is not in the file; a fault of it is a fault of the
 * commit. Used by budget_vfs.c; one log per process.
 */
#ifndef SUPERVISOR_LEDGER_BUDGET_WAL_H
#define SUPERVISOR_LEDGER_BUDGET_WAL_H

#include <sqlite3.h>

/* file was opened as a write-ahead log by the VFS "unix". A second one that
 * is open at the same time is left as it is. */
void budget_wal_take(sqlite3_file *file);

#endif
