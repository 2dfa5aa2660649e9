/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Budgets in usage.db (SQLite, WAL): what is charged per run, per agent and
 * UTC day, per host and UTC day. A reservation charges the most a call can
 * use, if that fits every scope together with what others reserved; settling
 * replaces it by what was used. Right under concurrent calls and several
 * ledger processes: all of it happens between budget_begin (BEGIN IMMEDIATE)
 * and budget_commit. No libevent in here; used by ledger_budget.c and tests.
 *
 * A run is alive as long as its ledger holds a byte of usage.lock; the kernel
 * lets go of it however the ledger ends. What a dead run left reserved stays
 * charged, as if it had been used, and stops counting as open.
 */
#ifndef SUPERVISOR_LEDGER_BUDGET_H
#define SUPERVISOR_LEDGER_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/ledger/budget_fit.h"
#include "supervisor/ledger/budget_limits.h"

#define BUDGET_FILE "usage.db"
#define BUDGET_LOCK_FILE "usage.lock"
#define BUDGET_OPEN_MAX 4096 /* calls of one run at one time */

struct budget;     /* the open database */
struct budget_run; /* a living run in it */

/* Once, before confinement: what SQLite reads or allocates lazily. */
enum result budget_prepare(void);

/* dir_fd: the ledger's folder, which stays open as long (borrowed); made
 * 0600 if missing. RESULT_MISMATCH: corrupt, or of another version;
 * RESULT_SYSTEM: cannot be read or written; RESULT_NEED_MORE: another
 * ledger is writing, try again (it never waits). */
enum result budget_open(
    int dir_fd, struct budget **budget_r, struct json_fault *fault);
/* Another connection in the place of this one, which had a fault; its runs
 * stay alive. As budget_open; after a fault nothing but this or budget_free
 * is called. */
enum result budget_renew(
    struct budget *budget, int dir_fd, struct json_fault *fault);
/* Runs that are still open are left as dead ones. */
void budget_free(struct budget **budget);

/* now_s: seconds since 1970, UTC; it says which day it is. RESULT_NEED_MORE:
 * another ledger is writing, try again. After anything but RESULT_OK of a
 * call in between (RESULT_REFUSED, RESULT_EXISTS and RESULT_NOT_FOUND are
 * answers), and of the commit, nothing since begin has happened. */
enum result budget_begin(struct budget *budget, int64_t now_s);
enum result budget_commit(struct budget *budget);
void budget_abort(struct budget *budget);
/* What SQLite said last, for the log. */
const char *budget_detail(const struct budget *budget);

/* A run begins; what dead runs left is settled first. RESULT_EXISTS: there
 * is a living run of that name. After a failed commit: budget_run_free. */
enum result budget_run_open(struct budget *budget, const char *name,
    const char *package, const struct budget_limits *limits,
    struct budget_run **run_r);
/* It ended: what it still has reserved counts as used. Then, committed:
 * budget_run_free. */
enum result budget_run_close(struct budget *budget, struct budget_run *run);
void budget_run_free(struct budget_run **run);

/* What a call, and calls ahead that are like it, can use. */
struct budget_wish {
	int64_t call; /* the caller's number for it, unique while it is open */
	const char *provider, *model;
	struct budget_amounts most; /* of each */
	int64_t calls; /* 1, and how many ahead; afterwards: that were taken */
};
/* RESULT_EXISTS: this number is open. RESULT_REFUSED: *refusal_r says why
 * not even the one fits, nothing is changed. */
enum result budget_reserve(struct budget *budget, const struct budget_run *run,
    struct budget_wish *wish, struct budget_refusal *refusal_r);

/* Calls of one reservation that are over. */
struct budget_done {
	int64_t call, calls; /* its number; how many were made */
	int64_t unused;      /* that will not be */
	int64_t served, estimated;
	struct budget_amounts used; /* by all of them */
};
/* RESULT_NOT_FOUND: no so many calls of this number are open. A cost that is
 * unknown now keeps what was reserved for it. */
enum result budget_settle(struct budget *budget, const struct budget_run *run,
    const struct budget_done *done);

/* Sums of what was used since a day, by one column. */
enum budget_report_by {
	BUDGET_BY_DAY,
	BUDGET_BY_AGENT,
	BUDGET_BY_PROVIDER,
	BUDGET_BY_MODEL
};
#define BUDGET_REPORT_ROWS 32 /* of one answer */
struct budget_report_query {
	int64_t since_day; /* since 1970-01-01 */
	enum budget_report_by by;
	int64_t offset; /* rows to leave out */
};
/* Caller owns the list: {"key":text or day, "provider"?:text, "calls",
 * "served", "estimated", "unpriced" and the amounts}. */
enum result budget_report(struct budget *budget,
    const struct budget_report_query *query, json_t **rows_r);

#ifdef BUDGET_INTERNAL
struct sqlite3;
struct sqlite3 *budget_handle_borrow(struct budget *budget);
#endif

#endif
