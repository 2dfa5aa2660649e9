/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the processes of an LLM and wires them; see llm_part.h. Called by
 * agent_run and from the loop. It must never hand on a listener before the
 * policy, nor look at what it hands on.
 */
#include "supervisor/agent/llm_part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/fd.h"
#include "common/log.h"
#include "supervisor/child.h"
#include "supervisor/policy/key_reader.h"
#include "supervisor/policy/key_watch.h"

enum llm_part_state {
	LLM_PART_STARTING, /* processes, budget or keys are to come */
	LLM_PART_READY,    /* the listener may come */
	LLM_PART_SERVING,
	LLM_PART_CLOSING, /* last counts and the budget are to come */
	LLM_PART_CLOSED,
	LLM_PART_ENDED /* on_end was called */
};

struct llm_part {
	enum llm_part_state state;
	struct event_base *base;
	struct audit *audit;
	char run[32];
	const struct llm_part_plan *plan;
	struct child *broker, *key;
	struct key_reader *reader;
	struct key_watch *watch;
	bool broker_ready, key_ready, budget_open, budget_asked;
	bool counts_told, budget_closed; /* while closing */
	size_t keys_left; /* first answers that are still to come */
	int listener;     /* came early; -1 */
	/* Both ends until they are handed out: broker's end first. */
	int to_key[2], to_ledger[2];
	struct llm_part_handlers handlers;
	void *context;
};

static void
llm_part_enter(struct llm_part *part, enum llm_part_state state)
{
	static const char *const texts[] = {
	    "starting", "ready", "serving", "closing", "closed", "ended"};

	log_event(LOG_INFO_LEVEL, "llm_state",
	    LOG_TEXT("from", texts[part->state]), LOG_TEXT("to", texts[state]));
	part->state = state;
}

/* The one way to a bad end. */
static void
llm_part_fail(struct llm_part *part, const char *code, const char *detail)
{
	if (part->state == LLM_PART_CLOSED || part->state == LLM_PART_ENDED)
		return;
	llm_part_enter(part, LLM_PART_ENDED);
	part->handlers.on_end(code, detail, part->context);
}

/* body is taken, fd is borrowed (-1: none). */
static enum result
llm_part_send(struct child *child, enum ipc_type type, json_t *body, int fd)
{
	struct ipc_message message;
	enum result result;

	ipc_message_init(&message, type, 0);
	message.body = body;
	if (fd >= 0)
		message.fds[message.fd_count++] = fd;
	result = body == NULL ? RESULT_NO_MEMORY : child_send(child, &message);
	if (message.fd_count > 0)
		message.fds[0] = -1;
	ipc_message_clear(&message);
	return result;
}

static enum result
llm_part_send_stream(struct child *child, const char *name, int *fd)
{
	enum result result = llm_part_send(
	    child, IPC_STREAM, json_pack("{s:s}", "name", name), *fd);

	fd_close(fd);
	return result;
}

static enum result
llm_part_send_listener(struct llm_part *part)
{
	enum result result = llm_part_send(part->broker, IPC_LISTEN,
	    json_pack("{s:s, s:s}", "sandbox", part->run, "kind", "llm"),
	    part->listener);

	fd_close(&part->listener);
	if (result == RESULT_OK)
		llm_part_enter(part, LLM_PART_SERVING);
	return result;
}

static enum result
llm_part_send_grant(struct llm_part *part)
{
	return llm_part_send(part->broker, IPC_GRANT,
	    json_pack(
		"{s:s, s:O}", "sandbox", part->run, "grant", part->plan->grant),
	    -1);
}

/* All there? Then the policy, then the listener. */
static void
llm_part_settle(struct llm_part *part)
{
	enum result result;

	if (part->state != LLM_PART_STARTING || !part->broker_ready ||
	    !part->key_ready || !part->budget_open || part->keys_left > 0)
		return;
	result = llm_part_send_grant(part);
	if (result != RESULT_OK) {
		llm_part_fail(part, "broker_died",
		    "agentnode-llm-broker cannot be told its policy");
		return;
	}
	llm_part_enter(part, LLM_PART_READY);
	part->handlers.on_ready(part->context);
	if (part->state == LLM_PART_READY && part->listener >= 0 &&
	    llm_part_send_listener(part) != RESULT_OK)
		llm_part_fail(part, "broker_died",
		    "the listener cannot be passed to agentnode-llm-broker");
}

/* ---- keys ---- */

/* One more read of a provider's key: a pair, one end for llm-key. */
static enum result
llm_part_read_key(struct llm_part *part, const char *provider)
{
	int pair[2];
	enum result result;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return RESULT_SYSTEM;
	result = llm_part_send_stream(part->key, "keyring", &pair[0]);
	if (result == RESULT_OK)
		return key_reader_read(part->reader, provider, pair[1]);
	fd_close(&pair[1]);
	return result;
}

static void
llm_part_on_key(const char *provider, enum keyring_status status,
    const char *detail, void *context)
{
	struct llm_part *part = context;

	log_event(status == KEYRING_OK ? LOG_INFO_LEVEL : LOG_WARN_LEVEL,
	    "llm_key_read", LOG_TEXT("provider", provider),
	    LOG_TEXT("status", keyring_words_status(status)),
	    LOG_TEXT("detail", detail));
	part->handlers.on_key(provider, status, detail, part->context);
	if (part->keys_left > 0)
		part->keys_left--;
	llm_part_settle(part);
}

static bool
llm_part_wants(const struct llm_part *part, const char *provider)
{
	size_t i;

	for (i = 0; i < part->plan->key_count; i++)
		if (strcmp(part->plan->keys[i], provider) == 0)
			return true;
	return false;
}

/* `auth set` or `auth remove` while the run is alive. */
static void
llm_part_on_changed(const char *provider, void *context)
{
	struct llm_part *part = context;
	enum result result;

	if (!part->key_ready || !llm_part_wants(part, provider))
		return;
	result = llm_part_send(part->key, IPC_KEY_CHANGED,
	    json_pack("{s:s}", "provider", provider), -1);
	/* A broker that is not ready yet has no pattern to drop. */
	if (result == RESULT_OK && part->broker_ready)
		result = llm_part_send(part->broker, IPC_KEY_CHANGED,
		    json_pack("{s:s}", "provider", provider), -1);
	if (result == RESULT_OK)
		result = llm_part_read_key(part, provider);
	if (result != RESULT_OK)
		llm_part_fail(part, "key_died",
		    "a changed key cannot be brought to agentnode-llm-key");
}

static enum result
llm_part_read_keys(struct llm_part *part)
{
	struct json_fault fault = {""};
	enum result result;
	size_t i;

	part->keys_left = part->plan->key_count;
	result = key_reader_new(part->base, part->plan->passphrase_fd,
	    llm_part_on_key, part, &part->reader);
	for (i = 0; i < part->plan->key_count && result == RESULT_OK; i++)
		result = llm_part_read_key(part, part->plan->keys[i]);
	if (result == RESULT_OK)
		result = key_watch_new(part->base, llm_part_on_changed, part,
		    &part->watch, &fault);
	return result;
}

/* ---- the processes ---- */

static void
llm_part_on_broker_ready(struct child *child, void *context)
{
	struct llm_part *part = context;
	enum result result =
	    llm_part_send_stream(child, "key", &part->to_key[0]);

	if (result == RESULT_OK)
		result =
		    llm_part_send_stream(child, "ledger", &part->to_ledger[0]);
	part->broker_ready = true;
	if (result != RESULT_OK)
		llm_part_fail(part, "broker_died",
		    "agentnode-llm-broker cannot be wired");
	else
		llm_part_settle(part);
}

static void
llm_part_on_key_ready(struct child *child, void *context)
{
	struct llm_part *part = context;
	enum result result =
	    llm_part_send_stream(child, "broker", &part->to_key[1]);

	part->key_ready = true;
	if (result == RESULT_OK)
		result = llm_part_read_keys(part);
	if (result != RESULT_OK)
		llm_part_fail(part, "key_died",
		    "agentnode-llm-key or the keyring helper cannot be wired");
	else
		llm_part_settle(part);
}

/* Everything of the end is there? */
static void
llm_part_closed(struct llm_part *part)
{
	if (part->state != LLM_PART_CLOSING || !part->counts_told ||
	    !part->budget_closed)
		return;
	llm_part_enter(part, LLM_PART_CLOSED);
	part->handlers.on_closed(part->context);
}

static void
llm_part_on_message(
    struct child *child, struct ipc_message *message, void *context)
{
	struct llm_part *part = context;
	const char *detail =
	    json_string_value(json_object_get(message->body, "detail"));
	char text[256];

	if (message->type == IPC_USAGE) {
		part->handlers.on_usage(message->body, part->context);
		return;
	}
	if (message->type == IPC_STATS && part->state == LLM_PART_CLOSING) {
		part->counts_told = true;
		llm_part_closed(part);
		return;
	}
	if (message->type != IPC_FAILED)
		return; /* decisions are in the broker's own log */
	(void)snprintf(text, sizeof(text), "%s refused: %s", child_name(child),
	    detail != NULL ? detail : "");
	llm_part_fail(
	    part, child == part->broker ? "broker_died" : "key_died", text);
}

static void
llm_part_on_child_end(struct child *child, int exit_code, int number,
    const char *detail, void *context)
{
	struct llm_part *part = context;

	(void)exit_code;
	(void)number;
	llm_part_fail(
	    part, child == part->broker ? "broker_died" : "key_died", detail);
}

static enum result
llm_part_spawn(struct llm_part *part, enum ipc_role role, json_t *options,
    const int *fds, size_t fd_count, struct child **child_r)
{
	static const struct child_handlers broker_handlers = {
	    llm_part_on_broker_ready, llm_part_on_message,
	    llm_part_on_child_end};
	static const struct child_handlers key_handlers = {
	    llm_part_on_key_ready, llm_part_on_message, llm_part_on_child_end};
	struct child_spec spec = {
	    .role = role, .config_fds = fds, .config_fd_count = fd_count};
	enum result result;

	spec.config =
	    json_pack("{s:s, s:O}", "sandbox", part->run, "options", options);
	if (spec.config == NULL)
		return RESULT_NO_MEMORY;
	result = child_start(part->base, &spec,
	    role == IPC_BROKER ? &broker_handlers : &key_handlers, part,
	    child_r);
	json_decref(spec.config);
	return result;
}

static enum result
llm_part_spawn_both(struct llm_part *part, const int log_fds[2])
{
	const struct llm_part_plan *plan = part->plan;
	int fds[1 + LLM_PART_CA_MAX];
	enum result result;
	size_t i;

	fds[0] = log_fds[1];
	for (i = 0; i < plan->ca_count; i++)
		fds[1 + i] = plan->ca_fds[i];
	result = llm_part_spawn(part, IPC_KEY, plan->key_options, fds,
	    1 + plan->ca_count, &part->key);
	if (result == RESULT_OK)
		result = llm_part_spawn(part, IPC_BROKER, plan->broker_options,
		    &log_fds[0], 1, &part->broker);
	return result;
}

static void
llm_part_on_budget(enum result result, const char *detail, void *context)
{
	struct llm_part *part = context;

	if (result != RESULT_OK) {
		llm_part_fail(part, "budget_unavailable", detail);
		return;
	}
	part->budget_open = true;
	llm_part_settle(part);
}

/* The ledger will not hear this run's broker any more. */
static void
llm_part_on_budget_lost(enum result result, const char *detail, void *context)
{
	(void)result;
	llm_part_fail(context, "broker_died", detail);
}

static enum result
llm_part_begin(struct llm_part *part, const char *package, const int log_fds[2])
{
	const int kind = SOCK_SEQPACKET | SOCK_CLOEXEC;
	enum result result;

	if (socketpair(AF_UNIX, kind, 0, part->to_key) != 0 ||
	    socketpair(AF_UNIX, kind, 0, part->to_ledger) != 0)
		return RESULT_SYSTEM;
	result = llm_part_spawn_both(part, log_fds);
	if (result != RESULT_OK)
		return result;
	result = audit_budget_open(part->audit, part->run, package,
	    part->plan->limits, part->to_ledger[1], llm_part_on_budget, part);
	part->budget_asked = result == RESULT_OK;
	audit_on_budget_lost(part->audit, llm_part_on_budget_lost, part);
	fd_close(&part->to_ledger[1]);
	return result;
}

enum result
llm_part_start(struct event_base *base, struct audit *audit, const char *run,
    const char *package, const struct llm_part_plan *plan, const int log_fds[2],
    const struct llm_part_handlers *handlers, void *context,
    struct llm_part **part_r)
{
	struct llm_part *part = calloc(1, sizeof(*part));
	enum result result;

	*part_r = NULL;
	if (part == NULL)
		return RESULT_NO_MEMORY;
	part->base = base;
	part->audit = audit;
	(void)snprintf(part->run, sizeof(part->run), "%s", run);
	part->plan = plan;
	part->handlers = *handlers;
	part->context = context;
	part->listener = -1;
	part->to_key[0] = part->to_key[1] = -1;
	part->to_ledger[0] = part->to_ledger[1] = -1;
	result = llm_part_begin(part, package, log_fds);
	if (result != RESULT_OK) {
		llm_part_free(&part);
		return result;
	}
	*part_r = part;
	return RESULT_OK;
}

enum result
llm_part_listen(struct llm_part *part, int fd)
{
	fd_close(&part->listener);
	part->listener = fd;
	if (part->state != LLM_PART_READY)
		return RESULT_OK;
	return llm_part_send_listener(part);
}

/* A broker that has none yet gets this one. */
enum result
llm_part_narrow(struct llm_part *part)
{
	return part->state == LLM_PART_READY || part->state == LLM_PART_SERVING
		   ? llm_part_send_grant(part)
		   : RESULT_OK;
}

static void
llm_part_on_budget_closed(enum result result, const char *detail, void *context)
{
	struct llm_part *part = context;

	if (result != RESULT_OK)
		log_event(
		    LOG_WARN_LEVEL, "budget_close", LOG_TEXT("detail", detail));
	part->budget_closed = true;
	llm_part_closed(part);
}

/* What the broker has counted comes before its answer to `stats`. */
static enum result
llm_part_ask_counts(struct llm_part *part)
{
	struct ipc_message message;
	enum result result = llm_part_send(part->broker, IPC_SANDBOX_CLOSE,
	    json_pack("{s:s}", "sandbox", part->run), -1);

	if (result != RESULT_OK)
		return result;
	ipc_message_init(&message, IPC_STATS, 1);
	message.body = json_object();
	result = message.body == NULL ? RESULT_NO_MEMORY
				      : child_send(part->broker, &message);
	ipc_message_clear(&message);
	return result;
}

void
llm_part_close(struct llm_part *part)
{
	if (part->state >= LLM_PART_CLOSING)
		return;
	llm_part_enter(part, LLM_PART_CLOSING);
	key_watch_free(&part->watch);
	if (!part->broker_ready || llm_part_ask_counts(part) != RESULT_OK)
		part->counts_told = true;
	part->budget_closed = !part->budget_asked ||
			      audit_budget_close(part->audit, part->run,
				  llm_part_on_budget_closed, part) != RESULT_OK;
	part->budget_asked = false;
	llm_part_closed(part);
}

void
llm_part_free(struct llm_part **part)
{
	struct llm_part *gone = *part;

	if (gone == NULL)
		return;
	*part = NULL;
	if (gone->audit != NULL) {
		audit_forget(gone->audit, gone);
		audit_on_budget_lost(gone->audit, NULL, NULL);
		if (gone->budget_asked)
			(void)audit_budget_close(
			    gone->audit, gone->run, NULL, NULL);
	}
	key_watch_free(&gone->watch);
	key_reader_free(&gone->reader);
	child_free(&gone->broker);
	child_free(&gone->key);
	fd_close(&gone->listener);
	for (size_t i = 0; i < 2; i++) {
		fd_close(&gone->to_key[i]);
		fd_close(&gone->to_ledger[i]);
	}
	free(gone);
}
