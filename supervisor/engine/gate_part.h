/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode-gate as a part of a run: started beside the sandbox, given the
 * streams it stands between, told how the workload ended, heard when all
 * is said. Used by mcp_run and install_build; neither reads a byte of those
 * streams.
 */
#ifndef SUPERVISOR_ENGINE_GATE_PART_H
#define SUPERVISOR_ENGINE_GATE_PART_H

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>

#include "common/result.h"
#include "supervisor/sandbox.h"

#define GATE_PART_STREAMS_MAX 6U

struct gate_part; /* opaque */

/* One stream by its name in the message (gate_io.h). The descriptor is
 * the caller's until the gate is ready; then it is handed over and closed
 * here. -1: there is none. */
struct gate_part_stream {
	const char *name; /* static */
	int *fd;          /* borrowed until on_end */
};

/* The gate's last message: texts are bounded, escaped and borrowed. */
struct gate_part_said {
	const char *reason; /* as in gate.h */
	const char *detail;
	bool full; /* build mode: there was no room left */
};

struct gate_part_handlers {
	/* Once: the conversation is over. */
	void (*on_done)(const struct gate_part_said *said, void *context);
	/* Once: the process is dead; with no on_done before it a fault. */
	void (*on_end)(const char *detail, void *context);
};

/* options: of the gate's config message (gate_config.h); taken. log_fd is
 * borrowed. */
enum result gate_part_start(struct event_base *base, const char *sandbox_id,
    json_t *options, int log_fd, const struct gate_part_stream *streams,
    size_t stream_count, const struct gate_part_handlers *handlers,
    void *context, struct gate_part **part_r);
/* The workload is gone, or never came. */
void gate_part_workload_ended(
    struct gate_part *part, const struct sandbox_outcome *outcome);
/* Kills it. Accepts NULL, clears. */
void gate_part_free(struct gate_part **part);

/* A non-blocking copy of a standard stream for the gate; the caller's own
 * description stays as it is where that can be seen from outside (a
 * terminal, a pipe that others hold too). -1: errno says why not. */
int gate_part_share(int fd, int flags);

#endif
