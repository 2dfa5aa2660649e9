/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Agent mode: what the caller gets on standard output. That is the agent's
 * result, one line of JSON; and of a program that is an agent its own
 * output, filtered and capped as in text mode. What an agent says besides
 * goes to the log. Leaf of gate.c.
 */
#ifndef SUPERVISOR_GATE_GATE_AGENT_H
#define SUPERVISOR_GATE_GATE_AGENT_H

#include <stdbool.h>

#include "common/buffer.h"
#include "supervisor/gate/gate_copy.h"
#include "supervisor/gate/gate_stderr.h"

struct gate_agent {
	bool product;           /* its output is the caller's */
	struct buffer result;   /* the line */
	struct gate_stderr out; /* its output when it is not */
};

void gate_agent_init(struct gate_agent *agent, bool product, size_t result_max);
void gate_agent_free(struct gate_agent *agent);

/* JSON that was checked: kept as a line, and made safe for a terminal by
 * escapes that mean the same. RESULT_TOO_LONG: it does not fit. */
enum result gate_agent_result(
    struct gate_agent *agent, const char *bytes, size_t len);
/* Its output and its end; err is where the watcher's copy goes. */
void gate_agent_feed(struct gate_agent *agent, struct gate_stderr *err,
    const char *bytes, size_t len);
void gate_agent_finish(struct gate_agent *agent, struct gate_stderr *err);

#endif
