/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caller mode: the gate itself is the client of one tool package, and does
 * the supervisor's jobs: run a tool, list the tools. Everything it says and
 * hears goes through the same session as any client's would. Pure but for
 * that session; leaf of gate.c.
 */
#ifndef SUPERVISOR_GATE_GATE_CALLER_H
#define SUPERVISOR_GATE_GATE_CALLER_H

#include "common/log.h"
#include "supervisor/gate/mcp_session.h"

#define GATE_CALLER_JOBS_MAX 32U
#define GATE_CALLER_PAGES_MAX 100U
#define GATE_CALLER_LIST_MAX (4U << 20) /* bytes of all pages */
#define GATE_CALLER_DETAIL_MAX 256U

enum gate_caller_state {
	GATE_CALLER_IDLE,
	GATE_CALLER_INITIALIZING,
	GATE_CALLER_READY,
	GATE_CALLER_ENDED /* every job is answered with code and detail */
};

enum gate_caller_step {
	GATE_CALLER_FREE,
	GATE_CALLER_WAITING,  /* for the server to be ready, or to read: that
			       * has the deadline of a call, too */
	GATE_CALLER_LISTING,  /* a page was asked for */
	GATE_CALLER_CALLING,  /* the tool runs */
	GATE_CALLER_ANSWERED, /* code, or the result in bytes */
};

struct gate_caller_job {
	enum gate_caller_step step;
	uint64_t id;                   /* the supervisor's */
	char request[LOG_REQUEST_MAX]; /* as the logs name it, or "" */
	bool list;
	char tool[MCP_POLICY_TOOL_MAX + 1]; /* "": the only one */
	struct buffer bytes;    /* arguments, then pages, then the result */
	struct buffer pages;    /* of a call whose tool is not named */
	uint64_t rpc;           /* id on the wire */
	enum mcp_denial denial; /* why the session itself refused that */
	uint64_t deadline_ms;
	unsigned page;
	size_t tools;                        /* seen in the pages */
	char first[MCP_POLICY_TOOL_MAX + 1]; /* of them */
	const char *code; /* ANSWERED: "" or why not; static */
	char detail[GATE_CALLER_DETAIL_MAX];
};

struct gate_caller_limits {
	uint64_t start_ms, call_ms; /* 0: none */
	size_t arguments_max, result_max;
};

struct gate_caller {
	enum gate_caller_state state;
	struct gate_caller_limits limits;
	struct gate_caller_job jobs[GATE_CALLER_JOBS_MAX];
	struct mcp_json checker;
	struct mcp_message message;
	char only[MCP_POLICY_TOOL_MAX + 1]; /* the package's one tool */
	uint64_t last_rpc, deadline_ms;
	const char *code; /* ENDED */
	char detail[GATE_CALLER_DETAIL_MAX];
};

void gate_caller_init(struct gate_caller *caller,
    const struct gate_caller_limits *limits, const struct mcp_hash_key *key);
void gate_caller_free(struct gate_caller *caller);

/* A job of the supervisor's; its answer comes by gate_caller_answered. */
void gate_caller_job(struct gate_caller *caller,
    const struct mcp_session *session, uint64_t id, bool list, const char *tool,
    const char *arguments, size_t len);
/* Nobody waits for that job: the server is told, and it has no answer. */
void gate_caller_cancel(struct gate_caller *caller, struct mcp_session *session,
    uint64_t id, uint64_t now_ms);
/* Send what may be sent, give up what took too long. */
void gate_caller_pump(
    struct gate_caller *caller, struct mcp_session *session, uint64_t now_ms);
/* Nothing will come any more. */
void gate_caller_end(
    struct gate_caller *caller, const char *code, const char *detail);

/* A job that is answered, or NULL; hand its answer on, then forget it. */
struct gate_caller_job *gate_caller_answered(struct gate_caller *caller);
void gate_caller_forget(struct gate_caller_job *job);
/* When gate_caller_pump is due; 0: nothing waits. */
uint64_t gate_caller_next_ms(const struct gate_caller *caller);

/* For gate_caller_wire: change the state; answer a job. */
void gate_caller_enter(
    struct gate_caller *caller, enum gate_caller_state state);
void gate_caller_answer(
    struct gate_caller_job *job, const char *code, const char *detail);

#endif
