/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate's mux mode (see the header). Called by main.c; must never open,
 * dial or execute, nor make a socket that is not one of a pair.
 */
#include "supervisor/gate/mux_host.h"

#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/ipc.h"
#include "common/json_field.h"
#include "common/log.h"
#include "common/peer.h"
#include "supervisor/mux/mux_bridge.h"

#define MUX_HOST_MEMORY (512U << 20)
/* Of a connection that waits to be passed on both ends are ours. */
#define MUX_HOST_FILES (64U + INIT_LISTENERS_MAX + 2U * MUX_LINK_STREAMS)

static const struct confine_syscall mux_host_syscalls[] = {
#ifdef __NR_poll
    {__NR_poll, CONFINE_ALLOW, 0, "mux_host_loop"},
#endif
    {__NR_ppoll, CONFINE_ALLOW, 0, "mux_host_loop (arm64)"},
    {__NR_socketpair, CONFINE_ALLOW_ARG0, AF_UNIX, "mux_open_pass"},
    {__NR_shutdown, CONFINE_ALLOW, 0, "mux_end_eof"},
    {__NR_setsockopt, CONFINE_ALLOW, 0, "SO_LINGER"},
    {__NR_memfd_create, CONFINE_ALLOW, 0, "mux_record_attach"},
    {__NR_fcntl, CONFINE_ALLOW_ARG1, F_ADD_SEALS, "mux_record_arrive"},
    {__NR_splice, CONFINE_ALLOW, 0, "mux_splice"},
    {__NR_pipe2, CONFINE_ALLOW, 0, "mux_splice"},
    {__NR_fcntl, CONFINE_ALLOW_ARG1, F_GETPIPE_SZ, "mux_splice"},
    {__NR_fcntl, CONFINE_ALLOW_ARG1, F_SETPIPE_SZ, "mux_splice"},
    {-1, CONFINE_EACCES, 0, NULL},
};

enum mux_host_stream {
	MUX_HOST_LINK_IN,
	MUX_HOST_LINK_OUT,
	MUX_HOST_CONTROL,
	MUX_HOST_STDIN,
	MUX_HOST_STDOUT,
	MUX_HOST_STDERR,
	MUX_HOST_STREAMS
};

struct mux_host {
	struct event_base *base;
	struct peer *peer;
	int fds[MUX_HOST_STREAMS];
	bool started, told, stopped;
	int exit_code;
};

static struct mux_bridge mux_host_bridge;

bool
mux_host_asked(const json_t *options)
{
	const char *mode = json_string_value(json_object_get(options, "mode"));

	return mode != NULL && strcmp(mode, "mux") == 0;
}

static void
mux_host_stop(struct mux_host *host, int code, const char *why)
{
	if (code != IPC_EXIT_OK)
		log_event(LOG_ERROR_LEVEL, "mux_stop", LOG_TEXT("why", why));
	host->exit_code = code;
	host->stopped = true;
}

/* ---- the supervisor ---- */

static void
mux_host_stream(struct mux_host *host, struct ipc_message *message)
{
	static const char *const names[] = {
	    "link_in", "link_out", "control", "stdin", "stdout", "stderr"};
	const char *name =
	    json_string_value(json_object_get(message->body, "name"));

	for (unsigned i = 0; i < MUX_HOST_STREAMS; i++) {
		if (strcmp(names[i], name) != 0 || host->fds[i] >= 0 ||
		    host->started)
			continue;
		host->fds[i] = ipc_message_take_fd(message, 0);
		return;
	}
	mux_host_stop(host, IPC_EXIT_PROTOCOL, "a stream with a wrong name");
}

static void
mux_host_start(struct mux_host *host, const struct ipc_message *message)
{
	const char *job =
	    json_string_value(json_object_get(message->body, "job"));

	/* How the workload ended is said to every gate. */
	if (strcmp(job, "workload_ended") == 0)
		return;
	if (strcmp(job, "start") != 0 || host->started ||
	    !mux_bridge_init(&mux_host_bridge, MUX_LINK_HOST,
		host->fds[MUX_HOST_LINK_IN], host->fds[MUX_HOST_LINK_OUT],
		host->fds[MUX_HOST_CONTROL], &host->fds[MUX_HOST_STDIN],
		event_loop_now_ms())) {
		mux_host_stop(host, IPC_EXIT_PROTOCOL,
		    "a start without all streams, or a second one");
		return;
	}
	host->started = true;
}

static void
mux_host_message(struct ipc_message *message, void *context)
{
	struct mux_host *host = context;

	switch ((int)message->type) {
	case IPC_STREAM:
		mux_host_stream(host, message);
		break;
	case IPC_WORK:
		mux_host_start(host, message);
		break;
	case IPC_LOG_REPLACE:
		log_replace_all(ipc_message_take_fd(message, 0));
		break;
	default:
		mux_host_stop(host, IPC_EXIT_PROTOCOL, "unexpected message");
	}
}

static void
mux_host_end(enum result why, const char *detail, void *context)
{
	struct mux_host *host = context;

	mux_host_stop(host,
	    why != RESULT_EOF ? IPC_EXIT_PROTOCOL
	    : host->told      ? IPC_EXIT_OK
			      : IPC_EXIT_SUPERVISOR,
	    detail);
}

static const char *
mux_host_reason(enum mux_bridge_state state)
{
	switch (state) {
	case MUX_BRIDGE_RUNNING:
		return "open";
	case MUX_BRIDGE_CLOSED:
		return "closed";
	case MUX_BRIDGE_BROKEN:
		return "broken";
	case MUX_BRIDGE_FAILED:
		break;
	}
	return "failed";
}

/* The link is over: said once. Texts are ours. */
static void
mux_host_tell(struct mux_host *host)
{
	const char *reason = mux_host_reason(mux_host_bridge.state);
	struct ipc_message message;

	host->told = true;
	log_event(mux_host_bridge.state == MUX_BRIDGE_CLOSED ? LOG_INFO_LEVEL
							     : LOG_WARN_LEVEL,
	    "mux_done", LOG_TEXT("reason", reason),
	    LOG_TEXT("detail", mux_host_bridge.detail));
	log_flush();
	ipc_message_init(&message, IPC_DONE, 0);
	message.body = json_pack("{s:s, s:{s:s, s:s}}", "job", "mux", "result",
	    "reason", reason, "detail", mux_host_bridge.detail);
	if (message.body == NULL ||
	    peer_send(host->peer, &message) != RESULT_OK)
		mux_host_stop(host, IPC_EXIT_CRASH, "done could not be sent");
	ipc_message_clear(&message);
}

/* ---- start and loop ---- */

enum result
mux_host_confine(const struct confine_spec *base,
    struct confine_layers *layers_r, char *detail_r, size_t detail_size)
{
	struct confine_spec spec = *base;

	spec.syscalls = mux_host_syscalls;
	spec.memory_max = MUX_HOST_MEMORY;
	spec.files_max = MUX_HOST_FILES;
	spec.deny_tcp_bind = spec.deny_tcp_connect = true;
	return confine_enter(&spec, layers_r, detail_r, detail_size);
}

static void
mux_host_confine_options(const json_t *options, struct confine_spec *spec_r)
{
	static const char *const keys[] = {
	    "mode", "uid", "log_level", "no_landlock", NULL};
	struct json_fault fault = {""};
	bool no_landlock = false;
	int64_t uid = 65534;

	json_field_only(options, "options", keys, &fault);
	json_field_int_opt(
	    options, "options", "uid", 1, 4294967294, &uid, &fault);
	json_field_bool_opt(
	    options, "options", "no_landlock", &no_landlock, &fault);
	if (fault.text[0] != '\0')
		log_fatal(IPC_EXIT_BAD_CONFIG, "mux_config", fault.text);
	*spec_r = (struct confine_spec){.uid = (uid_t)uid,
	    .gid = (gid_t)uid,
	    .landlock_required = !no_landlock};
}

static void
mux_host_prepare(struct mux_host *host, const json_t *options)
{
	static const struct peer_handlers handlers = {
	    mux_host_message, mux_host_end};
	struct confine_layers layers;
	struct confine_spec spec;
	struct ipc_message ready;
	char detail[256];

	mux_host_confine_options(options, &spec);
	if (event_loop_new(&host->base) != RESULT_OK ||
	    peer_new(host->base, IPC_CONTROL_FD, IPC_GATE, IPC_SUPERVISOR,
		&handlers, host, &host->peer) != RESULT_OK)
		log_fatal(IPC_EXIT_CRASH, "mux_start", "out of resources");
	if (mux_host_confine(&spec, &layers, detail, sizeof(detail)) !=
	    RESULT_OK)
		log_fatal(IPC_EXIT_CONFINE, "mux_confine", detail);
	ipc_message_init(&ready, IPC_READY, 0);
	ready.body = confine_ready(&layers);
	if (peer_send(host->peer, &ready) != RESULT_OK)
		log_fatal(IPC_EXIT_PROTOCOL, "mux_ready", "not sent");
	ipc_message_clear(&ready);
	peer_set_state(host->peer, IPC_RUNNING);
}

/* The same poll loop as init's: the link, and the supervisor's socket,
 * which the event loop reads when it has something. */
static void
mux_host_loop(struct mux_host *host)
{
	static struct pollfd polls[MUX_BRIDGE_POLLS + 1];
	int wait = -1;
	unsigned count = host->started ? mux_bridge_polls(&mux_host_bridge,
					     polls, event_loop_now_ms(), &wait)
				       : 0;

	polls[count] = (struct pollfd){IPC_CONTROL_FD, POLLIN, 0};
	if (poll(polls, count + 1, wait) < 0 && errno != EINTR) {
		mux_host_stop(host, IPC_EXIT_CRASH, "poll gave up");
		return;
	}
	if (count > 0)
		mux_bridge_turn(
		    &mux_host_bridge, polls, count, event_loop_now_ms());
	if (polls[count].revents != 0 &&
	    event_base_loop(host->base, EVLOOP_NONBLOCK) < 0)
		mux_host_stop(host, IPC_EXIT_CRASH, "the loop gave up");
	if (host->started && !host->told && !host->stopped &&
	    mux_host_bridge.state != MUX_BRIDGE_RUNNING)
		mux_host_tell(host);
}

int
mux_host_run(const json_t *options)
{
	struct mux_host host = {.exit_code = IPC_EXIT_OK};

	for (unsigned i = 0; i < MUX_HOST_STREAMS; i++)
		host.fds[i] = -1;
	mux_host_prepare(&host, options);
	while (!host.stopped)
		mux_host_loop(&host);
	if (host.started)
		mux_bridge_close(&mux_host_bridge, MUX_BRIDGE_CLOSED, "");
	peer_free(&host.peer);
	event_base_free(host.base);
	log_flush();
	return host.exit_code;
}
