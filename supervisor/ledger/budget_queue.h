/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs that wait for usage.db, and their batches: what arrives in one
 * turn of the loop is one transaction. While another ledger writes, it tries
 * again after a pause, until a deadline. Used by ledger_budget.c.
 */
#ifndef SUPERVISOR_LEDGER_BUDGET_QUEUE_H
#define SUPERVISOR_LEDGER_BUDGET_QUEUE_H

#include <event2/event.h>

#include "common/ipc.h"
#include "common/result.h"
#include "supervisor/ledger/budget_job.h"

#define BUDGET_QUEUE_MAX 1024U
#define BUDGET_QUEUE_BATCH 128U /* jobs of one transaction */
#define BUDGET_QUEUE_TIMEOUT_MS 2000U

struct budget_queue; /* opaque */

/* One job is done, or failed: its result says so; detail is what the
 * database said. The job is cleared afterwards. May add jobs. */
typedef void budget_queue_done(
    struct budget_job *job, const char *detail, void *context);

/* The jobs of one batch are done: answers can go. */
typedef void budget_queue_pause(void *context);

/* usage.db in dir_fd (borrowed) is opened with the first job. */
enum result budget_queue_new(struct event_base *base, int dir_fd,
    budget_queue_done *done, budget_queue_pause *pause, void *context,
    struct budget_queue **queue_r);
/* One try for what still waits, before the end. */
void budget_queue_finish(struct budget_queue *queue);
void budget_queue_free(struct budget_queue **queue);

/* At the end of the queue; message (may be NULL) gives id and body, which
 * is shared. NULL: the queue is full. */
struct budget_job *budget_queue_add(struct budget_queue *queue,
    enum budget_job_kind kind, struct ipc_message *message);
/* The job that was added last is none. */
void budget_queue_take_back(struct budget_queue *queue);

#endif
