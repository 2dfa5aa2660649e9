/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages to and from the ledger. Called by broker.c and the event loop.
 * Must never let a call go on without an answer, nor leave a reservation
 * that came too late unsettled.
 */
#include "llm-broker/broker_ledger.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/peer.h"
#include "llm-broker/call_io.h"

struct broker_ledger_wait {
	TAILQ_ENTRY(broker_ledger_wait) link;
	struct call *call; /* NULL: nobody waits any more */
	uint64_t number;
};

void
broker_ledger_init(struct broker_ledger *ledger)
{
	ledger->peer = NULL;
	ledger->waiting_count = 0;
	TAILQ_INIT(&ledger->waiting);
}

static json_t *
broker_ledger_amounts(const struct call_amounts *amounts)
{
	return json_pack("{s:I,s:I,s:I,s:I,s:I}", "requests",
	    (json_int_t)amounts->requests, "input_chars",
	    (json_int_t)amounts->input_chars, "output_chars",
	    (json_int_t)amounts->output_chars, "tokens",
	    (json_int_t)(amounts->input_tokens + amounts->output_tokens),
	    "cost_microusd", (json_int_t)amounts->cost);
}

static enum result
broker_ledger_send(
    struct broker_ledger *ledger, enum ipc_type type, uint64_t id, json_t *body)
{
	struct ipc_message message;
	enum result result = RESULT_CLOSED;

	ipc_message_init(&message, type, id);
	message.body = body;
	if (body == NULL)
		result = RESULT_NO_MEMORY;
	else if (ledger->peer != NULL)
		result = peer_send(ledger->peer, &message);
	ipc_message_clear(&message);
	return result;
}

static void
broker_ledger_settle_with(struct broker_ledger *ledger, uint64_t number,
    const char *code, const struct call_amounts *amounts, bool estimated)
{
	enum result result = broker_ledger_send(ledger, IPC_SETTLE, number,
	    json_pack("{s:s,s:o,s:b}", "code", code, "amounts",
		broker_ledger_amounts(amounts), "estimated", (int)estimated));

	if (result != RESULT_OK)
		log_event(LOG_ERROR_LEVEL, "settle_failed",
		    LOG_UINT("id", number),
		    LOG_TEXT("result", result_text(result)));
}

void
broker_ledger_settle(struct broker_ledger *ledger, const struct call *call)
{
	broker_ledger_settle_with(ledger, call->number,
	    call_code_text(call->code), &call->charge.used,
	    call->charge.estimated);
}

enum result
broker_ledger_reserve(struct broker_ledger *ledger, struct call *call)
{
	struct broker_ledger_wait *wait = calloc(1, sizeof(*wait));
	const char *model = call->model[0] != '\0' ? call->model : "-";
	enum result result;

	if (wait == NULL)
		return RESULT_NO_MEMORY;
	wait->call = call;
	wait->number = call->number;
	result = broker_ledger_send(ledger, IPC_RESERVE, call->number,
	    json_pack("{s:s,s:s,s:o}", "provider",
		provider_name(call->provider), "model", model, "amounts",
		broker_ledger_amounts(&call->charge.reserve)));
	if (result != RESULT_OK) {
		free(wait);
		return result;
	}
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
	struct broker_ledger_wait *wait =
	    broker_ledger_find(ledger, call->number);

	if (wait != NULL)
		wait->call = NULL;
}

/* Whose answer it is; the wait is over. *found_r false: nobody's. */
static struct call *
broker_ledger_take(struct broker_ledger *ledger, uint64_t number, bool *found_r)
{
	struct broker_ledger_wait *wait = broker_ledger_find(ledger, number);
	struct call *call;

	*found_r = wait != NULL;
	if (wait == NULL)
		return NULL;
	call = wait->call;
	TAILQ_REMOVE(&ledger->waiting, wait, link);
	ledger->waiting_count--;
	free(wait);
	return call;
}

static void
broker_ledger_read_refusal(const json_t *body, struct call_refusal *refusal)
{
	(void)snprintf(refusal->scope, sizeof(refusal->scope), "%s",
	    json_string_value(json_object_get(body, "scope")));
	(void)snprintf(refusal->amount, sizeof(refusal->amount), "%s",
	    json_string_value(json_object_get(body, "amount")));
	refusal->limit = json_integer_value(json_object_get(body, "limit"));
	refusal->used = json_integer_value(json_object_get(body, "used"));
	refusal->retry_after_s =
	    json_integer_value(json_object_get(body, "retry_after_s"));
}

static void
broker_ledger_on_message(struct ipc_message *message, void *context)
{
	static const struct call_amounts nothing;
	struct broker_ledger *ledger = context;
	bool found;
	struct call *call = broker_ledger_take(ledger, message->id, &found);

	if (!found) {
		log_event(LOG_WARN_LEVEL, "ledger_answer_unknown",
		    LOG_UINT("id", message->id));
		return;
	}
	if (message->type == IPC_RESERVED && call == NULL) {
		broker_ledger_settle_with(ledger, message->id,
		    call_code_text(CALL_CANCELLED), &nothing, false);
	} else if (message->type == IPC_RESERVED) {
		call_io_tell(call, CALL_EVENT_RESERVED);
	} else if (message->type == IPC_REFUSED && call != NULL) {
		broker_ledger_read_refusal(message->body, &call->refusal);
		call_io_tell(call, CALL_EVENT_REFUSED);
	}
}

/* Everyone who waits is told that there will be no answer. */
static void
broker_ledger_lose(struct broker_ledger *ledger)
{
	struct broker_ledger_wait *wait;

	while ((wait = TAILQ_FIRST(&ledger->waiting)) != NULL) {
		bool found;
		struct call *call =
		    broker_ledger_take(ledger, wait->number, &found);

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
	peer_free(&ledger->peer);
	broker_ledger_lose(ledger);
}

enum result
broker_ledger_open(
    struct broker_ledger *ledger, struct event_base *base, int fd)
{
	static const struct peer_handlers handlers = {
	    .on_message = broker_ledger_on_message,
	    .on_end = broker_ledger_on_end};
	enum result result;

	if (ledger->peer != NULL) {
		fd_close(&fd);
		return RESULT_EXISTS;
	}
	result = peer_new(
	    base, fd, IPC_BROKER, IPC_LEDGER, &handlers, ledger, &ledger->peer);
	if (result == RESULT_OK)
		peer_set_state(ledger->peer, IPC_RUNNING);
	return result;
}

void
broker_ledger_close(struct broker_ledger *ledger)
{
	peer_free(&ledger->peer);
	broker_ledger_lose(ledger);
}
