/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way in through a volume that is mounted read-only inside: init itself
 * as a file there, and a socket to which it connects, once. Called by
 * wiring.c; must never run an init that is not ours, nor take a connection
 * of another user or a second one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/engine/wiring_way.h"

#define WIRING_VOLUME_SOCKET "control"
#define WIRING_VOLUME_PROGRAM "init"
#define WIRING_VOLUME_ASIDE "init.new"
#define WIRING_VOLUME_PROGRAM_MAX (16U << 20)

struct wiring_volume_state {
	int dir;
	int listener;   /* until somebody connected */
	int streams[3]; /* until they were sent */
	uint32_t uid;
	struct event *event;
};

static enum result
wiring_volume_fault(char *detail_r, size_t size, const char *what)
{
	(void)snprintf(detail_r, size,
	    "the volume of the control socket: cannot %s: %s", what,
	    strerror(errno));
	return RESULT_SYSTEM;
}

/* The folder, and that nobody but root can write there. */
enum result
wiring_volume_dir(const char *path, int *dir_r, char *detail_r, size_t size)
{
	struct stat info;

	*dir_r = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*dir_r < 0 || fstat(*dir_r, &info) != 0)
		return wiring_volume_fault(detail_r, size, "look at it");
	if (info.st_uid == geteuid() && (info.st_mode & 022U) == 0)
		return RESULT_OK;
	(void)snprintf(detail_r, size,
	    "%s must be a folder of root's that nobody else can write", path);
	return RESULT_REFUSED;
}

/* True when the file there holds exactly these bytes, and is nobody else's
 * to change. */
static bool
wiring_volume_holds(int dir, const char *bytes, size_t len)
{
	int fd FD_CLEANUP = openat(
	    dir, WIRING_VOLUME_PROGRAM, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat info;
	char *there = NULL;
	size_t got = 0;
	bool same;

	if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) ||
	    info.st_uid != geteuid() || (info.st_mode & 07777) != 0555 ||
	    info.st_nlink != 1 || (size_t)info.st_size != len ||
	    fd_read_all(fd, len + 1, &there, &got) != RESULT_OK)
		return false;
	same = got == len && memcmp(there, bytes, len) == 0;
	free(there);
	return same;
}

/* init, byte for byte ours: compared at every start, written anew when it
 * differs. */
enum result
wiring_volume_program(int dir, char *detail_r, size_t size)
{
	char *bytes = NULL;
	size_t len = 0;
	int own FD_CLEANUP = -1, fd FD_CLEANUP = -1;
	enum result result = wiring_program(&own, detail_r, size);

	if (result != RESULT_OK)
		return result;
	result = fd_read_all(own, WIRING_VOLUME_PROGRAM_MAX, &bytes, &len);
	if (result != RESULT_OK || wiring_volume_holds(dir, bytes, len)) {
		free(bytes);
		return result;
	}
	(void)unlinkat(dir, WIRING_VOLUME_ASIDE, 0);
	fd = openat(dir, WIRING_VOLUME_ASIDE,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0500);
	if (fd < 0 || fd_write_all(fd, bytes, len) != RESULT_OK ||
	    fchmod(fd, 0555) != 0 ||
	    renameat(dir, WIRING_VOLUME_ASIDE, dir, WIRING_VOLUME_PROGRAM) != 0)
		result = wiring_volume_fault(detail_r, size, "write init");
	free(bytes);
	return result;
}

/* A path in the folder can be longer than a socket's address; the folder's
 * descriptor is not. */
static enum result
wiring_volume_listen(
    struct wiring_volume_state *state, char *detail_r, size_t size)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int on = 1;

	(void)snprintf(address.sun_path, sizeof(address.sun_path),
	    "/proc/self/fd/%d/" WIRING_VOLUME_SOCKET, state->dir);
	(void)unlinkat(state->dir, WIRING_VOLUME_SOCKET, 0);
	state->listener =
	    socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	/* Of the listener too: a first word may be there before accept. */
	if (state->listener < 0 ||
	    setsockopt(state->listener, SOL_SOCKET, SO_PASSCRED, &on,
		sizeof(on)) != 0 ||
	    bind(state->listener, (const struct sockaddr *)&address,
		sizeof(address)) != 0 ||
	    fchownat(state->dir, WIRING_VOLUME_SOCKET, state->uid, state->uid,
		AT_SYMLINK_NOFOLLOW) != 0 ||
	    fchmodat(state->dir, WIRING_VOLUME_SOCKET, 0600, 0) != 0 ||
	    listen(state->listener, 1) != 0)
		return wiring_volume_fault(detail_r, size, "make the socket");
	return RESULT_OK;
}

static void
wiring_volume_quiet(struct wiring_volume_state *state)
{
	if (state->event != NULL)
		event_free(state->event);
	state->event = NULL;
	fd_close(&state->listener);
	if (state->dir >= 0)
		(void)unlinkat(state->dir, WIRING_VOLUME_SOCKET, 0);
	fd_close(&state->dir);
}

static enum result
wiring_volume_send_streams(struct wiring *wiring, int control)
{
	struct wiring_volume_state *state = wiring->state;
	enum result result;

	wiring->control = control;
	result = wiring_send_streams(wiring, state->streams);
	for (size_t i = 0; i < 3; i++)
		fd_close(&state->streams[i]);
	return result;
}

/* Somebody connected, or nobody any more. */
static void
wiring_volume_on_connect(evutil_socket_t listener, short what, void *context)
{
	struct wiring *wiring = context;
	struct wiring_volume_state *state = wiring->state;
	struct ucred peer = {0};
	socklen_t size = sizeof(peer);
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	enum result result;

	(void)what;
	if (fd < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* Whoever it was, there is no second one. */
	wiring_volume_quiet(state);
	if (fd < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
	    peer.pid <= 0 || peer.uid != state->uid || peer.gid != state->uid) {
		fd_close(&fd);
		wiring_end(wiring, RESULT_MISMATCH,
		    "something that is not the sandbox's init connected to "
		    "its control socket");
		return;
	}
	wiring->peer = peer.pid;
	result = wiring_volume_send_streams(wiring, fd);
	if (result == RESULT_OK)
		result = wiring_attach(wiring, fd);
	if (result != RESULT_OK)
		wiring_end(wiring, RESULT_BAD,
		    "the container's init cannot be spoken to");
}

static enum result
wiring_volume_open(struct wiring *wiring, const struct wiring_place *place,
    char *detail_r, size_t size)
{
	struct wiring_volume_state *state = calloc(1, sizeof(*state));
	enum result result;

	if (state == NULL)
		return RESULT_NO_MEMORY;
	*state = (struct wiring_volume_state){
	    .dir = -1, .listener = -1, .streams = {-1, -1, -1}};
	wiring->state = state;
	if (place == NULL)
		return RESULT_INTERNAL;
	state->uid = place->uid;
	result = wiring_volume_dir(place->dir, &state->dir, detail_r, size);
	if (result == RESULT_OK)
		result = wiring_volume_program(state->dir, detail_r, size);
	if (result == RESULT_OK)
		result = wiring_volume_listen(state, detail_r, size);
	if (result != RESULT_OK)
		return result;
	state->event = event_new(wiring->base, state->listener,
	    EV_READ | EV_PERSIST, wiring_volume_on_connect, wiring);
	if (state->event == NULL || event_add(state->event, NULL) != 0)
		return RESULT_NO_MEMORY;
	return RESULT_OK;
}

/* They are sent when init connects: copies are kept until then. */
static enum result
wiring_volume_pass(
    struct wiring *wiring, const int streams[3], struct wiring_pass *pass_r)
{
	struct wiring_volume_state *state = wiring->state;

	(void)pass_r; /* the client gets nothing */
	for (size_t i = 0; i < 3; i++) {
		state->streams[i] = streams[i] >= 0
					? fcntl(streams[i], F_DUPFD_CLOEXEC, 0)
					: open("/dev/null", O_RDWR | O_CLOEXEC);
		if (state->streams[i] < 0)
			return RESULT_SYSTEM;
	}
	return RESULT_OK;
}

static void
wiring_volume_passed(struct wiring *wiring)
{
	(void)wiring; /* nothing was passed */
}

static ino_t
wiring_volume_socket(const struct wiring *wiring)
{
	(void)wiring;
	return 0; /* init makes its end itself */
}

static void
wiring_volume_close(struct wiring *wiring)
{
	struct wiring_volume_state *state = wiring->state;

	if (state == NULL)
		return;
	wiring_volume_quiet(state);
	for (size_t i = 0; i < 3; i++)
		fd_close(&state->streams[i]);
	free(state);
}

const struct wiring_way wiring_volume = {
    .open = wiring_volume_open,
    .pass = wiring_volume_pass,
    .passed = wiring_volume_passed,
    .socket = wiring_volume_socket,
    .close = wiring_volume_close,
};
