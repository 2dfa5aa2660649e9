/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The VFS described in the header. Called by budget_prepare once; SQLite
 * calls the rest. It must never resolve, rename or remove a path.
 */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "supervisor/ledger/budget.h"
#include "supervisor/ledger/budget_lock.h"
#include "supervisor/ledger/budget_vfs.h"
#include "supervisor/ledger/budget_wal.h"

#define BUDGET_VFS_LOG "/" BUDGET_FILE "-wal"

static sqlite3_vfs budget_vfs;
static const sqlite3_vfs *budget_vfs_unix;

/* The log that every call waits for; others of this process do without. */
static bool
budget_vfs_is_log(const char *name, int flags)
{
	size_t len = name != NULL ? strlen(name) : 0;
	size_t end = strlen(BUDGET_VFS_LOG);

	return (flags & SQLITE_OPEN_WAL) != 0 && len >= end &&
	       strcmp(name + len - end, BUDGET_VFS_LOG) == 0;
}

/* unix's files are laid out as they were: it looks at their first member
 * only to call them. */
static int
budget_vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file,
    int flags, int *flags_r)
{
	int code = budget_vfs_unix->xOpen(vfs, name, file, flags, flags_r);

	if (code == SQLITE_OK && budget_vfs_is_log(name, flags))
		budget_wal_take(file);
	else if (code == SQLITE_OK && (flags & SQLITE_OPEN_MAIN_DB) != 0)
		budget_lock_take(file);
	return code;
}

static int
budget_vfs_full_pathname(
    sqlite3_vfs *vfs, const char *name, int size, char *full_r)
{
	(void)vfs;
	return snprintf(full_r, (size_t)size, "%s", name) < size
		   ? SQLITE_OK
		   : SQLITE_CANTOPEN;
}

/* A journal without content is no journal. */
static int
budget_vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	int fd = open(name, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
	int result;

	(void)vfs;
	if (fd < 0)
		return errno == ENOENT ? SQLITE_IOERR_DELETE_NOENT
				       : SQLITE_IOERR_DELETE;
	result = sync != 0 && fsync(fd) != 0 ? SQLITE_IOERR_DELETE : SQLITE_OK;
	(void)close(fd);
	return result;
}

static int
budget_vfs_randomness(sqlite3_vfs *vfs, int size, char *bytes_r)
{
	ssize_t got = getrandom(bytes_r, (size_t)size, 0);

	(void)vfs;
	return got < 0 ? 0 : (int)got;
}

enum result
budget_vfs_register(void)
{
	sqlite3_vfs *unix_vfs;

	if (sqlite3_vfs_find(BUDGET_VFS_NAME) != NULL)
		return RESULT_OK;
	(void)sqlite3_shutdown();
	if (sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) != SQLITE_OK ||
	    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) != SQLITE_OK ||
	    sqlite3_initialize() != SQLITE_OK)
		return RESULT_INTERNAL;
	unix_vfs = sqlite3_vfs_find("unix");
	if (unix_vfs == NULL)
		return RESULT_UNSUPPORTED;
	budget_vfs_unix = unix_vfs;
	budget_vfs = *unix_vfs;
	budget_vfs.pNext = NULL;
	budget_vfs.zName = BUDGET_VFS_NAME;
	budget_vfs.xOpen = budget_vfs_open;
	budget_vfs.xFullPathname = budget_vfs_full_pathname;
	budget_vfs.xDelete = budget_vfs_delete;
	budget_vfs.xRandomness = budget_vfs_randomness;
	return sqlite3_vfs_register(&budget_vfs, 0) == SQLITE_OK
		   ? RESULT_OK
		   : RESULT_INTERNAL;
}
