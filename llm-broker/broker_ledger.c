/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records to and from the ledger. Called by broker.c and the event loop.
 * What calls ask before the loop has nothing else to do goes in one datagram,
 * so that calls that come together are one transaction; who is alone does not
 * wait for that, and nobody longer than a moment. A settlement alone waits that
 * moment for company, for the next call of the same agent is often near. Must
 * never let a call go on without an answer, nor leave a reservation that came
 * too late unsettled.
 */
#include "llm-broker/broker_ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/log.h"
#include "llm-broker/call_io.h"
#include "supervisor/ledger/budget_limits.h"
#include "supervisor/ledger/budget_pair.h"
#include "supervisor/ledger/budget_wire.h"

#define BROKER_LEDGER_MOMENT_MS 2U

struct broker_ledger_wait {
	TAILQ_ENTRY(broker_ledger_wait) link;
	struct call *call; /* NULL: nobody waits any more */
	uint64_t number;
};

void
broker_ledger_init(struct broker_ledger *ledger)
{
	ledger->pair = NULL;
	ledger->flush = ledger->latest = NULL;
	ledger->waiting_count = 0;
	TAILQ_INIT(&ledger->waiting);
}

static void
broker_ledger_on_flush(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	broker_ledger_flush(context);
}

void
broker_ledger_flush(struct broker_ledger *ledger)
{
	if (ledger->pair == NULL)
		return;
	(void)event_del(ledger->flush);
	(void)event_del(ledger->latest);
	(void)budget_pair_flush(ledger->pair);
}

static void
broker_ledger_fill(struct budget_wire_ask *ask, enum budget_wire_kind kind,
    uint64_t number, const struct call_amounts *amounts)
{
	memset(ask, 0, sizeof(*ask));
	ask->magic = BUDGET_WIRE_MAGIC;
	ask->kind = kind;
	ask->call = number;
	ask->amounts[BUDGET_REQUESTS] = (int64_t)amounts->requests;
	ask->amounts[BUDGET_INPUT_CHARS] = (int64_t)amounts->input_chars;
	ask->amounts[BUDGET_OUTPUT_CHARS] = (int64_t)amounts->output_chars;
	ask->amounts[BUDGET_TOKENS] =
	    (int64_t)(amounts->input_tokens + amounts->output_tokens);
	ask->amounts[BUDGET_COST] = amounts->cost;
}

static enum result
broker_ledger_put(
    struct broker_ledger *ledger, const struct budget_wire_ask *ask)
{
	return ledger->pair != NULL ? budget_pair_put(ledger->pair, ask)
				    : RESULT_CLOSED;
}

static void
broker_ledger_hurry(struct broker_ledger *ledger)
{
	struct timeval moment = event_loop_timeval(BROKER_LEDGER_MOMENT_MS);

	if (!event_pending(ledger->latest, EV_TIMEOUT, NULL))
		(void)event_add(ledger->latest, &moment);
}

static void
broker_ledger_settle_with(struct broker_ledger *ledger, uint64_t number,
    bool served, const struct call_amounts *amounts, bool estimated)
{
	struct budget_wire_ask ask;
	enum result result;

	broker_ledger_fill(&ask, BUDGET_WIRE_SETTLE, number, amounts);
	ask.served = served;
	ask.estimated = estimated;
	result = broker_ledger_put(ledger, &ask);
	if (result != RESULT_OK)
		log_event(LOG_ERROR_LEVEL, "settle_failed",
		    LOG_UINT("id", number),
		    LOG_TEXT("result", result_text(result)));
	else
		broker_ledger_hurry(ledger);
}

void
broker_ledger_settle(struct broker_ledger *ledger, const struct call *call)
{
	broker_ledger_settle_with(ledger, call->number, call->code == CALL_OK,
	    &call->charge.used, call->charge.estimated);
}

enum result
broker_ledger_reserve(
    struct broker_ledger *ledger, struct call *call, bool alone)
{
	struct broker_ledger_wait *wait = calloc(1, sizeof(*wait));
	const char *model = call->model[0] != '\0' ? call->model : "-";
	struct budget_wire_ask ask;
	enum result result;

	if (wait == NULL)
		return RESULT_NO_MEMORY;
	wait->call = call;
	wait->number = call->number;
	broker_ledger_fill(
	    &ask, BUDGET_WIRE_RESERVE, call->number, &call->charge.reserve);
	(void)snprintf(ask.provider, sizeof(ask.provider), "%s",
	    provider_name(call->provider));
	(void)snprintf(ask.model, sizeof(ask.model), "%s", model);
	result = broker_ledger_put(ledger, &ask);
	if (result != RESULT_OK) {
		free(wait);
		return result;
	}
	TAILQ_INSERT_TAIL(&ledger->waiting, wait, link);
	ledger->waiting_count++;
	if (alone) {
		broker_ledger_flush(ledger);
	} else {
		event_active(ledger->flush, EV_TIMEOUT, 0);
		broker_ledger_hurry(ledger);
	}
	return RESULT_OK;
}

static struct broker_ledger_wait *
broker_ledger_find(struct broker_ledger *ledger, uint64_t number)
{
	struct broker_ledger_wait *wait;

	TAILQ_FOREACH(wait, &ledger->waiting, link)
	if (wait->number == number)
		return wait;
	return NULL;
}

void
broker_ledger_forget(struct broker_ledger *ledger, struct call *call)
{
	struct broker_ledger_wait *wait =
	    broker_ledger_find(ledger, call->number);

	if (wait != NULL)
		wait->call = NULL;
}

/* The wait is over; whose it was, or NULL. */
static struct call *
broker_ledger_end_wait(
    struct broker_ledger *ledger, struct broker_ledger_wait *wait)
{
	struct call *call = wait->call;

	TAILQ_REMOVE(&ledger->waiting, wait, link);
	ledger->waiting_count--;
	free(wait);
	return call;
}

static void
broker_ledger_read_refusal(
    const struct budget_wire_answer *answer, struct call_refusal *refusal)
{
	(void)snprintf(
	    refusal->scope, sizeof(refusal->scope), "%s", answer->scope);
	(void)snprintf(
	    refusal->amount, sizeof(refusal->amount), "%s", answer->amount);
	refusal->limit = answer->limit;
	refusal->used = answer->used;
	refusal->retry_after_s = answer->retry_after_s;
}

static void
broker_ledger_on_answer(
    struct broker_ledger *ledger, const struct budget_wire_answer *answer)
{
	static const struct call_amounts nothing;
	struct broker_ledger_wait *wait =
	    broker_ledger_find(ledger, answer->call);
	struct call *call;

	if (wait == NULL) {
		log_event(LOG_WARN_LEVEL, "ledger_answer_unknown",
		    LOG_UINT("id", answer->call));
		return;
	}
	call = broker_ledger_end_wait(ledger, wait);
	if (answer->kind == BUDGET_WIRE_RESERVED && call == NULL) {
		broker_ledger_settle_with(
		    ledger, answer->call, false, &nothing, false);
	} else if (answer->kind == BUDGET_WIRE_RESERVED) {
		call_io_tell(call, CALL_EVENT_RESERVED);
	} else if (call != NULL) {
		broker_ledger_read_refusal(answer, &call->refusal);
		call_io_tell(call, CALL_EVENT_REFUSED);
	}
}

/* Everyone who waits is told that there will be no answer. */
static void
broker_ledger_lose(struct broker_ledger *ledger)
{
	struct broker_ledger_wait *wait;

	while ((wait = TAILQ_FIRST(&ledger->waiting)) != NULL) {
		/* What ended has left the queue.
		 * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		struct call *call = broker_ledger_end_wait(ledger, wait);

		if (call != NULL)
			call_io_tell(call, CALL_EVENT_BUDGET_LOST);
	}
}

static void
broker_ledger_on_end(enum result why, const char *detail, void *context)
{
	struct broker_ledger *ledger = context;

	log_event(LOG_ERROR_LEVEL, "ledger_ended",
	    LOG_TEXT("why", result_text(why)), LOG_TEXT("detail", detail));
	budget_pair_free(&ledger->pair);
	broker_ledger_lose(ledger);
}

static void
broker_ledger_on_record(const void *record, void *context)
{
	const struct budget_wire_answer *answer = record;
	const char *fault = budget_wire_answer_fault(answer);

	if (fault == NULL)
		broker_ledger_on_answer(context, answer);
	else
		broker_ledger_on_end(RESULT_BAD, fault, context);
}

static void
broker_ledger_on_pause(void *context)
{
	(void)context; /* calls that were told are under way already */
}

/* Behind everything that is ready, and among it. */
static bool
broker_ledger_make_events(struct broker_ledger *ledger, struct event_base *base)
{
	if (ledger->flush == NULL)
		ledger->flush =
		    event_new(base, -1, 0, broker_ledger_on_flush, ledger);
	if (ledger->latest == NULL)
		ledger->latest =
		    event_new(base, -1, 0, broker_ledger_on_flush, ledger);
	return ledger->flush != NULL && ledger->latest != NULL &&
	       event_priority_set(ledger->flush, LANE_CLIENT_PRIORITY_LAST) ==
		   0 &&
	       event_priority_set(ledger->latest, LANE_CLIENT_PRIORITY) == 0;
}

enum result
broker_ledger_open(
    struct broker_ledger *ledger, struct event_base *base, int fd)
{
	static const struct budget_pair_sizes sizes = {
	    sizeof(struct budget_wire_answer), sizeof(struct budget_wire_ask)};
	static const struct budget_pair_handlers handlers = {
	    broker_ledger_on_record, broker_ledger_on_pause,
	    broker_ledger_on_end};

	if (ledger->pair != NULL) {
		fd_close(&fd);
		return RESULT_EXISTS;
	}
	if (!broker_ledger_make_events(ledger, base)) {
		fd_close(&fd);
		return RESULT_NO_MEMORY;
	}
	return budget_pair_new(
	    base, fd, &sizes, &handlers, ledger, &ledger->pair);
}

void
broker_ledger_close(struct broker_ledger *ledger)
{
	budget_pair_free(&ledger->pair);
	broker_ledger_lose(ledger);
	if (ledger->flush != NULL)
		event_free(ledger->flush);
	if (ledger->latest != NULL)
		event_free(ledger->latest);
	ledger->flush = ledger->latest = NULL;
}
