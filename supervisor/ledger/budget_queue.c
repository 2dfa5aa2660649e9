/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring of jobs and the event that does them. Called by ledger_budget.c and
 * the loop. It must never wait inside a callback, nor do an unbounded number
 * of jobs in one turn: audit records share the loop.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/event_loop.h"
#include "common/log.h"
#include "supervisor/ledger/budget_lock.h"
#include "supervisor/ledger/budget_queue.h"

#define BUDGET_QUEUE_PAUSE_MS 1U

struct budget_queue {
	int dir_fd;
	budget_queue_done *done;
	budget_queue_pause *pause;
	void *context;
	struct budget *file;   /* NULL: not open yet */
	struct event *batch;   /* the next try */
	bool is_due, is_stale; /* file is to be opened anew */
	unsigned losses;       /* budget_lock's, when it was opened */
	uint64_t deadline_ms;
	struct budget_job ring[BUDGET_QUEUE_MAX];
	size_t first, count;
};

static struct budget_job *
budget_queue_at(struct budget_queue *queue, size_t index)
{
	return &queue->ring[(queue->first + index) % BUDGET_QUEUE_MAX];
}

static void
budget_queue_arm(struct budget_queue *queue)
{
	queue->deadline_ms = event_loop_now_ms() + BUDGET_QUEUE_TIMEOUT_MS;
	event_active(queue->batch, EV_TIMEOUT, 0);
}

/* Take each out of the ring first: an answer may add to it. */
static void
budget_queue_answer(
    struct budget_queue *queue, size_t count, const char *detail)
{
	struct budget_job job;
	size_t i;

	for (i = 0; i < count; i++) {
		job = *budget_queue_at(queue, 0);
		queue->first = (queue->first + 1) % BUDGET_QUEUE_MAX;
		queue->count--;
		queue->done(&job, detail, queue->context);
		budget_job_clear(&job);
	}
	queue->pause(queue->context);
}

static enum result
budget_queue_open(struct budget_queue *queue, struct json_fault *fault)
{
	enum result result = RESULT_OK;

	if (queue->file != NULL && !queue->is_stale)
		return RESULT_OK;
	queue->losses = budget_lock_losses();
	result = queue->file != NULL
		     ? budget_renew(queue->file, queue->dir_fd, fault)
		     : budget_open(queue->dir_fd, &queue->file, fault);
	queue->is_stale = queue->file != NULL && result != RESULT_OK;
	return result;
}

/* After a fault this connection may wait for a lock of its own; another one
 * has none. When that fails too, the next batch tries again. */
static void
budget_queue_look(struct budget_queue *queue, enum result result)
{
	struct json_fault fault = {""};

	if (queue->file == NULL)
		return;
	queue->is_stale |=
	    result == RESULT_SYSTEM || queue->losses != budget_lock_losses();
	(void)budget_queue_open(queue, &fault);
}

/* True: nothing was done, another ledger writes. */
static bool
budget_queue_try(struct budget_queue *queue, bool is_last)
{
	size_t i, count = queue->count < BUDGET_QUEUE_BATCH
			      ? queue->count
			      : BUDGET_QUEUE_BATCH;
	struct budget_job *jobs[BUDGET_QUEUE_BATCH];
	struct json_fault fault = {""};
	struct timespec now = {0, 0};
	enum result result = budget_queue_open(queue, &fault);

	for (i = 0; i < count; i++)
		jobs[i] = budget_queue_at(queue, i);
	if (result == RESULT_OK && clock_gettime(CLOCK_REALTIME, &now) != 0)
		result = RESULT_SYSTEM;
	if (result == RESULT_OK)
		result = budget_job_batch(queue->file, now.tv_sec, jobs, count);
	else
		for (i = 0; i < count; i++)
			jobs[i]->result = result;
	if (result == RESULT_NEED_MORE && !is_last &&
	    event_loop_now_ms() < queue->deadline_ms)
		return true;
	if (result != RESULT_OK && queue->file != NULL && !queue->is_stale)
		json_field_fault(
		    &fault, BUDGET_FILE ": %s", budget_detail(queue->file));
	budget_queue_look(queue, result);
	budget_queue_answer(queue, count, fault.text);
	return false;
}

static void
budget_queue_on_batch(evutil_socket_t fd, short what, void *context)
{
	struct timeval pause = event_loop_timeval(BUDGET_QUEUE_PAUSE_MS);
	struct budget_queue *queue = context;

	(void)fd;
	(void)what;
	if (queue->count > 0 && budget_queue_try(queue, false)) {
		if (event_add(queue->batch, &pause) != 0)
			budget_queue_arm(queue);
		return;
	}
	queue->is_due = queue->count > 0;
	if (queue->is_due) /* in the next turn: others come first */
		budget_queue_arm(queue);
}

struct budget_job *
budget_queue_add(struct budget_queue *queue, enum budget_job_kind kind,
    struct ipc_message *message)
{
	struct budget_job *job;

	if (queue->count == BUDGET_QUEUE_MAX)
		return NULL;
	job = budget_queue_at(queue, queue->count);
	memset(job, 0, sizeof(*job));
	job->kind = kind;
	if (message != NULL) {
		job->id = message->id;
		job->body = json_incref(message->body);
	}
	queue->count++;
	if (!queue->is_due) {
		queue->is_due = true;
		budget_queue_arm(queue);
	}
	return job;
}

void
budget_queue_take_back(struct budget_queue *queue)
{
	budget_job_clear(budget_queue_at(queue, --queue->count));
}

enum result
budget_queue_new(struct event_base *base, int dir_fd, budget_queue_done *done,
    budget_queue_pause *pause, void *context, struct budget_queue **queue_r)
{
	struct budget_queue *queue = calloc(1, sizeof(*queue));

	*queue_r = NULL;
	if (queue == NULL)
		return RESULT_NO_MEMORY;
	queue->dir_fd = dir_fd;
	queue->done = done;
	queue->pause = pause;
	queue->context = context;
	queue->batch = event_new(base, -1, 0, budget_queue_on_batch, queue);
	if (queue->batch == NULL) {
		free(queue);
		return RESULT_NO_MEMORY;
	}
	*queue_r = queue;
	return RESULT_OK;
}

void
budget_queue_finish(struct budget_queue *queue)
{
	while (queue != NULL && queue->count > 0)
		(void)budget_queue_try(queue, true);
}

void
budget_queue_free(struct budget_queue **queue)
{
	struct budget_queue *gone = *queue;
	size_t i;

	*queue = NULL;
	if (gone == NULL)
		return;
	for (i = 0; i < gone->count; i++)
		budget_job_clear(budget_queue_at(gone, i));
	budget_free(&gone->file);
	event_free(gone->batch);
	free(gone);
}
