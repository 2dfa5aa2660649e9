/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a ledger has to do in usage.db, one job per message, and how a batch
 * of them is done: all in one transaction, or none. Used by ledger_budget.c,
 * which knows who is to be told.
 */
#ifndef SUPERVISOR_LEDGER_BUDGET_JOB_H
#define SUPERVISOR_LEDGER_BUDGET_JOB_H

#include <jansson.h>
#include <stdint.h>

#include "supervisor/ledger/budget.h"
#include "supervisor/ledger/budget_wire.h"

enum budget_job_kind {
	BUDGET_JOB_OPEN,  /* a run */
	BUDGET_JOB_CLOSE, /* a run */
	BUDGET_JOB_RESERVE,
	BUDGET_JOB_SETTLE,
	BUDGET_JOB_REPORT
};

struct budget_job {
	enum budget_job_kind kind;
	uint64_t id;                /* of the message; 0: nobody waits */
	void *owner;                /* ledger_budget.c's pair */
	struct budget_run **run;    /* the pair's; *run NULL: it has none */
	json_t *body;               /* owned: of the supervisor's message */
	struct budget_wire_ask ask; /* RESERVE and SETTLE: the broker's */
	struct budget_amounts amounts;
	struct budget_limits limits;
	struct budget_report_query query;
	/* afterwards */
	enum result result;
	uint64_t calls; /* RESERVE: how many it is for */
	struct budget_refusal refusal;
	json_t *rows; /* owned */
};

/* A broker's record, judged already. */
void budget_job_take(struct budget_job *job, const struct budget_wire_ask *ask);
/* Read the body of a message; the fault says what is wrong with it. */
void budget_job_read(struct budget_job *job, struct json_fault *fault);

/* RESULT_OK: committed, each job has its own result. RESULT_NEED_MORE:
 * another ledger writes, nothing was done. Else nothing was done, and every
 * job has that result. */
enum result budget_job_batch(struct budget *budget, int64_t now_s,
    struct budget_job **jobs, size_t count);

void budget_job_clear(struct budget_job *job);

#endif
