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
#include "supervisor/engine/cgroup_make.h"
#include "supervisor/engine/engine_call.h"
#include "supervisor/engine/engine_words.h"
#include "supervisor/engine/holder_kill.h"
#include "supervisor/engine/run_lock.h"

#define ENGINE_GC_TIMEOUT_MS 20000U
#define ENGINE_GC_TRIES 3U

_Static_assert(
    RUN_LOCK_STALE_MAX + ENGINE_WORDS_OWN <= ENGINE_WORDS_MAX &&
	RUN_LOCK_STALE_MAX * (RUN_LOCK_NAME_MAX + ENGINE_WORDS_FILTER) <=
	    ENGINE_WORDS_TEXT_MAX,
    "one that is not asked for would be taken for gone");

enum engine_gc_state {
	ENGINE_GC_REMOVE, /* one `rm --force` for all */
	ENGINE_GC_ASK,    /* docker: is one of them left? */
	ENGINE_GC_DELETE, /* the runtime's `delete --force`, one by one */
};

struct engine_gc {
	struct event_base *base;
	const struct engine_host *host;
	enum engine_gc_state state;
	struct event *again;
	unsigned tries;
	struct run_lock_stale stale[RUN_LOCK_STALE_MAX];
	bool busy[RUN_LOCK_STALE_MAX]; /* not all of it could be removed */
	size_t count, next;
	struct engine_call *call;
	engine_gc_done *done;
	void *context;
};

static void
engine_gc_enter(struct engine_gc *gc, enum engine_gc_state state)
{
	gc->state = state;
}

static void
engine_gc_again(struct engine_gc *gc)
{
	struct timeval now = {0, 0};

	(void)event_add(gc->again, &now);
}

enum run_lock_whose
engine_gc_whose(const struct engine_host *host)
{
	return host->memory.kind == ENGINE_MEMORY_DOCKER ? RUN_LOCK_DOCKER
							 : RUN_LOCK_PODMAN;
}

/* What the runtime may have kept of the next container that is known by
 * its id; false when there is none. */
static bool
engine_gc_next(struct engine_gc *gc)
{
	while (gc->next < gc->count &&
	       gc->stale[gc->next].facts.container[0] == '\0')
		gc->next++;
	return gc->next < gc->count;
}

static void
engine_gc_finish(struct engine_gc *gc, int exit_code, const char *detail)
{
	/* 0: each is removed or was unknown. Else the files stay, and the
	 * next start tries again. */
	for (size_t i = 0; i < gc->count && exit_code == 0; i++) {
		if (!gc->busy[i])
			run_lock_forget(&gc->host->files, gc->stale[i].id);
	}
	log_event(LOG_INFO_LEVEL, "leftovers_removed",
	    LOG_UINT("count", gc->count), LOG_INT("exit", exit_code),
	    LOG_TEXT("detail", detail));
	gc->done(gc->context);
}

/* Its empty groups; while one is busy the run's file stays. */
static void
engine_gc_groups(struct engine_gc *gc, struct run_lock_stale *stale)
{
	struct cgroup left;

	cgroup_find_id(stale->facts.container, &left);
	if (cgroup_kill_remove(&left) > 0)
		gc->busy[stale - gc->stale] = true;
}

/* Docker's runtime is its daemon's to clean up after; groups may be left
 * when that died too. */
static void
engine_gc_on_answer(struct engine_gc *gc, const struct engine_call_end *end)
{
	if (!engine_words_is_gone(&gc->host->memory, end)) {
		engine_gc_finish(gc, 1, "docker still knows one of them");
		return;
	}
	while (engine_gc_next(gc))
		engine_gc_groups(gc, &gc->stale[gc->next++]);
	engine_gc_finish(gc, 0, "");
}

static void
engine_gc_on_call(const struct engine_call_end *end, void *context)
{
	struct engine_gc *gc = context;
	bool removing = gc->state == ENGINE_GC_REMOVE;
	bool docker = gc->host->memory.kind == ENGINE_MEMORY_DOCKER;

	/* It complains of those that are gone already: what counts is that
	 * none is left. */
	if (removing && docker) {
		engine_gc_enter(gc, ENGINE_GC_ASK);
		engine_gc_again(gc);
		return;
	}
	if (gc->state == ENGINE_GC_ASK) {
		engine_gc_on_answer(gc, end);
		return;
	}
	/* A container whose monitor died is found dead by the first call,
	 * which then complains about its state; the second removes it. */
	if (removing && end->exit_code != 0 && ++gc->tries < ENGINE_GC_TRIES) {
		engine_gc_again(gc);
		return;
	}
	if (removing && end->exit_code != 0) {
		engine_gc_finish(gc, end->exit_code, end->error);
		return;
	}
	/* The runtime mostly knows nothing: no matter. */
	if (!removing)
		engine_gc_groups(gc, &gc->stale[gc->next++]);
	if (!engine_gc_next(gc)) {
		engine_gc_finish(gc, 0, "");
		return;
	}
	engine_gc_enter(gc, ENGINE_GC_DELETE);
	engine_gc_again(gc);
}

/* A runtime that stopped before init spoke waits for ever; it tells which
 * container it is. */
static void
engine_gc_holders(struct run_lock_facts *facts)
{
	struct cgroup found;

	memset(&found, 0, sizeof(found));
	holder_kill_all((ino_t)facts->socket, &found);
	if (facts->container[0] == '\0')
		memcpy(facts->container, found.id, sizeof(facts->container));
	cgroup_find_id(facts->container, &found);
	(void)cgroup_kill(&found);
}

/* The words of `rm --force` for all that have a name; false: none has. */
static bool
engine_gc_remove_words(struct engine_gc *gc, struct engine_words *words_r)
{
	size_t before;

	engine_words_remove(&gc->host->memory, NULL, words_r);
	before = words_r->count;
	for (size_t i = 0; i < gc->count; i++) {
		struct run_lock_facts *facts = &gc->stale[i].facts;

		engine_gc_holders(facts);
		if (strncmp(facts->name, "agentnode-", 10) == 0)
			engine_words_add(words_r, facts->name);
		else if (!cgroup_make_is_ours(facts->name))
			run_lock_forget(&gc->host->files, gc->stale[i].id);
	}
	return words_r->count > before;
}

static void
engine_gc_ask_words(const struct engine_gc *gc, struct engine_words *words_r)
{
	engine_words_ask(&gc->host->memory, "container", NULL, words_r);
	for (size_t i = 0; i < gc->count; i++) {
		const char *name = gc->stale[i].facts.name;

		if (strncmp(name, "agentnode-", 10) == 0)
			engine_words_ask_more(words_r, name);
	}
}

static void
engine_gc_delete_words(const struct engine_gc *gc, struct engine_words *words_r)
{
	engine_words_begin(&gc->host->memory, words_r);
	if (gc->host->memory.rootless)
		engine_words_add(words_r, "unshare");
	else
		words_r->count = 0;
	engine_words_add(words_r, gc->host->memory.runtime);
	engine_words_add(words_r, "delete");
	engine_words_add(words_r, "--force");
	engine_words_add(words_r, gc->stale[gc->next].facts.container);
}

static enum result
engine_gc_call(struct engine_gc *gc)
{
	struct engine_words words;
	struct engine_call_spec spec = {.files = &gc->host->files,
	    .argv = words.argv,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .output_max = 65536,
	    .timeout_ms = ENGINE_GC_TIMEOUT_MS};

	if (gc->state == ENGINE_GC_DELETE)
		engine_gc_delete_words(gc, &words);
	else if (gc->state == ENGINE_GC_ASK)
		engine_gc_ask_words(gc, &words);
	else if (!engine_gc_remove_words(gc, &words))
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
	cgroup_make_gc(&host->files, NULL);
	/* No client is known where nothing but native sandboxes start. */
	if (host->memory.client[0] != '\0')
		gc->count = run_lock_stale(&host->files, engine_gc_whose(host),
		    gc->stale, RUN_LOCK_STALE_MAX);
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
