/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scratch directories on the host; see exec_scratch.h. Called by
 * exec_policy; must never follow a link, leave AGENTNODE_HOME/exec, nor
 * recurse into what a command made.
 */
#include "supervisor/exec/exec_scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "supervisor/init/tree_stream.h"
#include "supervisor/policy/state_dir.h"

#define EXEC_SCRATCH_DIR "exec"
#define EXEC_SCRATCH_LOCK "lock"
#define EXEC_SCRATCH_PASSES 65536U /* a level of depth each */

/* --- emptying ----------------------------------------------------------- */

static DIR *
exec_scratch_list(int dir, const char *name)
{
	int fd =
	    openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (list == NULL)
		fd_close(&fd);
	return list;
}

/* A directory that was closed to its owner. */
static void
exec_scratch_widen(int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    !S_ISDIR(st.st_mode) || (st.st_mode & S_IRWXU) == S_IRWXU)
		return;
	if (fchmodat(dir, name, S_IRWXU, AT_SYMLINK_NOFOLLOW) != 0)
		log_event(LOG_WARN_LEVEL, "exec_scratch_closed",
		    LOG_TEXT("detail", strerror(errno)));
}

static bool
exec_scratch_is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* A directory in top: its files go, its directories move up beside it, so
 * that no path gets long and nothing recurses. */
static void
exec_scratch_flatten(int top, const char *name, unsigned *next)
{
	const struct dirent *entry;
	char moved[32];
	DIR *list;

	exec_scratch_widen(top, name);
	list = exec_scratch_list(top, name);
	while (list != NULL && (entry = readdir(list)) != NULL) {
		if (exec_scratch_is_dots(entry->d_name))
			continue;
		if (unlinkat(dirfd(list), entry->d_name, 0) == 0)
			continue;
		exec_scratch_widen(dirfd(list), entry->d_name);
		do
			(void)snprintf(
			    moved, sizeof(moved), ".gone-%u", (*next)++);
		while (faccessat(top, moved, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
		(void)renameat(dirfd(list), entry->d_name, top, moved);
	}
	if (list != NULL)
		(void)closedir(list);
	(void)unlinkat(top, name, AT_REMOVEDIR);
}

/* One level less; false: it is empty, or cannot be read. */
static bool
exec_scratch_pass(int top, unsigned *next)
{
	DIR *list = exec_scratch_list(top, ".");
	const struct dirent *entry;
	bool some = false;

	while (list != NULL && (entry = readdir(list)) != NULL) {
		if (exec_scratch_is_dots(entry->d_name))
			continue;
		some = true;
		if (unlinkat(top, entry->d_name, 0) != 0)
			exec_scratch_flatten(top, entry->d_name, next);
	}
	if (list != NULL)
		(void)closedir(list);
	return some;
}

static void
exec_scratch_drop(int above, const char *name, int fd)
{
	unsigned next = 0;

	(void)fchmod(fd, S_IRWXU);
	for (unsigned i = 0; i < EXEC_SCRATCH_PASSES; i++) {
		if (!exec_scratch_pass(fd, &next))
			break;
	}
	if (unlinkat(above, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
		log_event(LOG_ERROR_LEVEL, "exec_scratch_left",
		    LOG_TEXT("name", name),
		    LOG_TEXT("detail", strerror(errno)));
}

void
exec_scratch_remove(struct exec_scratch *scratch)
{
	if (scratch->fd >= 0)
		exec_scratch_drop(scratch->above, scratch->name, scratch->fd);
	fd_close(&scratch->fd);
	fd_close(&scratch->above);
}

/* --- making ------------------------------------------------------------- */

/* Of a run that lives: locked. */
static void
exec_scratch_sweep(int above)
{
	DIR *list = exec_scratch_list(above, ".");
	const struct dirent *entry;

	while (list != NULL && (entry = readdir(list)) != NULL) {
		int fd;

		if (exec_scratch_is_dots(entry->d_name))
			continue;
		exec_scratch_widen(above, entry->d_name);
		fd = openat(above, entry->d_name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			exec_scratch_drop(above, entry->d_name, fd);
		fd_close(&fd);
	}
	if (list != NULL)
		(void)closedir(list);
}

static enum result
exec_scratch_make(struct exec_scratch *scratch)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return RESULT_SYSTEM;
	(void)snprintf(scratch->name, sizeof(scratch->name), "%016llx",
	    (unsigned long long)number);
	if (mkdirat(scratch->above, scratch->name, S_IRWXU) != 0)
		return RESULT_SYSTEM;
	scratch->fd = openat(scratch->above, scratch->name,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return scratch->fd >= 0 && flock(scratch->fd, LOCK_EX | LOCK_NB) == 0
		   ? RESULT_OK
		   : RESULT_SYSTEM;
}

static enum result
exec_scratch_above(struct exec_scratch *scratch, struct state_dir *dir_r,
    struct json_fault *fault)
{
	struct state_dir home = {.fd = -1};
	enum result result = state_dir_home(true, &home, fault);

	dir_r->fd = -1;
	if (result == RESULT_OK)
		result = state_dir_sub(&home, EXEC_SCRATCH_DIR, dir_r, fault);
	state_dir_close(&home);
	scratch->above = dir_r->fd;
	return result;
}

enum result
exec_scratch_new(struct exec_scratch *scratch_r, struct json_fault *fault)
{
	struct state_dir dir;
	int lock FD_CLEANUP = -1;
	enum result result;

	*scratch_r = (struct exec_scratch){.above = -1, .fd = -1};
	result = exec_scratch_above(scratch_r, &dir, fault);
	if (result != RESULT_OK)
		return result;
	lock = openat(dir.fd, EXEC_SCRATCH_LOCK,
	    O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (lock >= 0 && flock(lock, LOCK_EX) == 0) {
		exec_scratch_sweep(dir.fd);
		if (exec_scratch_make(scratch_r) == RESULT_OK &&
		    snprintf(scratch_r->path, sizeof(scratch_r->path), "%s/%s",
			dir.path,
			scratch_r->name) < (int)sizeof(scratch_r->path))
			return RESULT_OK;
	}
	json_field_fault(fault, "no scratch directory in %.200s: %s",
	    state_dir_shown(dir.path), strerror(errno));
	exec_scratch_remove(scratch_r);
	return RESULT_SYSTEM;
}

/* --- filling ------------------------------------------------------------ */

static bool
exec_scratch_read(int fd, void *bytes, size_t len, off_t at)
{
	return pread(fd, bytes, len, at) == (ssize_t)len;
}

static bool
exec_scratch_file(const struct exec_scratch *scratch, const char *name,
    uint32_t mode, int stream, off_t at, uint64_t size)
{
	int fd FD_CLEANUP = openat(scratch->fd, name,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	    (mode & 0100) != 0 ? 0755 : 0644);

	while (fd >= 0 && size > 0) {
		ssize_t put = sendfile(fd, stream, &at, (size_t)size);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return false;
		size -= (uint64_t)put;
	}
	return fd >= 0;
}

enum result
exec_scratch_fill(const struct exec_scratch *scratch, int stream)
{
	struct tree_stream_header header;
	char name[TREE_STREAM_PATH_MAX + 1];
	off_t at = 0;

	for (;;) {
		if (!exec_scratch_read(stream, &header, sizeof(header), at) ||
		    header.magic != TREE_STREAM_MAGIC)
			return RESULT_BAD;
		if (header.type == TREE_STREAM_END)
			return RESULT_OK;
		at += (off_t)sizeof(header);
		if (header.path_len > TREE_STREAM_PATH_MAX ||
		    !exec_scratch_read(stream, name, header.path_len, at))
			return RESULT_BAD;
		name[header.path_len] = '\0';
		at += (off_t)header.path_len;
		if (!exec_scratch_file(
			scratch, name, header.mode, stream, at, header.size))
			return RESULT_SYSTEM;
		at += (off_t)header.size;
	}
}
