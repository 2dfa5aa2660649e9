/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Look at a few names in the layers of an image. Called when an image is
 * pinned and on the cold path of a start; must never follow a link, nor
 * pass an image it could not look at.
 */
#include "supervisor/engine/image_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/engine/docker_layout.h"
#include "supervisor/engine/engine_call.h"
#include "supervisor/engine/run_lock.h"

#define IMAGE_LAYOUT_PATH_MAX 4096U
#define IMAGE_LAYOUT_TIMEOUT_MS 60000U

enum image_layout_kind {
	IMAGE_LAYOUT_DIR,
	IMAGE_LAYOUT_FILE,
	IMAGE_LAYOUT_FILE_OR_LINK /* the engine resolves it inside */
};

/* Mount points of ours and the runtime's, and files the engine reads or
 * covers. Each may be absent: it is then made. */
static const struct {
	const char *path;
	enum image_layout_kind kind;
} image_layout_table[] = {
    {"dev", IMAGE_LAYOUT_DIR},
    {"proc", IMAGE_LAYOUT_DIR},
    {"sys", IMAGE_LAYOUT_DIR},
    {"etc", IMAGE_LAYOUT_DIR},
    {"run", IMAGE_LAYOUT_DIR},
    {"run/agentnode", IMAGE_LAYOUT_DIR},
    {"run/agentnode-wiring", IMAGE_LAYOUT_DIR},
    {"tmp", IMAGE_LAYOUT_DIR},
    {"sandbox-home", IMAGE_LAYOUT_DIR},
    {"pack", IMAGE_LAYOUT_DIR},
    {"etc/passwd", IMAGE_LAYOUT_FILE},
    {"etc/group", IMAGE_LAYOUT_FILE},
    {"etc/hosts", IMAGE_LAYOUT_FILE},
    {"etc/hostname", IMAGE_LAYOUT_FILE},
    {"etc/resolv.conf", IMAGE_LAYOUT_FILE_OR_LINK},
    {"run/.containerenv", IMAGE_LAYOUT_FILE},
    {".dockerenv", IMAGE_LAYOUT_FILE},
};

static bool
image_layout_fits(enum image_layout_kind kind, mode_t mode)
{
	switch (kind) {
	case IMAGE_LAYOUT_DIR:
		return S_ISDIR(mode);
	case IMAGE_LAYOUT_FILE:
		return S_ISREG(mode);
	case IMAGE_LAYOUT_FILE_OR_LINK:
		return S_ISREG(mode) || S_ISLNK(mode);
	}
	return false;
}

/* The type of path in one layer; no link on the way is followed.
 * RESULT_NOT_FOUND: this layer says nothing about it. */
static enum result
image_layout_look(const char *layer, const char *path, struct stat *info_r)
{
	struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
	    .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
	int root FD_CLEANUP =
	    open(layer, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int fd FD_CLEANUP = -1;

	if (root < 0)
		return RESULT_SYSTEM;
	/* Not the last part: that one is to be seen, not refused. */
	if (strchr(path, '/') != NULL)
		how.resolve |= RESOLVE_NO_SYMLINKS;
	fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	/* ELOOP, ENOTDIR: its folder is no directory here; a layer above
	 * has one, or the folder's own row refuses. */
	if (fd < 0)
		return errno == ENOENT || errno == ELOOP || errno == ENOTDIR
			   ? RESULT_NOT_FOUND
			   : RESULT_SYSTEM;
	return fstat(fd, info_r) == 0 ? RESULT_OK : RESULT_SYSTEM;
}

/* What the layers together have at path: the topmost that has it decides.
 * A device 0:0 is the mark of a removal. */
static enum result
image_layout_find(const char *const *layers, size_t count, const char *path,
    struct stat *info_r)
{
	for (size_t i = 0; i < count; i++) {
		enum result result = image_layout_look(layers[i], path, info_r);

		if (result == RESULT_NOT_FOUND)
			continue;
		if (result == RESULT_OK && S_ISCHR(info_r->st_mode) &&
		    info_r->st_rdev == 0)
			return RESULT_NOT_FOUND;
		return result;
	}
	return RESULT_NOT_FOUND;
}

static const char *
image_layout_type(mode_t mode)
{
	if (S_ISLNK(mode))
		return "a link";
	if (S_ISDIR(mode))
		return "a directory";
	if (S_ISREG(mode))
		return "a file";
	return "a special file";
}

/* One row of the table, found as said. */
static enum result
image_layout_row(size_t i, enum result found, mode_t mode, const char *why,
    const char *image, char *detail_r, size_t size)
{
	const char *path = image_layout_table[i].path;
	enum image_layout_kind kind = image_layout_table[i].kind;

	if (found == RESULT_NOT_FOUND ||
	    (found == RESULT_OK && image_layout_fits(kind, mode)))
		return RESULT_OK;
	if (found != RESULT_OK) {
		(void)snprintf(detail_r, size,
		    "/%s of image %s cannot be looked at in the engine's "
		    "store: %s",
		    path, image, why);
		return RESULT_UNSUPPORTED;
	}
	(void)snprintf(detail_r, size,
	    "image %s carries /%s as %s: it must be %s; use an image without",
	    image, path, image_layout_type(mode),
	    kind == IMAGE_LAYOUT_DIR ? "a directory" : "a file");
	return RESULT_REFUSED;
}

#define IMAGE_LAYOUT_ROWS \
	(sizeof(image_layout_table) / sizeof(image_layout_table[0]))

enum result
image_layout_judge(const char *const *layers, size_t count, const char *image,
    char *detail_r, size_t detail_size)
{
	enum result result = RESULT_OK;

	for (size_t i = 0; i < IMAGE_LAYOUT_ROWS && result == RESULT_OK; i++) {
		struct stat info = {.st_mode = 0};
		enum result found = image_layout_find(
		    layers, count, image_layout_table[i].path, &info);

		result = image_layout_row(i, found, info.st_mode,
		    strerror(errno), image, detail_r, detail_size);
	}
	return result;
}

/* By way of the daemon: what a container of it would have. */
static enum result
image_layout_ask(const struct engine_files *files,
    const struct engine_memory *memory, const char *image, char *detail_r,
    size_t detail_size)
{
	struct docker_layout layout = {.files = files, .memory = memory};
	char why[256] = "";
	struct run_lock lock;
	enum result result = run_lock_new(files, &lock);

	if (result != RESULT_OK)
		return result;
	result =
	    docker_layout_begin(&layout, image, lock.id, detail_r, detail_size);
	for (size_t i = 0; i < IMAGE_LAYOUT_ROWS && result == RESULT_OK; i++) {
		mode_t type = 0;
		enum result found = docker_layout_look(&layout,
		    image_layout_table[i].path, &type, why, sizeof(why));

		result = image_layout_row(
		    i, found, type, why, image, detail_r, detail_size);
	}
	docker_layout_end(&layout);
	run_lock_end(files, &lock);
	return result;
}

/* "a:b:c" of the overlay driver into layers, in place. */
static enum result
image_layout_split(char *text, const char **layers, size_t *count)
{
	char *one;

	while ((one = strsep(&text, ":")) != NULL) {
		if (one[0] != '/' || *count == IMAGE_LAYOUT_LAYERS_MAX)
			return RESULT_UNSUPPORTED;
		layers[(*count)++] = one;
	}
	return RESULT_OK;
}

static enum result
image_layout_overlay(
    const json_t *data, const char *image, char *detail_r, size_t detail_size)
{
	const char *upper =
	    json_string_value(json_object_get(data, "UpperDir"));
	const char *lower =
	    json_string_value(json_object_get(data, "LowerDir"));
	const char **layers = calloc(IMAGE_LAYOUT_LAYERS_MAX, sizeof(*layers));
	char *copy = lower != NULL ? strdup(lower) : NULL;
	enum result result = RESULT_OK;
	size_t count = 0;

	(void)snprintf(detail_r, detail_size,
	    "the engine does not say where image %s is stored", image);
	if (layers == NULL || (lower != NULL && copy == NULL))
		result = RESULT_NO_MEMORY;
	else if (upper == NULL || upper[0] != '/')
		result = RESULT_UNSUPPORTED;
	else
		layers[count++] = upper;
	if (result == RESULT_OK && copy != NULL)
		result = image_layout_split(copy, layers, &count);
	if (result == RESULT_OK)
		result = image_layout_judge(
		    layers, count, image, detail_r, detail_size);
	free(copy);
	free(layers);
	return result;
}

/* `image mount` or `unmount`; an ordinary user's engine does it in its own
 * user namespace only. */
static enum result
image_layout_mount(const struct engine_files *files, const char *podman,
    const char *verb, const char *image, char path_r[IMAGE_LAYOUT_PATH_MAX],
    char *detail_r, size_t detail_size)
{
	const char *argv[] = {
	    podman, "unshare", podman, "image", verb, "--", image, NULL};
	struct engine_call_spec call = {.files = files,
	    .argv = geteuid() == 0 ? argv + 2 : argv,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .output_max = IMAGE_LAYOUT_PATH_MAX,
	    .timeout_ms = IMAGE_LAYOUT_TIMEOUT_MS};
	char *output = NULL;
	size_t len = 0;
	enum result result;

	result =
	    engine_call_wait(&call, &output, &len, NULL, detail_r, detail_size);
	if (result == RESULT_OK)
		(void)snprintf(path_r, IMAGE_LAYOUT_PATH_MAX, "%.*s",
		    (int)strcspn(output, "\r\n"), output);
	free(output);
	return result;
}

/* A driver without layers: one directory that holds it all. */
static enum result
image_layout_whole(const struct engine_files *files, const char *podman,
    const char *image, char *detail_r, size_t detail_size)
{
	char path[IMAGE_LAYOUT_PATH_MAX] = "", unused[IMAGE_LAYOUT_PATH_MAX];
	char left[256];
	const char *layers[] = {path};
	enum result result = image_layout_mount(
	    files, podman, "mount", image, path, detail_r, detail_size);

	if (result == RESULT_OK && path[0] != '/')
		result = RESULT_UNSUPPORTED;
	if (result != RESULT_OK) {
		(void)snprintf(detail_r, detail_size,
		    "image %s cannot be looked at in the engine's store: use "
		    "the storage driver overlay",
		    image);
		return RESULT_UNSUPPORTED;
	}
	result = image_layout_judge(layers, 1, image, detail_r, detail_size);
	(void)image_layout_mount(
	    files, podman, "unmount", image, unused, left, sizeof(left));
	return result;
}

enum result
image_layout_check(const struct engine_files *files,
    const struct engine_memory *memory, const json_t *inspect,
    const char *image, char *detail_r, size_t detail_size)
{
	const json_t *driver = json_object_get(inspect, "GraphDriver");
	const char *name = json_string_value(json_object_get(driver, "Name"));

	if (engine_memory_by_group(memory))
		return image_layout_ask(
		    files, memory, image, detail_r, detail_size);
	if (name != NULL &&
	    (strcmp(name, "overlay") == 0 || strcmp(name, "overlay2") == 0))
		return image_layout_overlay(json_object_get(driver, "Data"),
		    image, detail_r, detail_size);
	if (memory->kind == ENGINE_MEMORY_DOCKER) {
		(void)snprintf(detail_r, detail_size,
		    "image %s cannot be looked at in Docker's store: its "
		    "storage driver must be overlay2",
		    image);
		return RESULT_UNSUPPORTED;
	}
	return image_layout_whole(
	    files, memory->client, image, detail_r, detail_size);
}
