/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of packages in rate.db (SQLite, WAL), so that every process of this
 * user counts with all others: sliding windows of a second, a minute and an
 * hour per package. A call is taken and committed, or refused and not
 * counted. No libevent in here; used by ledger_rate.c and tests.
 *
 * Times are of the wall clock, read inside the transaction: a clock that is
 * set back makes later calls count as made now, never as gone.
 */
#ifndef SUPERVISOR_LEDGER_RATE_H
#define SUPERVISOR_LEDGER_RATE_H

#include <stdint.h>

#include "common/json_field.h"
#include "common/result.h"

#define RATE_FILE "rate.db"
#define RATE_COUNT_MAX 64      /* calls taken at once */
#define RATE_LIMIT_MAX 1000000 /* calls of one window */
#define RATE_WINDOWS 3

struct rate; /* the open database */

/* Calls in a second, a minute, an hour; each 1 to RATE_LIMIT_MAX. */
struct rate_limits {
	int64_t most[RATE_WINDOWS];
};

struct rate_refusal {
	unsigned window;  /* 0 second, 1 minute, 2 hour */
	int64_t most;     /* of that window */
	int64_t retry_ms; /* 0: never, so many at once are too many */
};

/* After budget_prepare. dir_fd as budget_open has it; results too. */
enum result rate_open(
    int dir_fd, struct rate **rate_r, struct json_fault *fault);
void rate_free(struct rate **rate);

/* All count calls, or none. RESULT_OK: they are counted, committed.
 * RESULT_REFUSED: *refusal_r says why. RESULT_NEED_MORE: another ledger is
 * writing, try again. Anything else: nothing happened. */
enum result rate_take(struct rate *rate, const char *package, int64_t count,
    const struct rate_limits *limits, struct rate_refusal *refusal_r);

/* "second", "minute", "hour". */
const char *rate_window_text(unsigned window);
/* What SQLite said last, for the log. */
const char *rate_detail(const struct rate *rate);

#ifdef RATE_INTERNAL
/* The clock in ms; NULL: the wall clock's. */
void rate_set_clock(int64_t (*now)(void));
#endif

#endif
