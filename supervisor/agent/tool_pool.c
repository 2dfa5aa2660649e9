/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tool packages of a run. Called by agent_run with what the gate asks
 * for, which is foreign; it must never start a package that is not in the
 * allowlist, nor one more than there may be.
 */
#include "supervisor/agent/tool_pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/log.h"
#include "supervisor/agent/tool_refusal.h"
#include "supervisor/agent/tool_session.h"
#include "supervisor/package/slug.h"

#define TOOL_POOL_LISTS_MAX 256U /* of a run; the gate keeps what it got */

enum tool_pool_state {
	TOOL_POOL_OPEN,
	TOOL_POOL_CLOSING,
	TOOL_POOL_CLOSED
};

/* A call on its way; the pool knows them so that each has one answer. */
struct tool_pool_row {
	bool used;
	bool failed; /* code is the answer, to be given from the loop */
	uint64_t id; /* the caller's */
	char package[SLUG_MAX + 1];
	bool list, has_tool, waits; /* waits: for room for its package */
	char tool[129];
	size_t place; /* of its session, once it was handed over */
	int args_fd;
	char code[RUN_ENTRY_CODE_MAX];
};

struct tool_pool {
	enum tool_pool_state state;
	struct event_base *base;
	struct audit *audit;
	const struct tool_pool_spec *spec;
	struct tool_pool_handlers handlers;
	void *context;
	struct tool_session *sessions[TOOL_POOL_SESSIONS_MAX];
	bool ended[TOOL_POOL_SESSIONS_MAX];    /* to be freed from the loop */
	uint64_t used[TOOL_POOL_SESSIONS_MAX]; /* of last use, by count */
	bool spent[TOOL_POOL_SESSIONS_MAX]; /* its one call was given: the next
					     * may be made ready */
	struct tool_pool_row rows[TOOL_POOL_CALLS_MAX];
	struct event *later;
	uint64_t calls, lists, turn;
};

static void
tool_pool_enter(struct tool_pool *pool, enum tool_pool_state state)
{
	pool->state = state;
}

/* --- answers ------------------------------------------------------------ */

static void
tool_pool_later(struct tool_pool *pool)
{
	event_active(pool->later, EV_TIMEOUT, 0);
}

/* Answered from the loop, so never before tool_pool_call returns. */
static void
tool_pool_fail(
    struct tool_pool *pool, struct tool_pool_row *row, const char *code)
{
	fd_close(&row->args_fd);
	row->waits = false;
	row->failed = true;
	(void)snprintf(row->code, sizeof(row->code), "%s", code);
	tool_pool_later(pool);
}

static void
tool_pool_answer_failed(struct tool_pool *pool)
{
	for (size_t i = 0; i < TOOL_POOL_CALLS_MAX; i++) {
		struct tool_pool_row *row = &pool->rows[i];

		if (!row->used || !row->failed)
			continue;
		row->used = false;
		pool->handlers.on_answer(row->id, row->code,
		    tool_refusal_sentence(row->code), -1, pool->context);
	}
}

/* id: index of the row, and one. */
static void
tool_pool_on_answer(
    uint64_t id, const char *code, const char *detail, int fd, void *context)
{
	struct tool_pool *pool = context;
	struct tool_pool_row *row = &pool->rows[id - 1];

	row->used = false;
	pool->handlers.on_answer(row->id, code, detail, fd, pool->context);
	tool_pool_later(pool);
}

/* --- sessions ----------------------------------------------------------- */

static void
tool_pool_on_end(struct tool_session *session, void *context)
{
	struct tool_pool *pool = context;

	for (size_t i = 0; i < TOOL_POOL_SESSIONS_MAX; i++) {
		if (pool->sessions[i] == session)
			pool->ended[i] = true;
	}
	tool_pool_later(pool);
}

/* The session that takes it. *wait_r: there may be no other one of its
 * package now: one that still ends may keep the package's state. */
static size_t
tool_pool_find(
    const struct tool_pool *pool, const struct tool_pool_row *row, bool *wait_r)
{
	*wait_r = false;
	for (size_t i = 0; i < TOOL_POOL_SESSIONS_MAX; i++) {
		const struct tool_session *session = pool->sessions[i];

		if (session == NULL ||
		    strcmp(tool_session_slug(session), row->package) != 0)
			continue;
		if (tool_session_takes(session, row->list))
			return i;
		if (!tool_session_is_once(session))
			*wait_r = true;
	}
	return TOOL_POOL_SESSIONS_MAX;
}

/* A place for one more, or the idle session that was used least lately is
 * told to make room; then there is none yet. */
static size_t
tool_pool_place(struct tool_pool *pool)
{
	size_t place = TOOL_POOL_SESSIONS_MAX, idle = TOOL_POOL_SESSIONS_MAX;
	bool ending = false;

	for (size_t i = 0; i < pool->spec->sessions; i++) {
		struct tool_session *session = pool->sessions[i];

		if (session == NULL)
			place = i;
		else if (!tool_session_is_open(session))
			ending = true;
		else if (tool_session_jobs(session) == 0 &&
			 (idle == TOOL_POOL_SESSIONS_MAX ||
			     pool->used[i] < pool->used[idle]))
			idle = i;
	}
	if (place == TOOL_POOL_SESSIONS_MAX && !ending &&
	    idle < TOOL_POOL_SESSIONS_MAX)
		tool_session_stop(pool->sessions[idle], "",
		    "another package needs its place");
	return place;
}

static void
tool_pool_hand_over(
    struct tool_pool *pool, struct tool_pool_row *row, size_t place)
{
	struct tool_pool_call call = {.id = (uint64_t)(row - pool->rows) + 1,
	    .number = row->id,
	    .package = row->package,
	    .tool = row->has_tool ? row->tool : NULL,
	    .list = row->list,
	    .args_fd = row->args_fd};

	row->args_fd = -1;
	row->waits = false;
	row->place = place;
	pool->used[place] = ++pool->turn;
	pool->spent[place] =
	    !call.list && tool_session_is_once(pool->sessions[place]);
	tool_session_call(pool->sessions[place], &call);
}

static enum result
tool_pool_start(struct tool_pool *pool, const char *package, size_t place,
    struct tool_session_fault *fault_r)
{
	static const struct tool_session_handlers handlers = {
	    tool_pool_on_answer, tool_pool_on_end};

	*fault_r = (struct tool_session_fault){"", ""};
	pool->ended[place] = pool->spent[place] = false;
	pool->used[place] = ++pool->turn;
	return tool_session_new(pool->base, pool->audit, pool->spec, package,
	    &handlers, pool, &pool->sessions[place], fault_r);
}

static void
tool_pool_begin(struct tool_pool *pool, struct tool_pool_row *row, size_t place)
{
	struct tool_session_fault fault;

	if (tool_pool_start(pool, row->package, place, &fault) == RESULT_OK) {
		tool_pool_hand_over(pool, row, place);
		return;
	}
	tool_refusal_record(
	    pool->audit, row->package, fault.code, fault.detail);
	tool_pool_fail(pool, row, fault.code);
}

/* To its session; or it waits until there is a place for one. */
static void
tool_pool_route(struct tool_pool *pool, struct tool_pool_row *row)
{
	bool wait;
	size_t place = tool_pool_find(pool, row, &wait);

	if (place < TOOL_POOL_SESSIONS_MAX) {
		tool_pool_hand_over(pool, row, place);
		return;
	}
	if (!wait)
		place = tool_pool_place(pool);
	if (place < TOOL_POOL_SESSIONS_MAX)
		tool_pool_begin(pool, row, place);
	else
		row->waits = true;
}

/* --- the next sandbox of a tool pack ------------------------------------ */

/* A place that nobody needs now. */
static size_t
tool_pool_free_place(const struct tool_pool *pool)
{
	for (size_t i = 0; i < TOOL_POOL_CALLS_MAX; i++) {
		if (pool->rows[i].used && pool->rows[i].waits)
			return TOOL_POOL_SESSIONS_MAX;
	}
	for (size_t i = 0; i < pool->spec->sessions; i++) {
		if (pool->sessions[i] == NULL)
			return i;
	}
	return TOOL_POOL_SESSIONS_MAX;
}

/* One is enough: what takes a call is there already? */
static bool
tool_pool_has_fresh(const struct tool_pool *pool, const char *slug)
{
	for (size_t i = 0; i < TOOL_POOL_SESSIONS_MAX; i++) {
		if (pool->sessions[i] != NULL &&
		    strcmp(tool_session_slug(pool->sessions[i]), slug) == 0 &&
		    tool_session_takes(pool->sessions[i], true))
			return true;
	}
	return false;
}

/* Started while the call before runs, so that the next does not wait for it.
 * Tried once for each call; if it does not start, the next call says why. */
static void
tool_pool_make_ready(struct tool_pool *pool)
{
	struct tool_session_fault fault;
	char slug[SLUG_MAX + 1];
	size_t place;

	for (size_t i = 0; i < TOOL_POOL_SESSIONS_MAX; i++) {
		if (!pool->spent[i] || pool->sessions[i] == NULL)
			continue;
		pool->spent[i] = false;
		place = tool_pool_free_place(pool);
		(void)snprintf(slug, sizeof(slug), "%s",
		    tool_session_slug(pool->sessions[i]));
		if (pool->state == TOOL_POOL_OPEN &&
		    pool->calls < pool->spec->calls_max &&
		    place < TOOL_POOL_SESSIONS_MAX &&
		    !tool_pool_has_fresh(pool, slug))
			(void)tool_pool_start(pool, slug, place, &fault);
	}
}

/* --- calls -------------------------------------------------------------- */

static bool
tool_pool_is_allowed(const struct tool_pool *pool, const char *package)
{
	const json_t *item;
	size_t i;

	json_array_foreach(pool->spec->packages, i, item)
	{
		if (json_is_string(item) &&
		    strcmp(json_string_value(item), package) == 0)
			return slug_is_valid(package);
	}
	return false;
}

static const char *
tool_pool_judge(struct tool_pool *pool, const struct tool_pool_call *call)
{
	if (pool->state != TOOL_POOL_OPEN)
		return "run_ended";
	if (!tool_pool_is_allowed(pool, call->package))
		return "tool_not_allowed";
	if ((call->args_fd >= 0) == call->list ||
	    (call->args_fd >= 0 && !fd_is_sealed(call->args_fd)))
		return "bad_request";
	if (call->list)
		return ++pool->lists > TOOL_POOL_LISTS_MAX ? "too_many_requests"
							   : "";
	if (pool->calls >= pool->spec->calls_max)
		return "too_many_tool_calls";
	pool->calls++;
	return "";
}

static struct tool_pool_row *
tool_pool_free_row(struct tool_pool *pool)
{
	for (size_t i = 0; i < TOOL_POOL_CALLS_MAX; i++) {
		if (!pool->rows[i].used)
			return &pool->rows[i];
	}
	return NULL;
}

void
tool_pool_call(struct tool_pool *pool, const struct tool_pool_call *call)
{
	struct tool_pool_row *row = tool_pool_free_row(pool);
	const char *code;
	int fd = call->args_fd;

	/* The gate was told fewer: only one that was taken over asks more. */
	if (row == NULL) {
		log_event(LOG_ERROR_LEVEL, "tool_calls_overflow");
		fd_close(&fd);
		pool->handlers.on_answer(call->id, "too_many_requests",
		    tool_refusal_sentence("too_many_requests"), -1,
		    pool->context);
		return;
	}
	*row = (struct tool_pool_row){.used = true,
	    .id = call->id,
	    .list = call->list,
	    .has_tool = call->tool != NULL,
	    .args_fd = fd};
	(void)snprintf(row->package, sizeof(row->package), "%s", call->package);
	(void)snprintf(row->tool, sizeof(row->tool), "%s",
	    call->tool != NULL ? call->tool : "");
	code = tool_pool_judge(pool, call);
	if (code[0] != '\0') {
		log_event(LOG_WARN_LEVEL, "tool_call_refused",
		    LOG_REQUEST(NULL, 't', call->id),
		    LOG_TEXT("package", call->package), LOG_TEXT("code", code));
		tool_pool_fail(pool, row, code);
		return;
	}
	/* From the loop: starting a package takes a while. */
	row->waits = true;
	tool_pool_later(pool);
}

void
tool_pool_cancel(struct tool_pool *pool, uint64_t id)
{
	for (size_t i = 0; i < TOOL_POOL_CALLS_MAX; i++) {
		struct tool_pool_row *row = &pool->rows[i];

		if (!row->used || row->id != id)
			continue;
		if (!row->waits && !row->failed &&
		    pool->sessions[row->place] != NULL)
			tool_session_cancel(
			    pool->sessions[row->place], (uint64_t)i + 1);
		fd_close(&row->args_fd);
		row->used = false;
		tool_pool_later(pool);
	}
}

/* --- the loop ----------------------------------------------------------- */

static bool
tool_pool_is_empty(const struct tool_pool *pool)
{
	for (size_t i = 0; i < TOOL_POOL_SESSIONS_MAX; i++) {
		if (pool->sessions[i] != NULL)
			return false;
	}
	return true;
}

static void
tool_pool_on_later(evutil_socket_t fd, short what, void *context)
{
	struct tool_pool *pool = context;

	(void)fd;
	(void)what;
	for (size_t i = 0; i < TOOL_POOL_SESSIONS_MAX; i++) {
		if (pool->ended[i])
			tool_session_free(&pool->sessions[i]);
		pool->ended[i] = false;
	}
	for (size_t i = 0; i < TOOL_POOL_CALLS_MAX; i++) {
		if (pool->rows[i].used && pool->rows[i].waits)
			tool_pool_route(pool, &pool->rows[i]);
	}
	tool_pool_answer_failed(pool);
	tool_pool_make_ready(pool);
	if (pool->state != TOOL_POOL_CLOSING || !tool_pool_is_empty(pool))
		return;
	tool_pool_enter(pool, TOOL_POOL_CLOSED);
	pool->handlers.on_closed(pool->context);
}

/* --- from start to end -------------------------------------------------- */

enum result
tool_pool_new(struct event_base *base, struct audit *audit,
    const struct tool_pool_spec *spec,
    const struct tool_pool_handlers *handlers, void *context,
    struct tool_pool **pool_r)
{
	struct tool_pool *pool = calloc(1, sizeof(*pool));

	*pool_r = NULL;
	if (spec->sessions == 0 || spec->sessions > TOOL_POOL_SESSIONS_MAX) {
		free(pool);
		return RESULT_BAD;
	}
	if (pool == NULL)
		return RESULT_NO_MEMORY;
	pool->base = base;
	pool->audit = audit;
	pool->spec = spec;
	pool->handlers = *handlers;
	pool->context = context;
	for (size_t i = 0; i < TOOL_POOL_CALLS_MAX; i++)
		pool->rows[i].args_fd = -1;
	pool->later = event_new(base, -1, 0, tool_pool_on_later, pool);
	if (pool->later == NULL) {
		free(pool);
		return RESULT_NO_MEMORY;
	}
	*pool_r = pool;
	return RESULT_OK;
}

void
tool_pool_close(struct tool_pool *pool, const char *code)
{
	if (pool->state != TOOL_POOL_OPEN)
		return;
	tool_pool_enter(pool, TOOL_POOL_CLOSING);
	for (size_t i = 0; i < TOOL_POOL_CALLS_MAX; i++) {
		if (pool->rows[i].used && pool->rows[i].waits)
			tool_pool_fail(pool, &pool->rows[i], "run_ended");
	}
	for (size_t i = 0; i < TOOL_POOL_SESSIONS_MAX; i++) {
		if (pool->sessions[i] != NULL)
			tool_session_stop(
			    pool->sessions[i], code, "the run is over");
	}
	tool_pool_later(pool);
}

void
tool_pool_free(struct tool_pool **pool)
{
	struct tool_pool *gone = *pool;

	if (gone == NULL)
		return;
	*pool = NULL;
	for (size_t i = 0; i < TOOL_POOL_SESSIONS_MAX; i++)
		tool_session_free(&gone->sessions[i]);
	for (size_t i = 0; i < TOOL_POOL_CALLS_MAX; i++)
		fd_close(&gone->rows[i].args_fd);
	event_free(gone->later);
	free(gone);
}
