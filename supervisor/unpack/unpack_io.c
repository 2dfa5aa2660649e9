/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits, reads and writes of agentnode-unpack's jobs; see unpack_io.h. Must
 * never block without watching the control socket and the deadline.
 */
#include "supervisor/unpack/unpack_io.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/ipc.h"
#include "common/log.h"
#include "supervisor/unpack/unpack_jobs.h"

enum result
unpack_io_fault(struct unpack_io *io, const char *code, const char *format, ...)
{
	va_list args;

	if (io->code != NULL)
		return RESULT_BAD;
	io->code = code;
	va_start(args, format);
	(void)vsnprintf(io->detail, sizeof(io->detail), format, args);
	va_end(args);
	return RESULT_BAD;
}

const char *
unpack_io_name(const char *name, size_t len)
{
	static char text[UNPACK_IO_NAME_MAX];

	log_escape(name, len, text, sizeof(text));
	return text;
}

static enum result
unpack_io_deadline(struct unpack_io *io, int *left_r)
{
	uint64_t now = event_loop_now_ms();

	if (now >= io->deadline_ms)
		return unpack_io_fault(io, UNPACK_TIMEOUT,
		    "the job did not end within its time limit");
	*left_r = io->deadline_ms - now > 60000 ? 60000
						: (int)(io->deadline_ms - now);
	return RESULT_OK;
}

enum result
unpack_io_poll(struct unpack_io *io, struct pollfd *polls, size_t count)
{
	struct pollfd all[UNPACK_IO_POLL_MAX + 1] = {
	    {.fd = io->control_fd, .events = POLLRDHUP}};
	enum result result;
	int left = 0, some;

	for (size_t i = 0; i < count; i++)
		all[i + 1] = polls[i];
	for (;;) {
		result = unpack_io_deadline(io, &left);
		if (result != RESULT_OK)
			return result;
		some = poll(all, count + 1, count > 0 ? left : 0);
		if (some < 0 && errno != EINTR)
			return unpack_io_fault(
			    io, UNPACK_UNREADABLE, "poll: %m");
		if (some > 0 &&
		    (all[0].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0)
			_exit(IPC_EXIT_SUPERVISOR);
		/* The control socket alone is looked at, not waited for. */
		if (count == 0 || some > (all[0].revents != 0 ? 1 : 0))
			break;
	}
	for (size_t i = 0; i < count; i++)
		polls[i].revents = all[i + 1].revents;
	return RESULT_OK;
}

static enum result
unpack_io_wait(struct unpack_io *io, int fd, short events)
{
	struct pollfd one = {.fd = fd, .events = events};

	return unpack_io_poll(io, &one, 1);
}

enum result
unpack_io_check(struct unpack_io *io)
{
	return unpack_io_poll(io, NULL, 0);
}

enum result
unpack_io_read(
    struct unpack_io *io, int fd, void *bytes, size_t size, size_t *len_r)
{
	enum result result;
	ssize_t got;

	for (;;) {
		result = unpack_io_wait(io, fd, POLLIN);
		if (result != RESULT_OK)
			return result;
		got = read(fd, bytes, size);
		if (got >= 0) {
			*len_r = (size_t)got;
			return RESULT_OK;
		}
		if (errno != EINTR && errno != EAGAIN)
			return unpack_io_fault(
			    io, UNPACK_UNREADABLE, "read: %m");
	}
}

static enum result
unpack_io_write_fault(struct unpack_io *io)
{
	if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
		return unpack_io_fault(io, UNPACK_DISK_FULL,
		    "the disk that takes the unpacked files is full");
	if (errno == EPIPE)
		return unpack_io_fault(io, UNPACK_OUTPUT,
		    "whoever takes the unpacked files stopped reading");
	return unpack_io_fault(io, UNPACK_OUTPUT, "write: %m");
}

enum result
unpack_io_write(struct unpack_io *io, int fd, const uint8_t *bytes, size_t len)
{
	enum result result;
	ssize_t put;

	while (len > 0) {
		result = unpack_io_wait(io, fd, POLLOUT);
		if (result != RESULT_OK)
			return result;
		put = write(fd, bytes, len);
		if (put < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (put < 0)
			return unpack_io_write_fault(io);
		bytes += put;
		len -= (size_t)put;
	}
	return RESULT_OK;
}
