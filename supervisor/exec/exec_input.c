/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the inputs of a command; see exec_input.h. Called by exec_run; must
 * never wait for a pipe, follow a last link, nor let a file that changes
 * meanwhile go in half.
 */
#include "supervisor/exec/exec_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "supervisor/init/tree_stream.h"

#define EXEC_INPUT_CHUNK 65536U
#define EXEC_INPUT_SHOWN_MAX 160U

static enum result
exec_input_fault(struct exec_request_fault *fault_r, const char *path,
    const char *why, enum result result)
{
	char shown[EXEC_INPUT_SHOWN_MAX];

	log_escape(path, strlen(path), shown, sizeof(shown));
	(void)snprintf(
	    fault_r->text, sizeof(fault_r->text), "--input %s: %s", shown, why);
	return result;
}

static enum result
exec_input_header(
    int fd, uint32_t type, const char *name, const struct stat *st)
{
	struct tree_stream_header header = {.magic = TREE_STREAM_MAGIC,
	    .type = type,
	    .mode = st != NULL && (st->st_mode & S_IXUSR) != 0 ? 0755 : 0644,
	    .path_len = (uint32_t)strlen(name),
	    .size = st != NULL ? (uint64_t)st->st_size : 0};
	enum result result = fd_write_all(fd, &header, sizeof(header));

	return result != RESULT_OK ? result
				   : fd_write_all(fd, name, strlen(name));
}

/* Exactly size bytes, and not one more. */
static enum result
exec_input_copy(int from, int to, uint64_t size)
{
	static char bytes[EXEC_INPUT_CHUNK];
	uint64_t left = size;
	enum result result;

	for (;;) {
		ssize_t got = read(from, bytes, sizeof(bytes));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return RESULT_SYSTEM;
		if (got == 0)
			return left == 0 ? RESULT_OK : RESULT_MISMATCH;
		if ((uint64_t)got > left)
			return RESULT_MISMATCH;
		result = fd_write_all(to, bytes, (size_t)got);
		if (result != RESULT_OK)
			return result;
		left -= (uint64_t)got;
	}
}

static enum result
exec_input_file(struct exec_input *input, const struct exec_request_input *from,
    uint64_t max_bytes, struct exec_request_fault *fault_r)
{
	int fd FD_CLEANUP = open(from->path,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	enum result result;

	if (fd < 0 && errno == ELOOP)
		return exec_input_fault(fault_r, from->path,
		    "is a link: an input is a regular file", RESULT_REFUSED);
	if (fd < 0 || fstat(fd, &st) != 0)
		return exec_input_fault(
		    fault_r, from->path, strerror(errno), RESULT_NOT_FOUND);
	if (!S_ISREG(st.st_mode))
		return exec_input_fault(
		    fault_r, from->path, "is no regular file", RESULT_REFUSED);
	if ((uint64_t)st.st_size > max_bytes - input->bytes)
		return exec_input_fault(fault_r, from->path,
		    "is too large: all inputs together fill at most half of "
		    "exec.scratch_size",
		    RESULT_TOO_LONG);
	input->bytes += (uint64_t)st.st_size;
	input->count++;
	if ((uint64_t)st.st_size > input->largest)
		input->largest = (uint64_t)st.st_size;
	result =
	    exec_input_header(input->fd, TREE_STREAM_FILE, from->name, &st);
	if (result == RESULT_OK)
		result = exec_input_copy(fd, input->fd, (uint64_t)st.st_size);
	if (result == RESULT_OK)
		return RESULT_OK;
	return exec_input_fault(fault_r, from->path,
	    result == RESULT_MISMATCH ? "changed while it was read"
				      : "cannot be read",
	    result);
}

enum result
exec_input_read(const struct exec_request *request, uint64_t max_bytes,
    struct exec_input *input_r, struct exec_request_fault *fault_r)
{
	enum result result = RESULT_OK;

	*input_r = (struct exec_input){
	    .fd = memfd_create("inputs", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
	if (input_r->fd < 0)
		result = exec_input_fault(
		    fault_r, "", strerror(errno), RESULT_SYSTEM);
	for (size_t i = 0; i < request->input_count && result == RESULT_OK; i++)
		result = exec_input_file(
		    input_r, &request->inputs[i], max_bytes, fault_r);
	if (result == RESULT_OK &&
	    (exec_input_header(input_r->fd, TREE_STREAM_END, "", NULL) !=
		    RESULT_OK ||
		fcntl(input_r->fd, F_ADD_SEALS,
		    F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) !=
		    0 ||
		lseek(input_r->fd, 0, SEEK_SET) != 0))
		result = exec_input_fault(
		    fault_r, "", "cannot be held in memory", RESULT_SYSTEM);
	if (result != RESULT_OK)
		exec_input_close(input_r);
	return result;
}

void
exec_input_close(struct exec_input *input)
{
	fd_close(&input->fd);
}
