/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches of audit records, one state each. Called by main and the loop.
 * It must never answer `synced` for a record that is not on disk, nor keep
 * more than a bounded number waiting.
 *
 *   IDLE --audit--> WAITING (for the lock) --locked--> IDLE, all answered
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/event_loop.h"
#include "common/log.h"
#include "common/peer.h"
#include "supervisor/ledger/audit_chain.h"
#include "supervisor/ledger/ledger.h"
#include "supervisor/ledger/ledger_budget.h"
#include "supervisor/ledger/ledger_rate.h"

#define LEDGER_QUEUE_MAX 256U
#define LEDGER_LOCK_TIMEOUT_MS 5000U
#define LEDGER_LOCK_PAUSE_MS 5U
#define LEDGER_DETAIL_MAX 256U

enum ledger_state {
	LEDGER_IDLE,    /* nothing to write */
	LEDGER_WAITING, /* records queued, the batch is due */
	LEDGER_ENDING   /* the supervisor is gone */
};

struct ledger_entry {
	uint64_t id;
	json_t *body;       /* owned: event, fields */
	enum result result; /* of adding it to the batch */
};

struct ledger {
	struct event_base *base;
	struct peer *peer;
	struct event *batch; /* the batch's next try */
	enum ledger_state state;
	enum ipc_exit exit_code;
	struct audit_chain chain;
	struct ledger_entry queue[LEDGER_QUEUE_MAX];
	size_t queued;
	uint64_t deadline_ms; /* for the lock */
	struct ledger_budget *budget;
	struct ledger_rate *rate;
};

static void
ledger_enter(struct ledger *ledger, enum ledger_state state)
{
	ledger->state = state;
}

static int64_t
ledger_now_ms(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		return 0;
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* To the supervisor, who reads or is gone. */
static void
ledger_send(const struct ipc_message *message, void *context)
{
	struct ledger *ledger = context;
	enum result result = ledger->peer == NULL
				 ? RESULT_CLOSED
				 : peer_send(ledger->peer, message);

	/* Its end is found by reading, after what it said last. */
	if (result == RESULT_OK || result == RESULT_CLOSED)
		return;
	ledger->exit_code = IPC_EXIT_PROTOCOL;
	event_loop_stop(ledger->base);
}

static void
ledger_answer(struct ledger *ledger, uint64_t id, enum result result,
    const char *code, const char *detail)
{
	struct ipc_message message;

	ipc_message_init(
	    &message, result == RESULT_OK ? IPC_SYNCED : IPC_FAILED, id);
	if (result != RESULT_OK)
		message.body =
		    json_pack("{s:s, s:s}", "code", code, "detail", detail);
	ledger_send(&message, ledger);
	ipc_message_clear(&message);
}

static const char *
ledger_code(enum result result)
{
	switch (result) {
	case RESULT_MISMATCH:
		return "audit_broken";
	case RESULT_TIMEOUT:
		return "audit_locked";
	case RESULT_TOO_LONG:
	case RESULT_BAD:
		return "audit_record";
	case RESULT_OK:
	case RESULT_NEED_MORE:
	case RESULT_EOF:
	case RESULT_NO_MEMORY:
	case RESULT_SYSTEM:
	case RESULT_NOT_FOUND:
	case RESULT_EXISTS:
	case RESULT_REFUSED:
	case RESULT_UNSUPPORTED:
	case RESULT_CLOSED:
	case RESULT_INTERNAL:
	case RESULT_COUNT:
		break;
	}
	return "audit_write";
}

/* Answer and forget the whole queue. result is that of the batch; a record
 * that was no part of it has its own. */
static void
ledger_answer_all(
    struct ledger *ledger, enum result result, const struct json_fault *fault)
{
	struct ledger_entry *entry;
	enum result own;
	size_t i;

	if (result != RESULT_OK)
		log_event(LOG_ERROR_LEVEL, "audit_failed",
		    LOG_TEXT("code", ledger_code(result)),
		    LOG_TEXT("detail", fault->text));
	for (i = 0; i < ledger->queued; i++) {
		entry = &ledger->queue[i];
		own = entry->result != RESULT_OK ? entry->result : result;
		ledger_answer(ledger, entry->id, own, ledger_code(own),
		    entry->result != RESULT_OK ? result_text(own)
					       : fault->text);
		json_decref(entry->body);
	}
	ledger->queued = 0;
}

/* Under the lock. */
static enum result
ledger_write_batch(struct ledger *ledger, struct json_fault *fault)
{
	int64_t now = ledger_now_ms();
	struct ledger_entry *entry;
	enum result result;
	size_t i;

	result = audit_chain_catch_up(&ledger->chain, now, fault);
	if (result != RESULT_OK)
		return result;
	for (i = 0; i < ledger->queued; i++) {
		entry = &ledger->queue[i];
		entry->result = audit_chain_add(&ledger->chain, now,
		    json_string_value(json_object_get(entry->body, "event")),
		    json_object_get(entry->body, "fields"));
	}
	return audit_chain_commit(&ledger->chain, fault);
}

static void
ledger_try_batch(struct ledger *ledger)
{
	struct timeval pause = event_loop_timeval(LEDGER_LOCK_PAUSE_MS);
	struct json_fault fault = {""};
	enum result result;

	result = audit_chain_lock(&ledger->chain);
	if (result == RESULT_NEED_MORE &&
	    event_loop_now_ms() < ledger->deadline_ms) {
		if (event_add(ledger->batch, &pause) == 0)
			return;
		result = RESULT_NO_MEMORY;
	}
	if (result == RESULT_OK) {
		result = ledger_write_batch(ledger, &fault);
		audit_chain_unlock(&ledger->chain);
	} else {
		if (result == RESULT_NEED_MORE)
			result = RESULT_TIMEOUT;
		json_field_fault(
		    &fault, "the chain's lock: %s", result_text(result));
	}
	ledger_answer_all(ledger, result, &fault);
	if (ledger->state == LEDGER_WAITING)
		ledger_enter(ledger, LEDGER_IDLE);
}

static void
ledger_on_batch(evutil_socket_t fd, short what, void *context)
{
	struct ledger *ledger = context;

	(void)fd;
	(void)what;
	if (ledger->queued > 0)
		ledger_try_batch(ledger);
}

/* The first record of a batch makes it due; what arrives in the same turn
 * of the loop goes with it. */
static void
ledger_on_audit(struct ledger *ledger, struct ipc_message *message)
{
	struct ledger_entry *entry = &ledger->queue[ledger->queued];

	if (ledger->queued == LEDGER_QUEUE_MAX) {
		ledger_answer(ledger, message->id, RESULT_TOO_LONG,
		    "audit_busy", "too many records wait for the disk");
		return;
	}
	entry->id = message->id;
	entry->body = json_incref(message->body);
	entry->result = RESULT_OK;
	ledger->queued++;
	if (ledger->state == LEDGER_WAITING)
		return;
	ledger_enter(ledger, LEDGER_WAITING);
	ledger->deadline_ms = event_loop_now_ms() + LEDGER_LOCK_TIMEOUT_MS;
	event_active(ledger->batch, EV_TIMEOUT, 0);
}

static void
ledger_on_message(struct ipc_message *message, void *context)
{
	struct ledger *ledger = context;

	if (message->type == IPC_AUDIT)
		ledger_on_audit(ledger, message);
	else if (message->type == IPC_LOG_REPLACE)
		log_replace_all(ipc_message_take_fd(message, 0));
	else if (message->type == IPC_BUDGET_OPEN ||
		 message->type == IPC_BUDGET_CLOSE ||
		 message->type == IPC_STATS)
		ledger_budget_take(ledger->budget, message);
	else if (message->type == IPC_RATE_TAKE)
		ledger_rate_take(ledger->rate, message);
	else {
		ledger->exit_code = IPC_EXIT_PROTOCOL;
		event_loop_stop(ledger->base);
	}
}

/* What was handed over is still written; nobody is there to be told. */
static void
ledger_on_end(enum result why, const char *detail, void *context)
{
	struct ledger *ledger = context;
	struct json_fault fault = {""};

	log_event(
	    LOG_INFO_LEVEL, "supervisor_gone", LOG_TEXT("detail", detail));
	ledger->exit_code = why == RESULT_EOF || why == RESULT_CLOSED
				? IPC_EXIT_SUPERVISOR
				: IPC_EXIT_PROTOCOL;
	peer_free(&ledger->peer);
	ledger_enter(ledger, LEDGER_ENDING);
	ledger_budget_free(&ledger->budget);
	ledger_rate_free(&ledger->rate);
	if (ledger->queued > 0 &&
	    audit_chain_lock(&ledger->chain) == RESULT_OK) {
		ledger_answer_all(
		    ledger, ledger_write_batch(ledger, &fault), &fault);
		audit_chain_unlock(&ledger->chain);
	}
	event_loop_stop(ledger->base);
}

/* Before the loop: the lock by plain waiting, then a first look. */
static enum result
ledger_begin(struct ledger *ledger, struct json_fault *fault)
{
	const struct timespec pause = {0, LEDGER_LOCK_PAUSE_MS * 1000000L};
	uint64_t deadline = event_loop_now_ms() + LEDGER_LOCK_TIMEOUT_MS;
	enum result result;

	while (
	    (result = audit_chain_lock(&ledger->chain)) == RESULT_NEED_MORE &&
	    event_loop_now_ms() < deadline)
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	if (result != RESULT_OK) {
		json_field_fault(fault, "the chain is kept locked");
		return result == RESULT_NEED_MORE ? RESULT_TIMEOUT : result;
	}
	result = audit_chain_catch_up(&ledger->chain, ledger_now_ms(), fault);
	if (result == RESULT_OK)
		result = audit_chain_commit(&ledger->chain, fault);
	audit_chain_unlock(&ledger->chain);
	return result;
}

enum result
ledger_new(struct event_base *base, int dir_fd,
    const struct ledger_config *config, const struct secret *key,
    struct ledger **ledger_r, struct json_fault *fault)
{
	struct ledger *ledger;
	enum result result;

	*ledger_r = NULL;
	ledger = calloc(1, sizeof(*ledger));
	if (ledger == NULL)
		return RESULT_NO_MEMORY;
	ledger->base = base;
	ledger->exit_code = IPC_EXIT_OK;
	audit_chain_init(&ledger->chain);
	ledger->chain.key = key;
	ledger->chain.is_key_new = config->is_key_new;
	ledger->chain.max_size = config->audit_max_size;
	ledger->chain.max_files = config->audit_max_files;
	ledger->batch = event_new(base, -1, 0, ledger_on_batch, ledger);
	result = ledger->batch == NULL
		     ? RESULT_NO_MEMORY
		     : audit_chain_open(&ledger->chain, dir_fd, fault);
	if (result == RESULT_OK)
		result = ledger_begin(ledger, fault);
	if (result == RESULT_OK)
		result = ledger_budget_new(
		    base, dir_fd, ledger_send, ledger, &ledger->budget);
	if (result == RESULT_OK)
		result = ledger_rate_new(
		    base, dir_fd, ledger_send, ledger, &ledger->rate);
	if (result != RESULT_OK) {
		ledger_free(&ledger);
		return result;
	}
	*ledger_r = ledger;
	return RESULT_OK;
}

static enum result
ledger_say_ready(struct ledger *ledger, const struct confine_layers *layers)
{
	struct ipc_message message;
	enum result result;

	ipc_message_init(&message, IPC_READY, 0);
	message.body = confine_ready(layers);
	result = message.body == NULL ? RESULT_NO_MEMORY
				      : peer_send(ledger->peer, &message);
	ipc_message_clear(&message);
	return result;
}

enum result
ledger_serve(
    struct ledger *ledger, int control_fd, const struct confine_layers *layers)
{
	static const struct peer_handlers handlers = {
	    ledger_on_message, ledger_on_end};
	enum result result;

	result = peer_new(ledger->base, control_fd, IPC_LEDGER, IPC_SUPERVISOR,
	    &handlers, ledger, &ledger->peer);
	if (result != RESULT_OK)
		return result;
	peer_set_state(ledger->peer, IPC_STARTING);
	result = ledger_say_ready(ledger, layers);
	peer_set_state(ledger->peer, IPC_RUNNING);
	return result;
}

enum ipc_exit
ledger_exit_code(const struct ledger *ledger)
{
	return ledger->exit_code;
}

void
ledger_free(struct ledger **ledger)
{
	struct ledger *gone = *ledger;
	size_t i;

	if (gone == NULL)
		return;
	*ledger = NULL;
	for (i = 0; i < gone->queued; i++)
		json_decref(gone->queue[i].body);
	peer_free(&gone->peer);
	ledger_budget_free(&gone->budget);
	ledger_rate_free(&gone->rate);
	if (gone->batch != NULL)
		event_free(gone->batch);
	audit_chain_close(&gone->chain);
	free(gone);
}
