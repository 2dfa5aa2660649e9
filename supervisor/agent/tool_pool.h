/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tool packages of one agent's run: a sandbox for each MCP server that is
 * called, started at its first call, kept for the next, ended with the run;
 * for a tool pack one for each call.
 * Asks again what the gate was told already: which packages, how many calls,
 * how many at once. Used by agent_run, which passes on what gate_part says
 * and hears. No byte of arguments or results is looked at here.
 */
#ifndef SUPERVISOR_AGENT_TOOL_POOL_H
#define SUPERVISOR_AGENT_TOOL_POOL_H

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/result.h"
#include "supervisor/policy/audit.h"

#define TOOL_POOL_SESSIONS_MAX 16U /* sandboxes at a time */
#define TOOL_POOL_CALLS_MAX 32U    /* calls at a time */

struct tool_pool; /* opaque */

/* Borrowed; must outlive the pool. */
struct tool_pool_spec {
	const char *lockfile;     /* as the agent's own run read it */
	const char *agent;        /* its slug */
	const json_t *agent_asks; /* its pre_approved_actions, or NULL */
	const json_t *packages;   /* slugs that may be called */
	uint64_t calls_max;       /* of the run, lists not counted */
	unsigned sessions;        /* 1..TOOL_POOL_SESSIONS_MAX; one that is
				   * idle makes room for another */
	unsigned call_timeout_s;
	uint64_t arguments_max, result_max; /* bytes */
	bool verbose; /* the packages' standard error to ours */
};

/* One call as gate_part_call has it. */
struct tool_pool_call {
	uint64_t id;         /* the caller's; repeated in the answer */
	uint64_t number;     /* of the request, as the logs name it */
	const char *package; /* foreign */
	const char *tool;    /* foreign; NULL: the package's only one */
	bool list;           /* which tools there are */
	int args_fd;         /* sealed memfd or -1; taken */
};

struct tool_pool_handlers {
	/* Once for every call that is not cancelled; not before tool_pool_call
	 * returns, but for one above TOOL_POOL_CALLS_MAX. code "":
	 * fd is a sealed memfd with the MCP result and to be taken over;
	 * otherwise a documented code, one sentence, and -1. */
	void (*on_answer)(uint64_t id, const char *code, const char *detail,
	    int fd, void *context);
	/* Once, after tool_pool_close: every sandbox is gone and was said to
	 * be. Never before tool_pool_close returns. */
	void (*on_closed)(void *context);
};

enum result tool_pool_new(struct event_base *base, struct audit *audit,
    const struct tool_pool_spec *spec,
    const struct tool_pool_handlers *handlers, void *context,
    struct tool_pool **pool_r);
void tool_pool_call(struct tool_pool *pool, const struct tool_pool_call *call);
/* The caller no longer waits for that call of its: the package is told, and
 * there is no answer. It stays counted. */
void tool_pool_cancel(struct tool_pool *pool, uint64_t id);
/* The run is over: calls that wait are answered with "run_ended". code "":
 * in order (a server's state is kept); else everything is killed at once. */
void tool_pool_close(struct tool_pool *pool, const char *code);
/* Kills what is left. Accepts NULL, clears. */
void tool_pool_free(struct tool_pool **pool);

#endif
