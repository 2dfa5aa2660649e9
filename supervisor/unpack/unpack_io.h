/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounded reading and writing for agentnode-unpack's jobs. The process does
 * one job at a time and waits inside it, but never for a supervisor that is
 * gone: each wait also watches the control socket (its end exits the
 * process) and the job's deadline. The first fault of a job is kept as code
 * and sentence.
 */
#ifndef SUPERVISOR_UNPACK_UNPACK_IO_H
#define SUPERVISOR_UNPACK_UNPACK_IO_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#include "common/result.h"

#define UNPACK_IO_NAME_MAX 160U
#define UNPACK_IO_POLL_MAX 4U

struct unpack_io {
	int control_fd;
	uint64_t deadline_ms; /* event_loop_now_ms() scale */
	const char *code;     /* NULL: no fault so far; static text */
	char detail[480];
};

/* Record the first fault; returns RESULT_BAD so that callers can return it.
 * Arguments from outside must be escaped (unpack_io_name). */
enum result unpack_io_fault(struct unpack_io *io, const char *code,
    const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A foreign name made printable; valid until the next call. */
const char *unpack_io_name(const char *name, size_t len);

/* Up to size bytes; *len_r 0 at the end of input. */
enum result unpack_io_read(
    struct unpack_io *io, int fd, void *bytes, size_t size, size_t *len_r);

/* Wait until one of up to UNPACK_IO_POLL_MAX has an event. */
enum result unpack_io_poll(
    struct unpack_io *io, struct pollfd *polls, size_t count);

/* Exits the process when the supervisor is gone; a fault when the deadline
 * passed. Called now and then by work that never waits. */
enum result unpack_io_check(struct unpack_io *io);

/* Write all of it. ENOSPC is the code disk_full, EPIPE output_closed. */
enum result unpack_io_write(
    struct unpack_io *io, int fd, const uint8_t *bytes, size_t len);

#endif
