/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See oci_apply.h. Owners are ours, modes are those of the stream and let
 * nobody else write. Must never open a name by a path that a link of the
 * image could turn.
 */
#include "supervisor/engine/oci_apply.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "supervisor/unpack/layer_stream.h"
#include "supervisor/init/tree_stream.h"

#define OCI_APPLY_CHUNK 65536U
#define OCI_APPLY_DEPTH_MAX 512U

struct oci_apply {
	int root;
	FILE *stream;
	struct layer_stream_header header;
	char path[TREE_STREAM_PATH_MAX + 1];
	char target[LAYER_STREAM_TARGET_MAX + 1];
	char *detail;
	size_t detail_size;
};

static enum result
oci_apply_fail(struct oci_apply *apply, const char *what, int error)
{
	char shown[160];

	log_escape(apply->path, strlen(apply->path), shown, sizeof(shown));
	(void)snprintf(apply->detail, apply->detail_size,
	    "\"%s\" of the image %s%s%s", shown, what, error != 0 ? ": " : "",
	    error != 0 ? strerror(error) : "");
	return error == ENOSPC ? RESULT_SYSTEM : RESULT_BAD;
}

static int
oci_apply_open(int dir, const char *path, uint64_t flags)
{
	struct open_how how = {.flags = flags | O_CLOEXEC,
	    .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
		       RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV};

	return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

/* ---- removal ---- */

static bool
oci_apply_is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static enum result oci_apply_drop(int dir, const char *name, unsigned depth);

static enum result
oci_apply_clear(int dir, const char *name, unsigned depth)
{
	int fd =
	    openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	enum result result = RESULT_OK;
	struct dirent *entry;

	if (list == NULL) {
		fd_close(&fd);
		return RESULT_SYSTEM;
	}
	while (result == RESULT_OK && (entry = readdir(list)) != NULL) {
		if (!oci_apply_is_dots(entry->d_name))
			result = oci_apply_drop(
			    dirfd(list), entry->d_name, depth + 1);
	}
	(void)closedir(list);
	return result;
}

static enum result
oci_apply_drop(int dir, const char *name, unsigned depth)
{
	enum result result;

	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return RESULT_OK;
	if ((errno != EISDIR && errno != EPERM) || depth > OCI_APPLY_DEPTH_MAX)
		return RESULT_SYSTEM;
	result = oci_apply_clear(dir, name, depth);
	if (result == RESULT_OK && unlinkat(dir, name, AT_REMOVEDIR) != 0)
		result = RESULT_SYSTEM;
	return result;
}

enum result
oci_apply_remove(int dir_fd, const char *name)
{
	return oci_apply_drop(dir_fd, name, 0);
}

/* ---- places ---- */

/* The folder that path is in, and its last part, which is a name in it. */
static int
oci_apply_parent(int root, const char *path, const char **name_r)
{
	char folder[TREE_STREAM_PATH_MAX + 1];
	const char *slash = strrchr(path, '/');

	*name_r = slash == NULL ? path : slash + 1;
	if (oci_apply_is_dots(*name_r)) {
		errno = EINVAL;
		return -1;
	}
	if (slash == NULL)
		return fcntl(root, F_DUPFD_CLOEXEC, 3);
	memcpy(folder, path, (size_t)(slash - path));
	folder[slash - path] = '\0';
	return oci_apply_open(root, folder, O_PATH | O_DIRECTORY);
}

/* Parents that the layers do not bring are made, as engines do. */
static int
oci_apply_place(int root, const char *path, const char **name_r)
{
	char folder[TREE_STREAM_PATH_MAX + 1];
	int parent = oci_apply_parent(root, path, name_r);

	if (parent >= 0 || errno != ENOENT)
		return parent;
	for (const char *at = strchr(path, '/'); at != NULL;
	     at = strchr(at + 1, '/')) {
		const char *name;
		int above, made;

		memcpy(folder, path, (size_t)(at - path));
		folder[at - path] = '\0';
		above = oci_apply_parent(root, folder, &name);
		made = above < 0 ? -1 : mkdirat(above, name, 0755);
		if (made != 0 && (above < 0 || errno != EEXIST)) {
			fd_close(&above);
			return -1;
		}
		fd_close(&above);
	}
	return oci_apply_parent(root, path, name_r);
}

/* ---- what a layer brings ---- */

static enum result
oci_apply_dir(struct oci_apply *apply, int parent, const char *name)
{
	struct stat info;
	int fd FD_CLEANUP = -1;

	if (fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
	    !S_ISDIR(info.st_mode) && unlinkat(parent, name, 0) != 0)
		return oci_apply_fail(apply, "cannot be replaced", errno);
	if (mkdirat(parent, name, 0700) != 0 && errno != EEXIST)
		return oci_apply_fail(apply, "cannot be made", errno);
	fd = openat(
	    parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchmod(fd, (apply->header.mode & 0755) | 0700) != 0)
		return oci_apply_fail(apply, "cannot be made", errno);
	return RESULT_OK;
}

static enum result
oci_apply_content(struct oci_apply *apply, int fd)
{
	static char bytes[OCI_APPLY_CHUNK];
	uint64_t left = apply->header.size;

	while (left > 0) {
		size_t most =
		    left < sizeof(bytes) ? (size_t)left : sizeof(bytes);

		if (fread(bytes, 1, most, apply->stream) != most)
			return oci_apply_fail(apply, "is cut", 0);
		if (fd_write_all(fd, bytes, most) != RESULT_OK)
			return oci_apply_fail(
			    apply, "cannot be written", errno);
		left -= most;
	}
	return RESULT_OK;
}

static enum result
oci_apply_file(struct oci_apply *apply, int parent, const char *name)
{
	const struct timespec times[2] = {
	    {.tv_sec = (time_t)apply->header.mtime},
	    {.tv_sec = (time_t)apply->header.mtime}};
	enum result result;
	int fd FD_CLEANUP = -1;

	if (oci_apply_remove(parent, name) != RESULT_OK)
		return oci_apply_fail(apply, "cannot be replaced", errno);
	fd = openat(parent, name,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return oci_apply_fail(apply, "cannot be made", errno);
	result = oci_apply_content(apply, fd);
	if (result == RESULT_OK &&
	    (fchmod(fd, (apply->header.mode & 0755) | 0400) != 0 ||
		futimens(fd, times) != 0))
		result = oci_apply_fail(apply, "cannot be made", errno);
	return result;
}

static enum result
oci_apply_link(struct oci_apply *apply, int parent, const char *name)
{
	if (oci_apply_remove(parent, name) != RESULT_OK ||
	    symlinkat(apply->target, parent, name) != 0)
		return oci_apply_fail(apply, "cannot be made", errno);
	return RESULT_OK;
}

/* A second name of a regular file of this root, or nothing. */
static enum result
oci_apply_hard(struct oci_apply *apply, int parent, const char *name)
{
	const char *other;
	struct stat info, own;
	int at FD_CLEANUP =
	    oci_apply_parent(apply->root, apply->target, &other);

	if (at < 0 || fstatat(at, other, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
	    !S_ISREG(info.st_mode))
		return oci_apply_fail(
		    apply, "is a hard link to no file of the image", 0);
	if (fstatat(parent, name, &own, AT_SYMLINK_NOFOLLOW) == 0 &&
	    own.st_ino == info.st_ino && own.st_dev == info.st_dev)
		return RESULT_OK;
	if (oci_apply_remove(parent, name) != RESULT_OK ||
	    linkat(at, other, parent, name, 0) != 0)
		return oci_apply_fail(apply, "cannot be made", errno);
	return RESULT_OK;
}

/* What should go is not there, or it lies behind a link or a file. Whatever
 * else went wrong, nobody has looked. */
static bool
oci_apply_is_absent(void)
{
	return errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
}

/* Only what lower layers left: it is there or it is not. */
static enum result
oci_apply_gone(struct oci_apply *apply)
{
	const char *name = apply->path;
	enum result result = RESULT_OK;
	int parent FD_CLEANUP = -1;

	if (apply->header.type == LAYER_STREAM_EMPTY && name[0] == '\0')
		return oci_apply_clear(apply->root, ".", 0) == RESULT_OK
			   ? RESULT_OK
			   : oci_apply_fail(apply, "cannot be emptied", errno);
	parent = oci_apply_parent(apply->root, apply->path, &name);
	if (parent < 0)
		result = RESULT_SYSTEM;
	else if (apply->header.type == LAYER_STREAM_REMOVE)
		result = oci_apply_remove(parent, name);
	else
		result = oci_apply_clear(parent, name, 0);
	if (result != RESULT_OK && !oci_apply_is_absent())
		return oci_apply_fail(apply, "cannot be removed", errno);
	return RESULT_OK;
}

static enum result
oci_apply_made(struct oci_apply *apply)
{
	const char *name;
	enum result result = RESULT_INTERNAL;
	int parent FD_CLEANUP =
	    oci_apply_place(apply->root, apply->path, &name);

	if (parent < 0)
		return oci_apply_fail(
		    apply, "lies behind a link or a file of the image", errno);
	if (apply->header.type == LAYER_STREAM_DIR)
		result = oci_apply_dir(apply, parent, name);
	else if (apply->header.type == LAYER_STREAM_FILE)
		result = oci_apply_file(apply, parent, name);
	else if (apply->header.type == LAYER_STREAM_LINK)
		result = oci_apply_link(apply, parent, name);
	else if (apply->header.type == LAYER_STREAM_HARD)
		result = oci_apply_hard(apply, parent, name);
	return result;
}

/* ---- the stream ---- */

static bool
oci_apply_text(struct oci_apply *apply, char *text, size_t size, size_t len)
{
	if (len >= size || fread(text, 1, len, apply->stream) != len)
		return false;
	text[len] = '\0';
	return strlen(text) == len;
}

static enum result
oci_apply_next(struct oci_apply *apply)
{
	struct layer_stream_header *header = &apply->header;

	apply->path[0] = '\0';
	if (fread(header, sizeof(*header), 1, apply->stream) != 1 ||
	    header->magic != LAYER_STREAM_MAGIC ||
	    header->type < LAYER_STREAM_DIR ||
	    header->type > LAYER_STREAM_END ||
	    !oci_apply_text(
		apply, apply->path, sizeof(apply->path), header->path_len) ||
	    !oci_apply_text(apply, apply->target, sizeof(apply->target),
		header->target_len) ||
	    (header->size != 0 && header->type != LAYER_STREAM_FILE) ||
	    (apply->path[0] == '\0' && header->type < LAYER_STREAM_EMPTY))
		return oci_apply_fail(apply, "is cut or malformed", 0);
	return RESULT_OK;
}

/* One time through the stream: removals, or all else. */
static enum result
oci_apply_pass(struct oci_apply *apply, bool removals)
{
	enum result result;

	rewind(apply->stream);
	for (;;) {
		bool removal;

		result = oci_apply_next(apply);
		if (result != RESULT_OK ||
		    apply->header.type == LAYER_STREAM_END)
			return result;
		removal = apply->header.type == LAYER_STREAM_REMOVE ||
			  apply->header.type == LAYER_STREAM_EMPTY;
		if (removal && removals)
			result = oci_apply_gone(apply);
		else if (!removal && !removals)
			result = oci_apply_made(apply);
		else if (fseeko(apply->stream, (off_t)apply->header.size,
			     SEEK_CUR) != 0)
			result = oci_apply_fail(apply, "is cut", errno);
		if (result != RESULT_OK)
			return result;
	}
}

enum result
oci_apply(int root_fd, int stream_fd, char *detail_r, size_t detail_size)
{
	struct oci_apply apply = {
	    .root = root_fd, .detail = detail_r, .detail_size = detail_size};
	int own = fcntl(stream_fd, F_DUPFD_CLOEXEC, 3);
	mode_t before = umask(022);
	enum result result;

	apply.stream = own < 0 ? NULL : fdopen(own, "r");
	if (apply.stream == NULL) {
		fd_close(&own);
		(void)umask(before);
		return oci_apply_fail(&apply, "cannot be read", errno);
	}
	result = oci_apply_pass(&apply, true);
	if (result == RESULT_OK)
		result = oci_apply_pass(&apply, false);
	(void)fclose(apply.stream);
	(void)umask(before);
	return result;
}
