/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child that moves a tree (see the header) and what import and export
 * share: exact reads and writes, bounds, opening without links.
 */
#include "supervisor/init/init_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/init/init_child.h"
#include "supervisor/init/init_filter.h"
#include "supervisor/init/init_landlock.h"
#include "supervisor/init/init_results.h"

#define INIT_TREE_OPEN (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define INIT_TREE_COPY_SIZE 65536U

int
init_tree_charge(struct init_tree_bound *bound, uint64_t size)
{
	if (bound->files == 0 || size > bound->bytes)
		return EFBIG;
	bound->files--;
	bound->bytes -= size;
	return 0;
}

int
init_tree_read(int fd, void *bytes_r, size_t size)
{
	char *to = bytes_r;

	while (size > 0) {
		ssize_t got = read(fd, to, size);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? errno : EPIPE;
		to += got;
		size -= (size_t)got;
	}
	return 0;
}

int
init_tree_write(int fd, const void *bytes, size_t size)
{
	const char *from = bytes;

	while (size > 0) {
		ssize_t put = write(fd, from, size);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put < 0 ? errno : EIO;
		from += put;
		size -= (size_t)put;
	}
	return 0;
}

int
init_tree_copy(int from, int to, uint64_t size)
{
	static char bytes[INIT_TREE_COPY_SIZE];

	while (size > 0) {
		size_t part =
		    size < sizeof(bytes) ? (size_t)size : sizeof(bytes);
		int error = init_tree_read(from, bytes, part);

		if (error == 0)
			error = init_tree_write(to, bytes, part);
		if (error != 0)
			return error;
		size -= part;
	}
	return 0;
}

/* The same, a part at a time, where the kernel has no openat2: no part is
 * a link or leads up, none is another file system. -1: errno. */
static int
init_tree_walk(int root, const char *path)
{
	struct stat top, info;
	int fd = openat(root, ".", INIT_TREE_OPEN);

	if (fd < 0)
		return -1;
	if (fstat(fd, &top) != 0) {
		(void)close(fd);
		errno = EXDEV;
		return -1;
	}
	for (size_t len; *path != '\0'; path += len + (path[len] == '/')) {
		char part[NAME_MAX + 1];
		int next;

		len = strcspn(path, "/");
		if (len == 0 || len > NAME_MAX ||
		    (len == 2 && memcmp(path, "..", 2) == 0)) {
			(void)close(fd);
			errno = EXDEV;
			return -1;
		}
		memcpy(part, path, len);
		part[len] = '\0';
		next = openat(fd, part, INIT_TREE_OPEN);
		(void)close(fd);
		fd = next;
		if (fd < 0)
			return -1;
		if (fstat(fd, &info) != 0 || info.st_dev != top.st_dev) {
			(void)close(fd);
			errno = EXDEV;
			return -1;
		}
	}
	return fd;
}

int
init_tree_open_folder(int root, const char *path)
{
	struct open_how how = {.flags = INIT_TREE_OPEN,
	    .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
		       RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV};

	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	return fd < 0 && errno == ENOSYS ? init_tree_walk(root, path) : fd;
}

static int
init_tree_move(const struct init_tree *job, int root, int stream_fd)
{
	struct init_tree_bound bound = {job->max_bytes, job->max_files};
	const struct init_results_bound most = {
	    job->max_bytes, job->max_file, job->max_files};

	if (job->record.type == INIT_IMPORT)
		return init_import_run(root, stream_fd, bound);
	if (job->record.type == INIT_EXPORT)
		return init_export_run(root, stream_fd, bound);
	return init_results_run(root, stream_fd, &most);
}

/* Does not return. */
static void
init_tree_child(
    const struct init_tree *job, int stream_fd, int landlock_required)
{
	bool import = job->record.type == INIT_IMPORT;
	int fds[2] = {stream_fd, -1};
	int error;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)umask(S_IWGRP | S_IWOTH);
	/* The workload may have closed its own directory to itself. */
	if (job->record.type == INIT_RESULTS)
		(void)chmod(job->path, S_IRWXU);
	fds[1] =
	    open(job->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fds[1] < 0)
		_exit(errno);
	error = init_child_keep(fds, 2);
	if (error == 0)
		error =
		    init_landlock_tree(job->path, import, landlock_required);
	if (error == 0)
		error = init_filter_enter(false);
	if (error == 0)
		error = init_tree_move(job, fds[1], fds[0]);
	_exit(error);
}

pid_t
init_tree_start(
    const struct init_tree *job, int stream_fd, int landlock_required)
{
	pid_t pid = init_child_fork();

	if (pid == 0)
		init_tree_child(job, stream_fd, landlock_required);
	return pid;
}

int
init_tree_outcome(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}
