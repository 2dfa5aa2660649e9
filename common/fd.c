/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors: the few loops around read, write, sendmsg and recvmsg that
 * are easy to get wrong, once. Called by every host process; must never
 * leave a received descriptor open that nobody was told about, and never
 * receive one without close-on-exec.
 */
#include "common/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FD_READ_FIRST 4096U
#define FD_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* Padding of a control message can make room for one descriptor more than
 * asked for, so the collecting array is larger than any fd_max. */
#define FD_COLLECT_MAX (FD_PASS_MAX + 4U)

void
fd_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd); /* on Linux gone even after EINTR */
	*fd = -1;
	errno = saved;
}

static enum result
fd_set_flag(int fd, int get, int set, int flag, bool on)
{
	int flags = fcntl(fd, get);

	if (flags < 0)
		return RESULT_SYSTEM;
	if (((flags & flag) != 0) == on)
		return RESULT_OK;
	flags = on ? (flags | flag) : (flags & ~flag);
	return fcntl(fd, set, flags) < 0 ? RESULT_SYSTEM : RESULT_OK;
}

enum result
fd_set_nonblocking(int fd, bool on)
{
	return fd_set_flag(fd, F_GETFL, F_SETFL, O_NONBLOCK, on);
}

enum result
fd_set_cloexec(int fd, bool on)
{
	return fd_set_flag(fd, F_GETFD, F_SETFD, FD_CLOEXEC, on);
}

enum result
fd_socketpair(int pair_r[2])
{
	pair_r[0] = pair_r[1] = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair_r) != 0)
		return RESULT_SYSTEM;
	return RESULT_OK;
}

/* Make room for at least one byte beyond len, never more than max + 1 (the
 * one byte shows that there is more) and the final NUL. */
static enum result
fd_grow(char **bytes, size_t *room, size_t len, size_t max)
{
	size_t want = *room == 0 ? FD_READ_FIRST : *room * 2;
	char *grown;

	if (len < *room)
		return RESULT_OK;
	if (want > max + 1)
		want = max + 1;
	grown = realloc(*bytes, want + 1);
	if (grown == NULL)
		return RESULT_NO_MEMORY;
	*bytes = grown;
	*room = want;
	return RESULT_OK;
}

enum result
fd_read_all(int fd, size_t max, char **bytes_r, size_t *len_r)
{
	char *bytes = NULL;
	size_t room = 0, len = 0;
	enum result result = RESULT_OK;
	ssize_t got = 1;

	*bytes_r = NULL;
	*len_r = 0;
	while (result == RESULT_OK && got != 0) {
		result = fd_grow(&bytes, &room, len, max);
		if (result != RESULT_OK)
			break;
		got = read(fd, bytes + len, room - len);
		if (got < 0 && errno != EINTR)
			result = RESULT_SYSTEM;
		if (got > 0)
			len += (size_t)got;
		if (len > max)
			result = RESULT_TOO_LONG;
	}
	if (result != RESULT_OK) {
		free(bytes);
		return result;
	}
	bytes[len] = '\0';
	*bytes_r = bytes;
	*len_r = len;
	return RESULT_OK;
}

enum result
fd_write_all(int fd, const void *bytes, size_t len)
{
	const char *next = bytes;
	ssize_t done;

	while (len > 0) {
		done = write(fd, next, len);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return RESULT_SYSTEM;
		next += done;
		len -= (size_t)done;
	}
	return RESULT_OK;
}

/* pwrite, so that whoever gets the descriptor reads from the start. */
static enum result
fd_fill(int fd, const char *bytes, size_t len)
{
	size_t at = 0;
	ssize_t done;

	while (at < len) {
		done = pwrite(fd, bytes + at, len - at, (off_t)at);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return RESULT_SYSTEM;
		at += (size_t)done;
	}
	return RESULT_OK;
}

enum result
fd_sealed_memfd(const char *name, const void *bytes, size_t len, int *fd_r)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	*fd_r = -1;
	if (fd < 0)
		return RESULT_SYSTEM;
	if (fd_fill(fd, bytes, len) != RESULT_OK ||
	    fcntl(fd, F_ADD_SEALS, FD_SEALS | F_SEAL_SEAL) != 0) {
		fd_close(&fd);
		return RESULT_SYSTEM;
	}
	*fd_r = fd;
	return RESULT_OK;
}

bool
fd_is_sealed(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & FD_SEALS) == FD_SEALS;
}

static enum result
fd_send_result(ssize_t done, size_t len)
{
	if (done >= 0)
		return (size_t)done == len ? RESULT_OK : RESULT_INTERNAL;
	if (errno == EAGAIN || errno == ETOOMANYREFS || errno == ENOBUFS ||
	    errno == ENOMEM)
		return RESULT_NEED_MORE;
	if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN)
		return RESULT_CLOSED;
	return errno == EMSGSIZE ? RESULT_TOO_LONG : RESULT_SYSTEM;
}

enum result
fd_send(
    int socket, const void *bytes, size_t len, const int *fds, size_t fd_count)
{
	_Alignas(
	    struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * FD_PASS_MAX)];
	struct iovec iov = {(void *)(uintptr_t)bytes, len};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *header;
	ssize_t done;

	if (fd_count > FD_PASS_MAX || len == 0)
		return RESULT_TOO_LONG;
	if (fd_count > 0) {
		memset(control, 0, sizeof(control));
		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(header), fds, sizeof(int) * fd_count);
	}
	do {
		done = sendmsg(socket, &message, MSG_NOSIGNAL);
	} while (done < 0 && errno == EINTR);
	return fd_send_result(done, len);
}

/* What the control messages of one datagram held. */
struct fd_collected {
	int fds[FD_COLLECT_MAX];
	size_t count;
	pid_t pid;
};

static void
fd_collect(struct msghdr *message, struct fd_collected *collected)
{
	struct cmsghdr *header;
	struct ucred credentials;
	size_t i, count;
	int fd;

	for (header = CMSG_FIRSTHDR(message); header != NULL;
	     header = CMSG_NXTHDR(message, header)) {
		if (header->cmsg_level != SOL_SOCKET)
			continue;
		if (header->cmsg_type == SCM_CREDENTIALS &&
		    header->cmsg_len == CMSG_LEN(sizeof(credentials))) {
			memcpy(&credentials, CMSG_DATA(header),
			    sizeof(credentials));
			collected->pid = credentials.pid;
		}
		if (header->cmsg_type != SCM_RIGHTS)
			continue;
		count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < count; i++) {
			memcpy(&fd, CMSG_DATA(header) + i * sizeof(int),
			    sizeof(fd));
			if (collected->count < FD_COLLECT_MAX)
				collected->fds[collected->count++] = fd;
			else
				fd_close(&fd);
		}
	}
}

/* A peer that closed with unread messages of ours makes the first receive
 * fail with ECONNRESET although its own last messages are still there: ask
 * once more. */
static ssize_t
fd_receive_message(int socket, struct msghdr *message)
{
	bool was_reset = false, again;
	ssize_t got;

	do {
		got = recvmsg(socket, message, MSG_CMSG_CLOEXEC);
		again = got < 0 &&
			(errno == EINTR || (errno == ECONNRESET && !was_reset));
		if (again && errno == ECONNRESET)
			was_reset = true;
	} while (again);
	return got;
}

static enum result
fd_receive_result(ssize_t got, const struct msghdr *message)
{
	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return RESULT_NEED_MORE;
	if (got < 0 && errno == ECONNRESET)
		return RESULT_EOF;
	if (got < 0)
		return RESULT_SYSTEM;
	if ((message->msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
		return RESULT_TOO_LONG;
	return got == 0 ? RESULT_EOF : RESULT_OK;
}

enum result
fd_receive_pid(int socket, void *bytes, size_t size, size_t *len_r, int *fds_r,
    size_t fd_max, size_t *fd_count_r, pid_t *pid_r)
{
	_Alignas(
	    struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * FD_PASS_MAX) +
					 CMSG_SPACE(sizeof(struct ucred))];
	struct iovec iov = {bytes, size};
	struct msghdr message = {.msg_iov = &iov,
	    .msg_iovlen = 1,
	    .msg_control = control,
	    .msg_controllen = sizeof(control)};
	struct fd_collected collected = {.count = 0};
	ssize_t got = fd_receive_message(socket, &message);
	enum result result = fd_receive_result(got, &message);
	size_t i;

	*len_r = *fd_count_r = 0;
	*pid_r = 0;
	if (got < 0)
		return result;
	fd_collect(&message, &collected);
	if (result == RESULT_OK && collected.count > fd_max)
		result = RESULT_TOO_LONG;
	if (result != RESULT_OK) {
		for (i = 0; i < collected.count; i++)
			fd_close(&collected.fds[i]);
		return result;
	}
	for (i = 0; i < collected.count; i++)
		fds_r[i] = collected.fds[i];
	*len_r = (size_t)got;
	*fd_count_r = collected.count;
	*pid_r = collected.pid;
	return RESULT_OK;
}

enum result
fd_receive(int socket, void *bytes, size_t size, size_t *len_r, int *fds_r,
    size_t fd_max, size_t *fd_count_r)
{
	pid_t pid;

	return fd_receive_pid(
	    socket, bytes, size, len_r, fds_r, fd_max, fd_count_r, &pid);
}

enum result
fd_close_from(int lowest)
{
	if (syscall(SYS_close_range, (unsigned)lowest, ~0U, 0) != 0)
		return RESULT_SYSTEM;
	return RESULT_OK;
}

static int
fd_option(int fd, int option)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 ? value
								     : -1;
}

/* Of TCP the first does it, and the second is refused as too short. */
void
fd_reset(int *fd)
{
	const struct linger now = {.l_onoff = 1, .l_linger = 0};

	(void)setsockopt(*fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	(void)bind(*fd, &(struct sockaddr){.sa_family = AF_UNIX}, FD_MARK_LEN);
	fd_close(fd);
}

bool
fd_was_reset(int fd)
{
	struct sockaddr name = {.sa_family = AF_UNSPEC};
	socklen_t len = sizeof(name);

	return getpeername(fd, &name, &len) == 0 && name.sa_family == AF_UNIX &&
	       len > FD_MARK_LEN;
}

bool
fd_is_listener(int fd)
{
	int domain = fd_option(fd, SO_DOMAIN), type = fd_option(fd, SO_TYPE);
	int listening = fd_option(fd, SO_ACCEPTCONN);

	if (domain == AF_UNIX)
		return type == SOCK_SEQPACKET && listening == 0;
	return (domain == AF_INET || domain == AF_INET6) &&
	       type == SOCK_STREAM && listening == 1;
}

/* One byte and one descriptor; that it is what it should be is asked of
 * the kernel, not of the sender. */
static int
fd_accept_passed(int socket)
{
	size_t len = 0, count = 0;
	int fd = -1;
	enum result result =
	    fd_receive(socket, &(char){0}, 1, &len, &fd, 1, &count);

	if (result == RESULT_OK && count == 1 &&
	    fd_option(fd, SO_DOMAIN) == AF_UNIX &&
	    fd_option(fd, SO_TYPE) == SOCK_STREAM &&
	    fd_option(fd, SO_ACCEPTCONN) == 0 &&
	    fd_set_nonblocking(fd, true) == RESULT_OK)
		return fd;
	fd_close(&fd);
	if (result == RESULT_NEED_MORE)
		errno = EAGAIN;
	else if (result == RESULT_EOF)
		errno = ESHUTDOWN;
	else if (result != RESULT_SYSTEM)
		errno = ECONNABORTED;
	return -1;
}

int
fd_accept(int listener, struct sockaddr_storage *from_r)
{
	socklen_t len = sizeof(*from_r);
	int fd;

	if (from_r != NULL)
		from_r->ss_family = AF_UNSPEC;
	fd = accept4(listener, (struct sockaddr *)from_r,
	    from_r == NULL ? NULL : &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	return fd < 0 && errno == EINVAL ? fd_accept_passed(listener) : fd;
}
