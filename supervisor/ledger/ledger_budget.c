/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs to brokers and the batches of their jobs. Called by ledger.c and the
 * loop. It must never answer `reserved` before the reservation is committed,
 * wait for another ledger inside a callback, or let one broker's mistakes
 * reach another run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/event_loop.h"
#include "common/log.h"
#include "supervisor/ledger/budget_pair.h"
#include "supervisor/ledger/budget_queue.h"
#include "supervisor/ledger/ledger_budget.h"

#define LEDGER_BUDGET_PAUSE_MS 1U
#define LEDGER_BUDGET_NAME_MAX 65U
/* Turns of the loop, a millisecond each, in which a pair said nothing more
 * after its run was over. */
#define LEDGER_BUDGET_QUIET_TURNS 2U

enum ledger_budget_state {
	LEDGER_BUDGET_FREE,
	LEDGER_BUDGET_OPENING,
	LEDGER_BUDGET_OPEN,
	LEDGER_BUDGET_DRAINING, /* the supervisor ended it */
	LEDGER_BUDGET_ENDED     /* the broker's end is gone */
};

struct ledger_budget_pair {
	struct ledger_budget *budget;
	enum ledger_budget_state state;
	char name[LEDGER_BUDGET_NAME_MAX];
	struct budget_pair *wire; /* NULL: the broker's end is gone */
	struct budget_run *run;
	uint64_t open_id, close_id; /* of the supervisor's messages */
	size_t jobs;                /* in the queue */
	unsigned quiet;
};

struct ledger_budget {
	struct event_base *base;
	ledger_budget_send *send;
	void *context;
	struct budget_queue *queue;
	struct event *drain; /* looks at draining pairs */
	struct ledger_budget_pair pairs[LEDGER_BUDGET_PAIRS];
};

static void
ledger_budget_enter(
    struct ledger_budget_pair *pair, enum ledger_budget_state state)
{
	pair->state = state;
}

static const char *
ledger_budget_code(enum result result)
{
	switch (result) {
	case RESULT_MISMATCH:
		return "budget_corrupt";
	case RESULT_SYSTEM:
		return "budget_write";
	case RESULT_TIMEOUT:
	case RESULT_NEED_MORE:
		return "budget_locked";
	case RESULT_EXISTS:
		return "budget_exists";
	case RESULT_TOO_LONG:
		return "budget_busy";
	case RESULT_BAD:
		return "budget_bad";
	case RESULT_OK:
	case RESULT_EOF:
	case RESULT_NO_MEMORY:
	case RESULT_NOT_FOUND:
	case RESULT_REFUSED:
	case RESULT_UNSUPPORTED:
	case RESULT_CLOSED:
	case RESULT_INTERNAL:
	case RESULT_COUNT:
		break;
	}
	return "budget_failed";
}

static void
ledger_budget_tell(
    struct ledger_budget *budget, enum ipc_type type, uint64_t id, json_t *body)
{
	struct ipc_message message;

	ipc_message_init(&message, type, id);
	message.body = body;
	budget->send(&message, budget->context);
	ipc_message_clear(&message);
}

static void
ledger_budget_fail(struct ledger_budget *budget, uint64_t id, const char *code,
    const char *detail)
{
	log_event(LOG_ERROR_LEVEL, "budget_failed", LOG_TEXT("code", code),
	    LOG_TEXT("detail", detail));
	ledger_budget_tell(budget, IPC_FAILED, id,
	    json_pack("{s:s, s:s}", "code", code, "detail", detail));
}

/* The answer to budget_open, budget_close or stats. */
static void
ledger_budget_answer(struct ledger_budget *budget, uint64_t id,
    enum result result, const char *detail)
{
	if (result == RESULT_OK)
		ledger_budget_tell(budget, IPC_SYNCED, id, NULL);
	else
		ledger_budget_fail(
		    budget, id, ledger_budget_code(result), detail);
}

/* Of a pair, or of none; NULL: no room, whoever waits has to be told. */
static struct budget_job *
ledger_budget_add(struct ledger_budget *budget, enum budget_job_kind kind,
    struct ledger_budget_pair *pair, struct ipc_message *message)
{
	struct budget_job *job = budget_queue_add(budget->queue, kind, message);

	if (job == NULL || pair == NULL)
		return job;
	job->owner = pair;
	job->run = &pair->run;
	pair->jobs++;
	return job;
}

/* The job that was added last is none after all. */
static void
ledger_budget_take_back(
    struct ledger_budget *budget, struct ledger_budget_pair *pair)
{
	if (pair != NULL)
		pair->jobs--;
	budget_queue_take_back(budget->queue);
}

/* Nothing more comes from this broker; what it has open counts as used. */
static void
ledger_budget_end(struct ledger_budget_pair *pair)
{
	budget_pair_free(&pair->wire);
	if (pair->state != LEDGER_BUDGET_OPENING &&
	    pair->state != LEDGER_BUDGET_OPEN)
		return;
	ledger_budget_enter(pair, LEDGER_BUDGET_ENDED);
	/* Without room for the job, the close of the run will do it. */
	(void)ledger_budget_add(pair->budget, BUDGET_JOB_CLOSE, pair, NULL);
}

/* A broker that says what it must not loses its pair, and the supervisor
 * hears of it. */
static void
ledger_budget_misbehaves(struct ledger_budget_pair *pair, const char *why)
{
	char detail[256];

	if (pair->wire == NULL)
		return;
	(void)snprintf(detail, sizeof(detail), "the broker of run %s: %.160s",
	    pair->name, why);
	ledger_budget_fail(pair->budget, pair->open_id, "budget_pair", detail);
	ledger_budget_end(pair);
}

static void
ledger_budget_on_end(enum result why, const char *detail, void *context)
{
	struct ledger_budget_pair *pair = context;

	if (why == RESULT_EOF || why == RESULT_SYSTEM)
		ledger_budget_end(pair);
	else
		ledger_budget_misbehaves(pair, detail);
}

/* To the broker, at the end of the batch. One that is gone is found by
 * reading. */
static void
ledger_budget_say(
    struct ledger_budget_pair *pair, const struct budget_wire_answer *answer)
{
	enum result result = budget_pair_put(pair->wire, answer);

	if (result != RESULT_OK && result != RESULT_CLOSED)
		ledger_budget_misbehaves(pair,
		    result == RESULT_TOO_LONG ? "it does not read its answers"
					      : result_text(result));
}

static void
ledger_budget_refuse(struct ledger_budget_pair *pair, uint64_t id,
    const struct budget_refusal *refusal)
{
	struct budget_wire_answer answer = {.magic = BUDGET_WIRE_MAGIC,
	    .kind = BUDGET_WIRE_REFUSED,
	    .call = id,
	    .limit = refusal->limit,
	    .used = refusal->used,
	    .retry_after_s = refusal->retry_after_s};

	if (pair->wire == NULL)
		return;
	(void)snprintf(answer.scope, sizeof(answer.scope), "%s",
	    budget_limits_scope_text(refusal->scope));
	(void)snprintf(
	    answer.amount, sizeof(answer.amount), "%s", refusal->amount);
	ledger_budget_say(pair, &answer);
}

/* The database cannot be used: no call passes. */
static void
ledger_budget_unavailable(struct ledger_budget_pair *pair, uint64_t id)
{
	static const struct budget_refusal refusal = {
	    .scope = BUDGET_RUN, .amount = "unavailable"};

	ledger_budget_refuse(pair, id, &refusal);
}

static void
ledger_budget_answer_reserve(
    struct ledger_budget_pair *pair, const struct budget_job *job)
{
	const struct budget_wire_answer reserved = {.magic = BUDGET_WIRE_MAGIC,
	    .kind = BUDGET_WIRE_RESERVED,
	    .call = job->id,
	    .calls = job->calls};

	if (pair->wire == NULL)
		return;
	if (job->result == RESULT_REFUSED)
		ledger_budget_refuse(pair, job->id, &job->refusal);
	else if (job->result == RESULT_EXISTS)
		ledger_budget_misbehaves(
		    pair, "reserve: this id is open already");
	else if (job->result != RESULT_OK)
		ledger_budget_unavailable(pair, job->id);
	else
		ledger_budget_say(pair, &reserved);
}

/* The supervisor's close is done: the slot can serve another run. */
static void
ledger_budget_closed(
    struct ledger_budget_pair *pair, const struct budget_job *job)
{
	if (job->result == RESULT_OK || job->result == RESULT_CLOSED)
		log_event(LOG_INFO_LEVEL, "budget_close",
		    LOG_TEXT("run", pair->name));
	budget_run_free(&pair->run); /* if the close failed: a dead run */
	budget_pair_free(&pair->wire);
	ledger_budget_enter(pair, LEDGER_BUDGET_FREE);
}

static void
ledger_budget_answer_report(struct ledger_budget *budget,
    const struct budget_job *job, const char *detail)
{
	if (job->result == RESULT_OK)
		ledger_budget_tell(budget, IPC_STATS, job->id,
		    json_pack("{s:{s:O}}", "values", "rows", job->rows));
	else
		ledger_budget_answer(budget, job->id, job->result, detail);
}

static void
ledger_budget_on_done(struct budget_job *job, const char *detail, void *context)
{
	struct ledger_budget *budget = context;
	struct ledger_budget_pair *pair = job->owner;

	if (pair == NULL) { /* of no run: a report */
		ledger_budget_answer_report(budget, job, detail);
		return;
	}
	pair->jobs--;
	switch (job->kind) {
	case BUDGET_JOB_OPEN:
		if (job->result == RESULT_OK &&
		    pair->state == LEDGER_BUDGET_OPENING)
			ledger_budget_enter(pair, LEDGER_BUDGET_OPEN);
		ledger_budget_answer(budget, job->id, job->result, detail);
		if (job->result != RESULT_OK) {
			budget_pair_free(&pair->wire);
			if (pair->close_id == 0) /* else it comes to that */
				ledger_budget_closed(pair, job);
		}
		return;
	case BUDGET_JOB_CLOSE:
		if (job->id == 0)
			return;
		ledger_budget_answer(budget, job->id, job->result, detail);
		ledger_budget_closed(pair, job);
		return;
	case BUDGET_JOB_RESERVE:
		ledger_budget_answer_reserve(pair, job);
		return;
	case BUDGET_JOB_SETTLE:
		if (job->result == RESULT_NOT_FOUND)
			ledger_budget_misbehaves(pair,
			    "settle: so many calls of this id are not open");
		else if (job->result != RESULT_OK) /* it stays charged */
			log_event(LOG_ERROR_LEVEL, "settle_failed",
			    LOG_TEXT("run", pair->name),
			    LOG_TEXT("detail", detail));
		return;
	case BUDGET_JOB_REPORT:
		return;
	}
}

static void
ledger_budget_on_record(const void *record, void *context)
{
	const struct budget_wire_ask *ask = record;
	const char *fault = budget_wire_fault(ask);
	bool reserves = ask->kind == BUDGET_WIRE_RESERVE;
	struct ledger_budget_pair *pair = context;
	struct budget_job *job;

	if (fault != NULL) {
		ledger_budget_misbehaves(pair, fault);
		return;
	}
	pair->quiet = 0;
	job = ledger_budget_add(pair->budget,
	    reserves ? BUDGET_JOB_RESERVE : BUDGET_JOB_SETTLE, pair, NULL);
	if (job != NULL)
		budget_job_take(job, ask);
	else if (reserves)
		ledger_budget_unavailable(pair, ask->call);
	else /* it stays charged */
		log_event(LOG_ERROR_LEVEL, "settle_failed",
		    LOG_TEXT("run", pair->name),
		    LOG_TEXT("detail", "too many answers wait"));
}

/* What was answered goes now. */
static void
ledger_budget_on_pause(void *context)
{
	struct ledger_budget_pair *pair = context;

	if (pair->wire != NULL)
		(void)budget_pair_flush(pair->wire);
}

static void
ledger_budget_on_batch(void *context)
{
	struct ledger_budget *budget = context;
	size_t i;

	for (i = 0; i < LEDGER_BUDGET_PAIRS; i++)
		ledger_budget_on_pause(&budget->pairs[i]);
}

static struct ledger_budget_pair *
ledger_budget_find(struct ledger_budget *budget, const char *name)
{
	struct ledger_budget_pair *pair;
	size_t i;

	for (i = 0; i < LEDGER_BUDGET_PAIRS; i++) {
		pair = &budget->pairs[i];
		if (pair->state == LEDGER_BUDGET_FREE
			? name == NULL && pair->jobs == 0
			: name != NULL && strcmp(pair->name, name) == 0)
			return pair;
	}
	return NULL;
}

static const char *
ledger_budget_sandbox(const struct ipc_message *message)
{
	return json_string_value(json_object_get(message->body, "sandbox"));
}

static enum result
ledger_budget_pair_new(struct ledger_budget *budget,
    struct ledger_budget_pair *pair, struct ipc_message *message)
{
	static const struct budget_pair_sizes sizes = {
	    sizeof(struct budget_wire_ask), sizeof(struct budget_wire_answer)};
	static const struct budget_pair_handlers handlers = {
	    ledger_budget_on_record, ledger_budget_on_pause,
	    ledger_budget_on_end};
	enum result result;

	memset(pair, 0, sizeof(*pair));
	pair->budget = budget;
	pair->open_id = message->id;
	(void)snprintf(pair->name, sizeof(pair->name), "%s",
	    ledger_budget_sandbox(message));
	result = budget_pair_new(budget->base, ipc_message_take_fd(message, 0),
	    &sizes, &handlers, pair, &pair->wire);
	if (result != RESULT_OK)
		return result;
	ledger_budget_enter(pair, LEDGER_BUDGET_OPENING);
	return RESULT_OK;
}

/* A pair and its first job, or neither. */
static enum result
ledger_budget_start(struct ledger_budget *budget,
    struct ledger_budget_pair *pair, struct ipc_message *message,
    struct json_fault *fault)
{
	enum result result = ledger_budget_pair_new(budget, pair, message);
	struct budget_job *job;

	if (result != RESULT_OK)
		return result;
	job = ledger_budget_add(budget, BUDGET_JOB_OPEN, pair, message);
	if (job != NULL)
		budget_job_read(job, fault);
	if (job != NULL && fault->text[0] == '\0')
		return RESULT_OK;
	if (job != NULL)
		ledger_budget_take_back(budget, pair);
	budget_pair_free(&pair->wire);
	ledger_budget_enter(pair, LEDGER_BUDGET_FREE);
	return job == NULL ? RESULT_TOO_LONG : RESULT_BAD;
}

static void
ledger_budget_take_open(
    struct ledger_budget *budget, struct ipc_message *message)
{
	struct ledger_budget_pair *pair = ledger_budget_find(budget, NULL);
	struct json_fault fault = {""};
	enum result result = RESULT_TOO_LONG;

	if (ledger_budget_find(budget, ledger_budget_sandbox(message)) != NULL)
		result = RESULT_EXISTS;
	else if (pair != NULL)
		result = ledger_budget_start(budget, pair, message, &fault);
	if (result == RESULT_OK)
		return;
	json_field_fault(&fault, "budget_open: %s", result_text(result));
	ledger_budget_answer(budget, message->id, result, fault.text);
}

/* What the broker sent before it ended is still in the socket: the run is
 * closed when the pair has been quiet for a moment. */
static void
ledger_budget_take_close(
    struct ledger_budget *budget, struct ipc_message *message)
{
	struct timeval turn = event_loop_timeval(LEDGER_BUDGET_PAUSE_MS);
	struct ledger_budget_pair *pair =
	    ledger_budget_find(budget, ledger_budget_sandbox(message));

	if (pair == NULL || pair->close_id != 0) {
		ledger_budget_answer(budget, message->id, RESULT_NOT_FOUND,
		    "budget_close: there is no such run");
		return;
	}
	pair->close_id = message->id;
	pair->quiet = 0;
	ledger_budget_enter(pair, LEDGER_BUDGET_DRAINING);
	(void)event_add(budget->drain, &turn);
}

/* True when it has to be looked at again. */
static bool
ledger_budget_drain(struct ledger_budget_pair *pair)
{
	struct budget_job *job;

	if (pair->state != LEDGER_BUDGET_DRAINING)
		return false;
	if (pair->wire != NULL && pair->quiet++ < LEDGER_BUDGET_QUIET_TURNS)
		return true;
	job = ledger_budget_add(pair->budget, BUDGET_JOB_CLOSE, pair, NULL);
	if (job == NULL)
		return true;
	job->id = pair->close_id;
	budget_pair_free(&pair->wire);
	ledger_budget_enter(pair, LEDGER_BUDGET_ENDED);
	return false;
}

static void
ledger_budget_on_drain(evutil_socket_t fd, short what, void *context)
{
	struct timeval turn = event_loop_timeval(LEDGER_BUDGET_PAUSE_MS);
	struct ledger_budget *budget = context;
	bool again = false;
	size_t i;

	(void)fd;
	(void)what;
	for (i = 0; i < LEDGER_BUDGET_PAIRS; i++)
		again = ledger_budget_drain(&budget->pairs[i]) || again;
	if (again)
		(void)event_add(budget->drain, &turn);
}

static void
ledger_budget_take_report(
    struct ledger_budget *budget, struct ipc_message *message)
{
	struct budget_job *job =
	    ledger_budget_add(budget, BUDGET_JOB_REPORT, NULL, message);
	struct json_fault fault = {""};

	if (job == NULL) {
		ledger_budget_answer(budget, message->id, RESULT_TOO_LONG,
		    "too much waits for the disk");
		return;
	}
	budget_job_read(job, &fault);
	if (fault.text[0] == '\0')
		return;
	ledger_budget_take_back(budget, NULL);
	ledger_budget_answer(budget, message->id, RESULT_BAD, fault.text);
}

void
ledger_budget_take(struct ledger_budget *budget, struct ipc_message *message)
{
	if (message->type == IPC_BUDGET_OPEN)
		ledger_budget_take_open(budget, message);
	else if (message->type == IPC_BUDGET_CLOSE)
		ledger_budget_take_close(budget, message);
	else if (message->type == IPC_STATS)
		ledger_budget_take_report(budget, message);
}

enum result
ledger_budget_new(struct event_base *base, int dir_fd, ledger_budget_send *send,
    void *context, struct ledger_budget **budget_r)
{
	struct ledger_budget *budget = calloc(1, sizeof(*budget));
	enum result result;

	*budget_r = NULL;
	if (budget == NULL)
		return RESULT_NO_MEMORY;
	budget->base = base;
	budget->send = send;
	budget->context = context;
	budget->drain = event_new(base, -1, 0, ledger_budget_on_drain, budget);
	result = budget->drain == NULL
		     ? RESULT_NO_MEMORY
		     : budget_queue_new(base, dir_fd, ledger_budget_on_done,
			   ledger_budget_on_batch, budget, &budget->queue);
	if (result != RESULT_OK) {
		ledger_budget_free(&budget);
		return result;
	}
	*budget_r = budget;
	return RESULT_OK;
}

void
ledger_budget_free(struct ledger_budget **budget)
{
	struct ledger_budget *gone = *budget;
	size_t i;

	*budget = NULL;
	if (gone == NULL)
		return;
	for (i = 0; i < LEDGER_BUDGET_PAIRS; i++)
		budget_pair_free(&gone->pairs[i].wire);
	/* The runs' handles belong to the file that the queue closes. */
	budget_queue_finish(gone->queue);
	for (i = 0; i < LEDGER_BUDGET_PAIRS; i++)
		budget_run_free(&gone->pairs[i].run);
	budget_queue_free(&gone->queue);
	if (gone->drain != NULL)
		event_free(gone->drain);
	free(gone);
}
