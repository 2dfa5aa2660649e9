/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call of an agent's tool on its way to the gate of the package, under
 * the id that the agent's gate gave the request. Used by tool_session.c.
 */
#ifndef SUPERVISOR_AGENT_TOOL_JOB_H
#define SUPERVISOR_AGENT_TOOL_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "common/result.h"

struct gate_part;

struct tool_job {
	bool used;
	uint64_t id;     /* the pool's */
	uint64_t work;   /* the gate's; 0: not sent yet */
	uint64_t number; /* of the agent's request */
	bool list, has_tool;
	char tool[129];
	int args_fd; /* until it is sent */
};

/* Hand it to the gate; args_fd is gone, work is set. to: the sandbox. */
enum result tool_job_send(struct tool_job *job, struct gate_part *gate,
    const char *package, const char *to);

#endif
