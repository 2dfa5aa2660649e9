/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors: closing, flags, whole reads and writes, sealed memfds, and
 * passing by SCM_RIGHTS with close-on-exec and a truncation check.
 * -1 means empty everywhere. Used by all processes (by init
 * for the mux link alone).
 */
#ifndef COMMON_FD_H
#define COMMON_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/result.h"

struct sockaddr_storage; /* <sys/socket.h> */

#define FD_PASS_MAX 16U

/* Close and set to -1; accepts -1. Keeps errno. */
void fd_close(int *fd);
/* For __attribute__((cleanup(fd_close))). */
#define FD_CLEANUP __attribute__((cleanup(fd_close)))

/* Close, so that the other end does not take it for an end in order: a RST of
 * TCP; a unix socket has none, so it gets a name (autobind: bind(2) of so many
 * bytes, which asks for nothing else), and who has read the end asks for it. */
#define FD_MARK_LEN 2U /* sizeof(sa_family_t) */
void fd_reset(int *fd);
bool fd_was_reset(int fd);

enum result fd_set_nonblocking(int fd, bool on);
enum result fd_set_cloexec(int fd, bool on);

/* AF_UNIX SOCK_SEQPACKET pair, both close-on-exec. */
enum result fd_socketpair(int pair_r[2]);

/* Read to EOF, at most max bytes (RESULT_TOO_LONG beyond); caller frees
 * *bytes_r; one NUL is added behind the bytes, not counted. EINTR handled.
 * Both are for blocking descriptors: EAGAIN is RESULT_SYSTEM. */
enum result fd_read_all(int fd, size_t max, char **bytes_r, size_t *len_r);
enum result fd_write_all(int fd, const void *bytes, size_t len);

/* A memfd with the bytes, sealed against any change, read offset 0. */
enum result fd_sealed_memfd(
    const char *name, const void *bytes, size_t len, int *fd_r);
/* True when fd is a memfd that nobody can change, shrink or grow. */
bool fd_is_sealed(int fd);

/* One datagram with up to FD_PASS_MAX descriptors. NEED_MORE = would block
 * (the socket's own mode decides), or, with another errno than EAGAIN, what
 * passes without an event: no memory, or (ETOOMANYREFS) more descriptors of
 * this user under way than our limit of open files, be it between others;
 * RESULT_CLOSED = nobody reads any more.
 * Received descriptors are close-on-exec; a truncated datagram or control
 * message closes them all and is RESULT_TOO_LONG. A zero-length datagram
 * or EOF is RESULT_EOF. */
enum result fd_send(
    int socket, const void *bytes, size_t len, const int *fds, size_t fd_count);
enum result fd_receive(int socket, void *bytes, size_t size, size_t *len_r,
    int *fds_r, size_t fd_max, size_t *fd_count_r);

/* As fd_receive, and the sender's pid from SCM_CREDENTIALS (SO_PASSCRED
 * must be on); 0 when absent. */
enum result fd_receive_pid(int socket, void *bytes, size_t size, size_t *len_r,
    int *fds_r, size_t fd_max, size_t *fd_count_r, pid_t *pid_r);

/* Close every descriptor >= lowest (close_range(2)). */
enum result fd_close_from(int lowest);

/* What connections come from: a listening internet stream socket, or a
 * SOCK_SEQPACKET socket over which agentnode-gate passes them (mux). */
bool fd_is_listener(int fd);
/* The next of either, non-blocking, close-on-exec, a stream socket in any
 * case; -1 with errno as of accept(2). from_r may be NULL; one that was
 * passed has no address (AF_UNSPEC). ESHUTDOWN: who passed them is gone, which
 * the supervisor tells; it stays readable, so that it must not be polled. */
int fd_accept(int listener, struct sockaddr_storage *from_r);

#endif
