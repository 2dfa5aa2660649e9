/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way in by inherited descriptors: a socket pair, init itself as a
 * sealed memfd, the workload's streams. Called by wiring.c; must never
 * leave init's end open here once the engine has it: its closing is how
 * the end of the container is seen.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/engine/wiring_way.h"

#define WIRING_FD_PROGRAM_MAX (16U << 20)
#define WIRING_FD_SEALS \
	(F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

struct wiring_fd_state {
	int inside;  /* init's end, until passed */
	int program; /* init itself, until passed */
	int null_fd; /* for streams nobody wants */
};

static enum result
wiring_fd_fill(int to, int from)
{
	size_t size = 0;
	ssize_t got;

	do {
		got = sendfile(to, from, NULL, WIRING_FD_PROGRAM_MAX - size);
		size += got > 0 ? (size_t)got : 0;
	} while ((got > 0 && size < WIRING_FD_PROGRAM_MAX) ||
		 (got < 0 && errno == EINTR));
	if (got > 0)
		return RESULT_TOO_LONG;
	return got == 0 && fcntl(to, F_ADD_SEALS, WIRING_FD_SEALS) == 0
		   ? RESULT_OK
		   : RESULT_SYSTEM;
}

/* A copy in memory that nobody can change, made without one of ours. */
static enum result
wiring_fd_copy(int from, int *fd_r)
{
	int to =
	    memfd_create("agentnode-init", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	enum result result = to < 0 ? RESULT_SYSTEM : wiring_fd_fill(to, from);

	if (result != RESULT_OK)
		fd_close(&to);
	*fd_r = to;
	return result;
}

enum result
wiring_fd_program(int *fd_r, char *detail_r, size_t size)
{
	int fd FD_CLEANUP = -1;
	enum result result = wiring_program(&fd, detail_r, size);

	if (result != RESULT_OK)
		return result;
	result = wiring_fd_copy(fd, fd_r);
	if (result != RESULT_OK)
		(void)snprintf(detail_r, size, "cannot load agentnode-init: %s",
		    result_text(result));
	return result;
}

static enum result
wiring_fd_open(struct wiring *wiring, const struct wiring_place *place,
    char *detail_r, size_t size)
{
	struct wiring_fd_state *state = calloc(1, sizeof(*state));
	int pair[2];
	enum result result;

	(void)place;
	if (state == NULL)
		return RESULT_NO_MEMORY;
	*state = (struct wiring_fd_state){-1, -1, -1};
	wiring->state = state;
	result = wiring_fd_program(&state->program, detail_r, size);
	if (result != RESULT_OK)
		return result;
	(void)snprintf(detail_r, size, "cannot make the control socket");
	state->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (state->null_fd < 0 || fd_socketpair(pair) != RESULT_OK)
		return RESULT_SYSTEM;
	state->inside = pair[1];
	result = wiring_attach(wiring, pair[0]);
	if (result == RESULT_OK)
		detail_r[0] = '\0';
	return result;
}

static enum result
wiring_fd_pass(
    struct wiring *wiring, const int streams[3], struct wiring_pass *pass_r)
{
	const struct wiring_fd_state *state = wiring->state;

	if (state->inside < 0)
		return RESULT_INTERNAL;
	pass_r->count = INIT_FD_COUNT;
	pass_r->fds[INIT_CONTROL_FD - 3] = state->inside;
	pass_r->fds[INIT_PROGRAM_FD - 3] = state->program;
	for (int i = 0; i < 3; i++)
		pass_r->fds[INIT_STDIN_FD - 3 + i] =
		    streams[i] >= 0 ? streams[i] : state->null_fd;
	return RESULT_OK;
}

static ino_t
wiring_fd_socket(const struct wiring *wiring)
{
	const struct wiring_fd_state *state = wiring->state;
	struct stat info;

	return fstat(state->inside, &info) == 0 ? info.st_ino : 0;
}

static void
wiring_fd_passed(struct wiring *wiring)
{
	struct wiring_fd_state *state = wiring->state;

	fd_close(&state->inside);
	fd_close(&state->program);
	fd_close(&state->null_fd);
}

static void
wiring_fd_close(struct wiring *wiring)
{
	if (wiring->state == NULL)
		return;
	wiring_fd_passed(wiring);
	free(wiring->state);
}

const struct wiring_way wiring_fd = {
    .open = wiring_fd_open,
    .pass = wiring_fd_pass,
    .passed = wiring_fd_passed,
    .socket = wiring_fd_socket,
    .close = wiring_fd_close,
};
