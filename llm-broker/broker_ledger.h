/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pair to the ledger: reservations asked for, answered and settled.
 * Used by broker.c, and by calls through call_io_ledger.
 */
#ifndef LLM_BROKER_BROKER_LEDGER_H
#define LLM_BROKER_BROKER_LEDGER_H

#include <event2/event.h>
#include <sys/queue.h>

#include "common/result.h"
#include "llm-broker/call_data.h"
#include "llm-broker/ledger_share.h"

struct budget_pair;
struct broker_ledger_wait;
TAILQ_HEAD(broker_ledger_queue, broker_ledger_wait);

struct broker_ledger {
	struct budget_pair *pair; /* NULL: not there */
	/* When nothing else is to do, and the latest that it may be; NULL:
	 * there never was a pair. */
	struct event *flush, *latest;
	struct event *tidy; /* while something was settled or is left */
	struct ledger_shares shares;
	struct broker_ledger_queue waiting; /* oldest first */
	size_t waiting_count;
};

void broker_ledger_init(struct broker_ledger *ledger);
/* Takes fd. RESULT_EXISTS: there is one. */
enum result broker_ledger_open(
    struct broker_ledger *ledger, struct event_base *base, int fd);
void broker_ledger_close(struct broker_ledger *ledger);

/* RESULT_OK: RESERVED, REFUSED or BUDGET_LOST follows, never from inside;
 * RESULT_EXISTS: it was reserved ahead. alone: no other call can be on its
 * way. */
enum result broker_ledger_reserve(
    struct broker_ledger *ledger, struct call *call, bool alone);
/* No answer is wanted; a reservation that comes is settled with nothing. */
void broker_ledger_forget(struct broker_ledger *ledger, struct call *call);
void broker_ledger_settle(struct broker_ledger *ledger, struct call *call);

/* Nothing more is called: say what was used, and give the rest back. */
void broker_ledger_finish(struct broker_ledger *ledger);

#endif
