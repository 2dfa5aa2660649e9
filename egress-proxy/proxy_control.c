/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does what the supervisor asks. Called by the control socket's peer. The
 * supervisor is trusted, but a message that cannot be right changes
 * nothing. Must never widen a policy.
 */
#include "egress-proxy/proxy_control.h"

#include <string.h>

#include "common/event_loop.h"
#include "common/ipc_catalogue.h"
#include "common/log.h"
#include "egress-proxy/host_policy_json.h"

static void
proxy_control_send(struct proxy_control *control, enum ipc_type type,
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
}

static void
proxy_control_failed(struct proxy_control *control,
    const struct ipc_message *message, const char *code, const char *detail)
{
	log_event(LOG_ERROR_LEVEL, "control_request_failed",
	    LOG_TEXT("type", ipc_catalogue_row(message->type)->name),
	    LOG_TEXT("code", code), LOG_TEXT("detail", detail));
	proxy_control_send(control, IPC_FAILED, message->id,
	    json_pack("{s:s,s:s}", "code", code, "detail", detail));
}

static void
proxy_control_result(struct proxy_control *control,
    const struct ipc_message *message, enum result result, const char *detail)
{
	if (result != RESULT_OK)
		proxy_control_failed(
		    control, message, result_text(result), detail);
}

/* The sandbox a message is about; NULL was answered with `failed`. */
static struct proxy_sandbox *
proxy_control_sandbox(
    struct proxy_control *control, const struct ipc_message *message)
{
	const char *id =
	    json_string_value(json_object_get(message->body, "sandbox"));
	struct proxy_sandbox *sandbox = proxy_find(control->proxy, id);

	if (sandbox == NULL)
		proxy_control_failed(control, message, "unknown_sandbox",
		    "no sandbox of that id is open");
	return sandbox;
}

static struct host_policy *
proxy_control_policy(
    struct proxy_control *control, const struct ipc_message *message)
{
	const json_t *object = json_object_get(message->body, "policy");
	struct host_policy *policy = NULL;
	struct json_fault fault = {{0}};

	if (host_policy_json_load(object, "policy", &policy, &fault) !=
	    RESULT_OK) {
		proxy_control_failed(
		    control, message, "bad_policy", fault.text);
		return NULL;
	}
	return policy;
}

static void
proxy_control_open(
    struct proxy_control *control, const struct ipc_message *message)
{
	struct host_policy *policy = proxy_control_policy(control, message);
	const char *id =
	    json_string_value(json_object_get(message->body, "sandbox"));

	if (policy != NULL)
		proxy_control_result(control, message,
		    proxy_open_sandbox(control->proxy, id, policy),
		    "the sandbox cannot be opened");
}

static void
proxy_control_listen(struct proxy_control *control, struct ipc_message *message)
{
	struct proxy_sandbox *sandbox = proxy_control_sandbox(control, message);
	const json_t *body = message->body;
	const char *kind = json_string_value(json_object_get(body, "kind"));
	const char *text = json_string_value(json_object_get(body, "name"));
	json_int_t port = json_integer_value(json_object_get(body, "port"));
	bool direct = strcmp(kind, "direct") == 0;
	struct domain name;

	if (sandbox == NULL)
		return;
	if ((!direct && strcmp(kind, "connect") != 0) ||
	    (direct &&
		(text == NULL || port < 1 ||
		    domain_parse(text, strlen(text), &name) != DOMAIN_OK))) {
		proxy_control_failed(control, message, "bad_listener",
		    "kind must be connect, or direct with name and port");
		return;
	}
	proxy_control_result(control, message,
	    proxy_add_listener(sandbox, ipc_message_take_fd(message, 0),
		direct ? &name : NULL, (uint16_t)port),
	    "the descriptor is no listening TCP socket, or there are too "
	    "many");
}

static void
proxy_control_replace(
    struct proxy_control *control, const struct ipc_message *message)
{
	struct proxy_sandbox *sandbox = proxy_control_sandbox(control, message);
	struct host_policy *policy;

	if (sandbox == NULL)
		return;
	policy = proxy_control_policy(control, message);
	if (policy != NULL)
		proxy_control_result(control, message,
		    proxy_replace_policy(sandbox, policy),
		    "the new policy allows more than the one in force");
}

static void
proxy_control_resolver(
    struct proxy_control *control, const struct ipc_message *message)
{
	const char *servers =
	    json_string_value(json_object_get(message->body, "servers"));

	proxy_control_result(control, message,
	    dns_set_servers(control->proxy->dns, servers),
	    "servers must be ADDRESS:PORT,...");
}

/* Sessions in each list, over all sandboxes. */
static json_int_t
proxy_control_count(const struct proxy *proxy, enum session_list list)
{
	const struct proxy_sandbox *sandbox;
	size_t count = 0;

	TAILQ_FOREACH(sandbox, &proxy->sandboxes, link)
	count += sandbox->shared.counts[list];
	return (json_int_t)count;
}

static void
proxy_control_stats(
    struct proxy_control *control, const struct ipc_message *message)
{
	const struct proxy *proxy = control->proxy;
	const struct session_io_counters *counters = &proxy->shared.counters;
	json_t *values = json_pack(
	    "{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}",
	    "accepted", (json_int_t)counters->accepted, "ended",
	    (json_int_t)counters->ended, "refused",
	    (json_int_t)counters->refused, "tunnels",
	    (json_int_t)counters->tunnels, "exchanges",
	    (json_int_t)counters->exchanges, "evicted",
	    (json_int_t)counters->evicted, "up_bytes",
	    (json_int_t)counters->up_bytes, "down_bytes",
	    (json_int_t)counters->down_bytes, "waiting",
	    proxy_control_count(proxy, SESSION_LIST_WAITING), "opening",
	    proxy_control_count(proxy, SESSION_LIST_OPENING), "open",
	    proxy_control_count(proxy, SESSION_LIST_OPEN), "leaving",
	    proxy_control_count(proxy, SESSION_LIST_LEAVING), "pipes",
	    (json_int_t)proxy->shared.tunnel.pipes.open, "descriptor_shortages",
	    (json_int_t)proxy->descriptor_shortages);

	proxy_control_send(control, IPC_STATS, message->id,
	    json_pack("{s:o}", "values", values));
}

static void
proxy_control_close_sandbox(
    struct proxy_control *control, const struct ipc_message *message)
{
	struct proxy_sandbox *sandbox = proxy_control_sandbox(control, message);

	if (sandbox != NULL)
		proxy_close_sandbox(&sandbox);
}

/* The one dispatch of this process. The catalogue has checked fields and
 * descriptors; types that are not for us never arrive. */
static void
proxy_control_on_message(struct ipc_message *message, void *context)
{
	struct proxy_control *control = context;

	switch (message->type) {
	case IPC_SANDBOX_OPEN:
		proxy_control_open(control, message);
		return;
	case IPC_LISTEN:
		proxy_control_listen(control, message);
		return;
	case IPC_POLICY_REPLACE:
		proxy_control_replace(control, message);
		return;
	case IPC_SANDBOX_CLOSE:
		proxy_control_close_sandbox(control, message);
		return;
	case IPC_RESOLVER_REPLACE:
		proxy_control_resolver(control, message);
		return;
	case IPC_LOG_REPLACE:
		log_replace_all(ipc_message_take_fd(message, 0));
		return;
	case IPC_STATS:
		proxy_control_stats(control, message);
		return;
	case IPC_CONFIG:
	case IPC_READY:
	case IPC_STREAM:
	case IPC_AUDIT:
	case IPC_SYNCED:
	case IPC_FAILED:
	case IPC_DECISION:
	case IPC_WORK:
	case IPC_DONE:
	case IPC_GRANT:
	case IPC_KEY_SECRET:
	case IPC_KEY_CHANGED:
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
	event_loop_stop(control->proxy->base);
}

/* The supervisor is gone, or sent what it must not: nothing goes on. */
static void
proxy_control_on_end(enum result why, const char *detail, void *context)
{
	struct proxy_control *control = context;

	log_event(LOG_WARN_LEVEL, "control_ended",
	    LOG_TEXT("why", result_text(why)), LOG_TEXT("detail", detail));
	control->exit_code =
	    why == RESULT_EOF ? IPC_EXIT_SUPERVISOR : IPC_EXIT_PROTOCOL;
	event_loop_stop(control->proxy->base);
}

static int
proxy_control_send_decision(const struct decision *row, void *context)
{
	struct proxy_control *control = context;
	char request[LOG_REQUEST_MAX];
	struct ipc_message message;
	enum result result;

	log_request(request, row->sandbox, 'c', row->first);
	ipc_message_init(&message, IPC_DECISION, 0);
	message.body = json_pack("{s:s,s:s,s:s,s:s,s:s,s:I,s:s}", "sandbox",
	    row->sandbox, "verdict", row->code == DENY_NONE ? "allow" : "deny",
	    "code", deny_text(row->code), "target", row->target, "rule",
	    row->rule, "count", (json_int_t)row->count, "request", request);
	result = message.body != NULL ? peer_send(control->peer, &message)
				      : RESULT_NO_MEMORY;
	ipc_message_clear(&message);
	return result == RESULT_OK ? 0 : -1;
}

enum result
proxy_control_init(struct proxy_control *control, struct proxy *proxy)
{
	static const struct peer_handlers handlers = {
	    .on_message = proxy_control_on_message,
	    .on_end = proxy_control_on_end};

	control->proxy = proxy;
	control->exit_code = IPC_EXIT_OK;
	proxy->send_decision = proxy_control_send_decision;
	proxy->send_context = control;
	return peer_new(proxy->base, IPC_CONTROL_FD, IPC_PROXY, IPC_SUPERVISOR,
	    &handlers, control, &control->peer);
}

void
proxy_control_close(struct proxy_control *control)
{
	control->proxy->send_decision = NULL;
	peer_free(&control->peer);
}

enum result
proxy_control_ready(
    struct proxy_control *control, const struct confine_layers *layers)
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
