/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start egress-proxy and talk to it. Called by the sandbox's story; must
 * never pass on a listener the wiring has not checked.
 */
#include "supervisor/engine/egress_part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/log.h"
#include "supervisor/child.h"

#define EGRESS_PART_SETTLE_MS 1000U
#define EGRESS_PART_LISTENERS (EGRESS_PLAN_DIRECT_MAX + 1)

struct egress_part {
	struct child *child;
	char id[32];
	const struct egress_plan *plan;
	bool ready, closed, settled;
	struct event *limit;                /* for what it still has to tell */
	int waiting[EGRESS_PART_LISTENERS]; /* -1: none or sent */
	struct egress_part_handlers handlers;
	void *context;
};

static enum result
egress_part_send(
    struct egress_part *part, enum ipc_type type, json_t *body, int fd)
{
	struct ipc_message message;
	enum result result;

	ipc_message_init(&message, type, 0);
	message.body = body;
	if (fd >= 0) {
		message.fds[0] = fd;
		message.fd_count = 1;
	}
	result =
	    body == NULL ? RESULT_NO_MEMORY : child_send(part->child, &message);
	ipc_message_clear(&message);
	return result;
}

static enum result
egress_part_send_listener(struct egress_part *part, uint32_t index, int fd)
{
	const struct egress_plan_direct *direct;

	if (index == 0)
		return egress_part_send(part, IPC_LISTEN,
		    json_pack(
			"{s:s, s:s}", "sandbox", part->id, "kind", "connect"),
		    fd);
	direct = &part->plan->direct[index - 1];
	return egress_part_send(part, IPC_LISTEN,
	    json_pack("{s:s, s:s, s:s, s:i}", "sandbox", part->id, "kind",
		"direct", "name", direct->name, "port", (int)direct->port),
	    fd);
}

static void
egress_part_on_ready(struct child *child, void *context)
{
	struct egress_part *part = context;
	enum result result;

	(void)child;
	part->ready = true;
	result = egress_part_send(part, IPC_SANDBOX_OPEN,
	    json_pack("{s:s, s:O}", "sandbox", part->id, "policy",
		part->plan->policy),
	    -1);
	for (uint32_t i = 0; i < EGRESS_PART_LISTENERS; i++) {
		if (part->waiting[i] >= 0 && result == RESULT_OK)
			result = egress_part_send_listener(
			    part, i, part->waiting[i]);
		else
			fd_close(&part->waiting[i]);
		part->waiting[i] = -1;
	}
	if (result == RESULT_OK)
		part->handlers.on_ready(part->context);
	else
		part->handlers.on_end(
		    "egress-proxy cannot be told its policy", part->context);
}

/* Its answer to what was sent behind the close: nothing comes after. */
static void
egress_part_settle(struct egress_part *part)
{
	bool first = part->closed && !part->settled;

	part->settled = true;
	if (part->limit != NULL)
		(void)event_del(part->limit);
	if (first && part->handlers.on_settled != NULL)
		part->handlers.on_settled(part->context);
}

static void
egress_part_on_limit(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	egress_part_settle(context);
}

/* A refusal, under the id that the proxy's own line has. */
static void
egress_part_tell(const json_t *body)
{
	const char *verdict =
	    json_string_value(json_object_get(body, "verdict"));
	const json_t *request = json_object_get(body, "request");

	if (verdict == NULL || strcmp(verdict, "deny") != 0)
		return;
	log_event(LOG_INFO_LEVEL, "egress_denied",
	    LOG_TEXT("request", json_string_value(request)),
	    LOG_TEXT("code", json_string_value(json_object_get(body, "code"))),
	    LOG_TEXT(
		"target", json_string_value(json_object_get(body, "target"))),
	    LOG_INT(
		"count", json_integer_value(json_object_get(body, "count"))));
}

static void
egress_part_on_message(
    struct child *child, struct ipc_message *message, void *context)
{
	struct egress_part *part = context;
	const char *code =
	    json_string_value(json_object_get(message->body, "code"));
	const char *detail =
	    json_string_value(json_object_get(message->body, "detail"));
	char text[256];

	(void)child;
	if (message->type == IPC_DECISION)
		egress_part_tell(message->body);
	if (message->type == IPC_DECISION && part->handlers.on_decision != NULL)
		part->handlers.on_decision(message->body, part->context);
	else if (message->type == IPC_STATS)
		egress_part_settle(part);
	if (message->type != IPC_FAILED)
		return;
	(void)snprintf(text, sizeof(text), "egress-proxy refused: %s (%s)",
	    detail != NULL ? detail : "", code != NULL ? code : "");
	part->handlers.on_end(text, part->context);
}

static void
egress_part_on_end(struct child *child, int exit_code, int number,
    const char *detail, void *context)
{
	struct egress_part *part = context;

	(void)child;
	(void)exit_code;
	(void)number;
	part->handlers.on_end(detail, part->context);
	egress_part_settle(part);
}

static enum result
egress_part_spawn(struct egress_part *part, struct event_base *base, int log_fd)
{
	static const struct child_handlers handlers = {
	    egress_part_on_ready, egress_part_on_message, egress_part_on_end};
	struct child_spec spec = {
	    .role = IPC_PROXY, .config_fds = &log_fd, .config_fd_count = 1};
	enum result result;

	spec.config = json_pack(
	    "{s:s, s:O}", "sandbox", part->id, "options", part->plan->options);
	if (spec.config == NULL)
		return RESULT_NO_MEMORY;
	result = child_start(base, &spec, &handlers, part, &part->child);
	json_decref(spec.config);
	return result;
}

enum result
egress_part_start(struct event_base *base, const char *id,
    const struct egress_plan *plan, int log_fd,
    const struct egress_part_handlers *handlers, void *context,
    struct egress_part **part_r)
{
	struct egress_part *part = calloc(1, sizeof(*part));
	enum result result;

	*part_r = NULL;
	if (part == NULL)
		return RESULT_NO_MEMORY;
	(void)snprintf(part->id, sizeof(part->id), "%s", id);
	part->plan = plan;
	part->handlers = *handlers;
	part->context = context;
	part->limit = event_new(base, -1, 0, egress_part_on_limit, part);
	for (size_t i = 0; i < EGRESS_PART_LISTENERS; i++)
		part->waiting[i] = -1;
	result = part->limit == NULL ? RESULT_NO_MEMORY
				     : egress_part_spawn(part, base, log_fd);
	if (result != RESULT_OK) {
		egress_part_free(&part);
		return result;
	}
	*part_r = part;
	return RESULT_OK;
}

enum result
egress_part_listen(struct egress_part *part, uint32_t index, int fd)
{
	if (index > part->plan->direct_count) {
		fd_close(&fd);
		return RESULT_INTERNAL;
	}
	if (part->ready)
		return egress_part_send_listener(part, index, fd);
	part->waiting[index] = fd;
	return RESULT_OK;
}

enum result
egress_part_replace(struct egress_part *part)
{
	/* Before it is ready: it will be told this one first. */
	if (!part->ready || part->closed)
		return RESULT_OK;
	return egress_part_send(part, IPC_POLICY_REPLACE,
	    json_pack("{s:s, s:O}", "sandbox", part->id, "policy",
		part->plan->policy),
	    -1);
}

void
egress_part_close(struct egress_part *part)
{
	struct timeval limit = event_loop_timeval(EGRESS_PART_SETTLE_MS);

	/* Once: the proxy refuses a sandbox it does not know any more. */
	if (part == NULL || !part->ready || part->closed)
		return;
	part->closed = true;
	(void)egress_part_send(part, IPC_SANDBOX_CLOSE,
	    json_pack("{s:s}", "sandbox", part->id), -1);
	/* Closing told all decisions; the answer to this comes behind them. */
	if (part->handlers.on_settled == NULL ||
	    egress_part_send(part, IPC_STATS, json_object(), -1) != RESULT_OK)
		egress_part_settle(part);
	else
		(void)event_add(part->limit, &limit);
}

bool
egress_part_settled(const struct egress_part *part)
{
	return part == NULL || !part->closed || part->settled;
}

void
egress_part_free(struct egress_part **part)
{
	struct egress_part *gone = *part;

	if (gone == NULL)
		return;
	*part = NULL;
	child_free(&gone->child);
	if (gone->limit != NULL)
		event_free(gone->limit);
	for (size_t i = 0; i < EGRESS_PART_LISTENERS; i++)
		fd_close(&gone->waiting[i]);
	free(gone);
}
