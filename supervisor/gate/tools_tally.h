/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was refused to an agent, counted: for the record of the run by
 * reason, and for the supervisor's decisions by reason and target, so that
 * a flood is a few messages with a count. Pure; used by tools_port.
 */
#ifndef SUPERVISOR_GATE_TOOLS_TALLY_H
#define SUPERVISOR_GATE_TOOLS_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "supervisor/gate/tools_body.h"

#define TOOLS_TALLY_ROWS 64U
#define TOOLS_TALLY_TARGET 200U /* "slug/tool", or a path */
#define TOOLS_TALLY_MS 1000U    /* between two rounds of messages */
#define TOOLS_TALLY_OTHERS "(others)"

struct tools_tally_row {
	enum tools_fault fault;
	char target[TOOLS_TALLY_TARGET];
	uint64_t count;
};

struct tools_tally {
	uint64_t by_fault[TOOLS_FAULT_COUNT];
	struct tools_tally_row rows[TOOLS_TALLY_ROWS];
	size_t used;
	uint64_t due_ms; /* rows are told then; 0: there is none */
	uint64_t told_ms;
};

void tools_tally_add(struct tools_tally *tally, enum tools_fault fault,
    const char *target, uint64_t now_ms);

/* Tell every row when they are due, or now when all is over. */
typedef void tools_tally_tell(const struct tools_tally_row *row, void *context);
void tools_tally_flush(struct tools_tally *tally, uint64_t now_ms, bool over,
    tools_tally_tell *tell, void *context);

/* Refusals of tool calls: allowlist, count, concurrency, size. */
uint64_t tools_tally_refused_calls(const struct tools_tally *tally);

#endif
