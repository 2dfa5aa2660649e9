/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to a gate. Called by gate.c and gate_io; it must never change
 * anything.
 */
#include "supervisor/gate/gate_view.h"

bool
gate_view_is_copy(const struct gate *gate)
{
	return gate->options.mode == GATE_TEXT ||
	       gate->options.mode == GATE_RAW;
}

/* Modes in which both sides speak the protocol. */
bool
gate_view_is_lines(const struct gate *gate)
{
	return gate->options.mode == GATE_MCP ||
	       gate->options.mode == GATE_TOOLS ||
	       gate->options.mode == GATE_CALLER;
}

bool
gate_view_is_agent(const struct gate *gate)
{
	return gate->options.mode == GATE_AGENT;
}

/* An agent or a tool: one result, when it has ended. */
bool
gate_view_is_single(const struct gate *gate)
{
	return gate_view_is_agent(gate) || gate->options.mode == GATE_PACK;
}

/* The workload's output is what the client wants to have. */
bool
gate_view_has_product(const struct gate *gate)
{
	return gate_view_is_copy(gate) ||
	       (gate_view_is_agent(gate) && gate->agent.product);
}

/* --- what gate_io asks -------------------------------------------------- */

static bool
gate_view_wants_error(const struct gate *gate)
{
	if (gate->state == GATE_WAITING || gate->state == GATE_DONE)
		return false;
	/* A program waits for its reader; a server must not. */
	return !gate_view_is_copy(gate) || !gate->err.copy ||
	       gate->err.out.len < GATE_STDERR_OUT_MAX / 4;
}

bool
gate_view_wants(const struct gate *gate, enum gate_stream input)
{
	if (gate->ended[input])
		return false;
	switch (input) {
	case GATE_CLIENT_IN:
		if (gate->state != GATE_RELAYING)
			return false;
		return gate_view_is_copy(gate)
			   ? gate_copy_may_take_client(&gate->copy)
			   : mcp_session_may_take(&gate->session, MCP_CLIENT);
	case GATE_WORK_OUT:
		if (gate->state != GATE_RELAYING &&
		    gate->state != GATE_CLIENT_GONE &&
		    gate->state != GATE_WORK_GONE)
			return false;
		if (gate_view_has_product(gate))
			return gate_copy_may_take_workload(&gate->copy);
		if (gate->options.mode == GATE_BUILD ||
		    gate_view_is_single(gate))
			return true; /* nobody's reader holds it up */
		return mcp_session_may_take(&gate->session, MCP_SERVER);
	case GATE_WORK_ERR:
		return gate_view_wants_error(gate);
	case GATE_CLIENT_OUT:
	case GATE_CLIENT_ERR:
	case GATE_WORK_IN:
	case GATE_STREAM_COUNT:
		break;
	}
	return false;
}

struct buffer *
gate_view_output(struct gate *gate, enum gate_stream output)
{
	if (output == GATE_CLIENT_ERR)
		return gate->options.mode == GATE_BUILD ? &gate->build.out
							: &gate->err.out;
	if (output == GATE_WORK_IN && gate->options.mode == GATE_PACK)
		return &gate->pack.request;
	if (output == GATE_WORK_IN)
		return gate_view_is_copy(gate) ? &gate->copy.to_workload
					       : &gate->session.out[MCP_SERVER];
	if (gate->options.mode == GATE_TOOLS)
		return &gate->listing.out;
	if (gate->options.mode == GATE_PACK)
		return &gate->pack.line;
	/* The result comes behind the last byte of a product. */
	if (gate_view_is_agent(gate) && gate->copy.to_client.len == 0 &&
	    (!gate->agent.product || gate->ended[GATE_WORK_OUT]))
		return &gate->agent.result;
	return gate_view_has_product(gate) ? &gate->copy.to_client
					   : &gate->session.out[MCP_CLIENT];
}

bool
gate_view_is_finished(const struct gate *gate, enum gate_stream output)
{
	if (gate->state == GATE_WAITING)
		return false;
	if (output == GATE_WORK_IN && gate->options.mode == GATE_PACK)
		return gate->pack.has_request;
	if (output == GATE_WORK_IN && gate->state == GATE_RELAYING)
		return gate_view_is_copy(gate) &&
		       (gate->ended[GATE_CLIENT_IN] ||
			   !gate->present[GATE_CLIENT_IN]);
	if (output == GATE_WORK_IN)
		return true;
	if (output == GATE_CLIENT_ERR && !gate->ended[GATE_WORK_ERR])
		return gate->state == GATE_DONE;
	return gate->state == GATE_DRAINING || gate->state == GATE_DONE;
}

static bool
gate_view_has_limits(const struct gate *gate)
{
	return gate->options.limits.request_ms > 0 ||
	       gate->options.limits.initialize_ms > 0;
}

uint64_t
gate_view_next_ms(const struct gate *gate, uint64_t now_ms)
{
	uint64_t next = gate->deadline_ms, tick = 0;

	if (gate->state == GATE_DRAINING)
		tick = gate->last_word_ms;
	else if (gate->options.mode == GATE_CALLER)
		tick = gate_caller_next_ms(&gate->caller);
	else if (gate->session.asked[MCP_CLIENT].used > 0 &&
		 gate_view_has_limits(gate))
		tick = now_ms + GATE_TICK_MS;
	if (next == 0 || (tick != 0 && tick < next))
		next = tick;
	return next;
}
