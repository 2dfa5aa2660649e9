/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What dead supervisors left behind: containers and throwaway volumes whose
 * run nobody holds any more. At a start only what the run files name, beside
 * the engine and off the hot path; `sandbox gc` asks the engine for all of
 * it by label:
 *   agentnode.run=<run id>   a container of a sandbox
 *   agentnode.tmp=<run id>   a throwaway container or volume of an install
 *   agentnode.filling=<run id>  a sealed volume: one that its install was
 *                            killed over, before a lockfile was noted
 */
#ifndef SUPERVISOR_ENGINE_ENGINE_GC_H
#define SUPERVISOR_ENGINE_ENGINE_GC_H

#include <event2/event.h>
#include <jansson.h>

#include "common/result.h"
#include "supervisor/engine/engine_host.h"
#include "supervisor/engine/run_lock.h"

#define ENGINE_GC_FILLING "agentnode.filling"
/* Beside a volume's _data: the lockfiles that name it (volume_users.h). */
#define ENGINE_GC_USERS "agentnode-lockfiles.json"

/* The same of a user of Docker's group: AGENTNODE_HOME/volumes/NAME. */
#define ENGINE_GC_USERS_DIR "volumes"

struct engine_gc; /* opaque */

typedef void engine_gc_done(void *context);

/* Remove what stale run files name. RESULT_NOT_FOUND: there are none (the
 * usual case: one look into a directory). done comes from the loop. */
enum result engine_gc_start(struct event_base *base,
    const struct engine_host *host, engine_gc_done *done, void *context,
    struct engine_gc **gc_r);
/* Kills the call when it still runs. Accepts NULL, clears. */
void engine_gc_free(struct engine_gc **gc);

/* Whose stale runs an engine can judge. */
enum run_lock_whose engine_gc_whose(const struct engine_host *host);

/* Everything, waited for. *report_r (caller decrefs):
 * {"removed":[{"kind","name"}],"left":[{"kind","name","detail"}]}. */
enum result engine_gc_run(const struct engine_host *host, json_t **report_r,
    char *detail_r, size_t detail_size);

/* How many leftover containers and volumes there are. */
enum result engine_gc_run_count(const struct engine_host *host, size_t *count_r,
    char *detail_r, size_t detail_size);

#endif
