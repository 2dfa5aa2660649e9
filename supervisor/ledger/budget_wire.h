/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a broker and the ledger say to each other on their own pair: records
 * of a fixed size in host byte order (both are of one build on one machine),
 * as many in one datagram as there are to say. Two of them stand in the way
 * of every call, so they are no messages of the catalogue. The ledger takes
 * a broker's record for foreign bytes: budget_wire_fault judges each. Pure.
 *
 *   broker: RESERVE -> ledger: RESERVED or REFUSED -> broker: SETTLE
 * A settlement has no answer. Who says what does not belong loses the pair.
 * A broker that makes many calls may reserve for some like this one ahead,
 * and settles them as they end, several in one record.
 */
#ifndef SUPERVISOR_LEDGER_BUDGET_WIRE_H
#define SUPERVISOR_LEDGER_BUDGET_WIRE_H

#include <stdint.h>

#define BUDGET_WIRE_MAGIC 0x414e4231U /* "ANB1" */
#define BUDGET_WIRE_BATCH 64U         /* records of one datagram */
#define BUDGET_WIRE_AMOUNTS 5U        /* enum budget_amount's order */
#define BUDGET_WIRE_PROVIDER_MAX 64U  /* bytes, without the NUL */
#define BUDGET_WIRE_MODEL_MAX 200U
#define BUDGET_WIRE_CALLS_MAX 64U /* of one reservation */

enum budget_wire_kind {
	BUDGET_WIRE_RESERVE = 1, /* the most that a call can use */
	BUDGET_WIRE_SETTLE,      /* what it used */
	BUDGET_WIRE_RESERVED,
	BUDGET_WIRE_REFUSED
};

/* Broker to ledger. call: the broker's number for it, not 0, unique while it
 * is open. amounts: 0 to BUDGET_AMOUNT_MAX a call, cost also
 * BUDGET_UNKNOWN_COST. RESERVE: of each call, at least one request. SETTLE:
 * of `calls` together; an unknown cost keeps what was reserved for them.
 * Whose budget follows from the pair. */
struct budget_wire_ask {
	uint32_t magic, kind;
	uint64_t call;
	int64_t amounts[BUDGET_WIRE_AMOUNTS];
	/* RESERVE: 1, and how many ahead; SETTLE: that were made, and that
	 * will not be */
	uint32_t calls, unused;
	uint32_t served, estimated; /* SETTLE: at most calls */
	/* RESERVE: UTF-8, not empty, filled up with NUL */
	char provider[BUDGET_WIRE_PROVIDER_MAX + 8];
	char model[BUDGET_WIRE_MODEL_MAX + 8];
};

/* Ledger to broker; scope to retry_after_s: REFUSED. */
struct budget_wire_answer {
	uint32_t magic, kind;
	uint64_t call;
	char scope[16], amount[24]; /* texts of struct budget_refusal */
	int64_t limit, used, retry_after_s;
	uint64_t calls; /* RESERVED: for how many, 1 to what was asked */
};

/* What is wrong with a record, as a sentence; NULL: nothing. */
const char *budget_wire_fault(const struct budget_wire_ask *ask);
const char *budget_wire_answer_fault(const struct budget_wire_answer *answer);

#endif
