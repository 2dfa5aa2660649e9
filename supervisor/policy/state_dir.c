/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checked folders, whole reads, atomic replacement. Used by config,
 * lockfile, audit and logs. It must never follow a link somebody else
 * planted, nor leave half a file behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/policy/state_dir.h"

#define STATE_DIR_SHOWN 120U
#define STATE_DIR_LOCK_TRIES 500U
#define STATE_DIR_LOCK_PAUSE_NS 20000000L

const char *
state_dir_shown(const char *path)
{
	size_t len = strlen(path);

	return len > STATE_DIR_SHOWN ? path + len - STATE_DIR_SHOWN : path;
}

static enum result
state_dir_system(
    struct json_fault *fault, const char *what, const char *path, int error)
{
	json_field_fault(
	    fault, "%s: %s: %s", state_dir_shown(path), what, strerror(error));
	return RESULT_SYSTEM;
}

/* Owner and mode of a folder or file; kind is "folder" or "file". */
static enum result
state_dir_check(const struct stat *status, enum state_dir_trust trust,
    const char *kind, const char *path, struct json_fault *fault)
{
	uid_t owner = trust == STATE_DIR_ROOTS ? 0 : geteuid();

	if (trust == STATE_DIR_ANY)
		return RESULT_OK;
	if (status->st_uid != owner) {
		json_field_fault(fault,
		    "%s: this %s belongs to uid %u and must belong to uid %u",
		    state_dir_shown(path), kind, (unsigned)status->st_uid,
		    (unsigned)owner);
		return RESULT_BAD;
	}
	if ((status->st_mode & (S_IWGRP | S_IWOTH)) != 0) {
		json_field_fault(fault,
		    "%s: this %s is writable by others; 'chmod go-w' it",
		    state_dir_shown(path), kind);
		return RESULT_BAD;
	}
	return RESULT_OK;
}

enum result
state_dir_open(const char *path, enum state_dir_trust trust,
    struct state_dir *dir_r, struct json_fault *fault)
{
	int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	struct stat status;
	enum result result;

	dir_r->fd = -1;
	if (strlen(path) >= sizeof(dir_r->path)) {
		json_field_fault(fault, "the path %.64s... is too long", path);
		return RESULT_TOO_LONG;
	}
	memmove(dir_r->path, path, strlen(path) + 1);
	if (trust != STATE_DIR_ANY)
		flags |= O_NOFOLLOW;
	dir_r->fd = open(dir_r->path, flags);
	if (dir_r->fd < 0 && errno == ENOENT)
		return RESULT_NOT_FOUND;
	if (dir_r->fd < 0) {
		state_dir_system(fault,
		    errno == ENOTDIR || errno == ELOOP
			? "must be a folder and no link"
			: "cannot be opened",
		    dir_r->path, errno);
		return RESULT_BAD;
	}
	if (fstat(dir_r->fd, &status) != 0)
		result = state_dir_system(
		    fault, "cannot be examined", dir_r->path, errno);
	else
		result = state_dir_check(
		    &status, trust, "folder", dir_r->path, fault);
	if (result != RESULT_OK)
		state_dir_close(dir_r);
	return result;
}

void
state_dir_close(struct state_dir *dir)
{
	fd_close(&dir->fd);
}

static const char *
state_dir_user_home(void)
{
	const char *home = getenv("HOME");
	const struct passwd *user;

	if (home != NULL && home[0] != '\0')
		return home;
	user = getpwuid(geteuid());
	return user != NULL ? user->pw_dir : "";
}

static enum result
state_dir_home_path(char *path_r, size_t size, struct json_fault *fault)
{
	const char *home = getenv("AGENTNODE_HOME");
	const char *from = "AGENTNODE_HOME", *end = "";
	int len;

	if (home == NULL || home[0] == '\0') {
		home = state_dir_user_home();
		from = "the home folder";
		end = "/.agentnode";
	}
	if (home[0] != '/') {
		json_field_fault(fault,
		    "%s is '%.100s': it must be an absolute path", from, home);
		return RESULT_BAD;
	}
	len = snprintf(path_r, size, "%s%s", home, end);
	if (len < 0 || (size_t)len >= size) {
		json_field_fault(fault, "%s: the path is too long", from);
		return RESULT_TOO_LONG;
	}
	/* A slash at the end would follow a link in spite of O_NOFOLLOW. */
	while (len > 1 && path_r[len - 1] == '/')
		path_r[--len] = '\0';
	return RESULT_OK;
}

enum result
state_dir_home(bool make, struct state_dir *dir_r, struct json_fault *fault)
{
	char path[STATE_DIR_PATH_MAX];
	enum result result;

	dir_r->fd = -1;
	dir_r->path[0] = '\0';
	result = state_dir_home_path(path, sizeof(path), fault);
	if (result != RESULT_OK)
		return result;
	if (make && mkdir(path, 0700) != 0 && errno != EEXIST) {
		state_dir_system(fault, "cannot be made", path, errno);
		return RESULT_BAD;
	}
	return state_dir_open(path, STATE_DIR_OURS, dir_r, fault);
}

enum result
state_dir_sub(const struct state_dir *dir, const char *name,
    struct state_dir *dir_r, struct json_fault *fault)
{
	char path[STATE_DIR_PATH_MAX + STATE_DIR_NAME_MAX];
	enum result result;

	snprintf(path, sizeof(path), "%s/%s", dir->path, name);
	if (mkdirat(dir->fd, name, 0700) != 0 && errno != EEXIST)
		return state_dir_system(fault, "cannot be made", path, errno);
	result = state_dir_open(path, STATE_DIR_OURS, dir_r, fault);
	if (result == RESULT_NOT_FOUND)
		return state_dir_system(fault, "vanished", path, ENOENT);
	return result;
}

/* Open a regular file without following a link or hanging on a pipe. */
static enum result
state_dir_open_file(const struct state_dir *dir, const char *name,
    enum state_dir_trust trust, const char *path, int *fd_r,
    struct json_fault *fault)
{
	struct stat status;
	enum result result;

	*fd_r = openat(dir->fd, name,
	    O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	if (*fd_r < 0 && errno == ENOENT)
		return RESULT_NOT_FOUND;
	if (*fd_r < 0) {
		state_dir_system(fault,
		    errno == ELOOP ? "must not be a link" : "cannot be read",
		    path, errno);
		return RESULT_BAD;
	}
	if (fstat(*fd_r, &status) != 0)
		result =
		    state_dir_system(fault, "cannot be examined", path, errno);
	else if (!S_ISREG(status.st_mode)) {
		json_field_fault(
		    fault, "%s: must be a regular file", state_dir_shown(path));
		result = RESULT_BAD;
	} else
		result = state_dir_check(&status, trust, "file", path, fault);
	if (result != RESULT_OK)
		fd_close(fd_r);
	return result;
}

enum result
state_dir_read(const struct state_dir *dir, const char *name,
    enum state_dir_trust trust, size_t max, char **bytes_r, size_t *len_r,
    struct json_fault *fault)
{
	char path[STATE_DIR_PATH_MAX + STATE_DIR_NAME_MAX];
	FD_CLEANUP int fd = -1;
	enum result result;

	*bytes_r = NULL;
	*len_r = 0;
	snprintf(path, sizeof(path), "%s/%s", dir->path, name);
	result = state_dir_open_file(dir, name, trust, path, &fd, fault);
	if (result != RESULT_OK)
		return result;
	result = fd_read_all(fd, max, bytes_r, len_r);
	if (result == RESULT_TOO_LONG)
		json_field_fault(fault, "%s: larger than %zu bytes",
		    state_dir_shown(path), max);
	else if (result != RESULT_OK)
		state_dir_system(fault, "cannot be read", path, errno);
	return result == RESULT_SYSTEM ? RESULT_BAD : result;
}

enum result
state_dir_lock(
    const struct state_dir *dir, int *lock_r, struct json_fault *fault)
{
	const struct timespec pause = {0, STATE_DIR_LOCK_PAUSE_NS};
	unsigned tries;

	/* A description of its own, so that closing it releases the lock. */
	*lock_r = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*lock_r < 0)
		return state_dir_system(
		    fault, "cannot be locked", dir->path, errno);
	for (tries = 0; tries < STATE_DIR_LOCK_TRIES; tries++) {
		if (flock(*lock_r, LOCK_EX | LOCK_NB) == 0)
			return RESULT_OK;
		if (errno != EWOULDBLOCK && errno != EINTR) {
			state_dir_system(
			    fault, "cannot be locked", dir->path, errno);
			fd_close(lock_r);
			return RESULT_SYSTEM;
		}
		nanosleep(&pause, NULL);
	}
	json_field_fault(fault,
	    "%s: another agentnode has kept it locked for 10 s",
	    state_dir_shown(dir->path));
	fd_close(lock_r);
	return RESULT_TIMEOUT;
}

/* Write and sync the new file under its temporary name. */
static enum result
state_dir_write_new(const struct state_dir *dir, const char *temporary,
    mode_t mode, const void *bytes, size_t len)
{
	FD_CLEANUP int fd = -1;

	/* Left by a writer that was killed; the lock says nobody uses it. */
	if (unlinkat(dir->fd, temporary, 0) != 0 && errno != ENOENT)
		return RESULT_SYSTEM;
	fd = openat(dir->fd, temporary,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || fd_write_all(fd, bytes, len) != RESULT_OK ||
	    fchmod(fd, mode) != 0 || fsync(fd) != 0)
		return RESULT_SYSTEM;
	return RESULT_OK;
}

enum result
state_dir_write(const struct state_dir *dir, const char *name, mode_t mode,
    const void *bytes, size_t len, struct json_fault *fault)
{
	char path[STATE_DIR_PATH_MAX + STATE_DIR_NAME_MAX];
	char temporary[STATE_DIR_NAME_MAX + 16];
	int error;

	snprintf(path, sizeof(path), "%s/%s", dir->path, name);
	snprintf(temporary, sizeof(temporary), ".%.200s.new", name);
	if (state_dir_write_new(dir, temporary, mode, bytes, len) ==
		RESULT_OK &&
	    renameat(dir->fd, temporary, dir->fd, name) == 0) {
		if (fsync(dir->fd) == 0)
			return RESULT_OK;
		return state_dir_system(fault,
		    "was replaced, but the folder could not be synced", path,
		    errno);
	}
	error = errno;
	unlinkat(dir->fd, temporary, 0);
	return state_dir_system(
	    fault, "cannot be written and is unchanged", path, error);
}
