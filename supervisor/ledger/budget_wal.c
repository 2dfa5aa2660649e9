/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the frames of a commit until it is whole (the file format is
 * https://sqlite.org/walformat.html). Called by SQLite through the methods
 * of a file. Must never answer for the last page of a commit before all of
 * it was written, nor let anything else be done with the file while
 * something is kept.
 */
#include "supervisor/ledger/budget_wal.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define BUDGET_WAL_HEADER 24   /* bytes of a frame's header */
#define BUDGET_WAL_ROOM 32768U /* more is written in parts */

static struct budget_wal {
	sqlite3_file *file; /* NULL: none is open */
	const struct sqlite3_io_methods *unix_methods;
	struct sqlite3_io_methods methods;
	sqlite3_int64 offset; /* of what is kept */
	size_t len;
	bool in_frame;  /* the last that was kept is a header */
	bool is_commit; /* of the last page of a commit */
	char bytes[BUDGET_WAL_ROOM];
} budget_wal;

/* What is kept goes, whether it is written or not: after a fault SQLite
 * gives the transaction up. */
static int
budget_wal_flush(void)
{
	size_t len = budget_wal.len;

	budget_wal.len = 0;
	budget_wal.in_frame = budget_wal.is_commit = false;
	if (len == 0)
		return SQLITE_OK;
	return budget_wal.unix_methods->xWrite(
	    budget_wal.file, budget_wal.bytes, (int)len, budget_wal.offset);
}

/* Does it belong behind what is kept: the page of a header, or the header of
 * the next page? */
static bool
budget_wal_fits(int amount, sqlite3_int64 offset)
{
	if (budget_wal.in_frame == (amount == BUDGET_WAL_HEADER))
		return false;
	if ((size_t)amount > sizeof(budget_wal.bytes) - budget_wal.len)
		return false;
	return budget_wal.len == 0 ||
	       offset == budget_wal.offset + (sqlite3_int64)budget_wal.len;
}

static void
budget_wal_keep(const void *bytes, int amount, sqlite3_int64 offset)
{
	const unsigned char *header = bytes;

	if (budget_wal.len == 0)
		budget_wal.offset = offset;
	memcpy(budget_wal.bytes + budget_wal.len, bytes, (size_t)amount);
	budget_wal.len += (size_t)amount;
	budget_wal.in_frame = !budget_wal.in_frame;
	/* The database's size in pages stands in the last header alone. */
	if (budget_wal.in_frame)
		budget_wal.is_commit =
		    (header[4] | header[5] | header[6] | header[7]) != 0;
}

static int
budget_wal_write(
    sqlite3_file *file, const void *bytes, int amount, sqlite3_int64 offset)
{
	int code;

	if (!budget_wal_fits(amount, offset)) {
		code = budget_wal_flush();
		if (code != SQLITE_OK)
			return code;
		if (!budget_wal_fits(amount, offset))
			return budget_wal.unix_methods->xWrite(
			    file, bytes, amount, offset);
	}
	budget_wal_keep(bytes, amount, offset);
	return budget_wal.is_commit && !budget_wal.in_frame ? budget_wal_flush()
							    : SQLITE_OK;
}

/* --- everything else is done with a file that is whole --- */

static int
budget_wal_read(
    sqlite3_file *file, void *bytes, int amount, sqlite3_int64 offset)
{
	int code = budget_wal_flush();

	return code != SQLITE_OK ? code
				 : budget_wal.unix_methods->xRead(
				       file, bytes, amount, offset);
}

static int
budget_wal_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	int code = budget_wal_flush();

	return code != SQLITE_OK
		   ? code
		   : budget_wal.unix_methods->xTruncate(file, size);
}

static int
budget_wal_sync(sqlite3_file *file, int flags)
{
	int code = budget_wal_flush();

	return code != SQLITE_OK ? code
				 : budget_wal.unix_methods->xSync(file, flags);
}

static int
budget_wal_file_size(sqlite3_file *file, sqlite3_int64 *size_r)
{
	int code = budget_wal_flush();

	return code != SQLITE_OK
		   ? code
		   : budget_wal.unix_methods->xFileSize(file, size_r);
}

/* What is kept now was never committed. */
static int
budget_wal_close(sqlite3_file *file)
{
	const struct sqlite3_io_methods *unix_methods = budget_wal.unix_methods;

	memset(&budget_wal, 0, sizeof(budget_wal));
	return unix_methods->xClose(file);
}

void
budget_wal_take(sqlite3_file *file)
{
	if (budget_wal.file != NULL || file->pMethods == NULL)
		return;
	budget_wal.file = file;
	budget_wal.unix_methods = file->pMethods;
	budget_wal.methods = *file->pMethods;
	budget_wal.methods.xClose = budget_wal_close;
	budget_wal.methods.xRead = budget_wal_read;
	budget_wal.methods.xWrite = budget_wal_write;
	budget_wal.methods.xTruncate = budget_wal_truncate;
	budget_wal.methods.xSync = budget_wal_sync;
	budget_wal.methods.xFileSize = budget_wal_file_size;
	file->pMethods = &budget_wal.methods;
}
