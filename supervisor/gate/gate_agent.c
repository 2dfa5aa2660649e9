/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes out of an agent. Called by gate.c; it must never let a control
 * byte of the agent's through to a terminal.
 */
#include "supervisor/gate/gate_agent.h"

#include <string.h>

#include "supervisor/gate/mcp_json.h"

void
gate_agent_init(struct gate_agent *agent, bool product, size_t result_max)
{
	memset(agent, 0, sizeof(*agent));
	agent->product = product;
	/* Six bytes for one, in the worst case, and the line's end. */
	buffer_init(&agent->result, 6 * result_max + 1);
	gate_stderr_init(&agent->out, false, false);
	agent->out.event = "workload_stdout";
}

void
gate_agent_free(struct gate_agent *agent)
{
	buffer_free(&agent->result);
	gate_stderr_free(&agent->out);
}

enum result
gate_agent_result(struct gate_agent *agent, const char *bytes, size_t len)
{
	const unsigned char *p = (const unsigned char *)bytes, *end = p + len;
	enum result result = RESULT_OK;
	size_t step;

	while (p < end && result == RESULT_OK) {
		step = mcp_json_utf8(p, end);
		if (step == 0)
			return RESULT_BAD;
		result = gate_text_json(p, step, &agent->result);
		p += step;
	}
	return result == RESULT_OK ? buffer_append(&agent->result, "\n", 1)
				   : result;
}

/* To whoever watches, behind what is there. */
static void
gate_agent_hand_over(struct gate_agent *agent, struct gate_stderr *err)
{
	struct buffer *from = &agent->out.out;

	if (from->len > 0 && buffer_append(&err->out, buffer_bytes_borrow(from),
				 from->len) != RESULT_OK)
		err->dropped += from->len;
	buffer_clear(from);
}

void
gate_agent_feed(struct gate_agent *agent, struct gate_stderr *err,
    const char *bytes, size_t len)
{
	agent->out.copy = err->copy;
	gate_stderr_feed(&agent->out, bytes, len);
	gate_agent_hand_over(agent, err);
}

void
gate_agent_finish(struct gate_agent *agent, struct gate_stderr *err)
{
	gate_stderr_finish(&agent->out);
	gate_agent_hand_over(agent, err);
}
