/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays the supervisor for the real, confined egress proxy, so that any
 * load generator or scenario can be pointed at it: makes the listeners,
 * starts the program with its control socket as descriptor 3, sends config,
 * policy and listeners, and says `ready` when they are served. For tests
 * and benches only; the product's supervisor is in supervisor/.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/peer.h"
#include "tests/bench/drive_child.h"
#include "tests/bench/drive_options.h"

#define DRIVE_PROXY_STATS_READY 1U /* message ids of our questions */
#define DRIVE_PROXY_STATS_ASKED 2U
#define DRIVE_PROXY_STATS_LAST 3U

struct drive_proxy {
	struct drive_options options;
	struct event_base *base;
	struct peer *peer;
	struct event *term, *interrupt, *input;
	pid_t pid;
	bool is_ready;
	char line[8192]; /* a command being read */
	size_t line_len;
};

static void
drive_proxy_send(struct drive_proxy *drive, enum ipc_type type, uint64_t id,
    json_t *body, int fd)
{
	struct ipc_message message;
	enum result result;

	ipc_message_init(&message, type, id);
	message.body = body;
	if (fd >= 0) {
		message.fds[0] = fd;
		message.fd_count = 1;
	}
	result = peer_send(drive->peer, &message);
	ipc_message_clear(&message);
	if (result != RESULT_OK) {
		fprintf(stderr, "drive_proxy: send: %s\n", result_text(result));
		exit(1);
	}
}

/* The proxy beside this build, unless --proxy names another. */
static const char *
drive_proxy_program(const struct drive_options *options)
{
	if (options->program != NULL)
		return options->program;
	return AGENTNODE_BUILD_DIR "/libexec/agentnode/agentnode-egress-proxy";
}

static void
drive_proxy_configure(struct drive_proxy *drive)
{
	int fd = drive_child_log_fd(drive->options.log_path);

	drive_proxy_send(drive, IPC_CONFIG, 0,
	    json_pack("{s:O}", "options", drive->options.config), fd);
}

/* Policy and listeners; then a question, whose answer says that all of it
 * is in force. */
static void
drive_proxy_open(struct drive_proxy *drive)
{
	const struct drive_options *options = &drive->options;

	drive_proxy_send(drive, IPC_SANDBOX_OPEN, 0,
	    json_pack("{s:s,s:O}", "sandbox", DRIVE_OPTIONS_SANDBOX, "policy",
		options->policy),
	    -1);
	for (size_t i = 0; i < options->listener_count; i++) {
		const struct drive_listener *listener = &options->listeners[i];
		json_t *body = json_pack("{s:s,s:s}", "sandbox",
		    DRIVE_OPTIONS_SANDBOX, "kind",
		    listener->name[0] != '\0' ? "direct" : "connect");

		if (listener->name[0] != '\0') {
			json_object_set_new(
			    body, "name", json_string(listener->name));
			json_object_set_new(
			    body, "port", json_integer(listener->name_port));
		}
		drive_proxy_send(drive, IPC_LISTEN, 0, body,
		    drive_child_listen(listener->address, listener->port));
	}
	drive_proxy_send(
	    drive, IPC_STATS, DRIVE_PROXY_STATS_READY, json_object(), -1);
}

static void
drive_proxy_say(const char *word, const json_t *value)
{
	char *text = value != NULL ? json_dumps(value, JSON_COMPACT) : NULL;

	printf("%s%s%s\n", word, text != NULL ? " " : "",
	    text != NULL ? text : "");
	free(text);
	fflush(stdout);
}

static void
drive_proxy_on_stats(
    struct drive_proxy *drive, const struct ipc_message *message)
{
	const json_t *values = json_object_get(message->body, "values");

	if (message->id == DRIVE_PROXY_STATS_READY) {
		drive->is_ready = true;
		drive_proxy_say("ready", NULL);
		return;
	}
	drive_proxy_say("stats", values);
	if (message->id == DRIVE_PROXY_STATS_LAST)
		event_loop_stop(drive->base);
}

static void
drive_proxy_on_message(struct ipc_message *message, void *context)
{
	struct drive_proxy *drive = context;

	if (message->type == IPC_READY) {
		peer_set_state(drive->peer, IPC_RUNNING);
		drive_proxy_open(drive);
	} else if (message->type == IPC_STATS) {
		drive_proxy_on_stats(drive, message);
	} else if (message->type == IPC_FAILED) {
		drive_proxy_say("failed", message->body);
		if (!drive->is_ready)
			event_loop_stop(drive->base);
	} else if (message->type == IPC_DECISION && drive->options.decisions) {
		drive_proxy_say("decision", message->body);
	}
}

static void
drive_proxy_on_end(enum result why, const char *detail, void *context)
{
	struct drive_proxy *drive = context;

	fprintf(stderr, "drive_proxy: the proxy ended: %s (%s)\n",
	    result_text(why), detail);
	event_loop_stop(drive->base);
}

static void
drive_proxy_on_signal(evutil_socket_t number, short what, void *context)
{
	struct drive_proxy *drive = context;

	(void)number;
	(void)what;
	if (drive->options.stats)
		drive_proxy_send(drive, IPC_STATS, DRIVE_PROXY_STATS_LAST,
		    json_object(), -1);
	else
		event_loop_stop(drive->base);
}

static void
drive_proxy_policy(struct drive_proxy *drive, const char *text)
{
	json_t *policy = json_loads(text, 0, NULL);

	if (policy == NULL) {
		drive_proxy_say("failed", NULL);
		return;
	}
	drive_proxy_send(drive, IPC_POLICY_REPLACE, 0,
	    json_pack("{s:s,s:o}", "sandbox", DRIVE_OPTIONS_SANDBOX, "policy",
		policy),
	    -1);
	drive_proxy_send(
	    drive, IPC_STATS, DRIVE_PROXY_STATS_ASKED, json_object(), -1);
}

/* Each command is answered by the stats that follow it. */
static void
drive_proxy_command(struct drive_proxy *drive, const char *line)
{
	if (strncmp(line, "policy ", 7) == 0) {
		drive_proxy_policy(drive, line + 7);
		return;
	}
	if (strcmp(line, "close") == 0)
		drive_proxy_send(drive, IPC_SANDBOX_CLOSE, 0,
		    json_pack("{s:s}", "sandbox", DRIVE_OPTIONS_SANDBOX), -1);
	else if (strncmp(line, "resolver ", 9) == 0)
		drive_proxy_send(drive, IPC_RESOLVER_REPLACE, 0,
		    json_pack("{s:s}", "servers", line + 9), -1);
	else if (strcmp(line, "stats") != 0) {
		drive_proxy_say("failed", NULL);
		return;
	}
	drive_proxy_send(
	    drive, IPC_STATS, DRIVE_PROXY_STATS_ASKED, json_object(), -1);
}

static void
drive_proxy_on_input(evutil_socket_t fd, short what, void *context)
{
	struct drive_proxy *drive = context;
	ssize_t count = read(fd, drive->line + drive->line_len,
	    sizeof(drive->line) - 1 - drive->line_len);
	char *end;

	(void)what;
	if (count <= 0) {
		event_del(drive->input);
		return;
	}
	drive->line_len += (size_t)count;
	drive->line[drive->line_len] = '\0';
	while ((end = strchr(drive->line, '\n')) != NULL) {
		*end = '\0';
		drive_proxy_command(drive, drive->line);
		drive->line_len -= (size_t)(end + 1 - drive->line);
		memmove(drive->line, end + 1, drive->line_len + 1);
	}
}

static void
drive_proxy_events(struct drive_proxy *drive)
{
	drive->term =
	    evsignal_new(drive->base, SIGTERM, drive_proxy_on_signal, drive);
	drive->interrupt =
	    evsignal_new(drive->base, SIGINT, drive_proxy_on_signal, drive);
	event_add(drive->term, NULL);
	event_add(drive->interrupt, NULL);
	if (!drive->options.commands)
		return;
	drive->input = event_new(drive->base, STDIN_FILENO,
	    EV_READ | EV_PERSIST, drive_proxy_on_input, drive);
	event_add(drive->input, NULL);
}

int
main(int argc, char **argv)
{
	static const struct peer_handlers handlers = {
	    drive_proxy_on_message, drive_proxy_on_end};
	struct drive_proxy drive = {0};
	int control, status;

	drive_options_read(argc, argv, &drive.options);
	drive_child_raise_files();
	drive.pid =
	    drive_child_spawn(drive_proxy_program(&drive.options), &control);
	if (event_loop_new(&drive.base) != RESULT_OK ||
	    peer_new(drive.base, control, IPC_SUPERVISOR, IPC_PROXY, &handlers,
		&drive, &drive.peer) != RESULT_OK)
		drive_child_fail("event loop");
	drive_proxy_events(&drive);
	drive_proxy_configure(&drive);
	(void)event_loop_run(drive.base);
	peer_free(&drive.peer); /* which ends the proxy */
	status = drive_child_finish(drive.pid, "the proxy");
	drive_options_free(&drive.options);
	return status;
}
