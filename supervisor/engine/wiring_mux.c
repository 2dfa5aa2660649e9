/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way in over the standard input and output of the engine's client, or
 * over a connection to Docker's daemon that is attached to them:
 * agentnode-gate in mode mux holds both and speaks for init over the control
 * socket; it alone reads what comes out. Called by wiring.c; must never
 * touch a byte of the link, nor let the client's end of it stay open here.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "supervisor/engine/docker_attach.h"
#include "supervisor/engine/gate_part.h"
#include "supervisor/engine/wiring_way.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/log_files.h"

#define WIRING_MUX_FDS 2U

/* The gate's, until it is ready; in the order of the names below. */
enum wiring_mux_stream {
	WIRING_MUX_IN,
	WIRING_MUX_OUT,
	WIRING_MUX_CONTROL,
	WIRING_MUX_STDIN,
	WIRING_MUX_STDOUT,
	WIRING_MUX_STDERR,
	WIRING_MUX_STREAMS
};

struct wiring_mux_state {
	struct gate_part *gate;
	int streams[WIRING_MUX_STREAMS];
	int client_in, client_out; /* until passed */
	bool by_daemon;            /* there are none of these */
	int daemon;                /* until it is asked */
	bool by_volume;            /* init comes so, not by descriptor */
	int program;               /* likewise; init itself */
	int tether, tether_inside; /* by which its holders are known */
	struct event *later;       /* nothing of the gate on the stack */
	enum result why;
	char detail[256];
};

static void
wiring_mux_on_later(evutil_socket_t fd, short what, void *context)
{
	struct wiring *wiring = context;
	const struct wiring_mux_state *state = wiring->state;
	char detail[sizeof(state->detail)];

	(void)fd;
	(void)what;
	memcpy(detail, state->detail, sizeof(detail));
	wiring_end(wiring, state->why, detail);
}

static void
wiring_mux_over(struct wiring *wiring, enum result why, const char *what)
{
	struct wiring_mux_state *state = wiring->state;

	if (state->detail[0] != '\0')
		return;
	state->why = why;
	(void)snprintf(state->detail, sizeof(state->detail), "%s", what);
	event_active(state->later, EV_TIMEOUT, 0);
}

/* The link is over. */
static void
wiring_mux_on_done(const struct gate_part_said *said, void *context)
{
	char what[256];

	if (strcmp(said->reason, "closed") == 0) {
		wiring_mux_over(context, RESULT_EOF,
		    "the container's init ended without saying so");
		return;
	}
	if (strcmp(said->reason, "refused") == 0) {
		wiring_mux_over(context, RESULT_REFUSED, said->detail);
		return;
	}
	(void)snprintf(what, sizeof(what),
	    "the container's end of the mux link broke the protocol: %s",
	    said->detail);
	wiring_mux_over(context,
	    strcmp(said->reason, "broken") == 0 ? RESULT_BAD : RESULT_SYSTEM,
	    what);
}

/* The daemon's answer, which is one to us as well. */
static void
wiring_mux_on_answer(
    uint64_t id, const char *code, const char *detail, int fd, void *context)
{
	struct wiring *wiring = context;

	(void)id;
	(void)code;
	(void)detail;
	fd_close(&fd);
	if (wiring->handlers.on_joined != NULL)
		wiring->handlers.on_joined(wiring->context);
}

static void
wiring_mux_on_end(const char *detail, void *context)
{
	char what[256];

	(void)snprintf(what, sizeof(what),
	    "the mux link to the container is gone: %s", detail);
	wiring_mux_over(context, RESULT_EOF, what);
}

static int
wiring_mux_log(void)
{
	struct json_fault fault = {""};
	char home[STATE_DIR_PATH_MAX];
	int fd = -1;

	if (config_home(home, sizeof(home), &fault) != RESULT_OK ||
	    log_files_open(home, "agentnode-gate", &fd, &fault) != RESULT_OK)
		log_event(LOG_WARN_LEVEL, "log_file",
		    LOG_TEXT("name", "agentnode-gate"),
		    LOG_TEXT("detail", fault.text));
	return fd;
}

static enum result
wiring_mux_start_gate(struct wiring *wiring)
{
	static const struct gate_part_handlers handlers = {
	    .on_done = wiring_mux_on_done,
	    .on_end = wiring_mux_on_end,
	    .on_answer = wiring_mux_on_answer};
	static const char *const names[] = {
	    "link_in", "link_out", "control", "stdin", "stdout", "stderr"};
	struct gate_part_stream streams[WIRING_MUX_STREAMS];
	struct wiring_mux_state *state = wiring->state;
	const char *sandbox = wiring->handlers.sandbox == NULL
				  ? ""
				  : wiring->handlers.sandbox(wiring->context);
	json_t *options = json_pack("{s:s, s:b, s:b}", "mode", "mux",
	    "no_landlock", wiring->setup.landlock_required == 0, "attach",
	    state->by_daemon);
	int log_fd FD_CLEANUP = wiring_mux_log();

	for (unsigned i = 0; i < WIRING_MUX_STREAMS; i++)
		streams[i] =
		    (struct gate_part_stream){names[i], &state->streams[i]};
	if (options == NULL || log_fd < 0) {
		json_decref(options);
		return RESULT_SYSTEM;
	}
	return gate_part_start(wiring->base, sandbox, options, log_fd, streams,
	    WIRING_MUX_STREAMS, &handlers, wiring, &state->gate);
}

/* Both directions of one connection, and a copy until it is asked. */
static enum result
wiring_mux_connect(struct wiring_mux_state *state, const char *daemon)
{
	state->by_daemon = true;
	if (docker_attach_connect(daemon, &state->daemon) != RESULT_OK)
		return RESULT_SYSTEM;
	for (unsigned i = WIRING_MUX_IN; i <= WIRING_MUX_OUT; i++) {
		state->streams[i] = fcntl(state->daemon, F_DUPFD_CLOEXEC, 3);
		if (state->streams[i] < 0)
			return RESULT_SYSTEM;
	}
	return RESULT_OK;
}

static enum result
wiring_mux_pipes(struct wiring_mux_state *state)
{
	int down[2], up[2], tether[2];

	if (pipe2(down, O_CLOEXEC) != 0)
		return RESULT_SYSTEM;
	state->client_in = down[0];
	state->streams[WIRING_MUX_OUT] = down[1];
	if (pipe2(up, O_CLOEXEC) != 0)
		return RESULT_SYSTEM;
	state->client_out = up[1];
	state->streams[WIRING_MUX_IN] = up[0];
	/* Where no descriptor is passed, nobody could hold it. */
	if (state->by_volume)
		return RESULT_OK;
	if (fd_socketpair(tether) != RESULT_OK)
		return RESULT_SYSTEM;
	state->tether = tether[0];
	state->tether_inside = tether[1];
	return RESULT_OK;
}

/* A memfd that the engine passes on, or a file in a volume. */
static enum result
wiring_mux_program(struct wiring_mux_state *state,
    const struct wiring_place *place, char *detail_r, size_t size)
{
	int dir FD_CLEANUP = -1;
	enum result result;

	if (!state->by_volume)
		return wiring_fd_program(&state->program, detail_r, size);
	result = wiring_volume_dir(place->dir, &dir, detail_r, size);
	return result == RESULT_OK ? wiring_volume_program(dir, detail_r, size)
				   : result;
}

static enum result
wiring_mux_open(struct wiring *wiring, const struct wiring_place *place,
    char *detail_r, size_t size)
{
	struct wiring_mux_state *state = calloc(1, sizeof(*state));
	int pair[2];
	enum result result;

	if (state == NULL)
		return RESULT_NO_MEMORY;
	*state = (struct wiring_mux_state){.client_in = -1,
	    .client_out = -1,
	    .daemon = -1,
	    .program = -1,
	    .tether = -1,
	    .tether_inside = -1};
	for (unsigned i = 0; i < WIRING_MUX_STREAMS; i++)
		state->streams[i] = -1;
	wiring->state = state;
	state->by_volume =
	    place != NULL && (place->dir != NULL || place->program_is_there);
	result = place != NULL && place->program_is_there
		     ? RESULT_OK
		     : wiring_mux_program(state, place, detail_r, size);
	if (result != RESULT_OK)
		return result;
	(void)snprintf(detail_r, size,
	    "agentnode-gate cannot be started for the mux wiring");
	state->later =
	    event_new(wiring->base, -1, 0, wiring_mux_on_later, wiring);
	result = place != NULL && place->daemon != NULL
		     ? wiring_mux_connect(state, place->daemon)
		     : wiring_mux_pipes(state);
	if (state->later == NULL || result != RESULT_OK ||
	    fd_socketpair(pair) != RESULT_OK)
		return RESULT_SYSTEM;
	state->streams[WIRING_MUX_CONTROL] = pair[1];
	result = wiring_attach(wiring, pair[0]);
	if (result == RESULT_OK)
		result = wiring_mux_start_gate(wiring);
	if (result == RESULT_OK)
		detail_r[0] = '\0';
	return result;
}

/* The tether and init's program go where they go with WIRING_FD, so that
 * who holds them is found the same way (holder_kill.h). */
static enum result
wiring_mux_pass(
    struct wiring *wiring, const int streams[3], struct wiring_pass *pass_r)
{
	struct wiring_mux_state *state = wiring->state;

	if (state->client_in < 0 && !state->by_daemon)
		return RESULT_INTERNAL;
	for (unsigned i = 0; i < 3; i++) {
		int copy =
		    streams[i] < 0 ? -1 : fcntl(streams[i], F_DUPFD_CLOEXEC, 3);

		if (streams[i] >= 0 && copy < 0)
			return RESULT_SYSTEM;
		state->streams[WIRING_MUX_STDIN + i] = copy;
	}
	pass_r->stdin_fd = state->client_in;
	pass_r->stdout_fd = state->client_out;
	if (state->by_volume)
		return RESULT_OK;
	pass_r->count = WIRING_MUX_FDS;
	pass_r->fds[INIT_CONTROL_FD - 3] = state->tether_inside;
	pass_r->fds[INIT_PROGRAM_FD - 3] = state->program;
	return RESULT_OK;
}

static void
wiring_mux_passed(struct wiring *wiring)
{
	struct wiring_mux_state *state = wiring->state;

	fd_close(&state->client_in);
	fd_close(&state->client_out);
	fd_close(&state->program);
	fd_close(&state->tether_inside);
}

static ino_t
wiring_mux_socket(const struct wiring *wiring)
{
	const struct wiring_mux_state *state = wiring->state;
	struct stat info;

	return state->tether_inside >= 0 &&
		       fstat(state->tether_inside, &info) == 0
		   ? info.st_ino
		   : 0;
}

static enum result
wiring_mux_join(struct wiring *wiring, const char *container)
{
	struct wiring_mux_state *state = wiring->state;
	enum result result = state->daemon < 0
				 ? RESULT_INTERNAL
				 : docker_attach_ask(state->daemon, container);

	fd_close(&state->daemon);
	return result;
}

static void
wiring_mux_close(struct wiring *wiring)
{
	struct wiring_mux_state *state = wiring->state;

	if (state == NULL)
		return;
	gate_part_free(&state->gate);
	wiring_mux_passed(wiring);
	fd_close(&state->tether);
	fd_close(&state->daemon);
	for (unsigned i = 0; i < WIRING_MUX_STREAMS; i++)
		fd_close(&state->streams[i]);
	if (state->later != NULL)
		event_free(state->later);
	free(state);
}

const struct wiring_way wiring_mux = {
    .far = true,
    .open = wiring_mux_open,
    .pass = wiring_mux_pass,
    .passed = wiring_mux_passed,
    .socket = wiring_mux_socket,
    .join = wiring_mux_join,
    .close = wiring_mux_close,
};
