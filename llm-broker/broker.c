/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds the parts of the process together. Called by main.c and
 * broker_control.c. Must never serve a sandbox without a grant, nor widen
 * one that is in force.
 */
#include "llm-broker/broker.h"

#include <stdlib.h>
#include <string.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/log.h"
#include "llm-broker/call_report.h"

#define BROKER_USAGE_TICKS 2U     /* of 100 ms, until usage is sent */
#define BROKER_DECISION_TICKS 10U /* until decisions are */

_Static_assert(CALL_CODE_COUNT <= DECISION_TABLE_CODES_MAX,
    "the decision table has a row per code");

void
broker_keep_ticking(struct broker *broker)
{
	struct timeval tick = event_loop_timeval(DEADLINE_WHEEL_TICK_MS);

	if (!event_pending(broker->tick, EV_TIMEOUT, NULL))
		(void)event_add(broker->tick, &tick);
}

static void
broker_flush_usage(struct broker *broker)
{
	if (broker->send_usage != NULL)
		broker_usage_flush(
		    &broker->usage, broker->send_usage, broker->send_context);
}

void
broker_flush(struct broker *broker)
{
	broker_flush_usage(broker);
	if (broker->send_decision != NULL)
		decision_table_flush(&broker->decisions, broker->send_decision,
		    broker->send_context);
}

static void
broker_on_tick(evutil_socket_t fd, short what, void *context)
{
	struct broker *broker = context;

	(void)fd;
	(void)what;
	call_io_tick(&broker->shared);
	if (++broker->ticks % BROKER_USAGE_TICKS == 0)
		broker_flush_usage(broker);
	if (broker->ticks % BROKER_DECISION_TICKS != 0)
		return;
	broker_flush(broker);
	log_flush();
	/* Nothing is open and nothing is owed: sleep until an agent comes. */
	if (broker->shared.wheel.armed == 0 && broker->usage.used == 0 &&
	    broker->decisions.used == 0)
		(void)event_del(broker->tick);
}

/* A call is over. */
static void
broker_on_report(const struct call *call, void *context)
{
	struct broker *broker = context;
	char target[CALL_REPORT_TARGET_MAX];

	broker_usage_add(&broker->usage, call);
	call_report_target(call, target, sizeof(target));
	decision_table_add(&broker->decisions, broker->run.id,
	    (unsigned)call->code, target, NULL, call->number);
}

static enum result
broker_reserve(struct call *call, void *context)
{
	struct broker *broker = context;
	const struct call_io_counters *counters = &broker->shared.counters;

	return broker_ledger_reserve(
	    &broker->ledger, call, counters->accepted - counters->ended == 1);
}

static void
broker_settle(struct call *call, void *context)
{
	struct broker *broker = context;

	broker_ledger_settle(&broker->ledger, call);
}

static void
broker_forget(struct call *call, void *context)
{
	struct broker *broker = context;

	broker_ledger_forget(&broker->ledger, call);
}

static void
broker_init_shared(struct broker *broker)
{
	struct call_io_shared *shared = &broker->shared;
	const struct broker_config *config = &broker->config;

	shared->limits.head_ms = (uint64_t)config->head_timeout_ms;
	shared->limits.request_ms = (uint64_t)config->request_timeout_ms;
	shared->limits.keep_ms = (uint64_t)config->keep_alive_ms;
	shared->ledger.reserve = broker_reserve;
	shared->ledger.settle = broker_settle;
	shared->ledger.forget = broker_forget;
	shared->on_report = broker_on_report;
	shared->context = broker;
}

static void
broker_init_run(struct broker *broker)
{
	struct call_run *run = &broker->run;

	run->keys = broker->keys;
	run->port = (uint16_t)broker->config.port;
	run->providers =
	    (const struct provider *const *)broker->config.providers;
	for (unsigned i = 0; i < CALL_LIST_COUNT; i++)
		TAILQ_INIT(&run->lists[i]);
}

enum result
broker_init(struct broker *broker, struct event_base *base)
{
	enum result result;

	broker->base = base;
	broker_ledger_init(&broker->ledger);
	result = key_table_new(
	    (const struct provider *const *)broker->config.providers,
	    broker->config.keyless, &broker->keys);
	if (result != RESULT_OK ||
	    event_base_priority_init(base, LANE_CLIENT_PRIORITIES) != 0)
		return RESULT_NO_MEMORY;
	broker_init_run(broker);
	broker_init_shared(broker);
	broker->tick = event_new(base, -1, EV_PERSIST, broker_on_tick, broker);
	if (broker->tick == NULL || broker_listen_init(broker) != RESULT_OK)
		return RESULT_NO_MEMORY;
	return call_io_shared_init(&broker->shared, base);
}

/* --- grants --- */

/* Requests that are being read may point to a grant that was replaced. */
static bool
broker_is_reading(const struct broker *broker)
{
	for (unsigned list = 0; list < CALL_LIST_COUNT; list++) {
		const struct call *call;

		TAILQ_FOREACH(call, &broker->run.lists[list], link)
		if (call->request != NULL)
			return true;
	}
	return false;
}

static void
broker_free_retired(struct broker *broker)
{
	while (broker->retired_count > 0)
		grant_free(&broker->retired[--broker->retired_count]);
}

static void
broker_tell_all(struct broker *broker, enum call_event event)
{
	for (unsigned list = 0; list < CALL_LIST_COUNT; list++) {
		struct call_queue *queue = &broker->run.lists[list];
		struct call *call, *next;

		for (call = TAILQ_FIRST(queue); call != NULL; call = next) {
			next = TAILQ_NEXT(call, link);
			call_io_tell(call, event);
		}
	}
}

static enum result
broker_narrow(struct broker *broker, struct grant *grant)
{
	struct grant *old = broker->run.grant;

	if (!broker_is_reading(broker))
		broker_free_retired(broker);
	if (!grant_covers(old, grant) ||
	    broker->retired_count == BROKER_RETIRED_MAX) {
		grant_free(&grant);
		return RESULT_REFUSED;
	}
	broker->retired[broker->retired_count++] = old;
	broker->run.grant = grant;
	broker_tell_all(broker, CALL_EVENT_NARROWED);
	return RESULT_OK;
}

enum result
broker_grant(struct broker *broker, const char *id, struct grant *grant)
{
	struct call_run *run = &broker->run;
	size_t len = strlen(id);

	if (run->grant != NULL && strcmp(run->id, id) == 0)
		return broker_narrow(broker, grant);
	if (run->grant != NULL || len >= sizeof(run->id)) {
		grant_free(&grant);
		return RESULT_EXISTS;
	}
	memcpy(run->id, id, len + 1);
	run->grant = grant;
	run->requests = run->input_chars = run->output_chars = 0;
	return RESULT_OK;
}

void
broker_close_sandbox(struct broker *broker)
{
	broker_listen_clear(broker);
	if (broker->run.grant == NULL)
		return;
	broker_tell_all(broker, CALL_EVENT_SANDBOX_CLOSED);
	broker_ledger_finish(&broker->ledger);
	broker_flush(broker);
	broker_free_retired(broker);
	grant_free(&broker->run.grant);
	if (broker->shared.lanes != NULL)
		lane_client_trim(broker->shared.lanes);
}

/* --- the other processes --- */

static void
broker_on_key_message(struct ipc_message *message, void *context)
{
	struct broker *broker = context;
	struct json_fault fault = {{0}};
	const json_t *body = message->body;
	const char *provider =
	    json_string_value(json_object_get(body, "provider"));
	const char *status = json_string_value(json_object_get(body, "status"));

	key_table_set(broker->keys, provider, status,
	    json_object_get(body, "patterns"), &fault);
	lane_client_heard(broker->shared.lanes);
	log_event(fault.text[0] == '\0' ? LOG_INFO_LEVEL : LOG_ERROR_LEVEL,
	    "key_pattern", LOG_TEXT("provider", provider),
	    LOG_TEXT("status", status), LOG_TEXT("detail", fault.text));
}

/* llm-key is gone; its lanes tell their calls themselves. */
static void
broker_on_key_end(enum result why, const char *detail, void *context)
{
	struct broker *broker = context;

	log_event(LOG_ERROR_LEVEL, "key_ended",
	    LOG_TEXT("why", result_text(why)), LOG_TEXT("detail", detail));
	peer_free(&broker->key);
	key_table_clear(broker->keys);
}

_Static_assert(LANE_CLIENT_BATCH < IPC_FDS_MAX, "one message for a batch");

static enum result
broker_open_lanes(const int *fds, size_t count, void *context)
{
	struct broker *broker = context;
	struct ipc_message message;
	enum result result = RESULT_CLOSED;

	ipc_message_init(&message, IPC_UPSTREAM_OPEN, 0);
	message.body = json_object();
	memcpy(message.fds, fds, count * sizeof(fds[0]));
	message.fd_count = count;
	if (broker->key != NULL && message.body != NULL)
		result = peer_send(broker->key, &message);
	message.fd_count = 0; /* they stay the caller's */
	ipc_message_clear(&message);
	return result;
}

enum result
broker_open_key(struct broker *broker, int fd)
{
	static const struct peer_handlers handlers = {
	    .on_message = broker_on_key_message, .on_end = broker_on_key_end};
	struct lane_client_handlers lanes = call_io_lane_handlers;
	enum result result;

	if (broker->key != NULL || broker->shared.lanes != NULL) {
		fd_close(&fd);
		return RESULT_EXISTS;
	}
	lanes.open = broker_open_lanes;
	result = lane_client_new(broker->base, (size_t)broker->config.lanes,
	    &lanes, broker, &broker->shared.lanes);
	if (result != RESULT_OK) {
		fd_close(&fd);
		return result;
	}
	result = peer_new(broker->base, fd, IPC_BROKER, IPC_KEY, &handlers,
	    broker, &broker->key);
	if (result == RESULT_OK)
		peer_set_state(broker->key, IPC_RUNNING);
	return result;
}

enum result
broker_open_ledger(struct broker *broker, int fd)
{
	return broker_ledger_open(&broker->ledger, broker->base, fd);
}

void
broker_close(struct broker *broker)
{
	broker_close_sandbox(broker);
	broker_ledger_close(&broker->ledger);
	peer_free(&broker->key);
	lane_client_free(&broker->shared.lanes);
	call_io_shared_close(&broker->shared);
	broker_listen_close(broker);
	event_free(broker->tick);
	key_table_free(&broker->keys);
	broker_config_clear(&broker->config);
}
