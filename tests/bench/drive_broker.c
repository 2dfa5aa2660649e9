/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays the supervisor (and the keyring helper) for the real, confined
 * llm-broker, llm-key and, with --ledger, the ledger: starts them, hands out
 * the pairs, gives the key, the grant and a listener, and says `ready` when
 * calls are served. For tests and benches only; the product's supervisor is
 * in supervisor/.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/peer.h"
#include "supervisor/ledger/ledger_confine.h"
#include "tests/bench/drive_broker_options.h"
#include "tests/bench/drive_child.h"

#define DRIVE_BROKER_READY 1U /* ids of our questions */
#define DRIVE_BROKER_LAST 2U
#define DRIVE_BROKER_BUDGET 3U
#define DRIVE_BROKER_PROGRAMS AGENTNODE_BUILD_DIR "/libexec/agentnode/"
#define DRIVE_BROKER_KEY_MAX 16384U

enum drive_broker_part {
	DRIVE_BROKER_BROKER,
	DRIVE_BROKER_KEY,
	DRIVE_BROKER_LEDGER,
	DRIVE_BROKER_PARTS
};

static const enum ipc_role drive_broker_roles[DRIVE_BROKER_PARTS] = {
    IPC_BROKER, IPC_KEY, IPC_LEDGER};
static const char *const drive_broker_names[DRIVE_BROKER_PARTS] = {
    "agentnode-llm-broker", "agentnode-llm-key", "agentnode-ledger"};

struct drive_broker;

struct drive_broker_child {
	struct drive_broker *drive;
	enum drive_broker_part part;
	struct peer *peer; /* NULL: not started */
	pid_t pid;
	bool ready;
};

struct drive_broker {
	struct drive_broker_options options;
	struct event_base *base;
	struct drive_broker_child children[DRIVE_BROKER_PARTS];
	struct event *term, *interrupt;
	unsigned last; /* answers to wait for at the end */
	bool opened;
};

static void
drive_broker_send(struct drive_broker *drive, enum drive_broker_part part,
    enum ipc_type type, uint64_t id, json_t *body, const int *fds, size_t count)
{
	struct ipc_message message;
	enum result result;

	ipc_message_init(&message, type, id);
	message.body = body;
	for (size_t i = 0; i < count; i++)
		message.fds[i] = fds[i];
	message.fd_count = count;
	result = peer_send(drive->children[part].peer, &message);
	ipc_message_clear(&message); /* closes what was sent, too */
	if (result != RESULT_OK) {
		fprintf(stderr, "drive_broker: send to %s: %s\n",
		    drive_broker_names[part], result_text(result));
		exit(1);
	}
}

static void
drive_broker_say(const char *word, const json_t *value)
{
	char *text = value != NULL ? json_dumps(value, JSON_COMPACT) : NULL;

	printf("%s%s%s\n", word, text != NULL ? " " : "",
	    text != NULL ? text : "");
	free(text);
	fflush(stdout);
}

/* One end to each of two children. */
static void
drive_broker_pair(struct drive_broker *drive, enum drive_broker_part a,
    const char *a_name, int *other_r)
{
	int pair[2];

	if (fd_socketpair(pair) != RESULT_OK)
		drive_child_fail("socketpair");
	drive_broker_send(drive, a, IPC_STREAM, 0,
	    json_pack("{s:s}", "name", a_name), &pair[0], 1);
	*other_r = pair[1];
}

/* --- the key --- */

/* One message, as the keyring helper would send it. */
static void
drive_broker_tell_key(int fd, const char *provider, const char *key, size_t len)
{
	char bytes[IPC_MESSAGE_MAX], fault[256];
	struct ipc_message message;
	size_t size = 0;

	ipc_message_init(&message, IPC_KEY_SECRET, 0);
	message.body = json_pack("{s:s,s:s}", "provider", provider, "status",
	    len > 0 ? "found" : "missing");
	if (len > 0)
		json_object_set_new(
		    message.body, "length", json_integer((json_int_t)len));
	if (ipc_encode(&message, IPC_KEYRING, IPC_KEY, bytes, sizeof(bytes),
		&size, fault, sizeof(fault)) != RESULT_OK ||
	    fd_send(fd, bytes, size, NULL, 0) != RESULT_OK ||
	    (len > 0 && fd_send(fd, key, len, NULL, 0) != RESULT_OK))
		drive_child_fail("key");
	ipc_message_clear(&message);
}

static void
drive_broker_give_keys(struct drive_broker *drive)
{
	json_t *providers = json_object_get(drive->options.broker, "providers");
	json_t *provider;
	char *key = NULL;
	size_t len = 0, i;
	int pair;

	if (drive->options.key_fd >= 0 &&
	    fd_read_all(drive->options.key_fd, DRIVE_BROKER_KEY_MAX, &key,
		&len) != RESULT_OK)
		drive_child_fail("--key-fd");
	while (len > 0 && key[len - 1] == '\n')
		len--;
	json_array_foreach(providers, i, provider)
	{
		if (!json_is_object(json_object_get(provider, "key")))
			continue;
		drive_broker_pair(drive, DRIVE_BROKER_KEY, "keyring", &pair);
		drive_broker_tell_key(pair,
		    json_string_value(json_object_get(provider, "name")), key,
		    len);
		fd_close(&pair);
	}
	free(key);
}

/* --- opening --- */

static void
drive_broker_open_run(struct drive_broker *drive)
{
	const struct drive_broker_options *options = &drive->options;
	int fd = drive_child_listen(options->address, options->port);

	drive_broker_send(drive, DRIVE_BROKER_BROKER, IPC_GRANT, 0,
	    json_pack("{s:s,s:O}", "sandbox", DRIVE_BROKER_OPTIONS_SANDBOX,
		"grant", options->grant),
	    NULL, 0);
	drive_broker_send(drive, DRIVE_BROKER_BROKER, IPC_LISTEN, 0,
	    json_pack("{s:s,s:s}", "sandbox", DRIVE_BROKER_OPTIONS_SANDBOX,
		"kind", "llm"),
	    &fd, 1);
	drive_broker_send(drive, DRIVE_BROKER_BROKER, IPC_STATS,
	    DRIVE_BROKER_READY, json_object(), NULL, 0);
}

static void
drive_broker_open(struct drive_broker *drive)
{
	char run[32];
	int fd;

	if (drive->opened)
		return;
	for (unsigned i = 0; i < DRIVE_BROKER_PARTS; i++)
		if (drive->children[i].peer != NULL &&
		    !drive->children[i].ready)
			return;
	drive->opened = true;
	drive_broker_pair(drive, DRIVE_BROKER_BROKER, "key", &fd);
	drive_broker_send(drive, DRIVE_BROKER_KEY, IPC_STREAM, 0,
	    json_pack("{s:s}", "name", "broker"), &fd, 1);
	drive_broker_give_keys(drive);
	if (drive->options.ledger_path == NULL) {
		drive_broker_open_run(drive);
		return;
	}
	drive_broker_pair(drive, DRIVE_BROKER_BROKER, "ledger", &fd);
	/* A name of its own: several may share the file. */
	(void)snprintf(run, sizeof(run), "drive-%d", (int)getpid());
	drive_broker_send(drive, DRIVE_BROKER_LEDGER, IPC_BUDGET_OPEN,
	    DRIVE_BROKER_BUDGET,
	    json_pack("{s:s,s:s,s:O}", "sandbox", run, "package", "drive",
		"limits", drive->options.budget),
	    &fd, 1);
}

/* --- messages --- */

static void
drive_broker_on_stats(
    struct drive_broker *drive, const struct ipc_message *message)
{
	const json_t *values = json_object_get(message->body, "values");

	if (message->id == DRIVE_BROKER_READY) {
		drive_broker_say("ready", NULL);
		return;
	}
	drive_broker_say("stats", values);
	if (--drive->last == 0)
		event_loop_stop(drive->base);
}

static void
drive_broker_on_message(struct ipc_message *message, void *context)
{
	struct drive_broker_child *child = context;
	struct drive_broker *drive = child->drive;

	if (message->type == IPC_READY) {
		child->ready = true;
		peer_set_state(child->peer, IPC_RUNNING);
		drive_broker_open(drive);
	} else if (message->type == IPC_STATS) {
		drive_broker_on_stats(drive, message);
	} else if (message->type == IPC_SYNCED) {
		drive_broker_open_run(drive);
	} else if (message->type == IPC_FAILED) {
		drive_broker_say("failed", message->body);
		event_loop_stop(drive->base);
	} else if (message->type == IPC_DECISION && drive->options.decisions) {
		drive_broker_say("decision", message->body);
	} else if (message->type == IPC_USAGE && drive->options.decisions) {
		drive_broker_say("usage", message->body);
	}
}

static void
drive_broker_on_end(enum result why, const char *detail, void *context)
{
	struct drive_broker_child *child = context;

	fprintf(stderr, "drive_broker: %s ended: %s (%s)\n",
	    drive_broker_names[child->part], result_text(why), detail);
	event_loop_stop(child->drive->base);
}

static void
drive_broker_on_signal(evutil_socket_t number, short what, void *context)
{
	struct drive_broker *drive = context;

	(void)number;
	(void)what;
	if (!drive->options.stats || drive->last > 0) {
		event_loop_stop(drive->base);
		return;
	}
	drive->last = 2;
	for (unsigned i = 0; i < drive->last; i++)
		drive_broker_send(drive, (enum drive_broker_part)i, IPC_STATS,
		    DRIVE_BROKER_LAST, json_object(), NULL, 0);
}

/* --- starting and ending --- */

static void
drive_broker_start(struct drive_broker *drive, enum drive_broker_part part)
{
	static const struct peer_handlers handlers = {
	    drive_broker_on_message, drive_broker_on_end};
	struct drive_broker_child *child = &drive->children[part];
	char program[512];
	int control;

	(void)snprintf(program, sizeof(program), "%s%s", DRIVE_BROKER_PROGRAMS,
	    drive_broker_names[part]);
	if (part == DRIVE_BROKER_BROKER && drive->options.program != NULL)
		(void)snprintf(
		    program, sizeof(program), "%s", drive->options.program);
	child->drive = drive;
	child->part = part;
	child->pid = drive_child_spawn(program, &control);
	if (peer_new(drive->base, control, IPC_SUPERVISOR,
		drive_broker_roles[part], &handlers, child,
		&child->peer) != RESULT_OK)
		drive_child_fail("event loop");
}

static int
drive_broker_open_file(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	if (fd < 0)
		drive_child_fail(path);
	return fd;
}

/* Options as a sealed memfd: providers do not fit into a datagram. */
static void
drive_broker_configure(struct drive_broker *drive, enum drive_broker_part part,
    const json_t *options, int extra_fd)
{
	char *text = json_dumps(options, JSON_COMPACT);
	int fds[3] = {
	    drive_child_log_fd(drive->options.log_path), -1, extra_fd};

	if (text == NULL || fd_sealed_memfd("options", text, strlen(text),
				&fds[1]) != RESULT_OK)
		drive_child_fail("options");
	drive_broker_send(drive, part, IPC_CONFIG, 0,
	    json_pack("{s:i}", "options_fd", 1), fds, extra_fd >= 0 ? 3 : 2);
	free(text);
}

static void
drive_broker_configure_key(struct drive_broker *drive)
{
	struct drive_broker_options *options = &drive->options;
	const char *resolver = options->resolver != NULL
				   ? options->resolver
				   : options->names.server;
	int fd = -1;

	json_object_set_new(options->key, "resolver", json_string(resolver));
	if (options->ca_path != NULL) {
		fd = drive_broker_open_file(options->ca_path, O_RDONLY);
		json_object_set_new(options->key, "ca_fd", json_integer(2));
	}
	drive_broker_configure(drive, DRIVE_BROKER_KEY, options->key, fd);
}

static void
drive_broker_start_all(struct drive_broker *drive)
{
	struct drive_broker_options *options = &drive->options;
	int fds[2];

	drive_broker_start(drive, DRIVE_BROKER_BROKER);
	drive_broker_configure(drive, DRIVE_BROKER_BROKER, options->broker, -1);
	drive_broker_start(drive, DRIVE_BROKER_KEY);
	drive_broker_configure_key(drive);
	if (options->ledger_path == NULL)
		return;
	drive_broker_start(drive, DRIVE_BROKER_LEDGER);
	if (geteuid() == 0 && chown(options->ledger_path, LEDGER_CONFINE_UID,
				  LEDGER_CONFINE_UID) != 0)
		drive_child_fail(options->ledger_path);
	fds[0] = drive_child_log_fd(options->log_path);
	fds[1] = drive_broker_open_file(
	    options->ledger_path, O_RDONLY | O_DIRECTORY);
	drive_broker_send(drive, DRIVE_BROKER_LEDGER, IPC_CONFIG, 0,
	    json_pack("{s:{}}", "options"), fds, 2);
}

/* Closing its control socket ends a child. */
static int
drive_broker_finish(struct drive_broker *drive)
{
	int status = 0;

	for (unsigned i = 0; i < DRIVE_BROKER_PARTS; i++) {
		struct drive_broker_child *child = &drive->children[i];

		if (child->peer == NULL)
			continue;
		peer_free(&child->peer);
		if (drive_child_finish(
			child->pid, drive_broker_names[child->part]) != 0)
			status = 1;
	}
	return status;
}

int
main(int argc, char **argv)
{
	struct drive_broker drive = {0};
	int status;

	drive_broker_options_read(argc, argv, &drive.options);
	drive_child_raise_files();
	if (event_loop_new(&drive.base) != RESULT_OK)
		drive_child_fail("event loop");
	drive_names_open(&drive.options.names, drive.base);
	drive.term =
	    evsignal_new(drive.base, SIGTERM, drive_broker_on_signal, &drive);
	drive.interrupt =
	    evsignal_new(drive.base, SIGINT, drive_broker_on_signal, &drive);
	event_add(drive.term, NULL);
	event_add(drive.interrupt, NULL);
	drive_broker_start_all(&drive);
	(void)event_loop_run(drive.base);
	status = drive_broker_finish(&drive);
	drive_names_close(&drive.options.names);
	drive_broker_options_free(&drive.options);
	return status;
}
