/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One tool package of an agent's run: planned as `mcp run` plans it (entry,
 * consent, trust, network, files, state), in a sandbox of its own, with a
 * gate that is its client. An MCP server serves many calls; a tool pack one,
 * and the next has a sandbox of its own. Used by tool_pool.
 */
#ifndef SUPERVISOR_AGENT_TOOL_SESSION_H
#define SUPERVISOR_AGENT_TOOL_SESSION_H

#include <stddef.h>

#include "supervisor/agent/tool_pool.h"
#include "supervisor/package/run_entry.h"

#define TOOL_SESSION_DETAIL_MAX 512U

struct tool_session; /* opaque */

/* Why there is none. */
struct tool_session_fault {
	char code[RUN_ENTRY_CODE_MAX];
	char detail[TOOL_SESSION_DETAIL_MAX]; /* for the operator */
};

struct tool_session_handlers {
	/* Once for every job but a cancelled one; code "": fd is a sealed
	 * memfd, taken. */
	void (*on_answer)(uint64_t id, const char *code, const char *detail,
	    int fd, void *context);
	/* Once: sandbox, gate and trees are gone, jobs are answered. */
	void (*on_end)(struct tool_session *session, void *context);
};

/* Neither handler is called before this returns. On failure fault_r says
 * why and there is no session. */
enum result tool_session_new(struct event_base *base, struct audit *audit,
    const struct tool_pool_spec *spec, const char *slug,
    const struct tool_session_handlers *handlers, void *context,
    struct tool_session **session_r, struct tool_session_fault *fault_r);

/* call as tool_pool.h has it; its package is this one's. */
void tool_session_call(
    struct tool_session *session, const struct tool_pool_call *call);

/* Nobody waits for the job of that id: the package may stop working on it,
 * and it has no on_answer. */
void tool_session_cancel(struct tool_session *session, uint64_t id);

/* End it; jobs that wait are answered with code (or "run_ended"). code "":
 * in order. */
void tool_session_stop(
    struct tool_session *session, const char *code, const char *detail);

const char *tool_session_slug(const struct tool_session *session);
/* So many jobs wait for an answer. */
size_t tool_session_jobs(const struct tool_session *session);
/* It is not about to end. */
bool tool_session_is_open(const struct tool_session *session);
/* It is good for one call only, and then ends by itself: a tool pack, whose
 * calls share nothing. Nothing of it is kept, so that there may be several
 * of one package. */
bool tool_session_is_once(const struct tool_session *session);
/* This call, or list, may be given to it now. */
bool tool_session_takes(const struct tool_session *session, bool list);

/* Kills it. Accepts NULL, clears; not from a handler of its own. */
void tool_session_free(struct tool_session **session);

#endif
