/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small gc of a start: one `rm --force` for the containers that stale
 * run files name. Called by the sandbox's story; must never touch a run
 * that a living supervisor holds. The big one is engine_gc_run.c.
 */
#include "supervisor/engine/engine_gc.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "supervisor/engine/engine_call.h"
#include "supervisor/engine/run_lock.h"

#define ENGINE_GC_TIMEOUT_MS 20000U
#define ENGINE_GC_TRIES 3U

struct engine_gc {
	struct event_base *base;
	const struct engine_host *host;
	struct event *again;
	unsigned tries;
	struct run_lock_stale stale[RUN_LOCK_STALE_MAX];
	size_t count;
	struct engine_call *call;
	engine_gc_done *done;
	void *context;
};

static void
engine_gc_on_call(const struct engine_call_end *end, void *context)
{
	struct engine_gc *gc = context;
	struct timeval now = {0, 0};

	/* A container whose monitor died is found dead by the first call,
	 * which then complains about its state; the second removes it. */
	if (end->exit_code != 0 && ++gc->tries < ENGINE_GC_TRIES) {
		(void)event_add(gc->again, &now);
		return;
	}
	/* 0: each is removed or was unknown. Else the files stay, and the
	 * next start tries again. */
	for (size_t i = 0; i < gc->count && end->exit_code == 0; i++)
		run_lock_forget(&gc->host->files, gc->stale[i].id);
	log_event(LOG_INFO_LEVEL, "leftovers_removed",
	    LOG_UINT("count", gc->count), LOG_INT("exit", end->exit_code),
	    LOG_TEXT("detail", end->error));
	gc->done(gc->context);
}

static enum result
engine_gc_call(struct engine_gc *gc)
{
	const char *argv[RUN_LOCK_STALE_MAX + 8] = {gc->host->memory.podman,
	    "rm", "--force", "--ignore", "--time=0", "--"};
	struct engine_call_spec spec = {.files = &gc->host->files,
	    .argv = argv,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .output_max = 65536,
	    .timeout_ms = ENGINE_GC_TIMEOUT_MS};
	size_t words = 6;

	for (size_t i = 0; i < gc->count; i++) {
		if (strncmp(gc->stale[i].name, "agentnode-", 10) == 0)
			argv[words++] = gc->stale[i].name;
		else
			run_lock_forget(&gc->host->files, gc->stale[i].id);
	}
	if (words == 6)
		return RESULT_NOT_FOUND; /* nothing was started in them */
	engine_call_free(&gc->call);
	return engine_call_start(
	    gc->base, &spec, engine_gc_on_call, gc, &gc->call);
}

static void
engine_gc_on_again(evutil_socket_t fd, short what, void *context)
{
	struct engine_gc *gc = context;

	(void)fd;
	(void)what;
	if (engine_gc_call(gc) != RESULT_OK)
		gc->done(gc->context);
}

enum result
engine_gc_start(struct event_base *base, const struct engine_host *host,
    engine_gc_done *done, void *context, struct engine_gc **gc_r)
{
	struct engine_gc *gc = calloc(1, sizeof(*gc));
	enum result result = RESULT_NOT_FOUND;

	*gc_r = NULL;
	if (gc == NULL)
		return RESULT_NO_MEMORY;
	gc->base = base;
	gc->host = host;
	gc->done = done;
	gc->context = context;
	gc->count = run_lock_stale(&host->files, gc->stale, RUN_LOCK_STALE_MAX);
	gc->again = event_new(base, -1, 0, engine_gc_on_again, gc);
	if (gc->again == NULL)
		result = RESULT_NO_MEMORY;
	else if (gc->count > 0)
		result = engine_gc_call(gc);
	if (result != RESULT_OK) {
		engine_gc_free(&gc);
		return result;
	}
	*gc_r = gc;
	return RESULT_OK;
}

void
engine_gc_free(struct engine_gc **gc)
{
	struct engine_gc *gone = *gc;

	if (gone == NULL)
		return;
	*gc = NULL;
	engine_call_free(&gone->call);
	if (gone->again != NULL)
		event_free(gone->again);
	free(gone);
}
