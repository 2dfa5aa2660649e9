/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state machine of the gate. Called by gate_io and by the machine
 * tests; it must never do I/O, look at a clock, or change state anywhere
 * but in gate_enter.
 */
#include "supervisor/gate/gate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "supervisor/gate/gate_caller_wire.h"
#include "supervisor/gate/gate_view.h"

const char *
gate_state_text(enum gate_state state)
{
	static const char *const texts[] = {
	    [GATE_WAITING] = "waiting",
	    [GATE_RELAYING] = "relaying",
	    [GATE_CLIENT_GONE] = "client_gone",
	    [GATE_WORK_GONE] = "work_gone",
	    [GATE_DRAINING] = "draining",
	    [GATE_DONE] = "done",
	};

	return texts[state];
}

const char *
gate_reason_text(enum gate_reason reason)
{
	static const char *const texts[] = {
	    [GATE_OPEN] = "open",
	    [GATE_CLIENT_CLOSED] = "client_closed",
	    [GATE_WORK_ENDED] = "work_ended",
	    [GATE_OUTPUT_LIMIT] = "output_limit",
	    [GATE_LISTED] = "listed",
	    [GATE_LIST_FAILED] = "list_failed",
	    [GATE_START_FAILED] = "start_failed",
	    [GATE_OUTPUT_FAILED] = "output_failed",
	    [GATE_NO_MEMORY] = "no_memory",
	};

	return texts[reason];
}

static void
gate_enter(struct gate *gate, enum gate_state state, const char *why)
{
	log_event(LOG_DEBUG_LEVEL, "gate_state",
	    LOG_TEXT("from", gate_state_text(gate->state)),
	    LOG_TEXT("to", gate_state_text(state)), LOG_TEXT("why", why));
	gate->state = state;
	gate->deadline_ms = 0;
}

/* An end in order is none when what was to be said did not arrive. */
static void
gate_lost(struct gate *gate)
{
	bool in_order = gate->reason == GATE_CLIENT_CLOSED ||
			gate->reason == GATE_WORK_ENDED ||
			gate->reason == GATE_LISTED;

	if (gate->output_error != 0 && in_order)
		gate->reason = GATE_OUTPUT_FAILED;
}

/* A reader that left may do so; a full disk is a fault. */
static void
gate_broken(struct gate *gate, const struct gate_event *event)
{
	gate->ended[event->stream] = true;
	if (event->stream == GATE_CLIENT_OUT && event->error != EPIPE &&
	    event->error != ECONNRESET)
		gate->output_error = event->error;
	gate_lost(gate);
}

/* Into DRAINING with a reason: the one way a conversation ends. */
static void
gate_close(struct gate *gate, enum gate_reason reason, uint64_t now_ms)
{
	if (gate->state == GATE_DRAINING || gate->state == GATE_DONE)
		return;
	gate->reason = reason;
	gate_enter(gate, GATE_DRAINING, gate_reason_text(reason));
	gate_lost(gate);
	/* A program's output waits for whoever reads it; a conversation
	 * whose other half is gone does not wait for ever. */
	if (!gate_view_is_copy(gate) && !gate_view_is_single(gate))
		gate->deadline_ms = now_ms + GATE_DRAIN_WAIT_MS;
	gate->last_word_ms = now_ms + GATE_END_WAIT_MS;
}

enum result
gate_init(struct gate *gate, const struct gate_options *options,
    const struct mcp_hash_key *key)
{
	struct mcp_policy policy = options->policy;

	memset(gate, 0, sizeof(*gate));
	gate->options = *options;
	/* A listing shows all tools and marks those that are allowed. */
	if (options->mode == GATE_TOOLS)
		policy.has_tools = false;
	mcp_line_init(&gate->lines[MCP_CLIENT], options->line_max);
	mcp_line_init(&gate->lines[MCP_SERVER], options->line_max);
	mcp_line_init(&gate->listed, options->line_max);
	gate_listing_init(&gate->listing, options->json, &options->policy, key);
	gate_copy_init(&gate->copy, options->mode == GATE_RAW || options->raw,
	    options->output_max);
	gate_agent_init(&gate->agent, options->product, options->result_max);
	gate_build_init(&gate->build, options->label);
	gate_caller_init(&gate->caller, &options->caller, key);
	gate_pack_init(&gate->pack, &options->pack, key);
	gate_stderr_init(&gate->err, false, options->mode == GATE_RAW);
	return mcp_session_init(
	    &gate->session, &policy, options->line_max, &options->limits, key);
}

void
gate_free(struct gate *gate)
{
	mcp_session_free(&gate->session);
	mcp_line_free(&gate->lines[MCP_CLIENT]);
	mcp_line_free(&gate->lines[MCP_SERVER]);
	mcp_line_free(&gate->listed);
	gate_listing_free(&gate->listing);
	gate_copy_free(&gate->copy);
	gate_build_free(&gate->build);
	gate_agent_free(&gate->agent);
	gate_caller_free(&gate->caller);
	gate_pack_free(&gate->pack);
	gate_stderr_free(&gate->err);
}

/* --- what the streams bring --------------------------------------------- */

static void
gate_check(struct gate *gate, enum result result, uint64_t now_ms)
{
	if (result != RESULT_OK)
		gate_close(gate, GATE_NO_MEMORY, now_ms);
}

static enum result
gate_work_bytes(struct gate *gate, const char *bytes, size_t len)
{
	if (gate_view_has_product(gate))
		return gate_copy_workload(&gate->copy, bytes, len);
	if (gate->options.mode == GATE_PACK)
		return gate_pack_feed(&gate->pack, bytes, len);
	if (!gate_view_is_agent(gate))
		return mcp_line_append(&gate->lines[MCP_SERVER], bytes, len);
	gate_agent_feed(&gate->agent, &gate->err, bytes, len);
	return RESULT_OK;
}

static void
gate_bytes(struct gate *gate, const struct gate_event *event)
{
	const char *bytes = event->bytes;
	enum result result = RESULT_OK;

	if (event->stream == GATE_WORK_ERR)
		gate_stderr_feed(&gate->err, bytes, event->len);
	else if (gate->options.mode == GATE_BUILD)
		gate_build_feed(&gate->build, bytes, event->len, event->now_ms);
	else if (event->stream == GATE_CLIENT_IN)
		result = gate_view_is_copy(gate)
			     ? gate_copy_client(&gate->copy, bytes, event->len)
			     : mcp_line_append(
				   &gate->lines[MCP_CLIENT], bytes, event->len);
	else if (event->stream == GATE_WORK_OUT)
		result = gate_work_bytes(gate, bytes, event->len);
	gate_check(gate, result, event->now_ms);
}

static void
gate_eof(struct gate *gate, const struct gate_event *event)
{
	enum result result = RESULT_OK;

	if (gate->ended[event->stream])
		return;
	gate->ended[event->stream] = true;
	if (event->stream == GATE_WORK_ERR)
		gate_stderr_finish(&gate->err);
	else if (event->stream == GATE_CLIENT_IN && gate_view_is_lines(gate))
		result = mcp_line_finish(&gate->lines[MCP_CLIENT]);
	else if (event->stream == GATE_WORK_OUT && gate_view_has_product(gate))
		result = gate_copy_finish(&gate->copy);
	else if (event->stream == GATE_WORK_OUT && gate_view_is_agent(gate))
		gate_agent_finish(&gate->agent, &gate->err);
	else if (event->stream == GATE_WORK_OUT && gate_view_is_lines(gate))
		result = mcp_line_finish(&gate->lines[MCP_SERVER]);
	gate_check(gate, result, event->now_ms);
}

static void
gate_start(struct gate *gate, const struct gate_event *event)
{
	if (gate->state != GATE_WAITING)
		return;
	gate->err.copy = gate->present[GATE_CLIENT_ERR];
	/* What is not there has ended: a build has one stream. */
	if (gate->options.mode == GATE_BUILD)
		gate->ended[GATE_WORK_ERR] = true;
	/* A caller's client is the supervisor: it has no stream. */
	if (gate->options.mode == GATE_CALLER)
		gate->ended[GATE_CLIENT_OUT] = true;
	gate_enter(gate, GATE_RELAYING, "start");
	if (gate->options.mode == GATE_CALLER) {
		gate->session.refused = gate_caller_wire_refused;
		gate->session.refused_context = &gate->caller;
		gate_caller_wire_begin(
		    &gate->caller, &gate->session, event->now_ms);
	}
	if (gate->options.mode != GATE_TOOLS)
		return;
	gate->deadline_ms = event->now_ms + gate->options.list_timeout_ms;
	gate_listing_begin(&gate->listing, &gate->session, event->now_ms);
}

/* --- lines -------------------------------------------------------------- */

static void
gate_pump(struct gate *gate, enum mcp_side side, uint64_t now_ms)
{
	struct mcp_line *line = &gate->lines[side];
	enum mcp_line_status status = MCP_LINE_READY;
	const char *bytes;
	uint64_t len;

	gate->drained[side] = false;
	while (status != MCP_LINE_NEED_MORE &&
	       mcp_session_may_take(&gate->session, side)) {
		status = mcp_line_next(line, &bytes, &len);
		if (status == MCP_LINE_READY)
			mcp_session_line(
			    &gate->session, side, bytes, (size_t)len, now_ms);
		else if (status == MCP_LINE_TOO_LONG)
			mcp_session_too_long(
			    &gate->session, side, &line->peek, len);
	}
	gate->drained[side] = status == MCP_LINE_NEED_MORE;
}

/* One line that a client would get. */
static void
gate_listed(struct gate *gate, const char *bytes, size_t len, uint64_t now_ms)
{
	if (gate->options.mode == GATE_CALLER)
		gate_caller_wire_line(
		    &gate->caller, &gate->session, bytes, len, now_ms);
	else
		gate_listing_line(
		    &gate->listing, &gate->session, bytes, len, now_ms);
}

/* Tools and caller mode: what a client would get is ours. */
static void
gate_pump_listing(struct gate *gate, uint64_t now_ms)
{
	struct buffer *out = &gate->session.out[MCP_CLIENT];
	const char *bytes;
	uint64_t len;
	size_t part;

	while (out->len > 0) {
		part = out->len < MCP_LINE_CHUNK ? out->len : MCP_LINE_CHUNK;
		gate_check(gate,
		    mcp_line_append(&gate->listed,
			(const char *)buffer_bytes_borrow(out), part),
		    now_ms);
		buffer_consume(out, part);
		while (mcp_line_next(&gate->listed, &bytes, &len) ==
		       MCP_LINE_READY)
			gate_listed(gate, bytes, (size_t)len, now_ms);
	}
}

static void
gate_pump_all(struct gate *gate, uint64_t now_ms)
{
	if (gate->state == GATE_RELAYING || gate->state == GATE_CLIENT_GONE)
		gate_pump(gate, MCP_CLIENT, now_ms);
	gate_pump(gate, MCP_SERVER, now_ms);
	if (gate->options.mode == GATE_TOOLS ||
	    gate->options.mode == GATE_CALLER)
		gate_pump_listing(gate, now_ms);
	if (gate->options.mode == GATE_CALLER) {
		gate_caller_pump(&gate->caller, &gate->session, now_ms);
		/* What the session refused at once is an answer, too. */
		gate_pump_listing(gate, now_ms);
	}
	mcp_session_tick(&gate->session, now_ms);
	gate_check(gate, gate->session.result, now_ms);
}

/* Whoever does not read gets nothing kept for him. */
static void
gate_discard(struct gate *gate)
{
	if (gate->ended[GATE_CLIENT_OUT]) {
		buffer_clear(gate_view_output(gate, GATE_CLIENT_OUT));
		buffer_clear(&gate->agent.result);
	}
	if (gate->ended[GATE_WORK_IN])
		buffer_clear(gate_view_output(gate, GATE_WORK_IN));
	if (gate->ended[GATE_CLIENT_ERR] || !gate->err.copy)
		buffer_clear(gate_view_output(gate, GATE_CLIENT_ERR));
}

/* --- the states --------------------------------------------------------- */

static bool
gate_overdue(const struct gate *gate, uint64_t now_ms)
{
	return gate->deadline_ms != 0 && now_ms >= gate->deadline_ms;
}

static void
gate_relaying_copy(struct gate *gate, uint64_t now_ms)
{
	if (gate->copy.capped)
		gate_close(gate, GATE_OUTPUT_LIMIT, now_ms);
	else if (gate->ended[GATE_CLIENT_OUT])
		gate_close(gate, GATE_CLIENT_CLOSED, now_ms);
	else if (gate->ended[GATE_WORK_OUT])
		gate_close(gate, GATE_WORK_ENDED, now_ms);
}

static void
gate_relaying_tools(struct gate *gate, uint64_t now_ms)
{
	struct gate_listing *listing = &gate->listing;

	if (listing->state == GATE_LISTING_DONE) {
		gate_close(gate, GATE_LISTED, now_ms);
	} else if (listing->state == GATE_LISTING_FAILED) {
		gate_close(gate, GATE_LIST_FAILED, now_ms);
	} else if (gate->ended[GATE_WORK_OUT] && gate->drained[MCP_SERVER]) {
		snprintf(listing->detail, sizeof(listing->detail),
		    "the server ended before it had listed its tools");
		gate_close(gate, GATE_LIST_FAILED, now_ms);
	} else if (gate_overdue(gate, now_ms)) {
		snprintf(listing->detail, sizeof(listing->detail),
		    "the server gave no list of tools within %llu s",
		    (unsigned long long)(gate->options.list_timeout_ms / 1000));
		gate_close(gate, GATE_LIST_FAILED, now_ms);
	}
}

/* Its end counts, not that of its output: that may be closed early, or be
 * held open by what is left of it. */
static void
gate_relaying_build(struct gate *gate, uint64_t now_ms)
{
	if (!gate->end_known)
		return;
	gate_enter(gate, GATE_WORK_GONE, "the build ended");
	gate->deadline_ms = now_ms + GATE_END_WAIT_MS;
}

/* The sandbox has ended, or will within its time: all else waits for it. */
static void
gate_relaying_pack(struct gate *gate, uint64_t now_ms)
{
	if (!gate->end_known)
		return;
	gate_enter(gate, GATE_WORK_GONE, "the tool ended");
	gate->deadline_ms = now_ms + GATE_END_WAIT_MS;
}

/* All of a product is waited for: its pipe ends with the sandbox. */
static void
gate_relaying_agent(struct gate *gate, uint64_t now_ms)
{
	if (gate->copy.capped) {
		gate_close(gate, GATE_OUTPUT_LIMIT, now_ms);
	} else if (gate->ended[GATE_CLIENT_OUT]) {
		gate_close(gate, GATE_CLIENT_CLOSED, now_ms);
	} else if (gate->end_known) {
		gate_enter(gate, GATE_WORK_GONE, "the agent ended");
		if (!gate->agent.product)
			gate->deadline_ms = now_ms + GATE_END_WAIT_MS;
	}
}

/* Its server is there for the jobs only: it ends with it. */
static void
gate_relaying_caller(struct gate *gate, uint64_t now_ms)
{
	if (gate->caller.state == GATE_CALLER_ENDED) {
		gate_close(gate, GATE_START_FAILED, now_ms);
	} else if (gate->ended[GATE_WORK_OUT] || gate->ended[GATE_WORK_IN] ||
		   gate->end_known) {
		gate_enter(gate, GATE_WORK_GONE, "the server ended");
		gate->deadline_ms = now_ms + GATE_END_WAIT_MS;
	}
}

static void
gate_relaying(struct gate *gate, uint64_t now_ms)
{
	if (gate->options.mode == GATE_CALLER) {
		gate_relaying_caller(gate, now_ms);
	} else if (gate->options.mode == GATE_PACK) {
		gate_relaying_pack(gate, now_ms);
	} else if (gate_view_is_agent(gate)) {
		gate_relaying_agent(gate, now_ms);
	} else if (gate_view_is_copy(gate)) {
		gate_relaying_copy(gate, now_ms);
	} else if (gate->options.mode == GATE_TOOLS) {
		gate_relaying_tools(gate, now_ms);
	} else if (gate->options.mode == GATE_BUILD) {
		gate_relaying_build(gate, now_ms);
	} else if (gate->ended[GATE_WORK_OUT] || gate->ended[GATE_WORK_IN] ||
		   gate->end_known) {
		gate_enter(gate, GATE_WORK_GONE, "the server ended");
		gate->deadline_ms = now_ms + GATE_END_WAIT_MS;
	} else if (gate->ended[GATE_CLIENT_OUT] ||
		   (gate->ended[GATE_CLIENT_IN] && gate->drained[MCP_CLIENT])) {
		gate_enter(
		    gate, GATE_CLIENT_GONE, "the client closed a stream");
		gate->deadline_ms = now_ms + gate->options.grace_ms;
	}
}

/* A server that closed its output may still be putting things away. */
static void
gate_client_gone(struct gate *gate, uint64_t now_ms)
{
	bool all_said = gate->ended[GATE_WORK_OUT] && gate->drained[MCP_SERVER];

	if ((all_said && gate->end_known) || gate_overdue(gate, now_ms))
		gate_close(gate, GATE_CLIENT_CLOSED, now_ms);
}

static void
gate_work_is_lost(struct gate *gate)
{
	char detail[sizeof(gate->how) + 32];

	snprintf(detail, sizeof(detail), "the server ended%s", gate->how);
	gate_caller_end(&gate->caller, "tool_ended", detail);
}

static void
gate_work_gone(struct gate *gate, uint64_t now_ms)
{
	bool all_said = gate->ended[GATE_WORK_OUT] && gate->drained[MCP_SERVER];

	if (gate->options.mode == GATE_BUILD || gate_view_is_single(gate))
		all_said = gate->ended[GATE_WORK_OUT] || gate->copy.capped ||
			   gate->ended[GATE_CLIENT_OUT];
	if (!(all_said && gate->end_known) && !gate_overdue(gate, now_ms))
		return;
	if (gate->options.mode == GATE_BUILD)
		gate_build_end(&gate->build, gate->failed, now_ms);
	if (gate->options.mode == GATE_PACK)
		gate_check(gate, gate_pack_judge(&gate->pack), now_ms);
	if (gate->options.mode == GATE_BUILD || gate_view_is_single(gate)) {
		gate_close(gate,
		    gate->copy.capped ? GATE_OUTPUT_LIMIT : GATE_WORK_ENDED,
		    now_ms);
		return;
	}
	if (!mcp_session_may_take(&gate->session, MCP_SERVER) &&
	    !gate->ended[GATE_CLIENT_OUT])
		return; /* the client has not read what came before */
	if (gate->options.mode == GATE_CALLER)
		gate_work_is_lost(gate);
	else
		mcp_session_server_ended(&gate->session, gate->how);
	gate_close(gate, GATE_WORK_ENDED, now_ms);
}

static void
gate_draining(struct gate *gate, uint64_t now_ms)
{
	bool empty = gate_view_output(gate, GATE_CLIENT_OUT)->len == 0 &&
		     gate_view_output(gate, GATE_CLIENT_ERR)->len == 0;
	bool last_word = gate->reason != GATE_WORK_ENDED ||
			 gate->ended[GATE_WORK_ERR] ||
			 now_ms >= gate->last_word_ms;

	if (!gate->ended[GATE_CLIENT_OUT] && gate_overdue(gate, now_ms) &&
	    gate_view_output(gate, GATE_CLIENT_OUT)->len > 0) {
		gate->output_error = ETIMEDOUT; /* its reader takes nothing */
		gate_lost(gate);
	}
	if ((empty && last_word) || gate_overdue(gate, now_ms) ||
	    gate->reason == GATE_NO_MEMORY)
		gate_enter(gate, GATE_DONE, "all said");
}

static void
gate_advance(struct gate *gate, uint64_t now_ms)
{
	enum gate_state before;

	do {
		before = gate->state;
		if (gate_view_is_lines(gate) && before != GATE_WAITING &&
		    before != GATE_DRAINING && before != GATE_DONE)
			gate_pump_all(gate, now_ms);
		gate_discard(gate);
		switch (gate->state) {
		case GATE_RELAYING:
			gate_relaying(gate, now_ms);
			break;
		case GATE_CLIENT_GONE:
			gate_client_gone(gate, now_ms);
			break;
		case GATE_WORK_GONE:
			gate_work_gone(gate, now_ms);
			break;
		case GATE_DRAINING:
			gate_draining(gate, now_ms);
			break;
		case GATE_WAITING:
		case GATE_DONE:
			break;
		}
	} while (gate->state != before);
}

static void
gate_job(struct gate *gate, const struct gate_event *event)
{
	if (gate->options.mode == GATE_PACK)
		gate_check(gate,
		    gate_pack_request(&gate->pack, event->bytes, event->len),
		    event->now_ms);
	else
		gate_caller_job(&gate->caller, &gate->session, event->id,
		    event->list, event->text, event->bytes, event->len);
}

void
gate_step(struct gate *gate, const struct gate_event *event)
{
	switch (event->kind) {
	case GATE_EVENT_START:
		gate_start(gate, event);
		break;
	case GATE_EVENT_BYTES:
		gate_bytes(gate, event);
		break;
	case GATE_EVENT_EOF:
		gate_eof(gate, event);
		break;
	case GATE_EVENT_BROKEN:
		gate_broken(gate, event);
		break;
	case GATE_EVENT_ENDED:
		gate->end_known = true;
		gate->failed = event->failed;
		snprintf(gate->how, sizeof(gate->how), "%s", event->text);
		if (event->facts != NULL)
			gate->pack.facts = *event->facts;
		break;
	case GATE_EVENT_RESULT:
		gate_check(gate,
		    gate_agent_result(&gate->agent, event->bytes, event->len),
		    event->now_ms);
		break;
	case GATE_EVENT_JOB:
		gate_job(gate, event);
		break;
	case GATE_EVENT_CANCEL:
		gate_caller_cancel(
		    &gate->caller, &gate->session, event->id, event->now_ms);
		break;
	case GATE_EVENT_GUARDED:
		mcp_session_guarded(&gate->session, event->id, event->text,
		    event->bytes, event->now_ms);
		break;
	case GATE_EVENT_ROOM:
	case GATE_EVENT_TIME:
		break;
	}
	gate_advance(gate, event->now_ms);
}
