/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does what the supervisor asks. Called by the control socket's peer. The
 * supervisor is trusted, but a message that cannot be right changes
 * nothing. Must never widen a grant.
 */
#include "llm-broker/broker_control.h"

#include <string.h>

#include "common/event_loop.h"
#include "common/ipc_catalogue.h"
#include "common/log.h"

static enum result
broker_control_send(struct broker_control *control, enum ipc_type type,
    uint64_t id, json_t *body)
{
	struct ipc_message message;
	enum result result;

	ipc_message_init(&message, type, id);
	message.body = body;
	result = body != NULL ? peer_send(control->peer, &message)
			      : RESULT_NO_MEMORY;
	ipc_message_clear(&message);
	if (result != RESULT_OK)
		log_event(LOG_WARN_LEVEL, "control_send_failed",
		    LOG_TEXT("type", ipc_catalogue_row(type)->name),
		    LOG_TEXT("result", result_text(result)));
	return result;
}

/* RESULT_OK, or the request is answered with `failed`. */
static void
broker_control_result(struct broker_control *control,
    const struct ipc_message *message, enum result result, const char *detail)
{
	if (result == RESULT_OK)
		return;
	log_event(LOG_ERROR_LEVEL, "control_request_failed",
	    LOG_TEXT("type", ipc_catalogue_row(message->type)->name),
	    LOG_TEXT("code", result_text(result)), LOG_TEXT("detail", detail));
	(void)broker_control_send(control, IPC_FAILED, message->id,
	    json_pack(
		"{s:s,s:s}", "code", result_text(result), "detail", detail));
}

static const char *
broker_control_text(const struct ipc_message *message, const char *key)
{
	return json_string_value(json_object_get(message->body, key));
}

static bool
broker_control_is_ours(
    const struct broker_control *control, const struct ipc_message *message)
{
	const struct call_run *run = &control->broker->run;

	return run->grant != NULL &&
	       strcmp(run->id, broker_control_text(message, "sandbox")) == 0;
}

static void
broker_control_grant(
    struct broker_control *control, const struct ipc_message *message)
{
	const json_t *object = json_object_get(message->body, "grant");
	struct grant *grant = NULL;
	struct json_fault fault = {""};
	enum result result = grant_load(object, "grant", &grant, &fault);

	if (result == RESULT_OK) {
		result = broker_grant(control->broker,
		    broker_control_text(message, "sandbox"), grant);
		json_field_fault(&fault,
		    "the grant allows more than the one in force, or another "
		    "sandbox is open");
	}
	broker_control_result(control, message, result, fault.text);
}

static void
broker_control_listen(
    struct broker_control *control, struct ipc_message *message)
{
	enum result result = RESULT_REFUSED;

	if (broker_control_is_ours(control, message) &&
	    strcmp(broker_control_text(message, "kind"), "llm") == 0)
		result = broker_listen_add(
		    control->broker, ipc_message_take_fd(message, 0));
	broker_control_result(control, message, result,
	    "a listener is of kind llm, comes after the grant of its sandbox, "
	    "and is a listening TCP socket");
}

static void
broker_control_stream(
    struct broker_control *control, struct ipc_message *message)
{
	const char *name = broker_control_text(message, "name");
	enum result result = RESULT_REFUSED;

	if (strcmp(name, "key") == 0)
		result = broker_open_key(
		    control->broker, ipc_message_take_fd(message, 0));
	else if (strcmp(name, "ledger") == 0)
		result = broker_open_ledger(
		    control->broker, ipc_message_take_fd(message, 0));
	broker_control_result(control, message, result,
	    "a stream is key or ledger, and each comes once");
}

static void
broker_control_close_sandbox(
    struct broker_control *control, const struct ipc_message *message)
{
	if (broker_control_is_ours(control, message))
		broker_close_sandbox(control->broker);
	else
		broker_control_result(control, message, RESULT_NOT_FOUND,
		    "no sandbox of that id is open");
}

/* The patterns that matter come from llm-key, before it uses the key. */
static void
broker_control_key_changed(const struct ipc_message *message)
{
	log_event(LOG_INFO_LEVEL, "key_changed",
	    LOG_TEXT("provider", broker_control_text(message, "provider")));
}

static void
broker_control_stats(
    struct broker_control *control, const struct ipc_message *message)
{
	const struct broker *broker = control->broker;
	const struct call_io_counters *counters = &broker->shared.counters;
	const size_t *counts = broker->run.counts;
	const struct lane_client *lanes = broker->shared.lanes;
	json_t *values = json_pack(
	    "{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "accepted",
	    (json_int_t)counters->accepted, "ended",
	    (json_int_t)counters->ended, "calls", (json_int_t)counters->calls,
	    "served", (json_int_t)counters->served, "refused",
	    (json_int_t)counters->refused, "redacted",
	    (json_int_t)counters->redacted, "waiting",
	    (json_int_t)counts[CALL_LIST_WAITING], "running",
	    (json_int_t)counts[CALL_LIST_RUNNING], "leaving",
	    (json_int_t)counts[CALL_LIST_LEAVING], "lanes",
	    lanes != NULL ? (json_int_t)lane_client_open_count(lanes) : 0,
	    "lanes_idle",
	    lanes != NULL ? (json_int_t)lane_client_idle_count(lanes) : 0,
	    "reservations", (json_int_t)broker->ledger.waiting_count,
	    "descriptor_shortages", (json_int_t)broker->listen.shortages);

	(void)broker_control_send(control, IPC_STATS, message->id,
	    json_pack("{s:o}", "values", values));
}

/* The one dispatch of this process. The catalogue has checked fields and
 * descriptors; types that are not for us never arrive. */
static void
broker_control_on_message(struct ipc_message *message, void *context)
{
	struct broker_control *control = context;

	switch (message->type) {
	case IPC_GRANT:
		broker_control_grant(control, message);
		return;
	case IPC_LISTEN:
		broker_control_listen(control, message);
		return;
	case IPC_STREAM:
		broker_control_stream(control, message);
		return;
	case IPC_SANDBOX_CLOSE:
		broker_control_close_sandbox(control, message);
		return;
	case IPC_KEY_CHANGED:
		broker_control_key_changed(message);
		return;
	case IPC_LOG_REPLACE:
		log_replace_all(ipc_message_take_fd(message, 0));
		return;
	case IPC_STATS:
		broker_control_stats(control, message);
		return;
	case IPC_CONFIG:
	case IPC_READY:
	case IPC_SANDBOX_OPEN:
	case IPC_POLICY_REPLACE:
	case IPC_AUDIT:
	case IPC_SYNCED:
	case IPC_FAILED:
	case IPC_DECISION:
	case IPC_RESOLVER_REPLACE:
	case IPC_WORK:
	case IPC_DONE:
	case IPC_KEY_SECRET:
	case IPC_KEY_PATTERN:
	case IPC_UPSTREAM_OPEN:
	case IPC_BUDGET_OPEN:
	case IPC_BUDGET_CLOSE:
	case IPC_USAGE:
	case IPC_TOOL_CALL:
	case IPC_TOOL_RESULT:
	case IPC_GUARD_ASK:
	case IPC_GUARD_ANSWER:
	case IPC_RATE_TAKE:
	case IPC_TYPE_COUNT:
		break;
	}
	control->exit_code = IPC_EXIT_PROTOCOL;
	event_loop_stop(control->broker->base);
}

/* The supervisor is gone, or sent what it must not: nothing goes on. */
static void
broker_control_on_end(enum result why, const char *detail, void *context)
{
	struct broker_control *control = context;

	log_event(LOG_WARN_LEVEL, "control_ended",
	    LOG_TEXT("why", result_text(why)), LOG_TEXT("detail", detail));
	control->exit_code =
	    why == RESULT_EOF ? IPC_EXIT_SUPERVISOR : IPC_EXIT_PROTOCOL;
	event_loop_stop(control->broker->base);
}

static int
broker_control_send_decision(const struct decision *row, void *context)
{
	bool allowed = row->code == CALL_OK;
	char request[LOG_REQUEST_MAX];

	log_request(request, row->sandbox, 'l', row->first);
	return broker_control_send(context, IPC_DECISION, 0,
		   json_pack("{s:s,s:s,s:s,s:s,s:I,s:s}", "sandbox",
		       row->sandbox, "verdict", allowed ? "allow" : "deny",
		       "code", call_code_text((enum call_code)row->code),
		       "target", row->target, "count", (json_int_t)row->count,
		       "request", request)) == RESULT_OK
		   ? 0
		   : -1;
}

static int
broker_control_send_usage(const struct broker_usage_row *row, void *context)
{
	struct broker_control *control = context;
	const struct call_amounts *amounts = &row->amounts;
	json_t *sums = json_pack("{s:I,s:I,s:I,s:I,s:I}", "requests",
	    (json_int_t)amounts->requests, "input_chars",
	    (json_int_t)amounts->input_chars, "output_chars",
	    (json_int_t)amounts->output_chars, "tokens",
	    (json_int_t)amounts->input_tokens +
		(json_int_t)amounts->output_tokens,
	    "cost_microusd", (json_int_t)amounts->cost);

	return broker_control_send(control, IPC_USAGE, 0,
		   json_pack("{s:s,s:s,s:s,s:s,s:I,s:o,s:b}", "sandbox",
		       control->broker->run.id, "provider", row->provider,
		       "model", row->model, "code", call_code_text(row->code),
		       "count", (json_int_t)row->count, "amounts", sums,
		       "estimated", (int)row->estimated)) == RESULT_OK
		   ? 0
		   : -1;
}

enum result
broker_control_init(struct broker_control *control, struct broker *broker)
{
	static const struct peer_handlers handlers = {
	    .on_message = broker_control_on_message,
	    .on_end = broker_control_on_end};

	control->broker = broker;
	control->exit_code = IPC_EXIT_OK;
	broker->send_decision = broker_control_send_decision;
	broker->send_usage = broker_control_send_usage;
	broker->send_context = control;
	return peer_new(broker->base, IPC_CONTROL_FD, IPC_BROKER,
	    IPC_SUPERVISOR, &handlers, control, &control->peer);
}

void
broker_control_close(struct broker_control *control)
{
	peer_free(&control->peer);
}

enum result
broker_control_ready(
    struct broker_control *control, const struct confine_layers *layers)
{
	enum result result =
	    broker_control_send(control, IPC_READY, 0, confine_ready(layers));

	if (result == RESULT_OK)
		peer_set_state(control->peer, IPC_RUNNING);
	return result;
}
