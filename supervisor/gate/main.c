/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode-gate: stands between an MCP client (or whoever runs a program)
 * and the workload in the container. Started by the supervisor; config,
 * confine, ready, streams, start, done. It must never open, execute or
 * dial anything.
 *
 * After ready the supervisor sends a `stream` per descriptor and then
 * `work` {"job":"start"}; when the workload has ended, `work`
 * {"job":"workload_ended","options":{"exit_code","signal","code"}}; code is
 * there when it never started or was ended by us. The gate sends one `done`
 * {"job":"gate","result":{"reason","detail", counts}}. In mode agent it gets
 * a `listen` of kind tools, too, and calls of tools go to and fro; in mode
 * caller it gets `work` "call" and "list" and answers each with a `done`,
 * until `work` "cancel" of the same id takes it back; in mode pack it gets
 * one "call" (pack_link.h). Mode mux is apart (mux_host.h).
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/confine.h"
#include "common/event_loop.h"
#include "common/fd.h"
#include "common/ipc.h"
#include "common/log.h"
#include "common/peer.h"
#include "supervisor/gate/caller_link.h"
#include "supervisor/gate/gate_config.h"
#include "supervisor/gate/gate_confine.h"
#include "supervisor/gate/gate_io.h"
#include "supervisor/gate/mux_host.h"
#include "supervisor/gate/pack_link.h"
#include "supervisor/gate/tools_link.h"

#include <sys/random.h>

#define MAIN_LOG_RATE 1000U /* lines of one event per second */

struct main_process {
	struct event_base *base;
	struct peer *peer;
	struct gate gate;
	struct gate_io *io;
	struct tools_link *tools;  /* mode agent */
	struct caller_link caller; /* mode caller */
	struct pack_link pack;     /* mode pack */
	int exit_code;
};

static void
main_stop(struct main_process *process, int code, const char *why)
{
	if (code != IPC_EXIT_OK)
		log_event(LOG_ERROR_LEVEL, "gate_stop", LOG_TEXT("why", why));
	process->exit_code = code;
	event_loop_stop(process->base);
}

static json_t *
main_result(const struct gate *gate)
{
	const struct mcp_session_counts *counts = &gate->session.counts;

	if (gate->options.mode == GATE_PACK)
		return pack_link_result(gate);
	if (gate->options.mode == GATE_BUILD)
		return json_pack("{s:s, s:s, s:b}", "reason",
		    gate_reason_text(gate->reason), "detail",
		    gate->build.reason, "full", gate->build.full);
	if (gate->options.mode == GATE_AGENT ||
	    gate->options.mode == GATE_CALLER)
		return json_pack("{s:s, s:s}", "reason",
		    gate_reason_text(gate->reason), "detail",
		    gate->caller.detail);
	return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
	    "reason", gate_reason_text(gate->reason), "detail",
	    gate->listing.detail, "first_answer_ms",
	    (json_int_t)counts->first_ms, "calls", (json_int_t)counts->calls,
	    "denied", (json_int_t)counts->denied, "noise",
	    (json_int_t)counts->noise, "dropped", (json_int_t)counts->dropped,
	    "too_long", (json_int_t)counts->too_long, "tools_filtered",
	    (json_int_t)counts->filtered);
}

/* What was lost goes before what came of it. */
static json_t *
main_result_of(const struct gate *gate)
{
	json_t *result = main_result(gate);

	if (result != NULL && gate->reason == GATE_OUTPUT_FAILED)
		(void)json_object_set_new(result, "detail",
		    json_string(strerror(gate->output_error)));
	return result;
}

/* The conversation is over: say so, once; the supervisor ends us. */
static void
main_done(void *context)
{
	struct main_process *process = context;
	struct ipc_message message;
	json_t *result;

	ipc_message_init(&message, IPC_DONE, 0);
	result = main_result_of(&process->gate);
	if (process->tools != NULL)
		tools_link_end(process->tools, result);
	message.body = json_pack("{s:s, s:o}", "job", "gate", "result", result);
	log_event(LOG_INFO_LEVEL, "gate_done",
	    LOG_TEXT("reason", gate_reason_text(process->gate.reason)),
	    LOG_UINT("calls", process->gate.session.counts.calls),
	    LOG_UINT("denied", process->gate.session.counts.denied),
	    LOG_UINT("noise", process->gate.session.counts.noise));
	log_flush();
	if (peer_send(process->peer, &message) != RESULT_OK)
		main_stop(process, IPC_EXIT_CRASH, "done could not be sent");
	ipc_message_clear(&message);
}

/* " (exit 3)" or " (signal 9)" out of the supervisor's numbers. */
static void
main_workload_ended(struct main_process *process, const json_t *options)
{
	struct json_fault fault = {""};
	struct gate_pack_facts facts;
	char how[80];

	pack_link_facts(options, &facts, &fault);
	if (fault.text[0] != '\0') {
		main_stop(process, IPC_EXIT_PROTOCOL, fault.text);
		return;
	}
	if (facts.code[0] != '\0')
		snprintf(how, sizeof(how), " (%s)", facts.code);
	else if (facts.signal != 0)
		snprintf(how, sizeof(how), " (signal %d)", facts.signal);
	else
		snprintf(how, sizeof(how), " (exit %d)", facts.exit_code);
	gate_io_ended(process->io, how,
	    facts.code[0] != '\0' || facts.signal != 0 || facts.exit_code != 0,
	    &facts);
}

static void
main_work(struct main_process *process, struct ipc_message *message)
{
	const char *job =
	    json_string_value(json_object_get(message->body, "job"));
	const json_t *options = json_object_get(message->body, "options");

	bool caller = process->gate.options.mode == GATE_CALLER &&
		      process->gate.state != GATE_WAITING;
	bool pack = process->gate.options.mode == GATE_PACK;

	if (strcmp(job, "start") == 0 && gate_io_is_complete(process->io))
		gate_io_start(process->io);
	else if (strcmp(job, "workload_ended") == 0)
		main_workload_ended(process, options);
	else if (pack && strcmp(job, "call") == 0) {
		if (!pack_link_work(&process->pack, message))
			main_stop(process, IPC_EXIT_PROTOCOL,
			    "a request that is none, or a second one");
	} else if (caller &&
		   (strcmp(job, "call") == 0 || strcmp(job, "list") == 0 ||
		       strcmp(job, "cancel") == 0)) {
		if (!caller_link_work(&process->caller, message))
			main_stop(process, IPC_EXIT_PROTOCOL,
			    "a job with wrong options or descriptors");
	} else
		main_stop(process, IPC_EXIT_PROTOCOL, "unknown or early job");
}

/* A question of Guard's, to the supervisor. */
static bool
main_guard_ask(const struct mcp_guard_ask *ask, void *context)
{
	struct main_process *process = context;
	struct ipc_message message;
	enum result result;

	ipc_message_init(&message, IPC_GUARD_ASK, ask->id);
	message.body = json_pack("{s:s, s:s, s:s, s:s, s:i}", "tool", ask->tool,
	    "code", ask->code, "actions", ask->actions, "detail", ask->detail,
	    "count", (int)ask->count);
	result = message.body == NULL ? RESULT_NO_MEMORY
				      : peer_send(process->peer, &message);
	ipc_message_clear(&message);
	return result == RESULT_OK;
}

static void
main_guard_answer(struct main_process *process, struct ipc_message *message)
{
	const char *detail =
	    json_string_value(json_object_get(message->body, "detail"));

	gate_io_guarded(process->io, message->id,
	    json_string_value(json_object_get(message->body, "code")),
	    detail != NULL ? detail : "");
}

static void
main_prepare_guard(
    struct main_process *process, const struct gate_config *config)
{
	struct mcp_guard *guard = &process->gate.session.guard;

	if (!config->has_guard)
		return;
	guard->plan = &config->guard;
	guard->ask = main_guard_ask;
	guard->context = process;
}

static void
main_message(struct ipc_message *message, void *context)
{
	struct main_process *process = context;
	const char *name;

	switch ((int)message->type) {
	case IPC_STREAM:
		name =
		    json_string_value(json_object_get(message->body, "name"));
		if (gate_io_add(process->io, name,
			ipc_message_take_fd(message, 0)) != RESULT_OK)
			main_stop(process, IPC_EXIT_PROTOCOL,
			    "a stream with a wrong name or one that blocks");
		break;
	case IPC_WORK:
		main_work(process, message);
		break;
	case IPC_LISTEN:
		if (process->tools == NULL ||
		    !tools_link_listen(process->tools, message))
			main_stop(process, IPC_EXIT_PROTOCOL,
			    "a listener that is not for tools");
		break;
	case IPC_TOOL_RESULT:
		if (process->tools == NULL ||
		    !tools_link_result(process->tools, message))
			main_stop(process, IPC_EXIT_PROTOCOL,
			    "a tool's result, and nobody to ask for it");
		break;
	case IPC_GUARD_ANSWER:
		main_guard_answer(process, message);
		break;
	case IPC_LOG_REPLACE:
		log_replace_all(ipc_message_take_fd(message, 0));
		break;
	default:
		main_stop(process, IPC_EXIT_PROTOCOL, "unexpected message");
	}
}

static void
main_end(enum result why, const char *detail, void *context)
{
	struct main_process *process = context;

	if (why == RESULT_EOF && process->gate.state == GATE_DONE)
		main_stop(process, IPC_EXIT_OK, detail);
	else
		main_stop(process,
		    why == RESULT_EOF ? IPC_EXIT_SUPERVISOR : IPC_EXIT_PROTOCOL,
		    detail);
}

static void
main_ready(struct main_process *process, const struct confine_layers *layers)
{
	struct ipc_message message;

	ipc_message_init(&message, IPC_READY, 0);
	message.body = confine_ready(layers);
	if (peer_send(process->peer, &message) != RESULT_OK)
		log_fatal(IPC_EXIT_PROTOCOL, "gate_ready", "not sent");
	ipc_message_clear(&message);
	peer_set_state(process->peer, IPC_RUNNING);
}

static void
main_prepare_tools(struct main_process *process, struct gate_config *config,
    const struct mcp_hash_key *key, const char *sandbox)
{
	if (config->options.mode != GATE_AGENT)
		return;
	if (sandbox == NULL)
		log_fatal(IPC_EXIT_BAD_CONFIG, "gate_config",
		    "config.sandbox: mode agent needs it");
	if (tools_link_new(process->base, config, key, process->io, sandbox,
		&process->tools) != RESULT_OK)
		log_fatal(IPC_EXIT_CRASH, "gate_start", "out of resources");
	tools_link_set_peer(process->tools, process->peer);
}

static void
main_turn(void *context)
{
	struct main_process *process = context;

	if (!caller_link_tell(&process->caller) ||
	    !pack_link_tell(&process->pack))
		main_stop(
		    process, IPC_EXIT_CRASH, "an answer could not be sent");
}

static void
main_prepare_caller(struct main_process *process,
    const struct gate_config *config, const char *sandbox)
{
	process->caller = (struct caller_link){.gate = &process->gate,
	    .io = process->io,
	    .peer = process->peer,
	    .arguments_max = config->options.caller.arguments_max};
	process->pack = (struct pack_link){.gate = &process->gate,
	    .io = process->io,
	    .peer = process->peer,
	    .sandbox = sandbox != NULL ? sandbox : ""};
	if (config->options.mode == GATE_CALLER ||
	    config->options.mode == GATE_PACK)
		gate_io_set_turn(process->io, main_turn);
}

/* Everything that needs a right, then none is left. */
static void
main_prepare(struct main_process *process, struct gate_config *config,
    const char *sandbox)
{
	static const struct peer_handlers handlers = {main_message, main_end};
	struct confine_layers layers;
	struct mcp_hash_key key;
	char detail[256];

	if (getrandom(&key, sizeof(key), 0) != (ssize_t)sizeof(key) ||
	    event_loop_new(&process->base) != RESULT_OK ||
	    gate_init(&process->gate, &config->options, &key) != RESULT_OK ||
	    gate_io_new(process->base, &process->gate, main_done, process,
		&process->io) != RESULT_OK ||
	    peer_new(process->base, IPC_CONTROL_FD, IPC_GATE, IPC_SUPERVISOR,
		&handlers, process, &process->peer) != RESULT_OK)
		log_fatal(IPC_EXIT_CRASH, "gate_start", "out of resources");
	main_prepare_tools(process, config, &key, sandbox);
	main_prepare_caller(process, config, sandbox);
	main_prepare_guard(process, config);
	if (gate_confine_enter(config, &layers, detail, sizeof(detail)) !=
	    RESULT_OK)
		log_fatal(IPC_EXIT_CONFINE, "gate_confine", detail);
	main_ready(process, &layers);
}

int
main(void)
{
	struct main_process process;
	struct gate_config config;
	struct ipc_message first;
	struct json_fault fault = {""};
	char detail[JSON_FIELD_FAULT_MAX];
	const char *sandbox;
	int log_fd = -1;

	memset(&process, 0, sizeof(process));
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN); /* errno says it, and we do */
	log_open(STDERR_FILENO, "agentnode-gate", LOG_INFO_LEVEL);
	confine_preload();
	if (peer_receive_first(IPC_CONTROL_FD, IPC_GATE, IPC_SUPERVISOR,
		IPC_START_TIMEOUT_MS, &first, detail,
		sizeof(detail)) != RESULT_OK)
		log_fatal(IPC_EXIT_BAD_CONFIG, "gate_config", detail);
	log_fd = ipc_message_take_fd(&first, 0);
	log_open(log_fd, "agentnode-gate", LOG_INFO_LEVEL);
	sandbox = json_string_value(json_object_get(first.body, "sandbox"));
	if (sandbox != NULL)
		log_set_sandbox(sandbox);
	if (mux_host_asked(json_object_get(first.body, "options")))
		return mux_host_run(json_object_get(first.body, "options"));
	if (gate_config_read(json_object_get(first.body, "options"), &config,
		&fault) != RESULT_OK)
		log_fatal(IPC_EXIT_BAD_CONFIG, "gate_config", fault.text);
	log_open(log_fd, "agentnode-gate", config.lowest);
	if (sandbox != NULL)
		log_set_sandbox(sandbox);
	log_set_rate(MAIN_LOG_RATE);
	main_prepare(&process, &config, sandbox);
	if (event_loop_run(process.base) != RESULT_OK)
		main_stop(&process, IPC_EXIT_CRASH, "the loop gave up");
	log_flush();
	tools_link_free(&process.tools);
	gate_io_free(&process.io);
	peer_free(&process.peer);
	gate_free(&process.gate);
	gate_config_free(&config);
	ipc_message_clear(&first);
	event_base_free(process.base);
	return process.exit_code;
}
