/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's side of the audit chain: starts agentnode-ledger, hands
 * it records, and says when one is on disk. An effect waits for its record.
 */
#ifndef SUPERVISOR_POLICY_AUDIT_H
#define SUPERVISOR_POLICY_AUDIT_H

#include <event2/event.h>
#include <jansson.h>

#include "common/json_field.h"
#include "common/result.h"

struct audit; /* opaque */

/* result RESULT_OK, or why not: RESULT_MISMATCH (the chain was tampered
 * with), RESULT_SYSTEM (disk), RESULT_TIMEOUT (another ledger keeps the
 * lock), RESULT_BAD (the record), RESULT_CLOSED (the ledger died); detail
 * is a sentence, valid during the call. The audit may be freed inside. */
typedef void audit_done(enum result result, const char *detail, void *context);

/* Start the ledger process over AGENTNODE_HOME. ready (may be NULL) is
 * called once when it is confined and the chain's end is known, or failed.
 * After a failure of this call itself the fault says why, always. */
enum result audit_start(struct event_base *base, const char *home,
    audit_done *ready, void *context, struct audit **audit_r,
    struct json_fault *fault);

/* The same in two steps, for who has something to start before the ledger:
 * what is handed to audit_new's audit waits for ready as ever. After a
 * failure of audit_begin it is only good for audit_free. */
enum result audit_new(struct event_base *base, audit_done *ready, void *context,
    struct audit **audit_r);
enum result audit_begin(
    struct audit *audit, const char *home, struct json_fault *fault);

/* Called once if the ledger dies later: everything must end. Several may
 * listen, each with a context of its own; ended NULL: that one no more. */
void audit_on_end(struct audit *audit, audit_done *ended, void *context);

/* Append a record: event is one of the documented names (launch, refusal,
 * removal, ...); fields is borrowed; ts, seq, prev and hash are added by
 * the ledger. done comes when it is synced or failed; never before this
 * returns; may be NULL. Only between ready and end (RESULT_REFUSED); at
 * most 256 may wait (RESULT_TOO_LONG). */
enum result audit_submit(struct audit *audit, const char *event,
    const json_t *fields, audit_done *done, void *context);

/* The budgets of a run (supervisor/ledger/budget.h): limits as there,
 * broker_fd the ledger's end of its pair to the broker; borrowed. done comes
 * when they are in force, or why not. */
enum result audit_budget_open(struct audit *audit, const char *run,
    const char *package, const json_t *limits, int broker_fd, audit_done *done,
    void *context);
/* The run is over: what it reserved and did not use is settled. */
enum result audit_budget_close(
    struct audit *audit, const char *run, audit_done *done, void *context);

/* Count calls of a package: RESULT_OK, they are counted; RESULT_REFUSED, it
 * had its share and detail says when there is room again; anything else, it
 * is not known and none may be made. */
struct audit_rate {
	int64_t count, second, minute, hour;
	int64_t wait_ms; /* for room, at most; 0 to 5000 */
};
enum result audit_rate_take(struct audit *audit, const char *package,
    const struct audit_rate *rate, audit_done *done, void *context);

/* Called when the ledger closed a run's pair because its broker said what it
 * must not: RESULT_BAD, and a detail that names the run. */
void audit_on_budget_lost(struct audit *audit, audit_done *lost, void *context);

/* Wait for ready and ask what was used: {"since_day":N,"by":"model",
 * "offset":N} (docs/protocol.md, `stats`). Caller owns the rows. Only
 * outside of callbacks. */
enum result audit_usage(struct audit *audit, const json_t *query,
    json_t **rows_r, char *detail_r, size_t detail_size);

/* The answers to records submitted with this context are not wanted any
 * more: it is about to be freed. */
void audit_forget(struct audit *audit, const void *context);

/* Wait for ready, submit and run the loop until done (only outside of
 * callbacks). */
enum result audit_write(
    struct audit *audit, const char *event, const json_t *fields);

/* Nothing will be submitted any more, and all answers came: the ledger is
 * ended, so that audit_free need not wait long. */
void audit_over(struct audit *audit);
/* Ends the ledger at once: a record without an answer may be on disk or
 * not. Accepts NULL, clears. */
void audit_free(struct audit **audit);

#endif
