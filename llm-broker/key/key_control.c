/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does what the supervisor asks. Called by the control socket's peer. The
 * supervisor is trusted, but nothing it can say makes this process tell a
 * key.
 */
#include "llm-broker/key/key_control.h"

#include <string.h>

#include "common/event_loop.h"
#include "common/ipc_catalogue.h"
#include "common/log.h"

static void
key_control_send(
    struct key_control *control, enum ipc_type type, uint64_t id, json_t *body)
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
}

/* Nothing when it went well. */
static void
key_control_result(struct key_control *control,
    const struct ipc_message *message, enum result result, const char *detail)
{
	if (result == RESULT_OK)
		return;
	log_event(LOG_ERROR_LEVEL, "control_request_failed",
	    LOG_TEXT("type", ipc_catalogue_row(message->type)->name),
	    LOG_TEXT("code", result_text(result)), LOG_TEXT("detail", detail));
	key_control_send(control, IPC_FAILED, message->id,
	    json_pack(
		"{s:s,s:s}", "code", result_text(result), "detail", detail));
}

static const char *
key_control_text(const struct ipc_message *message, const char *field)
{
	return json_string_value(json_object_get(message->body, field));
}

static void
key_control_stream(struct key_control *control, struct ipc_message *message)
{
	const char *name = key_control_text(message, "name");

	if (strcmp(name, "broker") == 0)
		key_control_result(control, message,
		    key_holder_add_broker(
			control->holder, ipc_message_take_fd(message, 0)),
		    "there is a broker already");
	else if (strcmp(name, "keyring") == 0)
		key_control_result(control, message,
		    key_holder_add_keyring(
			control->holder, ipc_message_take_fd(message, 0)),
		    "too many keyring pairs are open");
	else
		key_control_result(control, message, RESULT_BAD,
		    "name must be broker or keyring");
}

/* The one dispatch of this process. The catalogue has checked fields and
 * descriptors; types that are not for us never arrive. */
static void
key_control_on_message(struct ipc_message *message, void *context)
{
	struct key_control *control = context;

	switch (message->type) {
	case IPC_STREAM:
		key_control_stream(control, message);
		return;
	case IPC_KEY_CHANGED:
		key_control_result(control, message,
		    key_holder_key_changed(
			control->holder, key_control_text(message, "provider")),
		    "no provider of that name");
		return;
	case IPC_RESOLVER_REPLACE:
		key_control_result(control, message,
		    key_holder_set_resolver(
			control->holder, key_control_text(message, "servers")),
		    "servers must be ADDRESS:PORT,...");
		return;
	case IPC_LOG_REPLACE:
		log_replace_all(ipc_message_take_fd(message, 0));
		return;
	case IPC_STATS:
		key_control_send(control, IPC_STATS, message->id,
		    json_pack(
			"{s:o}", "values", key_holder_stats(control->holder)));
		return;
	case IPC_CONFIG:
	case IPC_READY:
	case IPC_SANDBOX_OPEN:
	case IPC_LISTEN:
	case IPC_POLICY_REPLACE:
	case IPC_SANDBOX_CLOSE:
	case IPC_AUDIT:
	case IPC_SYNCED:
	case IPC_FAILED:
	case IPC_DECISION:
	case IPC_WORK:
	case IPC_DONE:
	case IPC_GRANT:
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
	event_loop_stop(control->holder->base);
}

/* The supervisor is gone, or sent what it must not: nothing goes on. */
static void
key_control_on_end(enum result why, const char *detail, void *context)
{
	struct key_control *control = context;

	log_event(LOG_WARN_LEVEL, "control_ended",
	    LOG_TEXT("why", result_text(why)), LOG_TEXT("detail", detail));
	control->exit_code =
	    why == RESULT_EOF ? IPC_EXIT_SUPERVISOR : IPC_EXIT_PROTOCOL;
	event_loop_stop(control->holder->base);
}

enum result
key_control_init(struct key_control *control, struct key_holder *holder)
{
	static const struct peer_handlers handlers = {
	    .on_message = key_control_on_message, .on_end = key_control_on_end};

	control->holder = holder;
	control->exit_code = IPC_EXIT_OK;
	return peer_new(holder->base, IPC_CONTROL_FD, IPC_KEY, IPC_SUPERVISOR,
	    &handlers, control, &control->peer);
}

void
key_control_close(struct key_control *control)
{
	peer_free(&control->peer);
}

enum result
key_control_ready(
    struct key_control *control, const struct confine_layers *layers)
{
	struct ipc_message message;
	enum result result;

	ipc_message_init(&message, IPC_READY, 0);
	message.body = confine_ready(layers);
	result = message.body != NULL ? peer_send(control->peer, &message)
				      : RESULT_NO_MEMORY;
	ipc_message_clear(&message);
	if (result == RESULT_OK)
		peer_set_state(control->peer, IPC_RUNNING);
	return result;
}
