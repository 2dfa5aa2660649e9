/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Client of agentnode-ledger: one child, records by id, an answer for each.
 * Called by the sandbox's story and by commands that change something. It
 * must never report a record as written before the ledger said `synced`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/log.h"
#include "supervisor/child.h"
#include "supervisor/policy/audit.h"
#include "supervisor/policy/audit_ends.h"
#include "supervisor/policy/audit_folder.h"
#include "supervisor/policy/audit_key.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/log_files.h"

#define AUDIT_PENDING_MAX 256U
#define AUDIT_DETAIL_MAX 256U
/* Longer than the ledger waits for its lock. */
#define AUDIT_ANSWER_TIMEOUT_MS 15000U

enum audit_state {
	AUDIT_STARTING,
	AUDIT_RUNNING,
	AUDIT_ENDED
};

struct audit_pending {
	uint64_t id; /* 0: free */
	audit_done *done;
	void *context;
	json_t **values_r; /* of an answer that has some; NULL: not wanted */
};

struct audit {
	struct event_base *base;
	struct child *child;
	struct event *deadline; /* running while something is pending */
	enum audit_state state;
	struct audit_ends ends;
	audit_done *ready, *lost;
	void *ready_context, *lost_context;
	struct audit_pending pending[AUDIT_PENDING_MAX];
	size_t pending_count;
	uint64_t last_id;
	enum result why; /* of an end before ready */
	char detail[AUDIT_DETAIL_MAX];
	unsigned busy; /* inside callbacks: memory must stay */
	bool is_freed;
};

static void
audit_enter(struct audit *audit, enum audit_state state)
{
	audit->state = state;
}

static void
audit_destroy(struct audit *audit)
{
	child_free(&audit->child);
	if (audit->deadline != NULL)
		event_free(audit->deadline);
	free(audit);
}

/* Callbacks may free the audit: between these two it stays. */
static void
audit_hold(struct audit *audit)
{
	audit->busy++;
}

static void
audit_release(struct audit *audit)
{
	audit->busy--;
	if (audit->busy == 0 && audit->is_freed)
		audit_destroy(audit);
}

static void
audit_arm(struct audit *audit)
{
	struct timeval limit = event_loop_timeval(AUDIT_ANSWER_TIMEOUT_MS);

	if (audit->pending_count == 0)
		(void)event_del(audit->deadline);
	else
		(void)event_add(audit->deadline, &limit);
}

static void
audit_finish(struct audit *audit, struct audit_pending *pending,
    enum result result, const char *detail)
{
	struct audit_pending copy = *pending;

	pending->id = 0;
	audit->pending_count--;
	if (copy.done != NULL && !audit->is_freed)
		copy.done(result, detail, copy.context);
}

static struct audit_pending *
audit_find(struct audit *audit, uint64_t id)
{
	size_t i;

	for (i = 0; i < AUDIT_PENDING_MAX; i++)
		if (audit->pending[i].id == id)
			return &audit->pending[i];
	return NULL;
}

/* Tell about the start once. */
static void
audit_tell_ready(struct audit *audit, enum result result, const char *detail)
{
	audit_done *ready = audit->ready;

	audit->ready = NULL;
	if (ready != NULL && !audit->is_freed)
		ready(result, detail, audit->ready_context);
}

static void
audit_end(struct audit *audit, const char *detail)
{
	enum result why = audit->why != RESULT_OK ? audit->why : RESULT_CLOSED;
	size_t i;

	if (audit->state == AUDIT_ENDED)
		return;
	audit_enter(audit, AUDIT_ENDED);
	(void)event_del(audit->deadline);
	for (i = 0; i < AUDIT_PENDING_MAX; i++)
		if (audit->pending[i].id != 0)
			audit_finish(
			    audit, &audit->pending[i], RESULT_CLOSED, detail);
	if (audit->ready != NULL)
		audit_tell_ready(audit, why, detail);
	else
		audit_ends_tell(&audit->ends, why, detail, &audit->is_freed);
}

static void
audit_on_ready(struct child *child, void *context)
{
	struct audit *audit = context;

	(void)child;
	audit_hold(audit);
	audit_enter(audit, AUDIT_RUNNING);
	audit_tell_ready(audit, RESULT_OK, "");
	audit_release(audit);
}

static enum result
audit_result_of(const char *code)
{
	static const struct {
		const char *code;
		enum result result;
	} rows[] = {
	    {"audit_broken", RESULT_MISMATCH},
	    {"audit_locked", RESULT_TIMEOUT},
	    {"audit_busy", RESULT_TIMEOUT},
	    {"audit_record", RESULT_BAD},
	    {"budget_corrupt", RESULT_MISMATCH},
	    {"budget_locked", RESULT_TIMEOUT},
	    {"budget_busy", RESULT_TIMEOUT},
	    {"budget_bad", RESULT_BAD},
	    {"budget_exists", RESULT_EXISTS},
	    {"guard_rate_limit", RESULT_REFUSED},
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(code, rows[i].code) == 0)
			return rows[i].result;
	return RESULT_SYSTEM;
}

/* failed with id 0: the ledger cannot start, and ends. */
static void
audit_on_failed(struct audit *audit, const struct ipc_message *message)
{
	const char *code =
	    json_string_value(json_object_get(message->body, "code"));
	const char *detail =
	    json_string_value(json_object_get(message->body, "detail"));
	struct audit_pending *pending;

	if (message->id == 0) {
		audit->why = audit_result_of(code);
		snprintf(audit->detail, sizeof(audit->detail), "%s", detail);
		return;
	}
	pending = audit_find(audit, message->id);
	if (pending != NULL)
		audit_finish(audit, pending, audit_result_of(code), detail);
	else if (strcmp(code, "budget_pair") == 0 && audit->lost != NULL &&
		 !audit->is_freed)
		audit->lost(RESULT_BAD, detail, audit->lost_context);
}

/* The answer to a question has values; that to a record has none. */
static void
audit_on_answer(struct audit *audit, const struct ipc_message *message)
{
	struct audit_pending *pending = audit_find(audit, message->id);

	if (message->id == 0 || pending == NULL)
		return;
	if (pending->values_r != NULL && message->type == IPC_STATS)
		*pending->values_r =
		    json_incref(json_object_get(message->body, "values"));
	audit_finish(audit, pending, RESULT_OK, "");
}

static void
audit_on_message(
    struct child *child, struct ipc_message *message, void *context)
{
	struct audit *audit = context;

	(void)child;
	audit_hold(audit);
	if (message->type == IPC_FAILED)
		audit_on_failed(audit, message);
	else if (message->type == IPC_SYNCED || message->type == IPC_STATS)
		audit_on_answer(audit, message);
	audit_arm(audit);
	audit_release(audit);
}

static void
audit_on_child_end(struct child *child, int exit_code, int number,
    const char *detail, void *context)
{
	struct audit *audit = context;

	(void)child;
	(void)exit_code;
	(void)number;
	audit_hold(audit);
	audit_end(audit, audit->detail[0] != '\0' ? audit->detail : detail);
	audit_release(audit);
}

/* A ledger that does not answer is as good as none. */
static void
audit_on_deadline(evutil_socket_t fd, short what, void *context)
{
	struct audit *audit = context;

	(void)fd;
	(void)what;
	audit_hold(audit);
	child_free(&audit->child);
	audit_end(audit, "agentnode-ledger did not answer in time");
	audit_release(audit);
}

static json_t *
audit_config_body(struct json_fault *fault)
{
	struct config *config;
	json_t *body;

	if (config_load(&config, fault) != RESULT_OK)
		return NULL;
	body = json_pack("{s:{s:s, s:b, s:I, s:I}}", "options", "log_level",
	    config_text(config, "log.level"), "no_landlock",
	    config_override(config, "no_landlock"), "audit_max_size",
	    (json_int_t)config_int(config, "audit.max_size"), "audit_max_files",
	    (json_int_t)config_int(config, "audit.max_files"));
	config_free(&config);
	return body;
}

static enum result
audit_start_child(
    struct audit *audit, const char *home, struct json_fault *fault)
{
	static const struct child_handlers handlers = {
	    audit_on_ready, audit_on_message, audit_on_child_end};
	struct child_spec spec = {.role = IPC_LEDGER};
	struct audit_key key = {-1, false};
	json_t *body = audit_config_body(fault);
	int fds[3] = {-1, -1, -1};
	enum result result;

	result = body == NULL
		     ? RESULT_BAD
		     : log_files_open(home, "agentnode-ledger", &fds[0], fault);
	if (result == RESULT_OK)
		result = audit_folder_open(home, &fds[1], fault);
	if (result == RESULT_OK)
		result = audit_key_home(home, fds[1], &key, fault);
	if (result == RESULT_OK && key.is_new &&
	    json_object_set_new(json_object_get(body, "options"),
		"audit_key_new", json_true()) != 0)
		result = RESULT_NO_MEMORY;
	fds[2] = key.fd;
	spec.config = body;
	spec.config_fds = fds;
	spec.config_fd_count = key.fd < 0 ? 2 : 3;
	if (result == RESULT_OK)
		result = child_start(
		    audit->base, &spec, &handlers, audit, &audit->child);
	fd_close(&fds[0]);
	fd_close(&fds[1]);
	fd_close(&fds[2]);
	json_decref(body);
	return result;
}

enum result
audit_new(struct event_base *base, audit_done *ready, void *context,
    struct audit **audit_r)
{
	struct audit *audit = calloc(1, sizeof(*audit));

	*audit_r = NULL;
	if (audit == NULL)
		return RESULT_NO_MEMORY;
	audit->base = base;
	audit->ready = ready;
	audit->ready_context = context;
	audit_enter(audit, AUDIT_STARTING);
	audit->deadline = event_new(base, -1, 0, audit_on_deadline, audit);
	if (audit->deadline == NULL) {
		audit_destroy(audit);
		return RESULT_NO_MEMORY;
	}
	*audit_r = audit;
	return RESULT_OK;
}

enum result
audit_begin(struct audit *audit, const char *home, struct json_fault *fault)
{
	enum result result = audit_start_child(audit, home, fault);

	if (result == RESULT_OK)
		return RESULT_OK;
	/* A sentence that is there stays. */
	json_field_fault(
	    fault, "agentnode-ledger does not start: %s", result_text(result));
	log_event(
	    LOG_ERROR_LEVEL, "audit_start", LOG_TEXT("detail", fault->text));
	return result;
}

enum result
audit_start(struct event_base *base, const char *home, audit_done *ready,
    void *context, struct audit **audit_r, struct json_fault *fault)
{
	enum result result = audit_new(base, ready, context, audit_r);

	if (result == RESULT_OK)
		result = audit_begin(*audit_r, home, fault);
	else
		json_field_fault(fault, "%s", result_text(result));
	if (result != RESULT_OK)
		audit_free(audit_r);
	return result;
}

void
audit_on_end(struct audit *audit, audit_done *ended, void *context)
{
	/* One that cannot be told must not be left running. */
	if (!audit_ends_set(&audit->ends, ended, context))
		ended(RESULT_TOO_LONG, "too many wait for the ledger", context);
}

/* body is taken; fd may be -1. */
static enum result
audit_request(struct audit *audit, enum ipc_type type, json_t *body, int fd,
    audit_done *done, void *context)
{
	struct audit_pending *pending = audit_find(audit, 0);
	struct ipc_message message;
	enum result result;

	ipc_message_init(&message, type, audit->last_id + 1);
	message.body = body;
	if (fd >= 0)
		message.fds[message.fd_count++] = fd;
	if (audit->state != AUDIT_RUNNING)
		result = RESULT_REFUSED;
	else if (pending == NULL)
		result = RESULT_TOO_LONG;
	else if (body == NULL)
		result = RESULT_NO_MEMORY;
	else
		result = child_send(audit->child, &message);
	if (message.fd_count > 0)
		message.fds[0] = -1; /* borrowed */
	ipc_message_clear(&message);
	if (result != RESULT_OK)
		return result;
	*pending =
	    (struct audit_pending){++audit->last_id, done, context, NULL};

	audit->pending_count++;
	if (audit->pending_count == 1)
		audit_arm(audit);
	return RESULT_OK;
}

enum result
audit_submit(struct audit *audit, const char *event, const json_t *fields,
    audit_done *done, void *context)
{
	return audit_request(audit, IPC_AUDIT,
	    json_pack("{s:s, s:O}", "event", event, "fields", fields), -1, done,
	    context);
}

enum result
audit_budget_open(struct audit *audit, const char *run, const char *package,
    const json_t *limits, int broker_fd, audit_done *done, void *context)
{
	return audit_request(audit, IPC_BUDGET_OPEN,
	    json_pack("{s:s, s:s, s:O}", "sandbox", run, "package", package,
		"limits", limits),
	    broker_fd, done, context);
}

enum result
audit_budget_close(
    struct audit *audit, const char *run, audit_done *done, void *context)
{
	return audit_request(audit, IPC_BUDGET_CLOSE,
	    json_pack("{s:s}", "sandbox", run), -1, done, context);
}

enum result
audit_rate_take(struct audit *audit, const char *package,
    const struct audit_rate *rate, audit_done *done, void *context)
{
	return audit_request(audit, IPC_RATE_TAKE,
	    json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "package", package,
		"wait_ms", (json_int_t)rate->wait_ms, "count",
		(json_int_t)rate->count, "second", (json_int_t)rate->second,
		"minute", (json_int_t)rate->minute, "hour",
		(json_int_t)rate->hour),
	    -1, done, context);
}

void
audit_on_budget_lost(struct audit *audit, audit_done *lost, void *context)
{
	audit->lost = lost;
	audit->lost_context = context;
}

void
audit_forget(struct audit *audit, const void *context)
{
	size_t i;

	for (i = 0; i < AUDIT_PENDING_MAX; i++)
		if (audit->pending[i].id != 0 &&
		    audit->pending[i].context == context)
			audit->pending[i].done = NULL;
}

struct audit_waiting {
	enum result result;
	bool is_done;
	char detail[AUDIT_DETAIL_MAX];
};

static void
audit_on_written(enum result result, const char *detail, void *context)
{
	struct audit_waiting *waiting = context;

	if (result != RESULT_OK)
		log_event(
		    LOG_ERROR_LEVEL, "audit_write", LOG_TEXT("detail", detail));
	waiting->result = result;
	waiting->is_done = true;
	(void)snprintf(waiting->detail, sizeof(waiting->detail), "%s", detail);
}

/* Until the ledger is confined and has looked at the end of its chain. */
static enum result
audit_wait_ready(struct audit *audit)
{
	while (audit->state == AUDIT_STARTING)
		if (event_base_loop(audit->base, EVLOOP_ONCE) < 0)
			return RESULT_INTERNAL;
	return RESULT_OK;
}

static enum result
audit_wait(struct audit *audit, const struct audit_waiting *waiting)
{
	while (!waiting->is_done)
		if (event_base_loop(audit->base, EVLOOP_ONCE) < 0)
			return RESULT_INTERNAL;
	return waiting->result;
}

enum result
audit_write(struct audit *audit, const char *event, const json_t *fields)
{
	struct audit_waiting waiting = {RESULT_OK, false, ""};
	enum result result = audit_wait_ready(audit);

	if (result != RESULT_OK)
		return result;
	result = audit_submit(audit, event, fields, audit_on_written, &waiting);
	if (result != RESULT_OK)
		return audit->why != RESULT_OK ? audit->why : result;
	return audit_wait(audit, &waiting);
}

enum result
audit_usage(struct audit *audit, const json_t *query, json_t **rows_r,
    char *detail_r, size_t detail_size)
{
	struct audit_waiting waiting = {RESULT_OK, false, ""};
	enum result result = audit_wait_ready(audit);
	json_t *values = NULL;

	*rows_r = NULL;
	if (result == RESULT_OK)
		result = audit_request(audit, IPC_STATS,
		    json_pack("{s:{s:O}}", "values", "usage", query), -1,
		    audit_on_written, &waiting);
	(void)snprintf(detail_r, detail_size, "%s", audit->detail);
	if (result != RESULT_OK)
		return audit->why != RESULT_OK ? audit->why : result;
	audit_find(audit, audit->last_id)->values_r = &values;
	result = audit_wait(audit, &waiting);
	(void)snprintf(detail_r, detail_size, "%s", waiting.detail);
	*rows_r = json_incref(json_object_get(values, "rows"));
	json_decref(values);
	if (result == RESULT_OK && !json_is_array(*rows_r))
		result = RESULT_BAD;
	return result;
}

void
audit_over(struct audit *audit)
{
	if (audit->child != NULL)
		child_over(audit->child);
}

void
audit_free(struct audit **audit)
{
	struct audit *gone = *audit;

	if (gone == NULL)
		return;
	*audit = NULL;
	gone->is_freed = true;
	if (gone->busy == 0)
		audit_destroy(gone);
}
