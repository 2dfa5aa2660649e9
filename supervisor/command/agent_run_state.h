/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run of an agent is made of. Private to agent_run.c (the story) and
 * agent_run_parts.c (its parts); nobody else includes it.
 */
#ifndef SUPERVISOR_COMMAND_AGENT_RUN_STATE_H
#define SUPERVISOR_COMMAND_AGENT_RUN_STATE_H

#include <event2/event.h>
#include <stdbool.h>

#include "supervisor/agent/llm_part.h"
#include "supervisor/agent/tool_pool.h"
#include "supervisor/command/agent_plan.h"
#include "supervisor/command/agent_run.h"
#include "supervisor/command/mcp_streams.h"
#include "supervisor/command/run_log.h"
#include "supervisor/end_signals.h"
#include "supervisor/engine/gate_part.h"
#include "supervisor/package/slug.h"
#include "supervisor/policy/audit.h"
#include "supervisor/mcp/run_term.h"
#include "supervisor/policy/config_watch.h"
#include "supervisor/policy/run_record.h"
#include "supervisor/sandbox.h"

#define AGENT_RUN_CALLS_MAX TOOL_POOL_CALLS_MAX

/* A call of a tool while it is under way, for the record. */
struct agent_run_call {
	uint64_t id, begin_ms; /* id 0: free */
	char package[SLUG_MAX + 1], tool[129];
};

enum agent_run_state {
	AGENT_RUN_LEDGER,  /* until the ledger is ready */
	AGENT_RUN_OPEN,    /* the parts live, or come to life */
	AGENT_RUN_CLOSING, /* one of them ended, or a signal came */
	AGENT_RUN_RECORD,  /* the record of the run is on its way to disk */
	AGENT_RUN_ENDED
};

struct agent_run {
	enum agent_run_state state; /* assigned in agent_run_enter alone */
	const struct agent_run_options *options;
	struct agent_plan plan;
	struct mcp_streams streams;
	struct run_log log;
	struct event_base *base;
	struct audit *audit;
	struct sandbox *sandbox;
	struct gate_part *gate;
	struct llm_part *llm;       /* NULL: no LLM */
	struct tool_pool *tools;    /* NULL: no tools */
	struct tool_pool_spec pool; /* of tools */
	struct run_record *record;  /* NULL: there was no sandbox */
	struct config_watch *watch;
	struct run_term *term;
	json_t *narrowed; /* a grant whose record is on its way to disk */
	struct agent_run_call calls[AGENT_RUN_CALLS_MAX]; /* of tools */
	struct end_signals signals;
	struct event *later; /* what must not be done inside a callback */
	struct event *limit; /* of closing */
	bool sandbox_ended, gate_done, gate_ended, gate_told;
	bool unsaid;    /* what came of it did not arrive */
	bool signalled; /* nobody waits for a slow reader any more */
	bool llm_ready, llm_listening, llm_closed;
	bool tools_closing, tools_closed;
	struct sandbox_outcome outcome;
	char reason[32];                          /* of the gate */
	char code[SANDBOX_CODE_MAX], detail[512]; /* first fault of ours */
	char run_id[32];
};

/* agent_run.c */
void agent_run_fault(
    struct agent_run *run, const char *code, const char *detail);
/* The one way to an end: code "" is in order. */
void agent_run_close(
    struct agent_run *run, const char *code, const char *detail);

/* agent_run_policy.c: a narrower configuration narrows the run, or ends it. */
enum result agent_run_policy_start(struct agent_run *run);

/* agent_run_parts.c */
void agent_run_parts_start(struct agent_run *run);
/* The tools end with the agent; true when all their sandboxes are gone. */
bool agent_run_parts_tools_closed(struct agent_run *run);
/* After every sandbox is gone: closes what is left; true when nothing is. */
bool agent_run_parts_closed(struct agent_run *run);
/* Fields of the run's audit record; the caller owns them. */
json_t *agent_run_parts_record(struct agent_run *run);
void agent_run_parts_free(struct agent_run *run);

#endif
