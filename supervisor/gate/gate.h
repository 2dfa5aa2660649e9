/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of one gate: streams arrive, bytes are relayed by the rules of
 * the mode, one side ends, what is left is said, done. gate_step is the
 * only way in; it knows no descriptors and takes the time from the event,
 * so that tests play scripts against it. gate_io does the reading and
 * writing.
 */
#ifndef SUPERVISOR_GATE_GATE_H
#define SUPERVISOR_GATE_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisor/gate/gate_agent.h"
#include "supervisor/gate/gate_build.h"
#include "supervisor/gate/gate_caller.h"
#include "supervisor/gate/gate_copy.h"
#include "supervisor/gate/gate_event.h"
#include "supervisor/gate/gate_listing.h"
#include "supervisor/gate/gate_pack.h"
#include "supervisor/gate/gate_stderr.h"
#include "supervisor/gate/mcp_line.h"
#include "supervisor/gate/mcp_session.h"

#define GATE_END_WAIT_MS 3000U    /* for the workload's exit status */
#define GATE_DRAIN_WAIT_MS 30000U /* for a client that reads slowly */
#define GATE_TICK_MS 250U         /* while requests may time out */

enum gate_mode {
	GATE_MCP,
	GATE_TEXT,
	GATE_RAW,
	GATE_TOOLS,
	GATE_BUILD,  /* one stream, of a package manager */
	GATE_AGENT,  /* output of an agent; its tools port is apart */
	GATE_CALLER, /* the gate is the client of a tool package */
	GATE_PACK    /* one run of one tool: a request, a result */
};

enum gate_state {
	GATE_WAITING,     /* streams are still to come */
	GATE_RELAYING,    /* both sides talk */
	GATE_CLIENT_GONE, /* workload may end in its grace time */
	GATE_WORK_GONE,   /* its last words, then its exit status */
	GATE_DRAINING,    /* what the client has not read yet */
	GATE_DONE
};

enum gate_reason {
	GATE_OPEN,          /* not done */
	GATE_CLIENT_CLOSED, /* the client ended the conversation */
	GATE_WORK_ENDED,    /* the workload did */
	GATE_OUTPUT_LIMIT,  /* it wrote more than output_max */
	GATE_LISTED,        /* tools mode: the list is complete */
	GATE_LIST_FAILED,   /* tools mode: it is not; detail says why */
	GATE_START_FAILED,  /* caller mode: so is its detail */
	GATE_OUTPUT_FAILED, /* the client's output is lost: output_error */
	GATE_NO_MEMORY
};

struct gate_options {
	enum gate_mode mode;
	struct mcp_policy policy;
	size_t line_max;
	uint64_t output_max; /* text, raw; 0: none */
	struct mcp_session_limits limits;
	uint64_t grace_ms;        /* after the client's end */
	uint64_t list_timeout_ms; /* tools mode: for all of it */
	bool json;                /* tools mode: output form */
	bool on_host;             /* pack mode: where the tool runs */
	const char *label;        /* build mode: before each line */
	bool product, raw;        /* agent mode: of its own output */
	size_t result_max;        /* agent mode */
	struct gate_caller_limits caller;
	struct gate_pack_limits pack;
};

struct gate {
	enum gate_state state;
	enum gate_reason reason;
	struct gate_options options;
	struct mcp_session session;
	struct mcp_line lines[2]; /* by side */
	struct mcp_line listed;   /* tools, caller: what the client gets */
	struct gate_listing listing;
	struct gate_copy copy;
	struct gate_build build;
	struct gate_agent agent;
	struct gate_caller caller;
	struct gate_pack pack;
	struct gate_stderr err;
	bool present[GATE_STREAM_COUNT]; /* given at START */
	bool ended[GATE_STREAM_COUNT];   /* EOF or BROKEN */
	int output_error;                /* errno of client_out; 0: none */
	bool end_known;                  /* EVENT_ENDED came */
	bool failed;                     /* it did not exit with 0 */
	char how[80];                    /* " (exit 3)" */
	bool drained[2];                 /* no whole line of a side is left */
	uint64_t deadline_ms;            /* of the state; 0: none */
	uint64_t last_word_ms;           /* DRAINING: until then for stderr */
};

/* options is copied; what its policy points to stays the caller's. */
enum result gate_init(struct gate *gate, const struct gate_options *options,
    const struct mcp_hash_key *key);
void gate_free(struct gate *gate);

void gate_step(struct gate *gate, const struct gate_event *event);

const char *gate_state_text(enum gate_state state);
const char *gate_reason_text(enum gate_reason reason);

#endif
