/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk over a directory; see tree_walk.h. Paths are resolved by the
 * kernel below the root only (openat2), so that a change while we walk can
 * lead nowhere else. Must never follow a link.
 */
#include "supervisor/unpack/tree_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"

#define TREE_WALK_CHUNK 262144U

struct tree_walk {
	struct unpack_io *io;
	struct tree_check *check;
	struct tree_seal *seal; /* NULL: none asked for */
	uint64_t files_left;    /* names that may still be listed */
	size_t path_len;
	char path[TREE_STREAM_PATH_MAX + 2];
	uint8_t *chunk;
};

/* One name of a folder, with the type readdir gave (DT_UNKNOWN: ask). */
struct tree_walk_name {
	char *name; /* owned */
	unsigned char type;
};

/* The names of one folder, sorted. */
struct tree_walk_names {
	struct tree_walk_name *names; /* owned */
	size_t count, capacity;
};

int
tree_walk_openat2(int dir_fd, const char *path, uint64_t flags)
{
	struct open_how how = {
	    .flags = flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
	    .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
		       RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};

	return (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
}

static enum result
tree_walk_fault(struct tree_walk *walk, const char *what)
{
	const char *path = unpack_io_name(walk->path, walk->path_len);

	return unpack_io_fault(
	    walk->io, UNPACK_UNREADABLE, "\"%s\": %s: %m", path, what);
}

static void
tree_walk_names_free(struct tree_walk_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->names[i].name);
	free(names->names);
}

static enum result
tree_walk_add(struct tree_walk *walk, struct tree_walk_names *names,
    const struct dirent *entry)
{
	struct tree_walk_name *grown;

	if (walk->files_left == 0)
		return unpack_io_fault(walk->io, UNPACK_TOO_BIG,
		    "the folder has more entries than allowed");
	walk->files_left--;
	if (names->count == names->capacity) {
		names->capacity = names->capacity * 2 + 32;
		grown = realloc(names->names, names->capacity * sizeof(*grown));
		if (grown == NULL)
			return RESULT_NO_MEMORY;
		names->names = grown;
	}
	grown = &names->names[names->count];
	grown->type = entry->d_type;
	grown->name = strdup(entry->d_name);
	if (grown->name == NULL)
		return RESULT_NO_MEMORY;
	names->count++;
	return RESULT_OK;
}

static int
tree_walk_order(const void *a, const void *b)
{
	const struct tree_walk_name *left = a, *right = b;

	return strcmp(left->name, right->name);
}

static enum result
tree_walk_list(
    struct tree_walk *walk, DIR *folder, struct tree_walk_names *names)
{
	const struct dirent *entry;
	enum result result = RESULT_OK;

	errno = 0;
	while (result == RESULT_OK && (entry = readdir(folder)) != NULL) {
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			result = tree_walk_add(walk, names, entry);
		errno = 0;
	}
	if (result == RESULT_OK && errno != 0)
		result = tree_walk_fault(walk, "list");
	if (result == RESULT_OK && names->count > 0)
		qsort(names->names, names->count, sizeof(*names->names),
		    tree_walk_order);
	return result;
}

static enum result
tree_walk_content(struct tree_walk *walk, int fd, uint64_t size)
{
	enum result result = RESULT_OK;
	ssize_t got;

	while (result == RESULT_OK && size > 0) {
		got = read(fd, walk->chunk, TREE_WALK_CHUNK);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return tree_walk_fault(walk, "read");
		if (got == 0 || (uint64_t)got > size)
			return unpack_io_fault(walk->io, UNPACK_UNREADABLE,
			    "\"%s\" changed while it was read",
			    unpack_io_name(walk->path, walk->path_len));
		result = tree_check_data(walk->check, walk->chunk, (size_t)got);
		size -= (uint64_t)got;
		if (result == RESULT_OK && size > 0)
			result = unpack_io_check(walk->io);
	}
	return result;
}

static enum result
tree_walk_file(struct tree_walk *walk, int dir_fd, const char *name)
{
	int fd FD_CLEANUP = tree_walk_openat2(dir_fd, name, O_RDONLY);
	struct stat status;
	enum result result;

	if (fd < 0)
		return tree_walk_fault(walk, "open");
	if (fstat(fd, &status) != 0)
		return tree_walk_fault(walk, "stat");
	if (!S_ISREG(status.st_mode))
		return unpack_io_fault(walk->io, UNPACK_UNSAFE,
		    "\"%s\" is no file, folder or link",
		    unpack_io_name(walk->path, walk->path_len));
	if (walk->seal != NULL)
		tree_seal_settle(walk->seal, fd);
	result = tree_check_entry(walk->check, TREE_STREAM_FILE, status.st_mode,
	    walk->path, walk->path_len, NULL, 0, (uint64_t)status.st_size);
	if (result == RESULT_OK)
		result = tree_walk_content(walk, fd, (uint64_t)status.st_size);
	return result;
}

static enum result
tree_walk_link(struct tree_walk *walk, int dir_fd, const char *name)
{
	char target[TREE_STREAM_PATH_MAX + 1];
	ssize_t len = readlinkat(dir_fd, name, target, sizeof(target));

	if (len < 0)
		return tree_walk_fault(walk, "read the link");
	return tree_check_entry(walk->check, TREE_STREAM_LINK, 0777, walk->path,
	    walk->path_len, target, (size_t)len, 0);
}

static enum result tree_walk_folder(struct tree_walk *walk, int fd);

static enum result
tree_walk_descend(struct tree_walk *walk, int dir_fd, const char *name)
{
	int fd FD_CLEANUP =
	    tree_walk_openat2(dir_fd, name, O_RDONLY | O_DIRECTORY);
	struct stat status;
	enum result result;

	if (fd < 0 || fstat(fd, &status) != 0)
		return tree_walk_fault(walk, "open");
	result = tree_check_entry(walk->check, TREE_STREAM_DIR, status.st_mode,
	    walk->path, walk->path_len, NULL, 0, 0);
	return result == RESULT_OK ? tree_walk_folder(walk, fd) : result;
}

/* The type of a name whose file system does not say it in the listing. */
static unsigned char
tree_walk_type(int dir_fd, const char *name)
{
	struct stat status;

	if (fstatat(dir_fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return DT_UNKNOWN;
	return S_ISDIR(status.st_mode)   ? DT_DIR
	       : S_ISLNK(status.st_mode) ? DT_LNK
	       : S_ISREG(status.st_mode) ? DT_REG
					 : DT_UNKNOWN;
}

/* What is opened is looked at again: a type that changed meanwhile is a
 * fault. Nothing but files and folders is ever opened. */
static enum result
tree_walk_entry(
    struct tree_walk *walk, int dir_fd, const struct tree_walk_name *entry)
{
	unsigned char type = entry->type != DT_UNKNOWN
				 ? entry->type
				 : tree_walk_type(dir_fd, entry->name);

	if (type == DT_DIR)
		return tree_walk_descend(walk, dir_fd, entry->name);
	if (type == DT_LNK)
		return tree_walk_link(walk, dir_fd, entry->name);
	if (type == DT_REG)
		return tree_walk_file(walk, dir_fd, entry->name);
	return unpack_io_fault(walk->io, UNPACK_UNSAFE,
	    "\"%s\" is no file, folder or link",
	    unpack_io_name(walk->path, walk->path_len));
}

/* Put "/name" (or "name" at the top) behind the path. */
static enum result
tree_walk_push(struct tree_walk *walk, const char *name)
{
	size_t len = strlen(name);

	if (walk->path_len + len + 1 > TREE_STREAM_PATH_MAX)
		return unpack_io_fault(walk->io, UNPACK_TOO_BIG,
		    "a path below \"%s\" is too long",
		    unpack_io_name(walk->path, walk->path_len));
	if (walk->path_len > 0)
		walk->path[walk->path_len++] = '/';
	memcpy(walk->path + walk->path_len, name, len + 1);
	walk->path_len += len;
	return RESULT_OK;
}

/* All entries of the open folder fd (borrowed). Depth is bounded by
 * tree_check, which refuses the entry before we descend. */
static enum result
tree_walk_folder(struct tree_walk *walk, int fd)
{
	struct tree_walk_names names = {NULL, 0, 0};
	size_t path_len = walk->path_len;
	enum result result;
	DIR *folder;
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	folder = own < 0 ? NULL : fdopendir(own);
	if (folder == NULL) {
		fd_close(&own);
		return tree_walk_fault(walk, "list");
	}
	rewinddir(folder); /* the offset is shared with an earlier job */
	result = tree_walk_list(walk, folder, &names);
	(void)closedir(folder);
	for (size_t i = 0; result == RESULT_OK && i < names.count; i++) {
		result = tree_walk_push(walk, names.names[i].name);
		if (result == RESULT_OK)
			result = tree_walk_entry(walk, fd, &names.names[i]);
		walk->path_len = path_len;
		walk->path[path_len] = '\0';
	}
	tree_walk_names_free(&names);
	return result;
}

enum result
tree_walk_read(struct unpack_io *io, int root_fd, struct tree_check *check,
    uint64_t max_files, struct tree_seal *seal)
{
	struct tree_walk *walk = calloc(1, sizeof(*walk));
	enum result result = RESULT_NO_MEMORY;

	if (walk == NULL)
		return result;
	walk->io = io;
	walk->check = check;
	walk->seal = seal;
	walk->files_left = max_files;
	walk->chunk = malloc(TREE_WALK_CHUNK);
	if (walk->chunk != NULL)
		result = tree_walk_folder(walk, root_fd);
	free(walk->chunk);
	free(walk);
	return result;
}

enum result
tree_walk_open(struct unpack_io *io, int root_fd, const char *path,
    uint64_t max, int *fd_r)
{
	int fd FD_CLEANUP = tree_walk_openat2(root_fd, path, O_RDONLY);
	const char *name = unpack_io_name(path, strlen(path));
	struct stat status;

	if (fd < 0 && errno == ENOENT)
		return RESULT_NOT_FOUND;
	if (fd < 0 || fstat(fd, &status) != 0)
		return unpack_io_fault(
		    io, UNPACK_UNREADABLE, "\"%s\": open: %m", name);
	if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size > max)
		return unpack_io_fault(io, UNPACK_UNREADABLE,
		    "\"%s\" is no file of at most %llu bytes", name,
		    (unsigned long long)max);
	*fd_r = fd;
	fd = -1; /* NOLINT: kept from the cleanup */
	return RESULT_OK;
}
