/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes what lies below one directory as a tree stream, parents first,
 * names sorted by byte. Runs in the tree child after the workload and
 * everything it started is dead, so nothing moves meanwhile; what it left
 * is hostile all the same. Devices, pipes and sockets are left out.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/init/init_tree.h"

#define INIT_EXPORT_LINK_MAX 4096U

struct init_export {
	int stream_fd;
	struct init_tree_bound bound;
	char path[TREE_STREAM_PATH_MAX + 1]; /* of the current entry */
	size_t path_len;
	unsigned depth;
};

struct init_export_names {
	char **list; /* owned, each too */
	size_t count, room;
};

static int init_export_folder(struct init_export *export, int folder);

static void
init_export_names_free(struct init_export_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->list[i]);
	free(names->list);
	memset(names, 0, sizeof(*names));
}

static int
init_export_compare(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static int
init_export_names_add(
    struct init_export_names *names, const char *name, uint64_t max)
{
	if (names->count >= max)
		return EFBIG;
	if (names->count == names->room) {
		size_t room = names->room == 0 ? 64 : names->room * 2;
		char **list = reallocarray(names->list, room, sizeof(char *));

		if (list == NULL)
			return ENOMEM;
		names->list = list;
		names->room = room;
	}
	names->list[names->count] = strdup(name);
	if (names->list[names->count] == NULL)
		return ENOMEM;
	names->count++;
	return 0;
}

/* All names of a directory, sorted; at most max. */
static int
init_export_list(int folder, uint64_t max, struct init_export_names *names_r)
{
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	int error = 0;

	if (stream == NULL) {
		error = errno;
		if (copy >= 0)
			close(copy);
		return error;
	}
	for (errno = 0; error == 0 && (entry = readdir(stream)) != NULL;
	     errno = 0) {
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			error =
			    init_export_names_add(names_r, entry->d_name, max);
	}
	if (error == 0)
		error = errno;
	closedir(stream);
	if (names_r->count > 1)
		qsort(names_r->list, names_r->count, sizeof(char *),
		    init_export_compare);
	return error;
}

static int
init_export_header(struct init_export *export, enum tree_stream_type type,
    mode_t mode, uint64_t size)
{
	struct tree_stream_header header = {.magic = TREE_STREAM_MAGIC,
	    .type = (uint32_t)type,
	    .mode = (mode & 0100) != 0 ? 0755 : 0644,
	    .path_len =
		type == TREE_STREAM_END ? 0 : (uint32_t) export->path_len,
	    .size = size};
	int error = init_tree_write(export->stream_fd, &header, sizeof(header));

	if (error != 0)
		return error;
	return init_tree_write(
	    export->stream_fd, export->path, header.path_len);
}

static int
init_export_file(struct init_export *export, int folder, const char *name)
{
	int fd = openat(
	    folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	int error;

	if (fd < 0)
		return errno;
	if (fstat(fd, &st) != 0)
		error = errno;
	else if (!S_ISREG(st.st_mode))
		error = EINVAL;
	else
		error = init_tree_charge(&export->bound, (uint64_t)st.st_size);
	if (error == 0)
		error = init_export_header(
		    export, TREE_STREAM_FILE, st.st_mode, (uint64_t)st.st_size);
	if (error == 0)
		error =
		    init_tree_copy(fd, export->stream_fd, (uint64_t)st.st_size);
	close(fd);
	return error;
}

static int
init_export_link(struct init_export *export, int folder, const char *name)
{
	char target[INIT_EXPORT_LINK_MAX];
	ssize_t len = readlinkat(folder, name, target, sizeof(target));
	int error;

	if (len < 0)
		return errno;
	if (len == 0 || (size_t)len >= sizeof(target))
		return ENAMETOOLONG;
	error = init_tree_charge(&export->bound, (uint64_t)len);
	if (error == 0)
		error = init_export_header(
		    export, TREE_STREAM_LINK, 0100, (uint64_t)len);
	if (error == 0)
		error = init_tree_write(export->stream_fd, target, (size_t)len);
	return error;
}

static int
init_export_subfolder(struct init_export *export, int folder, const char *name)
{
	int error = init_tree_charge(&export->bound, 0);
	int child;

	if (error == 0)
		error = init_export_header(export, TREE_STREAM_DIR, 0100, 0);
	if (error != 0)
		return error;
	if (export->depth >= TREE_STREAM_DEPTH_MAX)
		return ELOOP;
	child = init_tree_open_folder(folder, name);
	if (child < 0)
		return errno;
	error = init_export_folder(export, child);
	close(child);
	return error;
}

static int
init_export_entry(struct init_export *export, int folder, const char *name)
{
	struct stat st;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno;
	if (S_ISDIR(st.st_mode))
		return init_export_subfolder(export, folder, name);
	if (S_ISREG(st.st_mode))
		return init_export_file(export, folder, name);
	if (S_ISLNK(st.st_mode))
		return init_export_link(export, folder, name);
	return 0;
}

/* Recursion is bounded by TREE_STREAM_DEPTH_MAX. */
static int
init_export_folder(struct init_export *export, int folder)
{
	struct init_export_names names = {0};
	size_t parent_len = export->path_len;
	int error = init_export_list(folder, export->bound.files, &names);

	export->depth++;
	for (size_t i = 0; error == 0 && i < names.count; i++) {
		size_t len = strlen(names.list[i]);
		size_t slash = parent_len > 0 ? 1 : 0;

		if (parent_len + slash + len > TREE_STREAM_PATH_MAX) {
			error = ENAMETOOLONG;
			break;
		}
		if (slash)
			export->path[parent_len] = '/';
		memcpy(export->path + parent_len + slash, names.list[i], len);
		export->path_len = parent_len + slash + len;
		error = init_export_entry(export, folder, names.list[i]);
		export->path_len = parent_len;
	}
	export->depth--;
	init_export_names_free(&names);
	return error;
}

int
init_export_run(int root, int stream_fd, struct init_tree_bound bound)
{
	static struct init_export export;
	int error;

	export.stream_fd = stream_fd;
	export.bound = bound;
	error = init_export_folder(&export, root);
	return error != 0 ? error
			  : init_export_header(&export, TREE_STREAM_END, 0, 0);
}
