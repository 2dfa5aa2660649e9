/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of an agent's run and what the run makes of their events: the
 * sandbox, the gate, the LLM, the tools. Called by agent_run.c and from the
 * loop; must never assign the state, and ends badly only through
 * agent_run_close.
 */
#include <stdio.h>
#include <string.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/log.h"
#include "supervisor/command/agent_run_state.h"
#include "supervisor/command/command.h"
#include "supervisor/policy/log_files.h"

#define AGENT_RUN_PARTS_SESSIONS 4U
#define AGENT_RUN_PARTS_CALL_S 120U
#define AGENT_RUN_PARTS_BYTES_MAX (1U << 20) /* arguments, a result */

static int
agent_run_parts_log(struct agent_run *run, const char *name)
{
	struct json_fault fault = {""};
	int fd = -1;

	if (log_files_open(run->plan.run.home, name, &fd, &fault) != RESULT_OK)
		log_event(LOG_WARN_LEVEL, "log_file", LOG_TEXT("name", name),
		    LOG_TEXT("detail", fault.text));
	return fd;
}

/* ---- the sandbox ---- */

static void
agent_run_parts_on_port(
    struct sandbox *sandbox, size_t index, int fd, void *context)
{
	struct agent_run *run = context;

	if (run->plan.has_llm && index == run->plan.llm_port) {
		if (llm_part_listen(run->llm, fd) != RESULT_OK) {
			agent_run_close(run, "broker_died",
			    "the listener cannot be passed on");
			return;
		}
		run->llm_listening = true;
		if (run->llm_ready)
			sandbox_port_ready(sandbox, index);
		return;
	}
	if (gate_part_listen(run->gate, fd) != RESULT_OK)
		agent_run_close(run, "gate_died",
		    "the listener cannot be passed to agentnode-gate");
}

static void
agent_run_parts_on_sandbox_end(struct sandbox *sandbox,
    const struct sandbox_outcome *outcome, void *context)
{
	struct agent_run *run = context;

	(void)sandbox;
	run->sandbox_ended = true;
	run->outcome = *outcome;
	agent_run_close(run, "", "the sandbox ended");
}

static enum result
agent_run_parts_start_sandbox(struct agent_run *run)
{
	static const struct sandbox_handlers handlers = {
	    .on_port = agent_run_parts_on_port,
	    .on_end = agent_run_parts_on_sandbox_end};
	struct sandbox_spec *spec = &run->plan.spec;
	enum result result;

	spec->stdin_fd = run->streams.work_in[0];
	spec->stdout_fd = run->streams.work_out[1];
	spec->stderr_fd = run->streams.work_err[1];
	result = sandbox_start(run->base, run->plan.run.config, run->audit,
	    spec, &handlers, run, &run->sandbox);
	mcp_streams_close_work(&run->streams);
	/* Nobody writes to an agent. */
	fd_close(&run->streams.work_in[1]);
	if (run->sandbox != NULL)
		(void)snprintf(run->run_id, sizeof(run->run_id), "%s",
		    sandbox_id(run->sandbox));
	return result;
}

/* ---- the gate ---- */

static void
agent_run_parts_on_gate_done(const struct gate_part_said *said, void *context)
{
	struct agent_run *run = context;
	char detail[sizeof(run->detail)];
	const char *fault = gate_part_fault(said, detail, sizeof(detail));

	(void)snprintf(run->reason, sizeof(run->reason), "%s", said->reason);
	run->unsaid = fault[0] != '\0';
	run->gate_done = true;
	if (strcmp(said->reason, "output_limit") == 0)
		agent_run_close(run, "output_limit",
		    "the agent wrote more than sandbox.output_max");
	else if (strcmp(said->reason, "client_closed") == 0 &&
		 run->state == AGENT_RUN_OPEN)
		agent_run_close(run, "reader_left",
		    "nobody reads the agent's standard output any more");
	else
		agent_run_close(
		    run, fault, run->unsaid ? detail : "the gate is done");
}

static void
agent_run_parts_on_gate_end(const char *detail, void *context)
{
	struct agent_run *run = context;

	run->gate_ended = true;
	if (run->gate_done)
		agent_run_close(run, "", "the gate ended");
	else
		agent_run_close(run, "gate_died", detail);
}

static void
agent_run_parts_on_listening(void *context)
{
	struct agent_run *run = context;

	if (run->sandbox != NULL && !run->sandbox_ended)
		sandbox_port_ready(run->sandbox, run->plan.tools_port);
}

/* For its line in the record, which is written when it is over. */
static void
agent_run_parts_note_call(
    struct agent_run *run, const struct gate_part_call *call)
{
	for (size_t i = 0; i < AGENT_RUN_CALLS_MAX && !call->list; i++) {
		struct agent_run_call *one = &run->calls[i];

		if (one->id != 0)
			continue;
		one->id = call->id;
		one->begin_ms = event_loop_now_ms();
		(void)snprintf(one->package, sizeof(one->package), "%s",
		    slug_is_valid(call->package) ? call->package : "");
		log_escape(call->tool != NULL ? call->tool : "",
		    call->tool != NULL ? strlen(call->tool) : 0, one->tool,
		    sizeof(one->tool));
		return;
	}
}

/* Codes of calls that no server of a tool ever saw. */
static bool
agent_run_parts_is_refusal(const char *code)
{
	static const char *const starts[] = {"tool_not_allowed",
	    "too_many_tool_calls", "consent_", "trust_", "integrity_",
	    "not_installed", "not_runnable", "bad_lockfile", "run_ended", NULL};

	for (size_t i = 0; starts[i] != NULL; i++)
		if (strncmp(code, starts[i], strlen(starts[i])) == 0)
			return true;
	return false;
}

static void
agent_run_parts_record_call(
    struct agent_run *run, uint64_t id, const char *code)
{
	for (size_t i = 0; i < AGENT_RUN_CALLS_MAX; i++) {
		struct agent_run_call *one = &run->calls[i];
		struct run_record_tool tool = {.package = one->package,
		    .tool = one->tool[0] != '\0' ? one->tool : NULL,
		    .code = code};

		if (one->id != id)
			continue;
		tool.ms = (int64_t)(event_loop_now_ms() - one->begin_ms);
		tool.refused = agent_run_parts_is_refusal(code);
		if (run->record != NULL)
			run_record_tool(run->record, &tool);
		one->id = 0;
		return;
	}
}

/* What the gate refused by itself. */
static void
agent_run_parts_on_decision(const json_t *decision, void *context)
{
	struct agent_run *run = context;
	const char *code = json_string_value(json_object_get(decision, "code"));

	/* Served calls have their own lines. */
	if (run->record != NULL && code != NULL && code[0] != '\0')
		run_record_refusal(run->record, "gate", code,
		    json_integer_value(json_object_get(decision, "count")));
}

static void
agent_run_parts_on_tool_call(struct gate_part_call *call, void *context)
{
	struct agent_run *run = context;
	struct tool_pool_call asked = {.id = call->id,
	    .package = call->package,
	    .tool = call->tool,
	    .list = call->list,
	    .args_fd = call->args_fd};

	call->args_fd = -1;
	agent_run_parts_note_call(run, call);
	if (run->tools != NULL && !run->tools_closing) {
		tool_pool_call(run->tools, &asked);
		return;
	}
	fd_close(&asked.args_fd);
	gate_part_tool_result(
	    run->gate, asked.id, "run_ended", "the run is over", -1);
}

static void
agent_run_parts_on_tool_cancel(uint64_t id, void *context)
{
	struct agent_run *run = context;

	if (run->tools != NULL)
		tool_pool_cancel(run->tools, id);
	agent_run_parts_record_call(run, id, "cancelled");
}

static enum result
agent_run_parts_start_gate(struct agent_run *run)
{
	static const struct gate_part_handlers handlers = {
	    .on_done = agent_run_parts_on_gate_done,
	    .on_end = agent_run_parts_on_gate_end,
	    .on_listening = agent_run_parts_on_listening,
	    .on_tool_call = agent_run_parts_on_tool_call,
	    .on_tool_cancel = agent_run_parts_on_tool_cancel,
	    .on_decision = agent_run_parts_on_decision};
	struct mcp_streams *streams = &run->streams;
	const struct gate_part_stream rows[] = {
	    {"client_out", &streams->client_out},
	    {"client_err", &streams->client_err},
	    {"work_out", &streams->work_out[0]},
	    {"work_err", &streams->work_err[0]},
	};
	json_t *options = agent_plan_gate(&run->plan, run->options);
	int log_fd FD_CLEANUP = agent_run_parts_log(run, "agentnode-gate");

	if (options == NULL || log_fd < 0) {
		json_decref(options);
		return RESULT_SYSTEM;
	}
	return gate_part_start(run->base, sandbox_id(run->sandbox), options,
	    log_fd, rows, sizeof(rows) / sizeof(rows[0]), &handlers, run,
	    &run->gate);
}

/* ---- the LLM ---- */

static void
agent_run_parts_on_llm_ready(void *context)
{
	struct agent_run *run = context;

	run->llm_ready = true;
	if (run->llm_listening && run->sandbox != NULL && !run->sandbox_ended)
		sandbox_port_ready(run->sandbox, run->plan.llm_port);
}

static void
agent_run_parts_on_key(const char *provider, enum keyring_status status,
    const char *detail, void *context)
{
	(void)context;
	if (status == KEYRING_OK || status == KEYRING_MISSING)
		return; /* who calls such a provider is told so */
	(void)command_error(
	    COMMAND_DONE, "the key of %s cannot be read: %s", provider, detail);
}

static void
agent_run_parts_on_usage(const json_t *usage, void *context)
{
	struct agent_run *run = context;

	if (run->record != NULL)
		run_record_usage(run->record, usage);
}

static void
agent_run_parts_on_llm_closed(void *context)
{
	struct agent_run *run = context;

	run->llm_closed = true;
	agent_run_close(run, "", "the LLM is closed");
}

static void
agent_run_parts_on_llm_end(const char *code, const char *detail, void *context)
{
	struct agent_run *run = context;

	run->llm_closed = true;
	agent_run_close(run, code, detail);
}

static enum result
agent_run_parts_start_llm(struct agent_run *run)
{
	static const struct llm_part_handlers handlers = {
	    agent_run_parts_on_llm_ready, agent_run_parts_on_key,
	    agent_run_parts_on_usage, agent_run_parts_on_llm_closed,
	    agent_run_parts_on_llm_end};
	int logs[2] = {agent_run_parts_log(run, "agentnode-llm-broker"),
	    agent_run_parts_log(run, "agentnode-llm-key")};
	enum result result = RESULT_SYSTEM;

	if (logs[0] >= 0 && logs[1] >= 0)
		result = llm_part_start(run->base, run->audit, run->run_id,
		    run->plan.package.slug, &run->plan.llm, logs, &handlers,
		    run, &run->llm);
	fd_close(&logs[0]);
	fd_close(&logs[1]);
	return result;
}

/* ---- the tools ---- */

static void
agent_run_parts_on_answer(
    uint64_t id, const char *code, const char *detail, int fd, void *context)
{
	struct agent_run *run = context;

	agent_run_parts_record_call(run, id, code);
	if (run->gate != NULL && !run->gate_ended)
		gate_part_tool_result(run->gate, id, code, detail, fd);
	else
		fd_close(&fd);
}

static void
agent_run_parts_on_tools_closed(void *context)
{
	struct agent_run *run = context;

	run->tools_closed = true;
	agent_run_close(run, "", "the tools are gone");
}

static enum result
agent_run_parts_start_tools(struct agent_run *run)
{
	static const struct tool_pool_handlers handlers = {
	    agent_run_parts_on_answer, agent_run_parts_on_tools_closed};
	const struct agent_package *package = &run->plan.package;

	if (json_array_size(package->packages) == 0)
		return RESULT_OK;
	run->pool = (struct tool_pool_spec){.lockfile = run->plan.run.path,
	    .agent = run->plan.run.slug,
	    .agent_asks = package->actions,
	    .packages = package->packages,
	    .calls_max = (uint64_t)package->max_tool_calls,
	    .sessions = AGENT_RUN_PARTS_SESSIONS,
	    .call_timeout_s = AGENT_RUN_PARTS_CALL_S,
	    .arguments_max = AGENT_RUN_PARTS_BYTES_MAX,
	    .result_max = AGENT_RUN_PARTS_BYTES_MAX,
	    .verbose = run->options->verbose};
	return tool_pool_new(
	    run->base, run->audit, &run->pool, &handlers, run, &run->tools);
}

/* ---- all of them ---- */

static enum result
agent_run_parts_start_record(struct agent_run *run)
{
	struct run_entry *entry = &run->plan.run;
	struct run_record_facts facts = {.run = run->run_id,
	    .package = run->plan.package.slug,
	    .version = run->plan.package.version,
	    .grant = run->plan.has_llm ? run->plan.llm.grant : NULL};

	return run_record_open(
	    entry->home, &facts, &run->record, &entry->fault);
}

void
agent_run_parts_start(struct agent_run *run)
{
	if (agent_run_parts_start_sandbox(run) != RESULT_OK) {
		agent_run_close(run, "internal", "out of memory");
		return;
	}
	if (run->run_id[0] == '\0')
		return; /* there is no plan: its end says why, and comes soon */
	if (agent_run_parts_start_record(run) != RESULT_OK)
		agent_run_close(run, "record_failed", run->plan.run.fault.text);
	else if (agent_run_policy_start(run) != RESULT_OK)
		agent_run_close(
		    run, "policy_unavailable", run->plan.run.fault.text);
	else if (agent_run_parts_start_gate(run) != RESULT_OK)
		agent_run_close(
		    run, "gate_died", "agentnode-gate does not start");
	else if (run->plan.has_llm &&
		 agent_run_parts_start_llm(run) != RESULT_OK)
		agent_run_close(run, "broker_died",
		    "agentnode-llm-broker or agentnode-llm-key does not "
		    "start");
	else if (agent_run_parts_start_tools(run) != RESULT_OK)
		agent_run_close(run, "internal", "out of memory");
}

bool
agent_run_parts_tools_closed(struct agent_run *run)
{
	if (run->tools != NULL && !run->tools_closing) {
		run->tools_closing = true;
		tool_pool_close(run->tools, run->code);
	}
	return run->tools == NULL || run->tools_closed;
}

bool
agent_run_parts_closed(struct agent_run *run)
{
	if (run->llm != NULL && !run->llm_closed)
		llm_part_close(run->llm);
	if (run->gate != NULL && !run->gate_done && !run->gate_ended &&
	    !run->gate_told) {
		run->gate_told = true;
		gate_part_workload_ended(run->gate, &run->outcome);
	}
	return (run->llm == NULL || run->llm_closed) &&
	       (run->gate == NULL || run->gate_done || run->gate_ended);
}

json_t *
agent_run_parts_record(struct agent_run *run)
{
	const struct sandbox_outcome *outcome = &run->outcome;
	struct run_record_outcome ended = {
	    .code = run->code[0] != '\0' ? run->code : outcome->code,
	    .exit_code = outcome->exit_code,
	    .signal = outcome->signal};

	return run->record == NULL ? NULL
				   : run_record_finish(run->record, &ended);
}

void
agent_run_parts_free(struct agent_run *run)
{
	config_watch_free(&run->watch);
	run_term_free(&run->term);
	json_decref(run->narrowed);
	run->narrowed = NULL;
	tool_pool_free(&run->tools);
	llm_part_free(&run->llm);
	gate_part_free(&run->gate);
	sandbox_free(&run->sandbox);
	run_record_free(&run->record);
}
