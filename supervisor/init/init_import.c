/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpacks a tree stream below one directory. Runs in the tree child before
 * `go`. The stream comes from our own unpacker; every name is checked again
 * because this is the last place before the disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/init/init_tree.h"

#define INIT_IMPORT_LINK_MAX 4095U

/* Relative, no empty, "." or ".." part, not too deep. */
static bool
init_import_path_valid(const char *path, size_t len)
{
	const char *at = path;
	unsigned depth = 0;

	if (len == 0 || memchr(path, '\0', len) != NULL)
		return false;
	for (;;) {
		size_t part = strcspn(at, "/");

		if (part == 0 || part > 255 ||
		    ++depth > TREE_STREAM_DEPTH_MAX ||
		    (part == 1 && at[0] == '.') ||
		    (part == 2 && at[0] == '.' && at[1] == '.'))
			return false;
		if (at[part] == '\0')
			return true;
		at += part + 1;
	}
}

/* The parent's descriptor, and the last part of path. */
static int
init_import_parent(int root, char *path, const char **name_r)
{
	char *slash = strrchr(path, '/');

	if (slash == NULL) {
		*name_r = path;
		return init_tree_open_folder(root, ".");
	}
	*slash = '\0';
	*name_r = slash + 1;
	return init_tree_open_folder(root, path);
}

static int
init_import_folder(int parent, const char *name, mode_t mode)
{
	struct stat st;

	if (mkdirat(parent, name, mode) == 0)
		return 0;
	if (errno != EEXIST)
		return errno;
	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno;
	return S_ISDIR(st.st_mode) ? 0 : EEXIST;
}

static int
init_import_file(
    int parent, const char *name, mode_t mode, int stream_fd, uint64_t size)
{
	int fd = openat(parent, name,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	int error;

	if (fd < 0)
		return errno;
	error = init_tree_copy(stream_fd, fd, size);
	if (close(fd) != 0 && error == 0)
		error = errno;
	return error;
}

static int
init_import_link(int parent, const char *name, int stream_fd, uint64_t size)
{
	char target[INIT_IMPORT_LINK_MAX + 1];
	int error;

	if (size == 0 || size > INIT_IMPORT_LINK_MAX)
		return EINVAL;
	error = init_tree_read(stream_fd, target, (size_t)size);
	if (error != 0)
		return error;
	target[size] = '\0';
	if (strlen(target) != size)
		return EINVAL;
	return symlinkat(target, parent, name) != 0 ? errno : 0;
}

static int
init_import_entry(int root, int stream_fd,
    const struct tree_stream_header *header, char *path)
{
	mode_t mode = (header->mode & 0755) | 0600;
	const char *name;
	int parent = init_import_parent(root, path, &name);
	int error = EINVAL;

	if (parent < 0)
		return errno;
	if (header->type == TREE_STREAM_DIR && header->size == 0)
		error = init_import_folder(parent, name, mode | 0100);
	else if (header->type == TREE_STREAM_FILE)
		error = init_import_file(
		    parent, name, mode, stream_fd, header->size);
	else if (header->type == TREE_STREAM_LINK)
		error = init_import_link(parent, name, stream_fd, header->size);
	close(parent);
	return error;
}

int
init_import_run(int root, int stream_fd, struct init_tree_bound bound)
{
	struct tree_stream_header header;
	char path[TREE_STREAM_PATH_MAX + 1];
	int error;

	for (;;) {
		error = init_tree_read(stream_fd, &header, sizeof(header));
		if (error != 0)
			return error;
		if (header.magic != TREE_STREAM_MAGIC)
			return EINVAL;
		if (header.type == TREE_STREAM_END)
			return header.path_len == 0 && header.size == 0
				   ? 0
				   : EINVAL;
		if (header.path_len > TREE_STREAM_PATH_MAX)
			return ENAMETOOLONG;
		error = init_tree_read(stream_fd, path, header.path_len);
		path[header.path_len] = '\0';
		if (error == 0 &&
		    !init_import_path_valid(path, header.path_len))
			error = EINVAL;
		if (error == 0)
			error = init_tree_charge(&bound, header.size);
		if (error == 0)
			error =
			    init_import_entry(root, stream_fd, &header, path);
		if (error != 0)
			return error;
	}
}
