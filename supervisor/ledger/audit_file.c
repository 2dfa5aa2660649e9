/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens and looks at the chain's files; see audit_file.h. Must never follow
 * a link or wait for a device.
 */
#include "supervisor/ledger/audit_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"

enum result
audit_file_open(int dir_fd, const char *name, enum audit_file_use use,
    int *fd_r, struct json_fault *fault)
{
	int flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	struct stat status;

	flags |= use == AUDIT_FILE_READ ? O_RDONLY : O_RDWR;
	if (use == AUDIT_FILE_APPEND || use == AUDIT_FILE_MAKE)
		flags |= O_APPEND;
	if (use == AUDIT_FILE_MAKE || use == AUDIT_FILE_HEAD)
		flags |= O_CREAT;
	*fd_r = openat(dir_fd, name, flags, 0600);
	if (*fd_r < 0 && errno == ENOENT)
		return RESULT_NOT_FOUND;
	if (*fd_r < 0 || fstat(*fd_r, &status) != 0) {
		json_field_fault(
		    fault, "%s: cannot be opened: %s", name, strerror(errno));
		fd_close(fd_r);
		return RESULT_SYSTEM;
	}
	if (S_ISREG(status.st_mode) && (status.st_mode & 022) == 0)
		return RESULT_OK;
	json_field_fault(fault,
	    "%s: must be a regular file that nobody else may write", name);
	fd_close(fd_r);
	return RESULT_BAD;
}

enum result
audit_file_read(int fd, off_t at, char *bytes_r, size_t size, size_t *len_r)
{
	ssize_t got;

	*len_r = 0;
	while (*len_r < size) {
		got = pread(
		    fd, bytes_r + *len_r, size - *len_r, at + (off_t)*len_r);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return RESULT_SYSTEM;
		if (got == 0)
			break;
		*len_r += (size_t)got;
	}
	return RESULT_OK;
}

uint64_t
audit_file_size(int dir_fd, uint64_t file)
{
	char name[AUDIT_HEAD_NAME_MAX];
	struct stat status;

	audit_head_name(file, name);
	if (fstatat(dir_fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return 0;
	return (uint64_t)status.st_size;
}

/* Its seq and prev as they stand there: who reads on checks them. */
static enum result
audit_file_link(const char *line, size_t len, struct audit_link *before_r)
{
	struct json_fault unused = {""};
	json_t *record = NULL;
	const char *prev;
	json_int_t seq;
	enum result result = RESULT_MISMATCH;

	if (json_field_parse(line, len, &record, &unused) != RESULT_OK)
		return RESULT_MISMATCH;
	seq = json_integer_value(json_object_get(record, "seq"));
	prev = json_string_value(json_object_get(record, "prev"));
	if (seq > 0 && prev != NULL && digest_is_hex(prev)) {
		before_r->seq = (uint64_t)seq - 1;
		memcpy(before_r->hash, prev, DIGEST_HEX + 1);
		result = RESULT_OK;
	}
	json_decref(record);
	return result;
}

enum result
audit_file_before(int fd, struct audit_link *before_r)
{
	char *bytes = malloc(AUDIT_RECORD_LINE_MAX);
	const char *end = NULL;
	enum result result;
	size_t len = 0;

	if (bytes == NULL)
		return RESULT_NO_MEMORY;
	result = audit_file_read(fd, 0, bytes, AUDIT_RECORD_LINE_MAX, &len);
	if (result == RESULT_OK && len == 0)
		result = RESULT_NOT_FOUND;
	if (result == RESULT_OK) {
		end = memchr(bytes, '\n', len);
		result = end == NULL ? RESULT_MISMATCH
				     : audit_file_link(bytes,
					   (size_t)(end - bytes), before_r);
	}
	free(bytes);
	return result;
}

uint64_t
audit_file_oldest(int dir_fd, uint64_t newest)
{
	while (newest > 0 && audit_file_size(dir_fd, newest - 1) > 0)
		newest--;
	return newest;
}
