/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reservations for several calls, of which each takes one: of one provider
 * and model, each of the same amounts. An agent that makes many calls does
 * not ask the ledger for each of them, and what they used is told for several
 * at once. Used by broker_ledger.c, which talks to the ledger. No socket, no
 * clock of its own.
 *
 * Every call that goes out has been reserved on disk before. What is reserved
 * ahead and not used is told before long (ledger_share_tidy); if this process
 * is killed before, it stays charged.
 */
#ifndef LLM_BROKER_LEDGER_SHARE_H
#define LLM_BROKER_LEDGER_SHARE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "llm-broker/call_data.h"
#include "supervisor/ledger/budget_wire.h"

#define LEDGER_SHARE_MAX 8U        /* that calls may take from, at one time */
#define LEDGER_SHARE_WINDOW_MS 20U /* in which calls are counted */
#define LEDGER_SHARE_LEAST 4U      /* calls of a window that are many */

struct ledger_share {
	TAILQ_ENTRY(ledger_share) link;
	uint64_t number; /* of the reservation */
	const struct provider *provider;
	char model[GRANT_MODEL_MAX + 1];
	int64_t most[BUDGET_WIRE_AMOUNTS]; /* of each call */
	unsigned left; /* ASKED: hoped for, by calls that wait for it */
	unsigned open; /* calls that took one and are not over */
	bool is_asked; /* the answer is due */
	bool is_used;  /* since it was looked at */
	struct budget_wire_ask done; /* that is to be told */
};

TAILQ_HEAD(ledger_share_queue, ledger_share);

struct ledger_shares {
	struct ledger_share_queue fresh; /* asked for, or something is left */
	struct ledger_share_queue spent;
	unsigned fresh_count;
	/* how many calls come */
	uint64_t window_ms;
	unsigned now, before; /* in this window; in the one before */
};

/* Tell the ledger. False: it is not there. */
typedef bool ledger_share_put(const struct budget_wire_ask *ask, void *context);

void ledger_share_init(struct ledger_shares *shares);
/* The ledger is gone: nothing is left, nobody is told. */
void ledger_share_lose(struct ledger_shares *shares);

/* A call comes. How many like it are likely to: as many as came lately, 0
 * when these were few. */
unsigned ledger_share_pace(struct ledger_shares *shares, uint64_t now_ms);

/* What this record asks for, with calls > 1, is to be shared. NULL: no
 * memory, or there are enough; then ask for one. */
struct ledger_share *ledger_share_new(struct ledger_shares *shares,
    const struct call *call, const struct budget_wire_ask *ask);
/* One that has room for this call, asked for or not; NULL: none. */
struct ledger_share *ledger_share_find(struct ledger_shares *shares,
    const struct call *call, const struct budget_wire_ask *ask, bool is_asked);
/* The one with this number that is asked for or has something left. */
struct ledger_share *ledger_share_numbered(
    struct ledger_shares *shares, uint64_t number);

/* A call waits for it, and hopes for one of what it asks ahead. */
void ledger_share_join(struct ledger_share *share);
/* The answer: for so many calls. 0: refused, and it is gone. */
void ledger_share_answered(
    struct ledger_shares *shares, struct ledger_share *share, unsigned calls);
/* A call takes one of what is left, which is not nothing. */
void ledger_share_take(struct ledger_shares *shares, struct ledger_share *share,
    struct call *call);
/* A call that took one is over, with this record. */
void ledger_share_settle(struct ledger_shares *shares, struct call *call,
    const struct budget_wire_ask *ask);

/* Tell what was settled. */
void ledger_share_tell(
    struct ledger_shares *shares, ledger_share_put *put, void *context);
/* The same, and what nobody used since the last time (all: what is left) is
 * given back. True: something is left. */
bool ledger_share_tidy(struct ledger_shares *shares, bool all,
    ledger_share_put *put, void *context);

#endif
