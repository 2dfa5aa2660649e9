/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two small loops: kill until empty, remove until unknown. Called by the
 * sandbox's story; must never call something dead or removed that it has
 * not looked at.
 */
#include "supervisor/engine/container_end.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/event_loop.h"
#include "common/log.h"
#include "supervisor/engine/engine_call.h"
#include "supervisor/engine/engine_words.h"
#include "supervisor/engine/holder_kill.h"
#include "supervisor/engine/run_argv.h"
#include "supervisor/engine/run_lock.h"
#include "supervisor/mux/mux_link.h"

#define CONTAINER_END_TICK_MS 2U
#define CONTAINER_END_LIMIT_MS 5000U
#define CONTAINER_END_AGAIN_MS 100U
#define CONTAINER_END_REMOVE_MS 20000U
#define CONTAINER_END_TRIES 3U
#define CONTAINER_END_CALL_MS 20000U
#define CONTAINER_END_LOOK_MS 3000U /* docker removes it by itself */
#define CONTAINER_END_LOOK_TICK_MS 5U
/* init ends everything by itself when its link closes; from then on the
 * daemon is asked to, where nobody else may. */
#define CONTAINER_END_ASK_MS 50U
#define CONTAINER_END_ASK_AGAIN_MS 500U /* a daemon that did not answer */
/* One that is dead kills nothing: init ends by the silence of its link. */
#define CONTAINER_END_SILENT_MS (MUX_LINK_SILENT_MS + 3000U)

enum container_end_state {
	CONTAINER_END_IDLE,
	CONTAINER_END_KILL, /* rounds of SIGKILL */
	CONTAINER_END_LOOK, /* is its storage gone? The daemon is waited for */
	CONTAINER_END_REMOVE, /* `rm --force` runs */
	CONTAINER_END_ASK,    /* `container exists` runs */
	CONTAINER_END_DELETE, /* the runtime's `delete --force` runs */
	CONTAINER_END_GROUPS, /* its empty groups are removed */
};

struct container_end {
	struct event_base *base;
	const struct engine_host *host;
	char name[RUN_ARGV_NAME_MAX], run[RUN_LOCK_ID_MAX];
	enum container_end_state state;
	struct cgroup cgroup;
	ino_t socket;
	uint64_t grace; /* monotonic ms: holders are killed from then on */
	uint64_t limit; /* monotonic ms: when to give up */
	uint64_t look;  /* monotonic ms: how long a daemon may take */
	unsigned tries; /* removals asked for */
	uint64_t ask;   /* monotonic ms: the daemon is asked to kill next */
	bool asking;
	bool only_groups, unanswered; /* the last answer was none */
	struct event *tick;
	struct engine_call *call;
	struct container_end_handlers handlers;
	void *context;
};

static void
container_end_enter(struct container_end *end, enum container_end_state state)
{
	end->state = state;
}

static void
container_end_wait(struct container_end *end, unsigned ms)
{
	struct timeval time = event_loop_timeval(ms);

	(void)event_add(end->tick, &time);
}

static bool
container_end_is_docker(const struct container_end *end)
{
	return end->host->memory.kind == ENGINE_MEMORY_DOCKER;
}

static bool
container_end_is_late(const struct container_end *end)
{
	return event_loop_now_ms() >= end->limit;
}

/* Where it is although nobody told: by the id that the engine wrote down
 * and, from then on, by that id alone. */
static void
container_end_look(struct container_end *end)
{
	char id[RUN_LOCK_CONTAINER_MAX];

	if (end->cgroup.count > 0 || end->cgroup.pidns_ino != 0)
		return;
	memcpy(id, end->cgroup.id, sizeof(id));
	if (id[0] == '\0')
		run_lock_container(&end->host->files, end->run, id);
	cgroup_find_id(id, &end->cgroup);
}

static bool
container_end_by_group(const struct container_end *end)
{
	return engine_memory_by_group(&end->host->memory);
}

static void
container_end_on_kill(const struct engine_call_end *answer, void *context)
{
	struct container_end *end = context;

	/* What counts is what still lives. */
	end->asking = false;
	end->ask = event_loop_now_ms() + (answer->exit_code == 0
						 ? CONTAINER_END_ASK_MS
						 : CONTAINER_END_ASK_AGAIN_MS);
}

/* Docker's other users can rename a container, and give its name to another;
 * its id is nobody else's. */
static const char *
container_end_who(const struct container_end *end)
{
	return container_end_is_docker(end) && end->cgroup.id[0] != '\0'
		   ? end->cgroup.id
		   : end->name;
}

/* What runs is another user's, whom we may not signal; its death is seen
 * here all the same. */
static void
container_end_ask_kill(struct container_end *end)
{
	const char *argv[] = {end->host->memory.client, "kill", "--signal=KILL",
	    "--", container_end_who(end), NULL};
	struct engine_call_spec spec = {.files = &end->host->files,
	    .argv = argv,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .output_max = 65536,
	    .timeout_ms = CONTAINER_END_LIMIT_MS};

	if (end->asking || event_loop_now_ms() < end->ask)
		return;
	engine_call_free(&end->call);
	end->asking = engine_call_start(end->base, &spec, container_end_on_kill,
			  end, &end->call) == RESULT_OK;
}

static void
container_end_kill_round(struct container_end *end)
{
	bool grace = event_loop_now_ms() < end->grace;
	size_t holders = holder_kill(end->socket, !grace, &end->cgroup);
	bool dead = holders == 0;

	if (!grace)
		container_end_look(end);
	/* In the grace it ends by itself and in order. */
	if (!grace || holders == 0)
		dead = cgroup_kill(&end->cgroup) == 0 && dead;
	if (!dead && container_end_by_group(end))
		container_end_ask_kill(end);
	if (!dead && !container_end_is_late(end)) {
		container_end_wait(end, CONTAINER_END_TICK_MS);
		return;
	}
	engine_call_free(&end->call);
	container_end_enter(end, CONTAINER_END_IDLE);
	end->handlers.on_dead(dead, end->context);
}

static void
container_end_finish(
    struct container_end *end, bool removed, const char *detail)
{
	container_end_enter(end, CONTAINER_END_IDLE);
	end->handlers.on_removed(removed, detail, end->context);
}

/* The engine does not know it. A container whose monitor died leaves the
 * runtime's state and its empty control groups behind. */
static void
container_end_after(struct container_end *end)
{
	container_end_look(end);
	if (end->cgroup.id[0] == '\0') {
		container_end_finish(end, true, "");
		return;
	}
	/* Docker's runtime is its daemon's to clean up after. */
	container_end_enter(end, container_end_is_docker(end)
				     ? CONTAINER_END_GROUPS
				     : CONTAINER_END_DELETE);
	container_end_wait(end, 0);
}

/* A group may be busy for a moment with somebody who is dead already. */
static void
container_end_groups(struct container_end *end)
{
	size_t left;

	container_end_look(end);
	left = cgroup_kill_remove(&end->cgroup);
	if (left > 0 && !container_end_is_late(end)) {
		container_end_wait(end, end->only_groups
					    ? CONTAINER_END_TICK_MS
					    : CONTAINER_END_AGAIN_MS);
		return;
	}
	if (left > 0)
		log_event(LOG_ERROR_LEVEL, "groups_left",
		    LOG_TEXT("container", end->cgroup.id),
		    LOG_UINT("count", left));
	container_end_finish(end, left == 0 || !end->only_groups,
	    left == 0 ? ""
		      : "its control groups are busy: run `agentnode "
			"sandbox gc`");
}

static void
container_end_on_call(const struct engine_call_end *answer, void *context)
{
	struct container_end *end = context;
	bool gone = engine_words_is_gone(&end->host->memory, answer);

	end->unanswered =
	    container_end_is_docker(end) && answer->exit_code != 0;
	if (end->state == CONTAINER_END_REMOVE) {
		container_end_enter(end, CONTAINER_END_ASK);
		container_end_wait(end, 0);
	} else if (end->state == CONTAINER_END_DELETE) {
		container_end_enter(end, CONTAINER_END_GROUPS);
		container_end_wait(end, 0);
	} else if (gone) {
		container_end_after(end);
	} else if (container_end_is_late(end) &&
		   end->tries >= CONTAINER_END_TRIES) {
		container_end_finish(end, false,
		    end->unanswered
			? "the engine does not answer whether the container "
			  "is gone: run `agentnode sandbox gc` when it does"
			: "the engine still knows the container: run "
			  "`agentnode sandbox gc`");
	} else {
		container_end_enter(end, CONTAINER_END_REMOVE);
		container_end_wait(end, CONTAINER_END_AGAIN_MS);
	}
}

/* The words of the call a state makes. */
static void
container_end_words(
    const struct container_end *end, struct engine_words *words_r)
{
	const struct engine_memory *memory = &end->host->memory;
	const char *const delete[] = {memory->client, "unshare",
	    memory->runtime, "delete", "--force", end->cgroup.id, NULL};

	if (end->state == CONTAINER_END_REMOVE)
		engine_words_remove(memory, container_end_who(end), words_r);
	else if (end->state == CONTAINER_END_ASK &&
		 container_end_who(end) == end->cgroup.id)
		engine_words_ask_id(memory, end->cgroup.id, words_r);
	else if (end->state == CONTAINER_END_ASK)
		engine_words_ask(memory, "container", end->name, words_r);
	else if (memory->rootless) /* in the user's own namespace */
		memcpy(words_r->argv, delete, sizeof(delete));
	else
		memcpy(words_r->argv, delete + 2,
		    sizeof(delete) - 2 * sizeof(*delete));
}

static void
container_end_call(struct container_end *end)
{
	struct engine_words words = {.argv = {NULL}};
	struct engine_call_spec spec = {.files = &end->host->files,
	    .argv = words.argv,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .output_max = 65536,
	    .timeout_ms = CONTAINER_END_CALL_MS};

	if (end->state == CONTAINER_END_REMOVE)
		end->tries++;
	container_end_words(end, &words);
	engine_call_free(&end->call);
	if (engine_call_start(end->base, &spec, container_end_on_call, end,
		&end->call) != RESULT_OK)
		container_end_finish(end, false, "the engine cannot be called");
}

/* Gone from the storage? By name the engine finds its record through an
 * index; the record's own directory goes last. */
static bool
container_end_is_stored(const struct container_end *end)
{
	const struct engine_memory *memory = &end->host->memory;
	char path[ENGINE_MEMORY_PATH_MAX + 160];
	struct stat info;

	if (container_end_is_docker(end))
		(void)snprintf(path, sizeof(path), "%s/containers/%s",
		    memory->graph_root, end->cgroup.id);
	else
		(void)snprintf(path, sizeof(path), "%s/%s-containers/%s",
		    memory->graph_root, memory->graph_driver, end->cgroup.id);
	return lstat(path, &info) == 0 || errno != ENOENT;
}

static void
container_end_on_tick(evutil_socket_t fd, short what, void *context)
{
	struct container_end *end = context;

	(void)fd;
	(void)what;
	switch (end->state) {
	case CONTAINER_END_KILL:
		container_end_kill_round(end);
		break;
	case CONTAINER_END_LOOK:
		if (container_end_by_group(end)) {
			/* It cannot be looked for; the daemon is asked. */
			container_end_enter(end, CONTAINER_END_ASK);
			container_end_call(end);
		} else if (end->cgroup.id[0] != '\0' &&
			   !container_end_is_stored(end))
			container_end_finish(end, true, "");
		else if (end->cgroup.id[0] != '\0' &&
			 container_end_is_docker(end) &&
			 event_loop_now_ms() < end->look)
			container_end_wait(end, CONTAINER_END_LOOK_TICK_MS);
		else {
			container_end_enter(end, CONTAINER_END_REMOVE);
			container_end_call(end);
		}
		break;
	case CONTAINER_END_REMOVE:
	case CONTAINER_END_ASK:
	case CONTAINER_END_DELETE:
		container_end_call(end);
		break;
	case CONTAINER_END_GROUPS:
		container_end_groups(end);
		break;
	case CONTAINER_END_IDLE:
		break;
	}
}

enum result
container_end_new(struct event_base *base, const struct engine_host *host,
    const char *name, const char *run,
    const struct container_end_handlers *handlers, void *context,
    struct container_end **end_r)
{
	struct container_end *end = calloc(1, sizeof(*end));

	*end_r = NULL;
	if (end == NULL)
		return RESULT_NO_MEMORY;
	end->base = base;
	end->host = host;
	end->handlers = *handlers;
	end->context = context;
	(void)snprintf(end->name, sizeof(end->name), "%s", name);
	(void)snprintf(end->run, sizeof(end->run), "%s", run);
	end->tick = event_new(base, -1, 0, container_end_on_tick, end);
	if (end->tick == NULL) {
		free(end);
		return RESULT_NO_MEMORY;
	}
	*end_r = end;
	return RESULT_OK;
}

enum result
container_end_kill(struct container_end *end, const struct cgroup *cgroup,
    ino_t socket, unsigned grace_ms)
{
	bool known = cgroup->id[0] != '\0' || cgroup->pidns_ino != 0;

	if (end->state != CONTAINER_END_IDLE)
		return RESULT_INTERNAL;
	container_end_enter(end, CONTAINER_END_KILL);
	end->cgroup = *cgroup;
	end->socket = known ? 0 : socket;
	end->grace = event_loop_now_ms() + (known ? 0 : grace_ms);
	end->limit =
	    end->grace + (container_end_by_group(end) ? CONTAINER_END_SILENT_MS
						      : CONTAINER_END_LIMIT_MS);
	end->ask = event_loop_now_ms() + CONTAINER_END_ASK_MS;
	if (known)
		(void)cgroup_kill(&end->cgroup); /* the first round at once */
	container_end_wait(end, 0);
	return RESULT_OK;
}

enum result
container_end_remove(struct container_end *end, bool client_removed)
{
	if (end->state != CONTAINER_END_IDLE)
		return RESULT_INTERNAL;
	container_end_enter(
	    end, client_removed ? CONTAINER_END_LOOK : CONTAINER_END_REMOVE);
	end->limit = event_loop_now_ms() + CONTAINER_END_REMOVE_MS;
	end->look = event_loop_now_ms() + CONTAINER_END_LOOK_MS;
	end->tries = 0;
	container_end_wait(end, 0);
	return RESULT_OK;
}

enum result
container_end_remove_groups(struct container_end *end)
{
	if (end->state != CONTAINER_END_IDLE)
		return RESULT_INTERNAL;
	container_end_enter(end, CONTAINER_END_GROUPS);
	end->limit = event_loop_now_ms() + CONTAINER_END_LIMIT_MS;
	end->only_groups = true;
	container_end_groups(end);
	return RESULT_OK;
}

void
container_end_free(struct container_end **end)
{
	struct container_end *gone = *end;

	if (gone == NULL)
		return;
	*end = NULL;
	engine_call_free(&gone->call);
	event_free(gone->tick);
	free(gone);
}
