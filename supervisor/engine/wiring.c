/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's end of init's control socket, whatever the way it came
 * about. Called by the sandbox's story and the probe; must never read a
 * record of another size, from another process, or out of order.
 */
#include "supervisor/engine/wiring.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/fd.h"
#include "supervisor/child.h"
#include "supervisor/engine/wiring_way.h"

#define WIRING_DETAIL_MAX 256U

/* One datagram. */
struct wiring_datagram {
	union {
		struct init_record record;
		struct init_status status;
	} body;
	size_t len;
	pid_t pid;
	int fds[FD_PASS_MAX];
	size_t fd_count;
};

static const char *
wiring_step(uint32_t step)
{
	static const char *const texts[] = {"at an unknown step",
	    "at making itself not dumpable", "at reading its setup",
	    "at making a listener", "at trying the walls",
	    "at writing its report", "at reading go",
	    "at starting the workload", "at moving a tree",
	    "at starting the relay", "at a record it did not expect",
	    "at connecting to its supervisor"};

	return step < sizeof(texts) / sizeof(texts[0]) ? texts[step] : texts[0];
}

/* Nothing follows an end. */
void
wiring_end(struct wiring *wiring, enum result why, const char *detail)
{
	if (wiring->phase == WIRING_ENDED)
		return;
	wiring->phase = WIRING_ENDED;
	if (wiring->event != NULL)
		(void)event_del(wiring->event);
	wiring_send_clear(wiring);
	wiring->handlers.on_end(why, detail, wiring->context);
}

static void
wiring_bad(struct wiring *wiring, const char *what)
{
	char detail[WIRING_DETAIL_MAX];

	(void)snprintf(detail, sizeof(detail),
	    "the container's init broke its protocol: %s", what);
	wiring_end(wiring, RESULT_BAD, detail);
}

static int
wiring_take(struct wiring_datagram *datagram)
{
	int fd = datagram->fds[0];

	datagram->fds[0] = -1;
	return fd;
}

static void
wiring_on_hello(struct wiring *wiring, const struct wiring_datagram *datagram)
{
	char detail[WIRING_DETAIL_MAX];

	if (wiring->peer != 0 && wiring->peer != datagram->pid) {
		wiring_bad(wiring, "a first word of another process");
		return;
	}
	wiring->init = datagram->pid;
	if (!wiring->way->far &&
	    listener_check_space(datagram->pid, &wiring->space, detail,
		sizeof(detail)) != RESULT_OK) {
		wiring_end(wiring, RESULT_MISMATCH, detail);
		return;
	}
	wiring->phase = WIRING_LISTENERS;
	wiring->handlers.on_hello(
	    wiring->way->far ? 0 : datagram->pid, wiring->context);
}

static void
wiring_on_listener(struct wiring *wiring, struct wiring_datagram *datagram)
{
	const struct init_listener *want;
	char detail[WIRING_DETAIL_MAX];

	if (datagram->fd_count != 1 ||
	    datagram->body.record.value != wiring->next ||
	    wiring->next >= wiring->setup.listener_count) {
		wiring_bad(wiring, "a listener that was not asked for");
		return;
	}
	want = &wiring->setup.listeners[wiring->next];
	if (wiring->way->far
		? listener_check_pair(
		      datagram->fds[0], detail, sizeof(detail)) != RESULT_OK
		: listener_check(datagram->fds[0], want->address, want->port,
		      &wiring->space, detail, sizeof(detail)) != RESULT_OK) {
		wiring_end(wiring, RESULT_MISMATCH, detail);
		return;
	}
	wiring->next++;
	wiring->handlers.on_listener(datagram->body.record.value,
	    wiring_take(datagram), wiring->context);
}

static void
wiring_on_report(struct wiring *wiring, struct wiring_datagram *datagram)
{
	if (datagram->fd_count != 1 || !fd_is_sealed(datagram->fds[0])) {
		wiring_bad(wiring, "a report that is not a sealed memfd");
		return;
	}
	if (wiring->next != wiring->setup.listener_count) {
		wiring_bad(wiring, "a report before all listeners");
		return;
	}
	wiring->phase = WIRING_TALK;
	wiring->handlers.on_report(wiring_take(datagram), wiring->context);
}

static void
wiring_on_failed(struct wiring *wiring, const struct init_record *record)
{
	char detail[WIRING_DETAIL_MAX];

	(void)snprintf(detail, sizeof(detail),
	    "the container's init failed %s: %s", wiring_step(record->step),
	    strerror((int)record->value));
	wiring_end(wiring, RESULT_SYSTEM, detail);
}

/* A record that is allowed in this phase goes to its handler. */
static void
wiring_dispatch(struct wiring *wiring, struct wiring_datagram *datagram)
{
	const struct init_record *record = &datagram->body.record;
	bool first = wiring->phase == WIRING_HELLO;
	bool talk = wiring->phase == WIRING_TALK;

	if (first && record->type == INIT_HELLO && datagram->fd_count == 0)
		wiring_on_hello(wiring, datagram);
	else if (!first && datagram->pid != wiring->init)
		wiring_bad(wiring, "a record of another process");
	else if (record->type == INIT_FAILED && datagram->fd_count == 0)
		wiring_on_failed(wiring, record);
	else if (wiring->phase == WIRING_LISTENERS &&
		 record->type == INIT_LISTENER)
		wiring_on_listener(wiring, datagram);
	else if (wiring->phase == WIRING_LISTENERS &&
		 record->type == INIT_REPORT)
		wiring_on_report(wiring, datagram);
	else if (datagram->fd_count != 0)
		wiring_bad(wiring, "a descriptor after its report");
	else if (talk && record->type == INIT_STATUS &&
		 datagram->len == sizeof(struct init_status))
		wiring->handlers.on_status(
		    &datagram->body.status, wiring->context);
	else if (talk && (record->type == INIT_IMPORTED ||
			     record->type == INIT_EXPORTED))
		wiring->handlers.on_tree(record->type == INIT_EXPORTED,
		    (int)record->value, wiring->context);
	else
		wiring_bad(wiring, "a record out of order");
}

/* One datagram off the socket; false when there is none. */
static bool
wiring_receive(struct wiring *wiring, struct wiring_datagram *datagram)
{
	enum result result = fd_receive_pid(wiring->control, &datagram->body,
	    sizeof(datagram->body), &datagram->len, datagram->fds, FD_PASS_MAX,
	    &datagram->fd_count, &datagram->pid);

	if (result == RESULT_OK)
		return true;
	/* What speaks for init says how it ended. */
	if (wiring->way->far &&
	    (result == RESULT_EOF || result == RESULT_CLOSED))
		(void)event_del(wiring->event);
	else if (result == RESULT_EOF || result == RESULT_CLOSED)
		wiring_end(wiring, RESULT_EOF,
		    "the container's init ended without saying so");
	else if (result != RESULT_NEED_MORE)
		wiring_bad(wiring, "a record that cannot be received");
	return false;
}

static void
wiring_on_readable(evutil_socket_t fd, short what, void *context)
{
	struct wiring *wiring = context;
	struct wiring_datagram datagram = {0};
	const struct init_record *record = &datagram.body.record;

	(void)fd;
	(void)what;
	if (!wiring_receive(wiring, &datagram))
		return;
	if ((datagram.len != sizeof(struct init_record) &&
		datagram.len != sizeof(struct init_status)) ||
	    record->magic != INIT_MAGIC ||
	    record->version != INIT_PROTOCOL_VERSION || datagram.pid <= 0)
		wiring_bad(wiring, "a record of another size or version");
	else
		wiring_dispatch(wiring, &datagram);
	/* wiring may be gone here; the datagram is ours. */
	for (size_t i = 0; i < datagram.fd_count; i++)
		fd_close(&datagram.fds[i]);
}

/* ---- init itself ---- */

enum result
wiring_program(int *fd_r, char *detail_r, size_t detail_size)
{
	char path[PATH_MAX];
	enum result result =
	    child_program_path("agentnode-init", path, sizeof(path));

	*fd_r = result == RESULT_OK ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (*fd_r >= 0)
		return RESULT_OK;
	(void)snprintf(detail_r, detail_size,
	    "agentnode-init is not installed beside agentnode");
	return RESULT_NOT_FOUND;
}

/* ---- the socket ---- */

static const struct wiring_way *
wiring_way(enum wiring_kind kind)
{
	switch (kind) {
	case WIRING_FD:
		return &wiring_fd;
	case WIRING_MUX:
		return &wiring_mux;
	case WIRING_VOLUME:
		return &wiring_volume;
	}
	return NULL;
}

const char *
wiring_name(enum wiring_kind kind)
{
	switch (kind) {
	case WIRING_FD:
		return "fd";
	case WIRING_VOLUME:
		return "volume";
	case WIRING_MUX:
		break;
	}
	return "mux";
}

enum result
wiring_attach(struct wiring *wiring, int control)
{
	int on = 1;

	wiring->control = control;
	if (setsockopt(control, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) !=
		0 ||
	    fd_set_nonblocking(control, true) != RESULT_OK)
		return RESULT_SYSTEM;
	wiring->event = event_new(wiring->base, control, EV_READ | EV_PERSIST,
	    wiring_on_readable, wiring);
	if (wiring->event == NULL || event_add(wiring->event, NULL) != 0)
		return RESULT_NO_MEMORY;
	return wiring_send(
	    wiring, &wiring->setup, sizeof(wiring->setup), NULL, 0);
}

enum result
wiring_new(struct event_base *base, enum wiring_kind kind,
    const struct wiring_place *place, const struct init_setup *setup,
    const struct wiring_handlers *handlers, void *context,
    struct wiring **wiring_r, char *detail_r, size_t detail_size)
{
	struct wiring *wiring = calloc(1, sizeof(*wiring));
	enum result result;

	*wiring_r = NULL;
	if (wiring == NULL)
		return RESULT_NO_MEMORY;
	*wiring = (struct wiring){.base = base,
	    .way = wiring_way(kind),
	    .phase = WIRING_HELLO,
	    .control = -1,
	    .setup = *setup,
	    .handlers = *handlers,
	    .context = context};
	result = wiring->way->open(wiring, place, detail_r, detail_size);
	if (result != RESULT_OK) {
		wiring_free(&wiring);
		return result;
	}
	*wiring_r = wiring;
	return RESULT_OK;
}

enum result
wiring_pass(
    struct wiring *wiring, const int streams[3], struct wiring_pass *pass_r)
{
	*pass_r = (struct wiring_pass){.stdin_fd = -1, .stdout_fd = -1};
	return wiring->way->pass(wiring, streams, pass_r);
}

void
wiring_passed(struct wiring *wiring)
{
	wiring->way->passed(wiring);
}

ino_t
wiring_socket(const struct wiring *wiring)
{
	return wiring->way->socket(wiring);
}

enum result
wiring_join(struct wiring *wiring, const char *container)
{
	return wiring->way->join == NULL ? RESULT_INTERNAL
					 : wiring->way->join(wiring, container);
}

void
wiring_free(struct wiring **wiring)
{
	struct wiring *gone = *wiring;

	if (gone == NULL)
		return;
	*wiring = NULL;
	if (gone->event != NULL)
		event_free(gone->event);
	wiring_send_clear(gone);
	fd_close(&gone->control);
	gone->way->close(gone);
	free(gone);
}
