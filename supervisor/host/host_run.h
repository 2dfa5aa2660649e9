/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command on the host, as a policy and not a boundary: empty environment
 * plus what is named, its own session, limits, a time limit, and the end of
 * its whole tree when it ends, when its time is up or when we die. Started
 * through agentnode-host, which is the tree's subreaper. For packages of a
 * tier the policy lets run on the host, and for `exec --boundary policy`.
 * Same shape as sandbox.h, so that a caller can have either. Nothing of a
 * community tier ever comes here: callers show a boundary verdict of HOST
 * or have no package at all, and host_run refuses everything else.
 */
#ifndef SUPERVISOR_HOST_HOST_RUN_H
#define SUPERVISOR_HOST_HOST_RUN_H

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/result.h"
#include "supervisor/sandbox.h"

struct host_run;         /* opaque */
struct boundary_verdict; /* supervisor/policy/boundary.h */
struct run_secret;       /* supervisor/package/run_secret.h */

/* Said in every result, status and record of such a run. */
#define HOST_RUN_WORDS "policy, not a boundary"

struct host_spec {
	const char *kind;    /* "pack", "mcp", "agent", "exec" */
	const char *package; /* slug; NULL: the operator's own command */
	const char *version, *tier;
	/* Of the package; NULL only when package is NULL. */
	const struct boundary_verdict *verdict;
	const char *const *argv; /* NULL-terminated; argv[0] absolute */
	const char *const *env;  /* NULL-terminated "K=V": all of it */
	const char *cwd; /* absolute; HOME and TMPDIR are the caller's */
	struct sandbox_limits limits;
	const json_t *record;            /* more of the launch record */
	const struct run_secret *secret; /* more of env; or NULL */
	/* A folder that must hold what this hash says, read in full before
	 * the start; both or none. A package's own has to be sealed so. */
	const char *tree_path, *tree_hash;
	bool has_result; /* stdout_fd is at 3, 1 is stderr_fd */
	int stdin_fd, stdout_fd, stderr_fd; /* its ends of pipes; borrowed */
};

/* Outcome as of a sandbox; removed: nothing of its tree lives. Codes of its
 * own: host_refused (not for the host), host_died (agentnode-host ended). */
struct host_run_handlers {
	void (*on_go)(struct host_run *run, void *context); /* may be NULL */
	void (*on_end)(struct host_run *run,
	    const struct sandbox_outcome *outcome, void *context);
};

/* The launch record (with "boundary":"policy") is synced before its
 * effect. Every failure comes through on_end, once, never before this
 * returns. */
enum result host_run_start(struct event_base *base, const struct config *config,
    struct audit *audit, const struct host_spec *spec,
    const struct host_run_handlers *handlers, void *context,
    struct host_run **run_r);
/* Everything of its tree is killed; on_end follows. code "": in order, its
 * outcome has none either. */
void host_run_stop(struct host_run *run, const char *code, const char *detail);
const char *host_run_id(const struct host_run *run); /* 16 hex */
/* After on_end. Accepts NULL, clears. */
void host_run_free(struct host_run **run);

#endif
