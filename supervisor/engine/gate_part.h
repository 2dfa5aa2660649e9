/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode-gate as a part of a run: started beside the sandbox, given the
 * streams it stands between, told how the workload ended, heard when all
 * is said. Used by mcp_run, build_gate, agent_run, pack_run and tool_session;
 * none of them reads a byte of those streams.
 */
#ifndef SUPERVISOR_ENGINE_GATE_PART_H
#define SUPERVISOR_ENGINE_GATE_PART_H

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/result.h"
#include "supervisor/policy/guard_desk.h"
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
	bool full;            /* build mode: there was no room left */
	const json_t *result; /* all of it; numbers and words, foreign */
};

/* Whether the gate could say what it had to: "", else a code, output_failed
 * (standard output took no more) or no_memory, and its sentence. */
const char *gate_part_fault(
    const struct gate_part_said *said, char *detail_r, size_t size);

/* Mode agent: the agent asks for a tool. Texts are borrowed, and foreign. */
struct gate_part_call {
	uint64_t id; /* of the answer, gate_part_tool_result */
	const char *package;
	const char *tool; /* NULL: the package's only one */
	bool list;        /* what tools are there, none is run */
	int args_fd;      /* sealed memfd, to be taken; -1 once it is */
};

/* All but the first two may be NULL. */
struct gate_part_handlers {
	/* Once: the conversation is over. */
	void (*on_done)(const struct gate_part_said *said, void *context);
	/* Once: the process is dead; with no on_done before it a fault. */
	void (*on_end)(const char *detail, void *context);
	/* Once: it has its streams and was told to start. */
	void (*on_ready)(void *context);
	/* Mode agent: it has the listener of gate_part_listen. */
	void (*on_listening)(void *context);
	void (*on_tool_call)(struct gate_part_call *call, void *context);
	/* It no longer waits for that call; there is nothing to answer. */
	void (*on_tool_cancel)(uint64_t id, void *context);
	/* Body of `decision`. */
	void (*on_decision)(const json_t *decision, void *context);
	/* Mode caller, for each gate_part_work: code "" and a sealed memfd
	 * (taken), or why not and -1. */
	void (*on_answer)(uint64_t id, const char *code, const char *detail,
	    int fd, void *context);
};

/* options: of the gate's config message (gate_config.h); taken. log_fd is
 * borrowed. */
enum result gate_part_start(struct event_base *base, const char *sandbox_id,
    json_t *options, int log_fd, const struct gate_part_stream *streams,
    size_t stream_count, const struct gate_part_handlers *handlers,
    void *context, struct gate_part **part_r);
/* Where Guard's questions go; borrowed, it must outlive the part. Without
 * one every call of a gate that has rules is refused. */
void gate_part_guard(struct gate_part *part, struct guard_desk *desk);
/* Mode pack: how long it ran; before it is said to be gone. */
void gate_part_took(struct gate_part *part, uint64_t duration_ms);
/* The workload is gone, or never came. */
void gate_part_workload_ended(
    struct gate_part *part, const struct sandbox_outcome *outcome);
/* Mode agent: the sandbox's listener for tools; taken, handed over when the
 * gate is ready. */
enum result gate_part_listen(struct gate_part *part, int fd);
/* The answer to a gate_part_call; fd (a sealed memfd or -1) is taken. */
void gate_part_tool_result(struct gate_part *part, uint64_t id,
    const char *code, const char *detail, int fd);
/* Mode caller: run a tool (NULL: the only one) or list them all; mode pack:
 * the request, tool NULL. args_fd is a sealed memfd or -1 and taken;
 * on_answer gets id_r. Not before on_ready. request: as the logs name it;
 * NULL: nobody else does. */
enum result gate_part_work(struct gate_part *part, bool list, const char *tool,
    const char *request, int args_fd, uint64_t *id_r);
/* Nobody waits for that job of gate_part_work: it has no on_answer, but for
 * one that is on its way. */
void gate_part_cancel(struct gate_part *part, uint64_t id);
/* Kills it. Accepts NULL, clears. */
void gate_part_free(struct gate_part **part);

/* A non-blocking copy of a standard stream for the gate; the caller's own
 * description stays as it is where that can be seen from outside (a
 * terminal, a pipe that others hold too). -1: errno says why not. */
int gate_part_share(int fd, int flags);
/* A pipe between gate and workload: end [ours] (0 reads) is non-blocking.
 * On failure both are -1. */
enum result gate_part_pipe(int pipe_r[2], int ours);

#endif
