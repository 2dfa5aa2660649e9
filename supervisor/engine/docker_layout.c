/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `docker cp` of one path, of which no more is read than its tar's first
 * header. Called on the cold path, waited for; must never call a path absent
 * because the daemon failed.
 */
#include "supervisor/engine/docker_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "supervisor/engine/docker_volume.h"
#include "supervisor/engine/engine_call.h"

#define DOCKER_LAYOUT_TIMEOUT_MS 60000U
#define DOCKER_LAYOUT_READ_MS 20000
#define DOCKER_LAYOUT_BLOCKS 256U /* of headers about the next one */

enum result
docker_layout_header(
    const char block[DOCKER_LAYOUT_BLOCK], mode_t *type_r, size_t *skip_r)
{
	static const struct {
		char flag;
		mode_t type;
	} rows[] = {{'0', S_IFREG}, {'\0', S_IFREG}, {'1', S_IFREG},
	    {'2', S_IFLNK}, {'3', S_IFCHR}, {'4', S_IFBLK}, {'5', S_IFDIR},
	    {'6', S_IFIFO}};
	char size[13];

	*type_r = 0;
	*skip_r = 0;
	if (memcmp(block + 257, "ustar", 5) != 0)
		return RESULT_BAD;
	memcpy(size, block + 124, 12);
	size[12] = '\0';
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (block[156] == rows[i].flag)
			*type_r = rows[i].type;
	}
	if (*type_r != 0)
		return RESULT_OK;
	if ((block[156] != 'x' && block[156] != 'g') ||
	    size[strspn(size, "01234567")] > ' ')
		return RESULT_BAD;
	*skip_r = (size_t)(strtoul(size, NULL, 8) + DOCKER_LAYOUT_BLOCK - 1) /
		  DOCKER_LAYOUT_BLOCK;
	return *skip_r <= DOCKER_LAYOUT_BLOCKS ? RESULT_OK : RESULT_BAD;
}

/* One block; RESULT_EOF: nothing came. */
static enum result
docker_layout_block(int fd, char block[DOCKER_LAYOUT_BLOCK])
{
	size_t len = 0;

	while (len < DOCKER_LAYOUT_BLOCK) {
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		ssize_t got;

		if (poll(&ready, 1, DOCKER_LAYOUT_READ_MS) <= 0)
			return RESULT_TIMEOUT;
		got = read(fd, block + len, DOCKER_LAYOUT_BLOCK - len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got == 0 && len == 0 ? RESULT_EOF : RESULT_BAD;
		len += (size_t)got;
	}
	return RESULT_OK;
}

static enum result
docker_layout_read(int fd, mode_t *type_r)
{
	char block[DOCKER_LAYOUT_BLOCK];
	enum result result;
	size_t skip = 0;

	do {
		result = docker_layout_block(fd, block);
		if (result == RESULT_OK)
			result = docker_layout_header(block, type_r, &skip);
		for (; skip > 0 && result == RESULT_OK; skip--)
			result = docker_layout_block(fd, block);
	} while (result == RESULT_OK && *type_r == 0);
	return result;
}

struct docker_layout_waiting {
	struct event_base *base;
	int exit_code;
	char error[400];
};

static void
docker_layout_on_end(const struct engine_call_end *end, void *context)
{
	struct docker_layout_waiting *waiting = context;

	waiting->exit_code = end->exit_code;
	(void)snprintf(
	    waiting->error, sizeof(waiting->error), "%.399s", end->error);
	event_loop_stop(waiting->base);
}

/* Nothing came: that is an answer when the daemon says which. */
static enum result
docker_layout_absent(
    const struct docker_layout_waiting *waiting, char *detail_r, size_t size)
{
	if (waiting->exit_code > 0 &&
	    strstr(waiting->error, "Could not find the file") != NULL)
		return RESULT_NOT_FOUND;
	(void)snprintf(detail_r, size, "%s", waiting->error);
	return RESULT_UNSUPPORTED;
}

static enum result
docker_layout_call(const struct docker_layout *layout, const char *place,
    struct docker_layout_waiting *waiting, mode_t *type_r)
{
	const char *argv[] = {
	    layout->memory->client, "cp", "--", place, "-", NULL};
	struct engine_call_spec spec = {.files = layout->files,
	    .argv = argv,
	    .stdin_fd = -1,
	    .output_max = 65536,
	    .timeout_ms = DOCKER_LAYOUT_TIMEOUT_MS};
	struct engine_call *call = NULL;
	int ends[2];
	enum result result;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return RESULT_SYSTEM;
	spec.stdout_fd = ends[1];
	result = engine_call_start(
	    waiting->base, &spec, docker_layout_on_end, waiting, &call);
	fd_close(&ends[1]);
	if (result == RESULT_OK)
		result = docker_layout_read(ends[0], type_r);
	fd_close(&ends[0]);
	if (result == RESULT_EOF)
		(void)event_loop_run(waiting->base);
	engine_call_free(&call);
	return result;
}

enum result
docker_layout_look(const struct docker_layout *layout, const char *path,
    mode_t *type_r, char *detail_r, size_t detail_size)
{
	struct docker_layout_waiting waiting = {.exit_code = -1};
	char place[256];
	enum result result = event_loop_new(&waiting.base);

	if (result != RESULT_OK)
		return result;
	(void)snprintf(place, sizeof(place), "%s:/%s", layout->name, path);
	*type_r = 0;
	result = docker_layout_call(layout, place, &waiting, type_r);
	event_base_free(waiting.base);
	if (result == RESULT_EOF)
		return docker_layout_absent(&waiting, detail_r, detail_size);
	if (result != RESULT_OK)
		(void)snprintf(detail_r, detail_size,
		    "docker's answer about it is not understood");
	return result;
}

enum result
docker_layout_begin(struct docker_layout *layout, const char *image,
    const char *run, char *detail_r, size_t detail_size)
{
	const struct docker_volume_still still = {
	    layout->files, layout->memory, image, run, layout->name, NULL};

	(void)snprintf(
	    layout->name, sizeof(layout->name), "agentnode-look-%.16s", run);
	return docker_volume_still(&still, detail_r, detail_size);
}

void
docker_layout_end(const struct docker_layout *layout)
{
	const struct docker_volume_still still = {
	    layout->files, layout->memory, NULL, NULL, layout->name, NULL};

	docker_volume_end(&still);
}
