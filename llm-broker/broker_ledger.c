/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records to and from the ledger. Called by broker.c and the event loop.
 * What calls ask before the loop has nothing else to do goes in one datagram,
 * so that calls that come together are one transaction; who is alone does not
 * wait for that, and nobody longer than a moment. A settlement alone waits that
 * moment for company, for the next call of the same agent is often near. While
 * many calls come, some are reserved ahead (ledger_share.h). Must
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
#define BROKER_LEDGER_TIDY_MS 10U

struct broker_ledger_wait {
	TAILQ_ENTRY(broker_ledger_wait) link;
	struct call *call; /* NULL: nobody waits any more */
	uint64_t number;   /* of the reservation */
	bool asks;         /* it is this call's */
};

void
broker_ledger_init(struct broker_ledger *ledger)
{
	ledger->pair = NULL;
	ledger->flush = ledger->latest = ledger->tidy = NULL;
	ledger->waiting_count = 0;
	TAILQ_INIT(&ledger->waiting);
	ledger_share_init(&ledger->shares);
}

static void
broker_ledger_flush(struct broker_ledger *ledger)
{
	if (ledger->pair == NULL)
		return;
	(void)event_del(ledger->flush);
	(void)event_del(ledger->latest);
	(void)budget_pair_flush(ledger->pair);
}

static void
broker_ledger_on_flush(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	broker_ledger_flush(context);
}

static enum result
broker_ledger_put(
    struct broker_ledger *ledger, const struct budget_wire_ask *ask)
{
	enum result result = ledger->pair != NULL
				 ? budget_pair_put(ledger->pair, ask)
				 : RESULT_CLOSED;

	if (result != RESULT_OK && ask->kind == BUDGET_WIRE_SETTLE)
		log_event(LOG_ERROR_LEVEL, "settle_failed",
		    LOG_UINT("id", ask->call),
		    LOG_TEXT("result", result_text(result)));
	return result;
}

static bool
broker_ledger_put_share(const struct budget_wire_ask *ask, void *context)
{
	return broker_ledger_put(context, ask) == RESULT_OK;
}

static void
broker_ledger_tidy_later(struct broker_ledger *ledger)
{
	struct timeval moment = event_loop_timeval(BROKER_LEDGER_TIDY_MS);

	if (ledger->tidy != NULL &&
	    !event_pending(ledger->tidy, EV_TIMEOUT, NULL))
		(void)event_add(ledger->tidy, &moment);
}

static void
broker_ledger_on_tidy(evutil_socket_t fd, short what, void *context)
{
	struct broker_ledger *ledger = context;

	(void)fd;
	(void)what;
	if (ledger_share_tidy(
		&ledger->shares, false, broker_ledger_put_share, ledger))
		broker_ledger_tidy_later(ledger);
	broker_ledger_flush(ledger);
}

void
broker_ledger_finish(struct broker_ledger *ledger)
{
	(void)ledger_share_tidy(
	    &ledger->shares, true, broker_ledger_put_share, ledger);
	broker_ledger_flush(ledger);
}

/* No provider's number is more than the ledger adds up. */
static int64_t
broker_ledger_amount(uint64_t value)
{
	return value < (uint64_t)BUDGET_AMOUNT_MAX ? (int64_t)value
						   : BUDGET_AMOUNT_MAX;
}

static void
broker_ledger_fill(struct budget_wire_ask *ask, enum budget_wire_kind kind,
    uint64_t number, const struct call_amounts *amounts)
{
	memset(ask, 0, sizeof(*ask));
	ask->magic = BUDGET_WIRE_MAGIC;
	ask->kind = kind;
	ask->call = number;
	ask->calls = 1;
	ask->amounts[BUDGET_REQUESTS] = (int64_t)amounts->requests;
	ask->amounts[BUDGET_INPUT_CHARS] =
	    broker_ledger_amount(amounts->input_chars);
	ask->amounts[BUDGET_OUTPUT_CHARS] =
	    broker_ledger_amount(amounts->output_chars);
	ask->amounts[BUDGET_TOKENS] = broker_ledger_amount(
	    amounts->input_tokens + amounts->output_tokens);
	ask->amounts[BUDGET_COST] = amounts->cost < BUDGET_AMOUNT_MAX
					? amounts->cost
					: BUDGET_AMOUNT_MAX;
}

static void
broker_ledger_hurry(struct broker_ledger *ledger)
{
	struct timeval moment = event_loop_timeval(BROKER_LEDGER_MOMENT_MS);

	if (!event_pending(ledger->latest, EV_TIMEOUT, NULL))
		(void)event_add(ledger->latest, &moment);
}

void
broker_ledger_settle(struct broker_ledger *ledger, struct call *call)
{
	struct budget_wire_ask ask;

	broker_ledger_fill(
	    &ask, BUDGET_WIRE_SETTLE, call->number, &call->charge.used);
	ask.served = call->code == CALL_OK;
	ask.estimated = call->charge.estimated;
	if (call->share != NULL) {
		ledger_share_settle(&ledger->shares, call, &ask);
		broker_ledger_tidy_later(ledger);
	} else if (broker_ledger_put(ledger, &ask) == RESULT_OK) {
		broker_ledger_hurry(ledger);
	}
}

/* One that nobody came for. */
static void
broker_ledger_settle_nothing(struct broker_ledger *ledger, uint64_t number)
{
	static const struct call_amounts nothing;
	struct budget_wire_ask ask;

	broker_ledger_fill(&ask, BUDGET_WIRE_SETTLE, number, &nothing);
	if (broker_ledger_put(ledger, &ask) == RESULT_OK)
		broker_ledger_hurry(ledger);
}

static enum result
broker_ledger_wait(
    struct broker_ledger *ledger, struct call *call, uint64_t number, bool asks)
{
	struct broker_ledger_wait *wait = calloc(1, sizeof(*wait));

	if (wait == NULL)
		return RESULT_NO_MEMORY;
	wait->call = call;
	wait->number = number;
	wait->asks = asks;
	TAILQ_INSERT_TAIL(&ledger->waiting, wait, link);
	ledger->waiting_count++;
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
	struct broker_ledger_wait *wait;

	TAILQ_FOREACH(wait, &ledger->waiting, link)
	if (wait->call == call)
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

/* Ask for this call, and for some ahead. What was settled goes with it. */
static enum result
broker_ledger_ask(struct broker_ledger *ledger, struct call *call,
    struct budget_wire_ask *ask, unsigned ahead)
{
	struct ledger_share *share = NULL;
	enum result result;

	ask->calls = 1 + ahead;
	if (ahead > 0)
		share = ledger_share_new(&ledger->shares, call, ask);
	if (share == NULL)
		ask->calls = 1;
	result = broker_ledger_wait(ledger, call, call->number, true);
	if (result == RESULT_OK) {
		ledger_share_tell(
		    &ledger->shares, broker_ledger_put_share, ledger);
		result = broker_ledger_put(ledger, ask);
		if (result != RESULT_OK)
			(void)broker_ledger_end_wait(ledger,
			    TAILQ_LAST(&ledger->waiting, broker_ledger_queue));
	}
	if (result != RESULT_OK && share != NULL)
		ledger_share_answered(&ledger->shares, share, 0);
	return result;
}

static void
broker_ledger_fill_reserve(struct budget_wire_ask *ask, const struct call *call)
{
	broker_ledger_fill(
	    ask, BUDGET_WIRE_RESERVE, call->number, &call->charge.reserve);
	(void)snprintf(ask->provider, sizeof(ask->provider), "%s",
	    provider_name(call->provider));
	(void)snprintf(ask->model, sizeof(ask->model), "%s",
	    call->model[0] != '\0' ? call->model : "-");
}

enum result
broker_ledger_reserve(
    struct broker_ledger *ledger, struct call *call, bool alone)
{
	unsigned ahead =
	    ledger_share_pace(&ledger->shares, event_loop_now_ms());
	struct ledger_share *share;
	struct budget_wire_ask ask;
	enum result result;

	broker_ledger_fill_reserve(&ask, call);
	share = ledger_share_find(&ledger->shares, call, &ask, false);
	if (share != NULL) {
		ledger_share_take(&ledger->shares, share, call);
		return RESULT_EXISTS;
	}
	share = ledger_share_find(&ledger->shares, call, &ask, true);
	if (share != NULL) {
		ledger_share_join(share);
		return broker_ledger_wait(ledger, call, share->number, false);
	}
	result = broker_ledger_ask(ledger, call, &ask, ahead);
	if (result != RESULT_OK)
		return result;
	if (alone) {
		broker_ledger_flush(ledger);
	} else {
		event_active(ledger->flush, EV_TIMEOUT, 0);
		broker_ledger_hurry(ledger);
	}
	return RESULT_OK;
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

/* Of what was asked ahead too little came: it asks for itself. */
static void
broker_ledger_ask_again(struct broker_ledger *ledger, struct call *call)
{
	struct budget_wire_ask ask;

	broker_ledger_fill_reserve(&ask, call);
	if (broker_ledger_ask(ledger, call, &ask, 0) == RESULT_OK) {
		event_active(ledger->flush, EV_TIMEOUT, 0);
		broker_ledger_hurry(ledger);
	} else {
		call_io_tell(call, CALL_EVENT_BUDGET_LOST);
	}
}

/* One reservation for several: who waited takes one each, as they came.
 * What is not taken is left, and the share with it, while there is any. */
static void
broker_ledger_on_share(struct broker_ledger *ledger, struct ledger_share *share,
    const struct budget_wire_answer *answer)
{
	unsigned calls =
	    answer->kind == BUDGET_WIRE_RESERVED ? (unsigned)answer->calls : 0;
	struct broker_ledger_wait *wait;
	struct call *call;
	bool asks;

	ledger_share_answered(&ledger->shares, share, calls);
	broker_ledger_tidy_later(ledger);
	while ((wait = broker_ledger_find(ledger, answer->call)) != NULL) {
		asks = wait->asks;
		call = broker_ledger_end_wait(ledger, wait);
		if (call == NULL)
			continue;
		share = ledger_share_numbered(&ledger->shares, answer->call);
		if (share != NULL) {
			ledger_share_take(&ledger->shares, share, call);
			call_io_tell(call, CALL_EVENT_RESERVED);
		} else if (asks && calls == 0) {
			broker_ledger_read_refusal(answer, &call->refusal);
			call_io_tell(call, CALL_EVENT_REFUSED);
		} else {
			broker_ledger_ask_again(ledger, call);
		}
	}
}

static void
broker_ledger_on_one(struct broker_ledger *ledger,
    struct broker_ledger_wait *wait, const struct budget_wire_answer *answer)
{
	struct call *call = broker_ledger_end_wait(ledger, wait);

	if (answer->kind == BUDGET_WIRE_RESERVED && call == NULL) {
		broker_ledger_settle_nothing(ledger, answer->call);
	} else if (answer->kind == BUDGET_WIRE_RESERVED) {
		call_io_tell(call, CALL_EVENT_RESERVED);
	} else if (call != NULL) {
		broker_ledger_read_refusal(answer, &call->refusal);
		call_io_tell(call, CALL_EVENT_REFUSED);
	}
}

static void
broker_ledger_on_answer(
    struct broker_ledger *ledger, const struct budget_wire_answer *answer)
{
	struct ledger_share *share =
	    ledger_share_numbered(&ledger->shares, answer->call);
	struct broker_ledger_wait *wait =
	    broker_ledger_find(ledger, answer->call);

	if (share != NULL && share->is_asked)
		broker_ledger_on_share(ledger, share, answer);
	else if (wait != NULL)
		broker_ledger_on_one(ledger, wait, answer);
	else
		log_event(LOG_WARN_LEVEL, "ledger_answer_unknown",
		    LOG_UINT("id", answer->call));
}

/* Everyone who waits is told that there will be no answer. */
static void
broker_ledger_lose(struct broker_ledger *ledger)
{
	struct broker_ledger_wait *wait;

	ledger_share_lose(&ledger->shares);
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
	if (ledger->tidy == NULL)
		ledger->tidy =
		    event_new(base, -1, 0, broker_ledger_on_tidy, ledger);
	return ledger->flush != NULL && ledger->latest != NULL &&
	       ledger->tidy != NULL &&
	       event_priority_set(ledger->flush, LANE_CLIENT_PRIORITY_LAST) ==
		   0 &&
	       event_priority_set(ledger->tidy, LANE_CLIENT_PRIORITY) == 0 &&
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
	if (ledger->tidy != NULL)
		event_free(ledger->tidy);
	ledger->flush = ledger->latest = ledger->tidy = NULL;
}
