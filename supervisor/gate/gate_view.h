/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What gate_io and the story of a gate ask about it: what it may read, what
 * it has to write, when something is due. Pure.
 */
#ifndef SUPERVISOR_GATE_GATE_VIEW_H
#define SUPERVISOR_GATE_GATE_VIEW_H

#include "supervisor/gate/gate.h"

/* Modes: bytes are copied; lines of the protocol are spoken; an agent's;
 * the workload's own output is what the client wants to have. */
bool gate_view_is_copy(const struct gate *gate);
bool gate_view_is_lines(const struct gate *gate);
bool gate_view_is_agent(const struct gate *gate);
/* One result, of an agent or of a tool, when it has ended. */
bool gate_view_is_single(const struct gate *gate);
bool gate_view_has_product(const struct gate *gate);

/* May a read of this input be handed to gate_step now? */
bool gate_view_wants(const struct gate *gate, enum gate_stream input);
/* Bytes to write to an output; the writer consumes them. */
struct buffer *gate_view_output(struct gate *gate, enum gate_stream output);
/* Nothing more will come for this output: close it once it is empty. */
bool gate_view_is_finished(const struct gate *gate, enum gate_stream output);

/* When GATE_EVENT_TIME is due at the latest; 0: nothing waits. */
uint64_t gate_view_next_ms(const struct gate *gate, uint64_t now_ms);

#endif
