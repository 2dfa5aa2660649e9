/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors and time for a gate: reads what it wants, writes what it has,
 * closes what is finished, all without blocking. A stream must come
 * non-blocking; one that cannot be waited for (a regular file, /dev/null)
 * counts as always ready.
 */
#ifndef SUPERVISOR_GATE_GATE_IO_H
#define SUPERVISOR_GATE_GATE_IO_H

#include <event2/event.h>

#include "common/result.h"
#include "supervisor/gate/gate.h"

struct gate_io; /* opaque */

/* done is called once, when the gate is done; never from gate_io_add. */
enum result gate_io_new(struct event_base *base, struct gate *gate,
    void (*done)(void *context), void *context, struct gate_io **io_r);
void gate_io_free(struct gate_io **io);

/* Called at the end of each turn, whatever happened in it. */
void gate_io_set_turn(struct gate_io *io, void (*turn)(void *context));

/* A stream by its name in the message ("client_in"); takes fd in any case.
 * RESULT_NOT_FOUND for no such name, RESULT_EXISTS when it is there
 * already, RESULT_BAD when fd would block. */
enum result gate_io_add(struct gate_io *io, const char *name, int fd);
/* True when every stream the mode needs is there. */
bool gate_io_is_complete(const struct gate_io *io);
/* Begin; pass on a job, Guard's answer, an agent's result, and how the
 * workload ended. */
void gate_io_start(struct gate_io *io);
void gate_io_job(struct gate_io *io, uint64_t id, bool list, const char *tool,
    const char *bytes, size_t len);
void gate_io_cancel(struct gate_io *io, uint64_t id);
void gate_io_guarded(
    struct gate_io *io, uint64_t id, const char *code, const char *detail);
void gate_io_result(struct gate_io *io, const char *bytes, size_t len);
/* facts: pack mode, else NULL. */
void gate_io_ended(struct gate_io *io, const char *how, bool failed,
    const struct gate_pack_facts *facts);

#endif
