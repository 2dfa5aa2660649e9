/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sliding windows in rate.db. Called by ledger_rate.c. It must never say
 * that a call may be made before its row is committed.
 */
#define RATE_INTERNAL
#include "supervisor/ledger/rate.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "supervisor/ledger/budget_db.h"
#include "supervisor/ledger/budget_vfs.h"

#define RATE_PATH_MAX 64U
#define RATE_FORGET_TURNS 1000U /* takes between two looks at all packages */
#define RATE_WINDOW_MS_MAX 3600000

enum rate_statement {
	RATE_BEGIN,
	RATE_COMMIT,
	RATE_ROLLBACK,
	RATE_CLAMP,  /* package, now */
	RATE_FORGET, /* package, until */
	RATE_ALL,    /* until */
	RATE_COUNT,  /* package, since -> calls */
	RATE_NTH,    /* package, since, index -> time */
	RATE_ADD,    /* package, now */
	RATE_STATEMENT_COUNT
};

static const char *const rate_sql[RATE_STATEMENT_COUNT] = {
    [RATE_BEGIN] = "BEGIN IMMEDIATE",
    [RATE_COMMIT] = "COMMIT",
    [RATE_ROLLBACK] = "ROLLBACK",
    [RATE_CLAMP] = "UPDATE call SET at = ?2 WHERE package = ?1 AND at > ?2",
    [RATE_FORGET] = "DELETE FROM call WHERE package = ?1 AND at <= ?2",
    [RATE_ALL] = "DELETE FROM call WHERE at <= ?1",
    [RATE_COUNT] = "SELECT count(*) FROM call WHERE package = ?1 AND at > ?2",
    [RATE_NTH] = ("SELECT at FROM call WHERE package = ?1 AND at > ?2"
		  " ORDER BY at LIMIT 1 OFFSET ?3"),
    [RATE_ADD] = "INSERT INTO call(package, at) VALUES(?1, ?2)",
};

/* A process that is killed loses nothing that was committed; only a machine
 * that loses power may forget the last calls. */
static const char rate_settings[] =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
    "PRAGMA wal_autocheckpoint = 1000; PRAGMA journal_size_limit = 4194304;"
    "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
    "PRAGMA cache_spill = OFF; PRAGMA temp_store = MEMORY;";

static const char rate_schema[] =
    "CREATE TABLE IF NOT EXISTS call(id INTEGER PRIMARY KEY,"
    " package TEXT NOT NULL, at INTEGER NOT NULL);"
    "CREATE INDEX IF NOT EXISTS call_at ON call(package, at);";

static const int64_t rate_windows[RATE_WINDOWS] = {
    1000, 60000, RATE_WINDOW_MS_MAX};

struct rate {
	sqlite3 *handle;
	sqlite3_stmt *statements[RATE_STATEMENT_COUNT];
	unsigned turns;
};

static int64_t
rate_wall_clock(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		return 0;
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t (*rate_clock)(void) = rate_wall_clock;

void
rate_set_clock(int64_t (*now)(void))
{
	rate_clock = now != NULL ? now : rate_wall_clock;
}

const char *
rate_window_text(unsigned window)
{
	static const char *const texts[RATE_WINDOWS] = {
	    "second", "minute", "hour"};

	return window < RATE_WINDOWS ? texts[window] : "";
}

const char *
rate_detail(const struct rate *rate)
{
	return sqlite3_errmsg(rate->handle);
}

/* --- opening ------------------------------------------------------------ */

static enum result
rate_prepare(struct rate *rate)
{
	int code = sqlite3_exec(rate->handle, rate_settings, NULL, NULL, NULL);

	if (code == SQLITE_OK)
		code =
		    sqlite3_exec(rate->handle, rate_schema, NULL, NULL, NULL);
	for (unsigned i = 0; i < RATE_STATEMENT_COUNT && code == SQLITE_OK; i++)
		code = sqlite3_prepare_v3(rate->handle, rate_sql[i], -1,
		    SQLITE_PREPARE_PERSISTENT, &rate->statements[i], NULL);
	return budget_db_result(code);
}

enum result
rate_open(int dir_fd, struct rate **rate_r, struct json_fault *fault)
{
	int persist = 1, flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
				 SQLITE_OPEN_PRIVATECACHE |
				 SQLITE_OPEN_EXRESCODE;
	struct rate *rate = calloc(1, sizeof(*rate));
	char path[RATE_PATH_MAX];
	enum result result;
	int code;

	*rate_r = NULL;
	if (rate == NULL)
		return RESULT_NO_MEMORY;
	result = budget_db_make(dir_fd, RATE_FILE, fault);
	(void)snprintf(
	    path, sizeof(path), "/proc/self/fd/%d/" RATE_FILE, dir_fd);
	if (result == RESULT_OK) {
		code = sqlite3_open_v2(
		    path, &rate->handle, flags, BUDGET_VFS_NAME);
		if (code == SQLITE_OK)
			code = sqlite3_file_control(rate->handle, NULL,
			    SQLITE_FCNTL_PERSIST_WAL, &persist);
		if (code == SQLITE_OK)
			code = sqlite3_busy_timeout(rate->handle, 0);
		result = budget_db_result(code);
	}
	if (result == RESULT_OK)
		result = rate_prepare(rate);
	if (result != RESULT_OK) {
		json_field_fault(
		    fault, RATE_FILE ": %s", sqlite3_errmsg(rate->handle));
		rate_free(&rate);
		return result;
	}
	*rate_r = rate;
	return RESULT_OK;
}

void
rate_free(struct rate **rate)
{
	if (*rate == NULL)
		return;
	for (unsigned i = 0; i < RATE_STATEMENT_COUNT; i++)
		(void)sqlite3_finalize((*rate)->statements[i]);
	(void)sqlite3_close((*rate)->handle);
	free(*rate);
	*rate = NULL;
}

/* --- statements --------------------------------------------------------- */

/* package NULL: it has none. *value_r (may be NULL): of the first row. */
static enum result
rate_run(struct rate *rate, enum rate_statement which, const char *package,
    const int64_t *numbers, int count, int64_t *value_r)
{
	sqlite3_stmt *statement = rate->statements[which];
	int code = SQLITE_OK, at = 0;

	if (package != NULL)
		code = sqlite3_bind_text(
		    statement, ++at, package, -1, SQLITE_STATIC);
	for (int i = 0; i < count && code == SQLITE_OK; i++)
		code = sqlite3_bind_int64(statement, ++at, numbers[i]);
	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	if (code == SQLITE_ROW && value_r != NULL)
		*value_r = sqlite3_column_int64(statement, 0);
	else if (code == SQLITE_DONE && value_r != NULL)
		code = SQLITE_CORRUPT; /* a row was to be there */
	(void)sqlite3_reset(statement);
	return budget_db_result(code);
}

static enum result
rate_plain(struct rate *rate, enum rate_statement which)
{
	return rate_run(rate, which, NULL, NULL, 0, NULL);
}

/* --- taking ------------------------------------------------------------- */

/* When the window has room for count more; it has none now. */
static enum result
rate_refuse(struct rate *rate, const char *package, int64_t now, int64_t used,
    int64_t count, struct rate_refusal *refusal)
{
	int64_t window = rate_windows[refusal->window], at = 0;
	int64_t numbers[2] = {now - window, used + count - refusal->most - 1};
	enum result result;

	refusal->retry_ms = 0;
	if (count > refusal->most)
		return RESULT_REFUSED;
	result = rate_run(rate, RATE_NTH, package, numbers, 2, &at);
	if (result != RESULT_OK)
		return result;
	refusal->retry_ms = at + window - now;
	return RESULT_REFUSED;
}

static enum result
rate_fits(struct rate *rate, const char *package, int64_t now, int64_t count,
    const struct rate_limits *limits, struct rate_refusal *refusal)
{
	for (unsigned i = RATE_WINDOWS; i-- > 0;) {
		int64_t since = now - rate_windows[i], used = 0;
		enum result result =
		    rate_run(rate, RATE_COUNT, package, &since, 1, &used);

		if (result != RESULT_OK)
			return result;
		refusal->window = i;
		refusal->most = limits->most[i];
		if (used + count > limits->most[i])
			return rate_refuse(
			    rate, package, now, used, count, refusal);
	}
	return RESULT_OK;
}

static enum result
rate_forget(struct rate *rate, const char *package, int64_t now)
{
	int64_t until = now - RATE_WINDOW_MS_MAX;
	enum result result = rate_run(rate, RATE_CLAMP, package, &now, 1, NULL);

	if (result == RESULT_OK)
		result = rate_run(rate, RATE_FORGET, package, &until, 1, NULL);
	if (result == RESULT_OK && rate->turns++ % RATE_FORGET_TURNS == 0)
		result = rate_run(rate, RATE_ALL, NULL, &until, 1, NULL);
	return result;
}

enum result
rate_take(struct rate *rate, const char *package, int64_t count,
    const struct rate_limits *limits, struct rate_refusal *refusal_r)
{
	enum result result = rate_plain(rate, RATE_BEGIN), ended;
	int64_t now;

	if (result != RESULT_OK)
		return result;
	now = rate_clock();
	result = rate_forget(rate, package, now);
	if (result == RESULT_OK)
		result =
		    rate_fits(rate, package, now, count, limits, refusal_r);
	for (int64_t i = 0; i < count && result == RESULT_OK; i++)
		result = rate_run(rate, RATE_ADD, package, &now, 1, NULL);
	/* What was forgotten stays forgotten when it is refused. */
	if (result == RESULT_OK || result == RESULT_REFUSED) {
		ended = rate_plain(rate, RATE_COMMIT);
		if (ended != RESULT_OK)
			result = ended;
	}
	if (sqlite3_get_autocommit(rate->handle) == 0)
		(void)rate_plain(rate, RATE_ROLLBACK);
	/* The lock was had: nothing was taken, and trying again is no use. */
	return result == RESULT_NEED_MORE ? RESULT_SYSTEM : result;
}
