/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands between SQLite and the locks of its files. Called by SQLite through
 * the methods of a file. Must never say that a lock was taken or let go of
 * when it was not.
 */
#include "supervisor/ledger/budget_lock.h"

#include <stdbool.h>
#include <stddef.h>

#define BUDGET_LOCK_FILES 8U /* open at one time; a ledger has two */

static const struct sqlite3_io_methods *budget_lock_unix;
static struct sqlite3_io_methods budget_lock_methods;
static sqlite3_file *budget_lock_lost[BUDGET_LOCK_FILES];
static unsigned budget_lock_count;

static bool
budget_lock_is_lost(const sqlite3_file *file)
{
	for (size_t i = 0; i < BUDGET_LOCK_FILES; i++) {
		if (budget_lock_lost[i] == file)
			return true;
	}
	return false;
}

static void
budget_lock_replace(const sqlite3_file *old, sqlite3_file *new)
{
	for (size_t i = 0; i < BUDGET_LOCK_FILES; i++) {
		if (budget_lock_lost[i] == old) {
			budget_lock_lost[i] = new;
			return;
		}
	}
}

static void
budget_lock_lose(sqlite3_file *file)
{
	budget_lock_count++;
	if (!budget_lock_is_lost(file))
		budget_lock_replace(NULL, file);
}

static int
budget_lock_shm(sqlite3_file *file, int offset, int count, int flags)
{
	int code;

	if ((flags & SQLITE_SHM_LOCK) != 0 && budget_lock_is_lost(file))
		return SQLITE_IOERR_SHMLOCK;
	code = budget_lock_unix->xShmLock(file, offset, count, flags);
	if (code != SQLITE_OK && (flags & SQLITE_SHM_UNLOCK) != 0)
		budget_lock_lose(file);
	return code;
}

static int
budget_lock_unlock(sqlite3_file *file, int level)
{
	int code = budget_lock_unix->xUnlock(file, level);

	if (code != SQLITE_OK)
		budget_lock_lose(file);
	return code;
}

static int
budget_lock_close(sqlite3_file *file)
{
	budget_lock_replace(file, NULL);
	return budget_lock_unix->xClose(file);
}

void
budget_lock_take(sqlite3_file *file)
{
	if (file->pMethods == NULL)
		return;
	if (budget_lock_unix == NULL) {
		budget_lock_unix = file->pMethods;
		budget_lock_methods = *file->pMethods;
		budget_lock_methods.xShmLock = budget_lock_shm;
		budget_lock_methods.xUnlock = budget_lock_unlock;
		budget_lock_methods.xClose = budget_lock_close;
	}
	/* A file system that locks in another way is left as it is. */
	if (file->pMethods == budget_lock_unix)
		file->pMethods = &budget_lock_methods;
}

unsigned
budget_lock_losses(void)
{
	return budget_lock_count;
}
