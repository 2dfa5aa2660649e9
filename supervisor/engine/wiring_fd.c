/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's end of init's control socket. Called by the sandbox's
 * story and the probe; must never read a record of another size, from
 * another process, or out of order.
 */
#include "supervisor/engine/wiring_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/child.h"
#include "supervisor/engine/listener_check.h"

#define WIRING_FD_PROGRAM_MAX (16U << 20)
#define WIRING_FD_DETAIL_MAX 256U

/* What init may say next. */
enum wiring_fd_phase {
	WIRING_FD_HELLO,     /* nothing heard yet */
	WIRING_FD_LISTENERS, /* listeners in order, then the report */
	WIRING_FD_TALK,      /* records without descriptors */
	WIRING_FD_ENDED
};

struct wiring_fd {
	enum wiring_fd_phase phase;
	int control; /* our end */
	int inside;  /* init's end, until passed */
	int program; /* init itself, until passed */
	int null_fd; /* for streams nobody wants */
	pid_t init;
	struct event *event;
	uint32_t next; /* listener expected next */
	struct listener_space space;
	struct init_setup setup;
	struct wiring_fd_handlers handlers;
	void *context;
};

/* One datagram. */
struct wiring_fd_datagram {
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
wiring_fd_step(uint32_t step)
{
	static const char *const texts[] = {"at an unknown step",
	    "at making itself not dumpable", "at reading its setup",
	    "at making a listener", "at trying the walls",
	    "at writing its report", "at reading go",
	    "at starting the workload", "at moving a tree",
	    "at starting the relay", "at a record it did not expect"};

	return step < sizeof(texts) / sizeof(texts[0]) ? texts[step] : texts[0];
}

/* Nothing follows an end. */
static void
wiring_fd_end(struct wiring_fd *wiring, enum result why, const char *detail)
{
	if (wiring->phase == WIRING_FD_ENDED)
		return;
	wiring->phase = WIRING_FD_ENDED;
	(void)event_del(wiring->event);
	wiring->handlers.on_end(why, detail, wiring->context);
}

static void
wiring_fd_bad(struct wiring_fd *wiring, const char *what)
{
	char detail[WIRING_FD_DETAIL_MAX];

	(void)snprintf(detail, sizeof(detail),
	    "the container's init broke its protocol: %s", what);
	wiring_fd_end(wiring, RESULT_BAD, detail);
}

static int
wiring_fd_take(struct wiring_fd_datagram *datagram)
{
	int fd = datagram->fds[0];

	datagram->fds[0] = -1;
	return fd;
}

static void
wiring_fd_on_hello(
    struct wiring_fd *wiring, const struct wiring_fd_datagram *datagram)
{
	char detail[WIRING_FD_DETAIL_MAX];

	wiring->init = datagram->pid;
	if (listener_check_space(datagram->pid, &wiring->space, detail,
		sizeof(detail)) != RESULT_OK) {
		wiring_fd_end(wiring, RESULT_MISMATCH, detail);
		return;
	}
	wiring->phase = WIRING_FD_LISTENERS;
	wiring->handlers.on_hello(datagram->pid, wiring->context);
}

static void
wiring_fd_on_listener(
    struct wiring_fd *wiring, struct wiring_fd_datagram *datagram)
{
	const struct init_listener *want;
	char detail[WIRING_FD_DETAIL_MAX];

	if (datagram->fd_count != 1 ||
	    datagram->body.record.value != wiring->next ||
	    wiring->next >= wiring->setup.listener_count) {
		wiring_fd_bad(wiring, "a listener that was not asked for");
		return;
	}
	want = &wiring->setup.listeners[wiring->next];
	if (listener_check(datagram->fds[0], want->address, want->port,
		&wiring->space, detail, sizeof(detail)) != RESULT_OK) {
		wiring_fd_end(wiring, RESULT_MISMATCH, detail);
		return;
	}
	wiring->next++;
	wiring->handlers.on_listener(datagram->body.record.value,
	    wiring_fd_take(datagram), wiring->context);
}

static void
wiring_fd_on_report(
    struct wiring_fd *wiring, struct wiring_fd_datagram *datagram)
{
	if (datagram->fd_count != 1 || !fd_is_sealed(datagram->fds[0])) {
		wiring_fd_bad(wiring, "a report that is not a sealed memfd");
		return;
	}
	if (wiring->next != wiring->setup.listener_count) {
		wiring_fd_bad(wiring, "a report before all listeners");
		return;
	}
	wiring->phase = WIRING_FD_TALK;
	wiring->handlers.on_report(wiring_fd_take(datagram), wiring->context);
}

static void
wiring_fd_on_failed(struct wiring_fd *wiring, const struct init_record *record)
{
	char detail[WIRING_FD_DETAIL_MAX];

	(void)snprintf(detail, sizeof(detail),
	    "the container's init failed %s: %s", wiring_fd_step(record->step),
	    strerror((int)record->value));
	wiring_fd_end(wiring, RESULT_SYSTEM, detail);
}

/* A record that is allowed in this phase goes to its handler. */
static void
wiring_fd_dispatch(
    struct wiring_fd *wiring, struct wiring_fd_datagram *datagram)
{
	const struct init_record *record = &datagram->body.record;
	bool first = wiring->phase == WIRING_FD_HELLO;
	bool talk = wiring->phase == WIRING_FD_TALK;

	if (first && record->type == INIT_HELLO && datagram->fd_count == 0)
		wiring_fd_on_hello(wiring, datagram);
	else if (!first && datagram->pid != wiring->init)
		wiring_fd_bad(wiring, "a record of another process");
	else if (record->type == INIT_FAILED && datagram->fd_count == 0)
		wiring_fd_on_failed(wiring, record);
	else if (wiring->phase == WIRING_FD_LISTENERS &&
		 record->type == INIT_LISTENER)
		wiring_fd_on_listener(wiring, datagram);
	else if (wiring->phase == WIRING_FD_LISTENERS &&
		 record->type == INIT_REPORT)
		wiring_fd_on_report(wiring, datagram);
	else if (datagram->fd_count != 0)
		wiring_fd_bad(wiring, "a descriptor after its report");
	else if (talk && record->type == INIT_STATUS &&
		 datagram->len == sizeof(struct init_status))
		wiring->handlers.on_status(
		    &datagram->body.status, wiring->context);
	else if (talk && (record->type == INIT_IMPORTED ||
			     record->type == INIT_EXPORTED))
		wiring->handlers.on_tree(record->type == INIT_EXPORTED,
		    (int)record->value, wiring->context);
	else
		wiring_fd_bad(wiring, "a record out of order");
}

/* One datagram off the socket; false when there is none. */
static bool
wiring_fd_receive(struct wiring_fd *wiring, struct wiring_fd_datagram *datagram)
{
	enum result result = fd_receive_pid(wiring->control, &datagram->body,
	    sizeof(datagram->body), &datagram->len, datagram->fds, FD_PASS_MAX,
	    &datagram->fd_count, &datagram->pid);

	if (result == RESULT_OK)
		return true;
	if (result == RESULT_EOF || result == RESULT_CLOSED)
		wiring_fd_end(wiring, RESULT_EOF,
		    "the container's init ended without saying so");
	else if (result != RESULT_NEED_MORE)
		wiring_fd_bad(wiring, "a record that cannot be received");
	return false;
}

static void
wiring_fd_on_readable(evutil_socket_t fd, short what, void *context)
{
	struct wiring_fd *wiring = context;
	struct wiring_fd_datagram datagram = {0};
	const struct init_record *record = &datagram.body.record;

	(void)fd;
	(void)what;
	if (!wiring_fd_receive(wiring, &datagram))
		return;
	if ((datagram.len != sizeof(struct init_record) &&
		datagram.len != sizeof(struct init_status)) ||
	    record->magic != INIT_MAGIC ||
	    record->version != INIT_PROTOCOL_VERSION || datagram.pid <= 0)
		wiring_fd_bad(wiring, "a record of another size or version");
	else
		wiring_fd_dispatch(wiring, &datagram);
	/* wiring may be gone here; the datagram is ours. */
	for (size_t i = 0; i < datagram.fd_count; i++)
		fd_close(&datagram.fds[i]);
}

static enum result
wiring_fd_program(int *fd_r, char *detail_r, size_t size)
{
	char path[PATH_MAX], *bytes = NULL;
	size_t len = 0;
	enum result result;
	int fd FD_CLEANUP = -1;

	result = child_program_path("agentnode-init", path, sizeof(path));
	if (result == RESULT_OK)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		(void)snprintf(detail_r, size,
		    "agentnode-init is not installed beside agentnode");
		return RESULT_NOT_FOUND;
	}
	result = fd_read_all(fd, WIRING_FD_PROGRAM_MAX, &bytes, &len);
	if (result == RESULT_OK)
		result = fd_sealed_memfd("agentnode-init", bytes, len, fd_r);
	free(bytes);
	if (result != RESULT_OK)
		(void)snprintf(detail_r, size, "cannot load agentnode-init: %s",
		    result_text(result));
	return result;
}

static enum result
wiring_fd_open(struct wiring_fd *wiring, char *detail_r, size_t size)
{
	int pair[2], on = 1;
	enum result result =
	    wiring_fd_program(&wiring->program, detail_r, size);

	if (result != RESULT_OK)
		return result;
	(void)snprintf(detail_r, size, "cannot make the control socket");
	wiring->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (wiring->null_fd < 0 || fd_socketpair(pair) != RESULT_OK)
		return RESULT_SYSTEM;
	wiring->control = pair[0];
	wiring->inside = pair[1];
	if (setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0)
		return RESULT_SYSTEM;
	if (fd_set_nonblocking(pair[0], true) != RESULT_OK)
		return RESULT_SYSTEM;
	result = fd_send(
	    wiring->control, &wiring->setup, sizeof(wiring->setup), NULL, 0);
	if (result == RESULT_OK)
		detail_r[0] = '\0';
	return result;
}

enum result
wiring_fd_new(struct event_base *base, const struct init_setup *setup,
    const struct wiring_fd_handlers *handlers, void *context,
    struct wiring_fd **wiring_r, char *detail_r, size_t detail_size)
{
	struct wiring_fd *wiring = calloc(1, sizeof(*wiring));
	enum result result;

	*wiring_r = NULL;
	if (wiring == NULL)
		return RESULT_NO_MEMORY;
	*wiring = (struct wiring_fd){.phase = WIRING_FD_HELLO,
	    .control = -1,
	    .inside = -1,
	    .program = -1,
	    .null_fd = -1,
	    .setup = *setup,
	    .handlers = *handlers,
	    .context = context};
	result = wiring_fd_open(wiring, detail_r, detail_size);
	if (result == RESULT_OK) {
		wiring->event = event_new(base, wiring->control,
		    EV_READ | EV_PERSIST, wiring_fd_on_readable, wiring);
		if (wiring->event == NULL ||
		    event_add(wiring->event, NULL) != 0)
			result = RESULT_NO_MEMORY;
	}
	if (result != RESULT_OK) {
		wiring_fd_free(&wiring);
		return result;
	}
	*wiring_r = wiring;
	return RESULT_OK;
}

enum result
wiring_fd_pass(struct wiring_fd *wiring, int stdin_fd, int stdout_fd,
    int stderr_fd, int *fds_r)
{
	if (wiring->inside < 0)
		return RESULT_INTERNAL;
	fds_r[INIT_CONTROL_FD - 3] = wiring->inside;
	fds_r[INIT_PROGRAM_FD - 3] = wiring->program;
	fds_r[INIT_STDIN_FD - 3] = stdin_fd >= 0 ? stdin_fd : wiring->null_fd;
	fds_r[INIT_STDOUT_FD - 3] =
	    stdout_fd >= 0 ? stdout_fd : wiring->null_fd;
	fds_r[INIT_STDERR_FD - 3] =
	    stderr_fd >= 0 ? stderr_fd : wiring->null_fd;
	return RESULT_OK;
}

ino_t
wiring_fd_socket(const struct wiring_fd *wiring)
{
	struct stat info;

	return fstat(wiring->inside, &info) == 0 ? info.st_ino : 0;
}

void
wiring_fd_passed(struct wiring_fd *wiring)
{
	fd_close(&wiring->inside);
	fd_close(&wiring->program);
	fd_close(&wiring->null_fd);
}

static struct init_record
wiring_fd_record(enum init_type type)
{
	return (struct init_record){.magic = INIT_MAGIC,
	    .version = INIT_PROTOCOL_VERSION,
	    .type = (uint32_t)type};
}

enum result
wiring_fd_send_tree(
    struct wiring_fd *wiring, const struct wiring_fd_tree *tree, int fd)
{
	struct init_tree job = {.record = wiring_fd_record(tree->type),
	    .max_bytes = tree->max_bytes,
	    .max_files = tree->max_files,
	    .max_file = tree->max_file};
	int len = snprintf(job.path, sizeof(job.path), "%s", tree->path);

	if (len < 0 || (size_t)len >= sizeof(job.path))
		return RESULT_TOO_LONG;
	return fd_send(wiring->control, &job, sizeof(job), &fd, 1);
}

enum result
wiring_fd_send_go(struct wiring_fd *wiring, int go_fd, int secret_fd)
{
	struct init_record record = wiring_fd_record(INIT_GO);
	int fds[2] = {go_fd, secret_fd};

	return fd_send(wiring->control, &record, sizeof(record), fds,
	    secret_fd >= 0 ? 2 : 1);
}

enum result
wiring_fd_send_kill(struct wiring_fd *wiring)
{
	struct init_record record = wiring_fd_record(INIT_KILL);

	return fd_send(wiring->control, &record, sizeof(record), NULL, 0);
}

enum result
wiring_fd_send_bye(struct wiring_fd *wiring)
{
	struct init_record record = wiring_fd_record(INIT_BYE);

	return fd_send(wiring->control, &record, sizeof(record), NULL, 0);
}

void
wiring_fd_free(struct wiring_fd **wiring)
{
	struct wiring_fd *gone = *wiring;

	if (gone == NULL)
		return;
	*wiring = NULL;
	if (gone->event != NULL)
		event_free(gone->event);
	fd_close(&gone->control);
	wiring_fd_passed(gone);
	free(gone);
}
