/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of image builds; see image_work.h. Must never leave the parts
 * of a failed build behind.
 */
#include "supervisor/package/image_work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/package/image_scratch.h"
#include "supervisor/package/unpack_call.h"

#define IMAGE_WORK_SUM_TIMEOUT_S 600U

/* Everything a build makes; what is not listed stays. */
static const char *const image_work_files[] = {"debian.tar", "npm-0.tgz",
    "npm-1.tgz", "npm-2.tgz", "npm-0.tar", "npm-1.tar", "npm-2.tar",
    "image.oci.tar", NULL};

enum result
image_work_fail(
    struct image_work *work, enum result result, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(work->detail, sizeof(work->detail), format, args);
	va_end(args);
	return result;
}

void
image_work_say(struct image_work *work, const char *format, ...)
{
	char line[256];
	va_list args;

	if (work->progress == NULL)
		return;
	va_start(args, format);
	(void)vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	work->progress(line);
}

static void
image_work_clean(struct image_work *work)
{
	for (size_t i = 0; image_work_files[i] != NULL; i++)
		(void)unlinkat(work->dir.fd, image_work_files[i], 0);
}

/* What a killed build left. It is found again as long as it is noted, and a
 * note must not be written over. */
static enum result
image_work_sweep(struct image_work *work)
{
	char path[IMAGE_SCRATCH_PATH_MAX];
	struct json_fault fault = {""};
	enum result result = image_scratch_sweep(&work->dir, path, &fault);

	if (result == RESULT_OK)
		image_work_say(
		    work, "removed %s of a build that was killed", path);
	else if (result != RESULT_NOT_FOUND)
		return image_work_fail(work, result,
		    "%s%sof a build that was killed: %s", path,
		    path[0] != '\0' ? " " : "", fault.text);
	return RESULT_OK;
}

enum result
image_work_open(struct image_work *work, const struct config *config,
    void (*progress)(const char *line))
{
	struct state_dir home = {.fd = -1};
	struct json_fault fault = {""};
	enum result result;

	*work = (struct image_work){.config = config,
	    .dir = {.fd = -1},
	    .lock = -1,
	    .progress = progress};
	result = state_dir_home(true, &home, &fault);
	if (result == RESULT_OK)
		result = state_dir_sub(&home, "image", &work->dir, &fault);
	state_dir_close(&home);
	if (result != RESULT_OK)
		return image_work_fail(work, result, "%s", fault.text);
	work->lock = openat(work->dir.fd, "lock",
	    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (work->lock < 0 || flock(work->lock, LOCK_EX | LOCK_NB) != 0) {
		result = errno == EWOULDBLOCK ? RESULT_TIMEOUT : RESULT_SYSTEM;
		return image_work_fail(work, result,
		    result == RESULT_TIMEOUT
			? "another image build runs in %s"
			: "%s: the lock could not be taken",
		    work->dir.path);
	}
	image_work_clean(work);
	return image_work_sweep(work);
}

void
image_work_close(struct image_work *work)
{
	if (work->lock >= 0)
		image_work_clean(work);
	fd_close(&work->lock);
	state_dir_close(&work->dir);
}

enum result
image_work_create(struct image_work *work, const char *name, int *fd_r)
{
	*fd_r = openat(work->dir.fd, name,
	    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (*fd_r >= 0)
		return RESULT_OK;
	return image_work_fail(work, RESULT_SYSTEM, "%s/%s: %s", work->dir.path,
	    name, strerror(errno));
}

enum result
image_work_read(struct image_work *work, const char *name, int *fd_r)
{
	*fd_r = openat(work->dir.fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (*fd_r >= 0)
		return RESULT_OK;
	return image_work_fail(work, RESULT_SYSTEM, "%s/%s: %s", work->dir.path,
	    name, strerror(errno));
}

enum result
image_work_path(
    struct image_work *work, const char *name, char *path_r, size_t size)
{
	int len = snprintf(path_r, size, "%s/%s", work->dir.path, name);

	if (len < 0 || (size_t)len >= size)
		return image_work_fail(
		    work, RESULT_TOO_LONG, "the path of %s is too long", name);
	return RESULT_OK;
}

enum result
image_work_sums(struct image_work *work, const char *name, char sha256_r[65],
    char sha512_r[129], uint64_t *size_r)
{
	struct unpack_call_spec spec = {.job = UNPACK_JOB_HASH_FILE,
	    .options = json_object(),
	    .fd_count = 1,
	    .timeout_s = IMAGE_WORK_SUM_TIMEOUT_S};
	int fd FD_CLEANUP = -1;
	json_t *sums = NULL;
	enum result result = image_work_read(work, name, &fd);

	if (result != RESULT_OK) {
		json_decref(spec.options);
		return result;
	}
	spec.fds = &fd;
	result = unpack_call_wait(
	    work->config, &spec, &sums, work->detail, sizeof(work->detail));
	if (result != RESULT_OK)
		return result;
	(void)snprintf(sha256_r, 65, "%s",
	    json_string_value(json_object_get(sums, "sha256")));
	(void)snprintf(sha512_r, 129, "%s",
	    json_string_value(json_object_get(sums, "sha512")));
	*size_r = (uint64_t)json_integer_value(json_object_get(sums, "bytes"));
	json_decref(sums);
	return RESULT_OK;
}

enum result
image_work_add_layer(struct image_work *work, const char *name, bool is_base)
{
	struct image_work_layer layer;
	char unused[129];
	size_t at = is_base ? 0 : work->layer_count;
	enum result result;

	if (work->layer_count == IMAGE_WORK_LAYERS_MAX)
		return image_work_fail(
		    work, RESULT_INTERNAL, "too many layers");
	result = image_work_sums(work, name, layer.sha256, unused, &layer.size);
	if (result != RESULT_OK)
		return result;
	(void)snprintf(layer.name, sizeof(layer.name), "%s", name);
	memmove(&work->layers[at + 1], &work->layers[at],
	    (work->layer_count - at) * sizeof(layer));
	work->layers[at] = layer;
	work->layer_count++;
	return RESULT_OK;
}
