/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One end of the pair between a broker and the ledger: records of a fixed
 * size (budget_wire.h), several in one datagram. What is put is sent with
 * the next flush, or when a datagram is full; what the socket does not take
 * is kept, within a bound. Used by ledger_budget.c and llm-broker's
 * broker_ledger.c. It knows no record.
 */
#ifndef SUPERVISOR_LEDGER_BUDGET_PAIR_H
#define SUPERVISOR_LEDGER_BUDGET_PAIR_H

#include <event2/event.h>
#include <stddef.h>

#include "common/result.h"

struct budget_pair; /* opaque */

struct budget_pair_sizes {
	size_t in, out; /* bytes of a record that comes, that goes */
};

/* Either may free the pair. */
struct budget_pair_handlers {
	void (*on_record)(const void *record, void *context);
	/* The datagram's last record was told: answers can go. */
	void (*on_pause)(void *context);
	/* Once; nothing is told afterwards. RESULT_EOF, RESULT_BAD (not
	 * whole records), RESULT_SYSTEM; detail: a sentence. */
	void (*on_end)(enum result why, const char *detail, void *context);
};

/* Takes fd; reads from the loop until budget_pair_free. */
enum result budget_pair_new(struct event_base *base, int fd,
    const struct budget_pair_sizes *sizes,
    const struct budget_pair_handlers *handlers, void *context,
    struct budget_pair **pair_r);
/* What was put and can be sent at once, is. */
void budget_pair_free(struct budget_pair **pair);

/* RESULT_TOO_LONG: the other side does not read. RESULT_CLOSED: it left;
 * the end will be told. */
enum result budget_pair_put(struct budget_pair *pair, const void *record);
enum result budget_pair_flush(struct budget_pair *pair);

#endif
