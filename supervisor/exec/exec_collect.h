/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipes of a command, and the process that reads them: agentnode-collect,
 * with the job of that name. No byte of the command's is seen here but as text
 * that it made. Used by exec_run.
 */
#ifndef SUPERVISOR_EXEC_EXEC_COLLECT_H
#define SUPERVISOR_EXEC_EXEC_COLLECT_H

#include <event2/event.h>
#include <jansson.h>

#include "supervisor/exec/exec_plan.h"

struct exec_collect; /* opaque */

/* answer is borrowed, as collect.h says; NULL: it failed, detail says how. */
typedef void exec_collect_done(
    const json_t *answer, const char *detail, void *context);

/* The ends that the command gets; -1 once they were given away. */
struct exec_collect_ends {
	int out, err, results;
};

/* The pipes, which hold what is written until somebody reads. */
enum result exec_collect_open(struct exec_collect **collect_r);
/* Start the reader. done comes once, when every copy of the three ends is
 * closed, or when it failed; never before this returns. plan is borrowed. */
enum result exec_collect_start(struct exec_collect *collect,
    struct event_base *base, const struct exec_plan *plan,
    exec_collect_done *done, void *context);
/* The same, but the reader is started when the first byte comes that says
 * anything. A command that says and leaves nothing has none. */
enum result exec_collect_watch(struct exec_collect *collect,
    struct event_base *base, const struct exec_plan *plan,
    exec_collect_done *done, void *context);
/* The boundary ended: the ends are closed, and done comes when it is known
 * what came. From the loop; done may be called in it. */
void exec_collect_finish(struct exec_collect *collect);
/* Borrowed; closed by exec_collect_given. */
const struct exec_collect_ends *exec_collect_ends(
    const struct exec_collect *collect);
void exec_collect_given(struct exec_collect *collect);
/* Accepts NULL, clears. */
void exec_collect_free(struct exec_collect **collect);

#endif
