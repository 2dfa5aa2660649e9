/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens usage.db, makes its schema, prepares and runs the statements.
 * Called by budget.c and budget_report.c. It must never go on with a file
 * that SQLite or the version says is not ours.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/ledger/budget_db.h"
#include "supervisor/ledger/budget_vfs.h"

#define BUDGET_DB_PATH_MAX 64U

/* Nothing in a transaction is durable on the disk before a checkpoint; a
 * killed process loses nothing (docs/llm.md, Budgets). A commit writes each
 * page it touched, so pages are small; a checkpoint waits for the disk, so
 * there is one for every 16 MiB of them. No page goes to the log before its
 * commit: budget_wal.h keeps nothing of a transaction that is given up. */
static const char budget_db_settings[] = "PRAGMA page_size = 1024;"
					 "PRAGMA journal_mode = WAL;"
					 "PRAGMA synchronous = NORMAL;"
					 "PRAGMA wal_autocheckpoint = 16384;"
					 "PRAGMA journal_size_limit = 20971520;"
					 "PRAGMA trusted_schema = OFF;"
					 "PRAGMA cell_size_check = ON;"
					 "PRAGMA cache_spill = OFF;"
					 "PRAGMA temp_store = MEMORY;";

enum result
budget_db_result(int code)
{
	switch (code & 0xff) {
	case SQLITE_OK:
	case SQLITE_DONE:
	case SQLITE_ROW:
		return RESULT_OK;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return RESULT_NEED_MORE;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_FORMAT:
		return RESULT_MISMATCH;
	case SQLITE_CONSTRAINT:
		return RESULT_EXISTS;
	case SQLITE_NOMEM:
		return RESULT_NO_MEMORY;
	case SQLITE_FULL:
	case SQLITE_IOERR:
	case SQLITE_READONLY:
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
	case SQLITE_PROTOCOL:
		return RESULT_SYSTEM;
	default: /* SQLite's own numbers, not ours */
		return RESULT_INTERNAL;
	}
}

/* Made here, so that nobody else can ever read it. */
enum result
budget_db_make(int dir_fd, const char *name, struct json_fault *fault)
{
	FD_CLEANUP int fd = openat(dir_fd, name,
	    O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) != 0) {
		json_field_fault(
		    fault, "%s: cannot be opened: %s", name, strerror(errno));
		return RESULT_SYSTEM;
	}
	if (S_ISREG(status.st_mode) && (status.st_mode & 077) == 0)
		return status.st_size > 0 || fsync(dir_fd) == 0 ? RESULT_OK
								: RESULT_SYSTEM;
	json_field_fault(fault,
	    "%s: must be a regular file that nobody else may read or write",
	    name);
	return RESULT_MISMATCH;
}

static enum result
budget_db_exec(struct budget_db *db, const char *sql)
{
	return budget_db_result(
	    sqlite3_exec(db->handle, sql, NULL, NULL, NULL));
}

static enum result
budget_db_ask(struct budget_db *db, const char *sql, int64_t *value_r)
{
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(db->handle, sql, -1, &statement, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	if (code == SQLITE_ROW)
		*value_r = sqlite3_column_int64(statement, 0);
	(void)sqlite3_finalize(statement);
	return code == SQLITE_ROW ? RESULT_OK : budget_db_result(code);
}

/* In a transaction: an empty file gets the schema, an older one the change. */
static enum result
budget_db_adopt(struct budget_db *db, struct json_fault *fault)
{
	int64_t version = 0, tables = 0;
	enum result result;

	result = budget_db_ask(db, "PRAGMA user_version", &version);
	if (result == RESULT_OK)
		result = budget_db_ask(
		    db, "SELECT count(*) FROM sqlite_schema", &tables);
	if (result != RESULT_OK)
		return result;
	if (version == 0 && tables == 0)
		return budget_db_exec(db, budget_db_schema);
	if (version == BUDGET_DB_VERSION)
		return RESULT_OK;
	if (version == 1)
		return budget_db_exec(db, budget_db_upgrade);
	json_field_fault(fault,
	    "the file of usage is of version %lld, this program writes %d",
	    (long long)version, BUDGET_DB_VERSION);
	return RESULT_MISMATCH;
}

static enum result
budget_db_set_up(struct budget_db *db, struct json_fault *fault)
{
	enum result result = budget_db_exec(db, budget_db_settings);

	if (result == RESULT_OK)
		result = budget_db_exec(db, "BEGIN IMMEDIATE");
	if (result != RESULT_OK)
		return result;
	result = budget_db_adopt(db, fault);
	if (result == RESULT_OK)
		result = budget_db_exec(db, "COMMIT");
	if (sqlite3_get_autocommit(db->handle) == 0)
		(void)budget_db_exec(db, "ROLLBACK");
	return result;
}

static enum result
budget_db_prepare(struct budget_db *db)
{
	int code = SQLITE_OK;
	unsigned i;

	for (i = 0; i < BUDGET_DB_STATEMENT_COUNT && code == SQLITE_OK; i++)
		code = sqlite3_prepare_v3(db->handle, budget_db_sql[i], -1,
		    SQLITE_PREPARE_PERSISTENT, &db->statements[i], NULL);
	return budget_db_result(code);
}

enum result
budget_db_open(struct budget_db *db, int dir_fd, const char *name,
    struct json_fault *fault)
{
	int persist = 1, flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
				 SQLITE_OPEN_PRIVATECACHE |
				 SQLITE_OPEN_EXRESCODE;
	char path[BUDGET_DB_PATH_MAX];
	enum result result;
	int code;

	memset(db, 0, sizeof(*db));
	result = budget_db_make(dir_fd, name, fault);
	if (result != RESULT_OK)
		return result;
	/* The folder's own path may not be readable to us. */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dir_fd, name);
	code = sqlite3_open_v2(path, &db->handle, flags, BUDGET_VFS_NAME);
	if (code == SQLITE_OK)
		code = sqlite3_file_control(
		    db->handle, NULL, SQLITE_FCNTL_PERSIST_WAL, &persist);
	if (code == SQLITE_OK) /* it is said at once, and who asks waits */
		code = sqlite3_busy_timeout(db->handle, 0);
	result = budget_db_result(code);
	if (result == RESULT_OK)
		result = budget_db_set_up(db, fault);
	if (result == RESULT_OK)
		result = budget_db_prepare(db);
	if (result != RESULT_OK) {
		json_field_fault(
		    fault, "%s: %s", name, sqlite3_errmsg(db->handle));
		budget_db_close(db);
	}
	return result;
}

void
budget_db_close(struct budget_db *db)
{
	unsigned i;

	for (i = 0; i < BUDGET_DB_STATEMENT_COUNT; i++)
		(void)sqlite3_finalize(db->statements[i]);
	(void)sqlite3_close(db->handle);
	memset(db, 0, sizeof(*db));
}

struct budget_query
budget_db_query(struct budget_db *db, enum budget_statement which)
{
	struct budget_query query = {db->statements[which], 0, 0, SQLITE_OK};

	return query;
}

void
budget_db_number(struct budget_query *query, int64_t value)
{
	if (query->code == SQLITE_OK)
		query->code =
		    sqlite3_bind_int64(query->statement, ++query->bound, value);
}

void
budget_db_text(struct budget_query *query, const char *text)
{
	if (query->code == SQLITE_OK)
		query->code = sqlite3_bind_text(
		    query->statement, ++query->bound, text, -1, SQLITE_STATIC);
}

enum result
budget_db_row(struct budget_query *query)
{
	if (query->code == SQLITE_OK)
		query->code = sqlite3_step(query->statement);
	query->read = 0;
	if (query->code == SQLITE_ROW) {
		query->code = SQLITE_OK;
		return RESULT_OK;
	}
	return query->code == SQLITE_DONE ? RESULT_NOT_FOUND
					  : budget_db_result(query->code);
}

void
budget_db_end(struct budget_query *query)
{
	/* Its code is that of the last step, which was looked at. */
	(void)sqlite3_reset(query->statement);
}

enum result
budget_db_run(struct budget_query *query)
{
	enum result result = budget_db_row(query);

	budget_db_end(query);
	if (result == RESULT_NOT_FOUND)
		return RESULT_OK;
	return result == RESULT_OK ? RESULT_INTERNAL : result;
}

int64_t
budget_db_read_number(struct budget_query *query)
{
	int column = query->read++;

	if (sqlite3_column_type(query->statement, column) != SQLITE_INTEGER)
		return -1;
	return sqlite3_column_int64(query->statement, column);
}

const char *
budget_db_read_text(struct budget_query *query)
{
	const unsigned char *text =
	    sqlite3_column_text(query->statement, query->read++);

	return text != NULL ? (const char *)text : "";
}
