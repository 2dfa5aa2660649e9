/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens and rotates log files. Called by the sandbox's story, audit.c and
 * `logs`. It must never follow a link or let a name leave the folder.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/policy/log_files.h"

#define LOG_FILES_NAME_MAX 64U
#define LOG_FILES_LISTED_MAX 256U

bool
log_files_is_name(const char *name)
{
	size_t len = strnlen(name, LOG_FILES_NAME_MAX + 1);

	return len > 0 && len <= LOG_FILES_NAME_MAX && name[0] != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

bool
log_files_is_full(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	       status.st_size >= (off_t)LOG_FILES_SIZE_MAX;
}

static enum result
log_files_open_one(const struct state_dir *dir, const char *file, int *fd_r,
    struct json_fault *fault)
{
	struct stat status;

	*fd_r = openat(dir->fd, file,
	    O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
	    0600);
	if (*fd_r < 0 || fstat(*fd_r, &status) != 0) {
		json_field_fault(fault, "%s/%s: cannot be opened: %s",
		    state_dir_shown(dir->path), file, strerror(errno));
		fd_close(fd_r);
		return RESULT_SYSTEM;
	}
	if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
	    (status.st_mode & 022) != 0) {
		json_field_fault(fault,
		    "%s/%s: must be a regular file of our own",
		    state_dir_shown(dir->path), file);
		fd_close(fd_r);
		return RESULT_BAD;
	}
	return fd_set_nonblocking(*fd_r, false);
}

/* NAME.jsonl.4 -> .5, ..., NAME.jsonl -> .1; a gap is no error. */
static void
log_files_shift(const struct state_dir *dir, const char *file)
{
	char from[STATE_DIR_NAME_MAX + 16], to[STATE_DIR_NAME_MAX + 16];
	unsigned i;

	for (i = LOG_FILES_KEPT; i > 0; i--) {
		snprintf(to, sizeof(to), "%s.%u", file, i);
		if (i > 1)
			snprintf(from, sizeof(from), "%s.%u", file, i - 1);
		else
			snprintf(from, sizeof(from), "%s", file);
		(void)renameat(dir->fd, from, dir->fd, to);
	}
}

/* Another run may have rotated meanwhile: look again under the lock. */
static enum result
log_files_rotate(const struct state_dir *dir, const char *file, int *fd_r,
    struct json_fault *fault)
{
	FD_CLEANUP int lock = -1;
	enum result result;

	result = state_dir_lock(dir, &lock, fault);
	if (result != RESULT_OK)
		return result;
	fd_close(fd_r);
	result = log_files_open_one(dir, file, fd_r, fault);
	if (result != RESULT_OK || !log_files_is_full(*fd_r))
		return result;
	fd_close(fd_r);
	log_files_shift(dir, file);
	return log_files_open_one(dir, file, fd_r, fault);
}

static enum result
log_files_open_in(const struct state_dir *dir, const char *name, int *fd_r,
    struct json_fault *fault)
{
	char file[STATE_DIR_NAME_MAX];
	enum result result;

	snprintf(file, sizeof(file), "%s" LOG_FILES_END, name);
	result = log_files_open_one(dir, file, fd_r, fault);
	if (result == RESULT_OK && log_files_is_full(*fd_r))
		result = log_files_rotate(dir, file, fd_r, fault);
	if (result != RESULT_OK)
		fd_close(fd_r);
	return result;
}

enum result
log_files_open(
    const char *home, const char *name, int *fd_r, struct json_fault *fault)
{
	struct state_dir dir, log_dir;
	enum result result;

	*fd_r = -1;
	if (!log_files_is_name(name)) {
		json_field_fault(fault, "'%.64s' is no name of a log", name);
		return RESULT_BAD;
	}
	result = state_dir_open(home, STATE_DIR_OURS, &dir, fault);
	if (result == RESULT_NOT_FOUND)
		json_field_fault(
		    fault, "%s does not exist", state_dir_shown(home));
	if (result != RESULT_OK)
		return result;
	result = state_dir_sub(&dir, LOG_FILES_DIR, &log_dir, fault);
	state_dir_close(&dir);
	if (result != RESULT_OK)
		return result;
	result = log_files_open_in(&log_dir, name, fd_r, fault);
	state_dir_close(&log_dir);
	return result;
}

static int
log_files_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The name a directory entry is the current log of; caller frees. */
static char *
log_files_entry_name(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name), end = strlen(LOG_FILES_END);
	char *name;

	if (len <= end || strcmp(entry->d_name + len - end, LOG_FILES_END) != 0)
		return NULL;
	name = strndup(entry->d_name, len - end);
	if (name != NULL && !log_files_is_name(name)) {
		free(name);
		return NULL;
	}
	return name;
}

enum result
log_files_list(const struct state_dir *log_dir,
    void (*each)(const char *name, void *context), void *context,
    struct json_fault *fault)
{
	char *names[LOG_FILES_LISTED_MAX], *name;
	int fd = openat(log_dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	size_t count = 0, i;

	if (stream == NULL) {
		fd_close(&fd);
		json_field_fault(fault, "%s: cannot be listed: %s",
		    state_dir_shown(log_dir->path), strerror(errno));
		return RESULT_SYSTEM;
	}
	while (
	    count < LOG_FILES_LISTED_MAX && (entry = readdir(stream)) != NULL) {
		name = log_files_entry_name(entry);
		if (name != NULL)
			names[count++] = name;
	}
	closedir(stream);
	qsort(names, count, sizeof(names[0]), log_files_compare);
	for (i = 0; i < count; i++) {
		each(names[i], context);
		free(names[i]);
	}
	return RESULT_OK;
}
