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
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/ipc.h"
#include "common/json_field.h"
#include "common/log.h"
#include "common/peer.h"
#include "supervisor/gate/mux_attach.h"
#include "supervisor/mux/mux_bridge.h"

#define MUX_HOST_PIPE (1 << 20) /* the caller's, in bytes */
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
    {__NR_setsockopt, CONFINE_ALLOW, 0, "fd_reset"},
    {__NR_bind, CONFINE_ALLOW_ARG2, FD_MARK_LEN, "fd_reset: no port, a mark"},
    {__NR_getpeername, CONFINE_ALLOW, 0, "fd_was_reset"},
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
	bool by_daemon; /* the link is a connection to Docker's daemon */
	bool started, linked, told, stopped;
	uint64_t start;                 /* the id of that work */
	char head[MUX_ATTACH_HEAD_MAX]; /* the daemon's answer */
	size_t head_len;
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

/* From here on it is the container's. */
static bool
mux_host_link(struct mux_host *host)
{
	/* As much as they take; less is slower only, and no pipe has one. */
	for (unsigned i = MUX_HOST_STDIN; i <= MUX_HOST_STDOUT; i++) {
		int size = fcntl(host->fds[i], F_GETPIPE_SZ);

		if (size >= 0 && size < MUX_HOST_PIPE)
			(void)fcntl(host->fds[i], F_SETPIPE_SZ, MUX_HOST_PIPE);
	}
	host->linked = mux_bridge_init(&mux_host_bridge, MUX_LINK_HOST,
	    host->fds[MUX_HOST_LINK_IN], host->fds[MUX_HOST_LINK_OUT],
	    host->fds[MUX_HOST_CONTROL], &host->fds[MUX_HOST_STDIN],
	    event_loop_now_ms());
	if (host->linked && host->by_daemon)
		mux_bridge_by_docker(&mux_host_bridge);
	return host->linked;
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
	    host->fds[MUX_HOST_LINK_IN] < 0 ||
	    (!host->by_daemon && !mux_host_link(host))) {
		mux_host_stop(host, IPC_EXIT_PROTOCOL,
		    "a start without all streams, or a second one");
		return;
	}
	host->start = message->id;
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

/* The link is over, or never was: said once. Texts are ours. */
static void
mux_host_tell(struct mux_host *host, const char *reason, const char *detail)
{
	struct ipc_message message;

	host->told = true;
	log_event(
	    strcmp(reason, "closed") == 0 ? LOG_INFO_LEVEL : LOG_WARN_LEVEL,
	    "mux_done", LOG_TEXT("reason", reason), LOG_TEXT("detail", detail));
	log_flush();
	ipc_message_init(&message, IPC_DONE, 0);
	message.body = json_pack("{s:s, s:{s:s, s:s}}", "job", "mux", "result",
	    "reason", reason, "detail", detail);
	if (message.body == NULL ||
	    peer_send(host->peer, &message) != RESULT_OK)
		mux_host_stop(host, IPC_EXIT_CRASH, "done could not be sent");
	ipc_message_clear(&message);
}

/* ---- the daemon's answer ---- */

static void
mux_host_attached(struct mux_host *host)
{
	struct ipc_message message;

	if (!mux_host_link(host)) {
		mux_host_tell(host, "failed", "it cannot be set up");
		return;
	}
	log_event(LOG_INFO_LEVEL, "mux_attached");
	ipc_message_init(&message, IPC_DONE, host->start);
	message.body = json_pack("{s:s, s:{s:s, s:s}}", "job", "start",
	    "result", "code", "", "detail", "");
	if (message.body == NULL ||
	    peer_send(host->peer, &message) != RESULT_OK)
		mux_host_stop(host, IPC_EXIT_CRASH, "start was not answered");
	ipc_message_clear(&message);
}

static void
mux_host_answered(struct mux_host *host)
{
	char detail[128];
	unsigned status;

	switch (mux_attach_read(host->head, host->head_len, &status)) {
	case MUX_ATTACH_MORE:
		break;
	case MUX_ATTACH_DONE:
		mux_host_attached(host);
		break;
	case MUX_ATTACH_REFUSED:
		(void)snprintf(detail, sizeof(detail),
		    "docker does not attach to its container (status %u)",
		    status);
		mux_host_tell(host, "refused", detail);
		break;
	case MUX_ATTACH_BAD:
		mux_host_tell(host, "refused",
		    "docker's answer to the request to attach is none");
		break;
	}
}

/* The head alone: the container says nothing before it is started. */
static void
mux_host_answer(struct mux_host *host)
{
	ssize_t got = read(host->fds[MUX_HOST_LINK_IN],
	    host->head + host->head_len, sizeof(host->head) - host->head_len);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		mux_host_tell(
		    host, "closed", "docker ended it before it was attached");
		return;
	}
	host->head_len += (size_t)got;
	mux_host_answered(host);
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
mux_host_confine_options(
    const json_t *options, struct confine_spec *spec_r, bool *attach_r)
{
	static const char *const keys[] = {
	    "mode", "uid", "log_level", "no_landlock", "attach", NULL};
	struct json_fault fault = {""};
	bool no_landlock = false;
	int64_t uid = 65534;

	json_field_only(options, "options", keys, &fault);
	json_field_int_opt(
	    options, "options", "uid", 1, 4294967294, &uid, &fault);
	json_field_bool_opt(
	    options, "options", "no_landlock", &no_landlock, &fault);
	json_field_bool_opt(options, "options", "attach", attach_r, &fault);
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

	mux_host_confine_options(options, &spec, &host->by_daemon);
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

/* What the link is waited for; how many. */
static unsigned
mux_host_polls(struct mux_host *host, struct pollfd *polls_r, int *wait_r)
{
	*wait_r = -1;
	if (host->linked)
		return mux_bridge_polls(
		    &mux_host_bridge, polls_r, event_loop_now_ms(), wait_r);
	if (!host->started || host->told)
		return 0;
	polls_r[0] = (struct pollfd){host->fds[MUX_HOST_LINK_IN], POLLIN, 0};
	return 1;
}

static void
mux_host_turn(struct mux_host *host, const struct pollfd *polls, unsigned count)
{
	if (count > 0 && host->linked)
		mux_bridge_turn(
		    &mux_host_bridge, polls, count, event_loop_now_ms());
	else if (count > 0 && polls[0].revents != 0)
		mux_host_answer(host);
}

/* The same poll loop as init's: the link, and the supervisor's socket,
 * which the event loop reads when it has something. */
static void
mux_host_loop(struct mux_host *host)
{
	static struct pollfd polls[MUX_BRIDGE_POLLS + 1];
	int wait;
	unsigned count = mux_host_polls(host, polls, &wait);

	polls[count] = (struct pollfd){IPC_CONTROL_FD, POLLIN, 0};
	if (poll(polls, count + 1, wait) < 0 && errno != EINTR) {
		mux_host_stop(host, IPC_EXIT_CRASH, "poll gave up");
		return;
	}
	mux_host_turn(host, polls, count);
	if (polls[count].revents != 0 &&
	    event_base_loop(host->base, EVLOOP_NONBLOCK) < 0)
		mux_host_stop(host, IPC_EXIT_CRASH, "the loop gave up");
	if (host->linked && !host->told && !host->stopped &&
	    mux_host_bridge.state != MUX_BRIDGE_RUNNING)
		mux_host_tell(host, mux_host_reason(mux_host_bridge.state),
		    mux_host_bridge.detail);
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
	if (host.linked)
		mux_bridge_close(&mux_host_bridge, MUX_BRIDGE_CLOSED, "");
	peer_free(&host.peer);
	event_base_free(host.base);
	log_flush();
	return host.exit_code;
}
