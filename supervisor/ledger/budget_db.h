/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.db as a file and as statements: opening, schema, results. Used by
 * budget.c and budget_report.c only, which know what the rows mean.
 */
#ifndef SUPERVISOR_LEDGER_BUDGET_DB_H
#define SUPERVISOR_LEDGER_BUDGET_DB_H

#include <sqlite3.h>
#include <stdint.h>

#include "common/json_field.h"
#include "common/result.h"

#define BUDGET_DB_VERSION 2

/* The texts are in budget_db_sql.c. */
enum budget_statement {
	BUDGET_DB_BEGIN,
	BUDGET_DB_COMMIT,
	BUDGET_DB_RUN_NEW,     /* name, package */
	BUDGET_DB_RUN_FIND,    /* name -> id */
	BUDGET_DB_RUN_GET,     /* id -> open, amounts */
	BUDGET_DB_RUN_SET,     /* id, open, amounts */
	BUDGET_DB_RUN_DROP,    /* id */
	BUDGET_DB_RUNS,        /* after id -> id, package */
	BUDGET_DB_OPEN_AGENT,  /* package -> sum of open */
	BUDGET_DB_OPEN_HOST,   /* -> sum of open */
	BUDGET_DB_CHARGED_GET, /* day, package -> amounts */
	BUDGET_DB_CHARGED_SET, /* day, package, amounts */
	BUDGET_DB_CHARGED_NEW, /* the same, when there was no row to set */
	BUDGET_DB_CALL_NEW,    /* run, call, day, provider, model, amounts,
				* calls */
	BUDGET_DB_CALL_GET,    /* run, call -> all but these */
	BUDGET_DB_CALL_SET,    /* run, call, amounts, calls */
	BUDGET_DB_CALL_DROP,   /* run, call */
	BUDGET_DB_CALLS,       /* run -> as CALL_GET */
	BUDGET_DB_CALLS_DROP,  /* run */
	BUDGET_DB_USAGE_ADD,   /* day, package, provider, model, counts */
	BUDGET_DB_USAGE_NEW,   /* the same, when there was no row to add to */
	BUDGET_DB_USAGE_COUNT, /* day, package -> rows */
	BUDGET_DB_BY_DAY,      /* since day, limit, offset -> key, sums */
	BUDGET_DB_BY_AGENT,
	BUDGET_DB_BY_PROVIDER,
	BUDGET_DB_BY_MODEL,       /* -> model, sums, provider */
	BUDGET_DB_FORGET_CHARGED, /* before day */
	BUDGET_DB_FORGET_USAGE,   /* before day */
	BUDGET_DB_STATEMENT_COUNT
};

extern const char budget_db_schema[];
/* From version 1, where a row of call was one call. */
extern const char budget_db_upgrade[];
extern const char *const budget_db_sql[BUDGET_DB_STATEMENT_COUNT];

struct budget_db {
	sqlite3 *handle; /* NULL: not open */
	sqlite3_stmt *statements[BUDGET_DB_STATEMENT_COUNT];
};

/* One use of a statement: bind in order, then step, then read in order. */
struct budget_query {
	sqlite3_stmt *statement;
	int bound, read;
	int code; /* SQLITE_OK, or what went wrong while binding */
};

/* Open and bring up to BUDGET_DB_VERSION; results as budget_open. */
enum result budget_db_open(struct budget_db *db, int dir_fd, const char *name,
    struct json_fault *fault);
void budget_db_close(struct budget_db *db);

/* The file alone, 0600; also for rate.c. */
enum result budget_db_make(
    int dir_fd, const char *name, struct json_fault *fault);

/* What a code of SQLite means here. */
enum result budget_db_result(int code);

struct budget_query budget_db_query(
    struct budget_db *db, enum budget_statement which);
void budget_db_number(struct budget_query *query, int64_t value);
void budget_db_text(struct budget_query *query, const char *text);
/* RESULT_OK: there is a row; RESULT_NOT_FOUND: there is none (any more). */
enum result budget_db_row(struct budget_query *query);
/* A statement without rows, done at once. */
enum result budget_db_run(struct budget_query *query);
/* The next column; a number that is none is -1; a text is valid until the
 * query ends. */
int64_t budget_db_read_number(struct budget_query *query);
const char *budget_db_read_text(struct budget_query *query);
/* After the rows that were wanted. */
void budget_db_end(struct budget_query *query);

#endif
