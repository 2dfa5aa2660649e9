/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start one of our own processes, send its config, wait for ready, pass
 * messages, and see its death. Called by the sandbox's story, audit.c and
 * the commands; must never start anything that is not installed beside us.
 */
#include "supervisor/child.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/log.h"
#include "supervisor/engine/engine_spawn.h"
#include "supervisor/child_layers.h"
#include "supervisor/child_log.h"
#include "supervisor/engine/process_watch.h"

#define CHILD_DETAIL_MAX 256U

struct child {
	enum ipc_role role;
	const char *name; /* of the program */
	pid_t pid;
	struct peer *peer;
	struct process_watch *watch;
	struct child_log *log;  /* NULL: it has none */
	struct event *deadline; /* config sent, ready not seen */
	struct child_handlers handlers;
	void *context;
	bool ready;
	bool no_landlock;              /* the named override was passed on */
	char detail[CHILD_DETAIL_MAX]; /* why we killed it; "" : it ended */
};

static const char *
child_role_name(enum ipc_role role)
{
	switch (role) {
	case IPC_GATE:
		return "agentnode-gate";
	case IPC_LEDGER:
		return "agentnode-ledger";
	case IPC_UNPACK:
		return "agentnode-unpack";
	case IPC_PROXY:
		return "agentnode-egress-proxy";
	case IPC_BROKER:
		return "agentnode-llm-broker";
	case IPC_KEY:
		return "agentnode-llm-key";
	case IPC_KEYRING:
		return "agentnode-keyring";
	case IPC_SUPERVISOR:
	case IPC_ROLE_COUNT:
		break;
	}
	return NULL;
}

/* Two programs of ours start others: PREFIX/bin/agentnode and
 * PREFIX/libexec/agentnode/command/agentnode. */
static enum result
child_prefix(char *path_r, size_t size)
{
	static const char below[] = "/libexec/agentnode/command";
	ssize_t len = readlink("/proc/self/exe", path_r, size - 1);
	char *slash;

	if (len <= 0 || (size_t)len >= size - 1)
		return RESULT_SYSTEM;
	path_r[len] = '\0';
	slash = strrchr(path_r, '/');
	if (slash == NULL)
		return RESULT_SYSTEM;
	*slash = '\0';
	len = slash - path_r - (ssize_t)strlen(below);
	slash = len >= 0 && strcmp(path_r + len, below) == 0
		    ? path_r + len
		    : strrchr(path_r, '/');
	if (slash == NULL)
		return RESULT_SYSTEM;
	*slash = '\0';
	return RESULT_OK;
}

enum result
child_command_path(char *path_r, size_t size)
{
	char prefix[PATH_MAX];
	int len;

	if (child_prefix(prefix, sizeof(prefix)) != RESULT_OK)
		return RESULT_SYSTEM;
	len = snprintf(path_r, size, "%s/bin/agentnode", prefix);
	return len < 0 || (size_t)len >= size ? RESULT_TOO_LONG : RESULT_OK;
}

enum result
child_program_path(const char *name, char *path_r, size_t size)
{
	char prefix[PATH_MAX];
	int len;

	if (child_prefix(prefix, sizeof(prefix)) != RESULT_OK)
		return RESULT_SYSTEM;
	len = snprintf(path_r, size, "%s/libexec/agentnode/%s", prefix, name);
	if (len < 0 || (size_t)len >= size)
		return RESULT_TOO_LONG;
	return access(path_r, X_OK) == 0 ? RESULT_OK : RESULT_NOT_FOUND;
}

enum result
child_shared_path(const char *name, char *path_r, size_t size)
{
	char prefix[PATH_MAX];
	int len;

	if (child_prefix(prefix, sizeof(prefix)) != RESULT_OK)
		return RESULT_SYSTEM;
	len = snprintf(path_r, size, "%s/share/agentnode/%s", prefix, name);
	if (len < 0 || (size_t)len >= size)
		return RESULT_TOO_LONG;
	return access(path_r, R_OK) == 0 ? RESULT_OK : RESULT_NOT_FOUND;
}

/* Remember the first reason and kill; on_end follows from the pidfd. */
static void
child_kill(struct child *child, const char *detail)
{
	if (child->detail[0] == '\0')
		(void)snprintf(child->detail, sizeof(child->detail),
		    "%s: %.200s", child_name(child), detail);
	process_watch_kill(child->watch);
}

static void
child_on_deadline(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	child_kill(context, "it was not ready within its start-up deadline");
}

/* Its log is full: a new one, borrowed for the call. */
static enum result
child_on_full_log(int fd, void *context)
{
	struct child *child = context;
	struct ipc_message message;
	enum result result;

	if (!child->ready)
		return RESULT_NEED_MORE; /* it would not be allowed to */
	ipc_message_init(&message, IPC_LOG_REPLACE, 0);
	message.fds[0] = fd;
	message.fd_count = 1;
	result = child_send(child, &message);
	message.fd_count = 0;
	ipc_message_clear(&message);
	return result;
}

/* Whatever it is confined with must be in force before it is used. */
static bool
child_is_confined(struct child *child, const struct ipc_message *message)
{
	const json_t *layers = json_object_get(message->body, "layers");
	const char *missing =
	    child->role == IPC_KEYRING
		? child_layers_keyring_missing_borrow(layers)
		: child_layers_missing_borrow(layers, child->no_landlock);
	char detail[CHILD_DETAIL_MAX];

	if (missing == NULL)
		return true;
	(void)snprintf(
	    detail, sizeof(detail), "its layer %.60s is not in force", missing);
	child_kill(child, detail);
	return false;
}

static void
child_on_message(struct ipc_message *message, void *context)
{
	struct child *child = context;

	if (message->type != IPC_READY) {
		if (child->handlers.on_message != NULL)
			child->handlers.on_message(
			    child, message, child->context);
		return;
	}
	if (child->ready) {
		child_kill(child, "it said ready twice");
		return;
	}
	if (!child_is_confined(child, message))
		return;
	child->ready = true;
	(void)event_del(child->deadline);
	peer_set_state(child->peer, IPC_RUNNING);
	if (child->handlers.on_ready != NULL)
		child->handlers.on_ready(child, child->context);
}

static void
child_on_peer_end(enum result why, const char *detail, void *context)
{
	struct child *child = context;

	/* An ordinary end closes the socket a moment before the process is
	 * gone: keep its own exit code, but do not wait for ever. */
	if (why == RESULT_EOF || why == RESULT_CLOSED) {
		struct timeval soon = event_loop_timeval(200);

		(void)event_add(child->deadline, &soon);
		return;
	}
	child_kill(child, detail);
}

/* What an exit code of ours means, for somebody who can act on it. */
static void
child_exit_text(const char *name, int exit_code, char *text_r, size_t size)
{
	if (exit_code == IPC_EXIT_CONFINE)
		(void)snprintf(text_r, size,
		    "%s cannot be confined here: Landlock, seccomp or another "
		    "layer is missing (see `agentnode sandbox doctor`)",
		    name);
	else
		(void)snprintf(
		    text_r, size, "%s exited with %d", name, exit_code);
}

static void
child_on_death(int exit_code, int number, void *context)
{
	struct child *child = context;
	char detail[CHILD_DETAIL_MAX];

	(void)event_del(child->deadline);
	child_log_free(&child->log);
	peer_free(&child->peer);
	if (child->detail[0] != '\0')
		(void)snprintf(detail, sizeof(detail), "%s", child->detail);
	else if (number != 0)
		(void)snprintf(detail, sizeof(detail),
		    "%s was ended by signal %d", child_name(child), number);
	else
		child_exit_text(
		    child_name(child), exit_code, detail, sizeof(detail));
	log_event(LOG_INFO_LEVEL, "child_end",
	    LOG_TEXT("name", child_name(child)), LOG_INT("exit", exit_code),
	    LOG_INT("signal", number), LOG_TEXT("detail", detail));
	if (child->handlers.on_end != NULL)
		child->handlers.on_end(
		    child, exit_code, number, detail, child->context);
}

/* The body of the config message, with the uid told where one is. */
static json_t *
child_config_body(const struct child_spec *spec)
{
	json_t *body = json_deep_copy(spec->config);
	json_t *options = json_object_get(body, "options");

	if (body == NULL || spec->uid == 0)
		return body;
	if (json_object_set_new(
		options, "uid", json_integer((json_int_t)spec->uid)) != 0) {
		json_decref(body);
		return NULL;
	}
	return body;
}

/* The config message; fds go with it. */
static enum result
child_send_config(struct child *child, const struct child_spec *spec)
{
	struct ipc_message message;
	enum result result;

	if (spec->config_fd_count > IPC_FDS_MAX)
		return RESULT_TOO_LONG;
	ipc_message_init(&message, IPC_CONFIG, 0);
	message.body = child_config_body(spec);
	if (message.body == NULL)
		return RESULT_NO_MEMORY;
	for (size_t i = 0; i < spec->config_fd_count; i++)
		message.fds[i] = spec->config_fds[i];
	message.fd_count = spec->config_fd_count;
	result = peer_send(child->peer, &message);
	message.fd_count = 0; /* borrowed: not ours to close */
	ipc_message_clear(&message);
	return result;
}

static enum result
child_spawn(struct child *child, const struct child_spec *spec, int control,
    int *pidfd_r)
{
	const char *const envp[] = {NULL};
	const char *argv[] = {NULL, NULL};
	char path[PATH_MAX];
	struct engine_spawn_spec spawn = {.argv = argv,
	    .envp = envp,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .stderr_fd = spec->config_fd_count > 0 ? spec->config_fds[0] : -1,
	    .pass = &control,
	    .pass_count = 1,
	    .umask = 077,
	    .die_with_us = true};
	enum result result =
	    child_program_path(child->name, path, sizeof(path));

	if (result != RESULT_OK) {
		log_event(LOG_ERROR_LEVEL, "child_missing",
		    LOG_TEXT("name", child->name));
		return result;
	}
	argv[0] = path;
	return engine_spawn(&spawn, &child->pid, pidfd_r);
}

/* Everything on the loop that belongs to a started process. Takes pidfd
 * and control. */
static enum result
child_attach(
    struct event_base *base, struct child *child, int pidfd, int control)
{
	static const struct peer_handlers handlers = {
	    child_on_message, child_on_peer_end};
	struct timeval limit = event_loop_timeval(IPC_START_TIMEOUT_MS);
	enum result result = process_watch_new(
	    base, pidfd, true, child_on_death, child, &child->watch);

	if (result != RESULT_OK) {
		fd_close(&control);
		return result;
	}
	result = peer_new(base, control, IPC_SUPERVISOR, child->role, &handlers,
	    child, &child->peer);
	if (result != RESULT_OK)
		return result;
	child->deadline = event_new(base, -1, 0, child_on_deadline, child);
	if (child->deadline == NULL || event_add(child->deadline, &limit) != 0)
		return RESULT_NO_MEMORY;
	peer_set_state(child->peer, IPC_STARTING);
	return RESULT_OK;
}

enum result
child_start(struct event_base *base, const struct child_spec *spec,
    const struct child_handlers *handlers, void *context,
    struct child **child_r)
{
	struct child *child;
	int pair[2], pidfd = -1;
	enum result result;

	*child_r = NULL;
	if (child_role_name(spec->role) == NULL)
		return RESULT_INTERNAL;
	child = calloc(1, sizeof(*child));
	if (child == NULL)
		return RESULT_NO_MEMORY;
	child->role = spec->role;
	child->name =
	    spec->program != NULL ? spec->program : child_role_name(spec->role);
	child->no_landlock = json_is_true(json_object_get(
	    json_object_get(spec->config, "options"), "no_landlock"));
	child->handlers = *handlers;
	child->context = context;
	result = fd_socketpair(pair);
	if (result != RESULT_OK) {
		free(child);
		return result;
	}
	result = child_spawn(child, spec, pair[1], &pidfd);
	fd_close(&pair[1]);
	if (result == RESULT_OK)
		result = child_attach(base, child, pidfd, pair[0]);
	else
		fd_close(&pair[0]);
	if (result == RESULT_OK)
		result = child_send_config(child, spec);
	if (result == RESULT_OK && spec->config_fd_count > 0)
		result = child_log_new(base, spec->config_fds[0],
		    child_role_name(spec->role), child_on_full_log, child,
		    &child->log);
	if (result != RESULT_OK) {
		child_free(&child);
		return result;
	}
	*child_r = child;
	return RESULT_OK;
}

enum result
child_send(struct child *child, const struct ipc_message *message)
{
	enum result result;

	if (child->peer == NULL)
		return RESULT_CLOSED;
	result = peer_send(child->peer, message);
	if (result != RESULT_OK)
		child_kill(child, "it does not read its messages");
	return result;
}

const char *
child_name(const struct child *child)
{
	return child->name;
}

void
child_over(struct child *child)
{
	child_kill(child, "its work is done");
}

pid_t
child_pid(const struct child *child)
{
	return child->pid;
}

void
child_free(struct child **child)
{
	struct child *gone = *child;

	if (gone == NULL)
		return;
	*child = NULL;
	child_log_free(&gone->log);
	peer_free(&gone->peer);
	process_watch_free(&gone->watch);
	if (gone->deadline != NULL)
		event_free(gone->deadline);
	free(gone);
}
