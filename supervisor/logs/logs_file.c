/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the files of one log (see the header). Called by logs_view; must
 * never follow a link, hold more than a line, or wait for one.
 */
#include "supervisor/logs/logs_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"

#define LOGS_FILE_BUFFER (LOGS_LINE_MAX + 1U)

enum result
logs_file_open(const struct state_dir *dir, const char *name,
    unsigned generation, struct logs_file *file_r, time_t *written_r,
    struct json_fault *fault)
{
	char path[STATE_DIR_NAME_MAX + 16];
	struct stat status;

	if (generation == 0)
		snprintf(path, sizeof(path), "%s" LOG_FILES_END, name);
	else
		snprintf(path, sizeof(path), "%s" LOG_FILES_END ".%u", name,
		    generation);
	*file_r = (struct logs_file){
	    .fd = openat(
		dir->fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
	if (file_r->fd < 0 && errno == ENOENT)
		return RESULT_NOT_FOUND;
	if (file_r->fd < 0 && errno == ELOOP) /* a link, refused like others */
		memset(&status, 0, sizeof(status));
	else if (file_r->fd < 0 || fstat(file_r->fd, &status) != 0) {
		json_field_fault(fault, "%s/%s: cannot be opened: %s",
		    state_dir_shown(dir->path), path, strerror(errno));
		fd_close(&file_r->fd);
		return RESULT_SYSTEM;
	}
	if (!S_ISREG(status.st_mode) || status.st_uid != geteuid()) {
		json_field_fault(fault,
		    "%s/%s: must be a regular file of our own",
		    state_dir_shown(dir->path), path);
		fd_close(&file_r->fd);
		return RESULT_BAD;
	}
	snprintf(file_r->name, sizeof(file_r->name), "%s", name);
	file_r->device = status.st_dev;
	file_r->inode = status.st_ino;
	*written_r = status.st_mtime;
	return RESULT_OK;
}

void
logs_file_close(struct logs_file *file)
{
	fd_close(&file->fd);
	free(file->buffer);
	file->buffer = NULL;
	file->start = file->end = 0;
}

/* --- lines -------------------------------------------------------------- */

/* RESULT_NOT_FOUND: the end of this file, for now. */
static enum result
logs_file_fill(struct logs_file *file)
{
	ssize_t count;

	if (file->buffer == NULL)
		file->buffer = malloc(LOGS_FILE_BUFFER);
	if (file->buffer == NULL)
		return RESULT_NO_MEMORY;
	if (file->start > 0) {
		memmove(file->buffer, file->buffer + file->start,
		    file->end - file->start);
		file->end -= file->start;
		file->start = 0;
	}
	do {
		count = read(file->fd, file->buffer + file->end,
		    LOGS_FILE_BUFFER - file->end);
	} while (count < 0 && errno == EINTR);
	if (count < 0)
		return RESULT_SYSTEM;
	file->end += (size_t)count;
	return count == 0 ? RESULT_NOT_FOUND : RESULT_OK;
}

static void
logs_file_line(struct logs_file *file, size_t len, struct logs_line *line_r)
{
	line_r->bytes = file->buffer + file->start;
	line_r->len = len;
	(void)logs_line_time(line_r->bytes, len, file->ts);
	memcpy(line_r->ts, file->ts, sizeof(line_r->ts));
	file->start += len;
}

/* A whole line of the buffer, or one that is too long for it; what is left
 * of one that was cut is dropped on the way. */
static bool
logs_file_whole(struct logs_file *file, struct logs_line *line_r)
{
	char *end;

	while ((end = memchr(file->buffer + file->start, '\n',
		    file->end - file->start)) != NULL) {
		size_t len = (size_t)(end - file->buffer) - file->start;
		bool skipped = file->skipping || len == 0;

		file->skipping = false;
		if (!skipped)
			logs_file_line(file, len, line_r);
		else
			file->start += len;
		file->start++;
		if (!skipped)
			return true;
	}
	if (file->skipping)
		file->start = file->end;
	if (file->end - file->start <= LOGS_LINE_MAX)
		return false;
	line_r->cut = file->skipping = true;
	logs_file_line(file, LOGS_LINE_MAX, line_r);
	return true;
}

enum result
logs_file_next(struct logs_file *file, bool follow, struct logs_line *line_r)
{
	enum result result;

	for (;;) {
		*line_r = (struct logs_line){.torn = false};
		if (file->buffer != NULL && logs_file_whole(file, line_r))
			return RESULT_OK;
		if (file->fd < 0)
			return RESULT_NOT_FOUND;
		result = logs_file_fill(file);
		if (result != RESULT_OK && result != RESULT_NOT_FOUND)
			return result;
		if (result == RESULT_OK)
			continue;
		if (follow && file->newer < 2)
			return RESULT_NOT_FOUND;
		fd_close(&file->fd);
		if (file->end > file->start) {
			line_r->torn = true;
			logs_file_line(file, file->end - file->start, line_r);
			return RESULT_OK;
		}
	}
}
