/* SPDX-License-Identifier: Apache-2.0 */
/* common/fd: bounds, seals, passing of descriptors and its truncation. */
#include "common/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static unsigned
test_fd_open_count(void)
{
	unsigned count = 0;
	int fd;

	for (fd = 0; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			count++;
	return count;
}

static void
test_fd_close_keeps_errno(void **state)
{
	int fd = dup(0), copy = fd;

	(void)state;
	errno = ENOENT;
	fd_close(&fd);
	assert_int_equal(fd, -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(fcntl(copy, F_GETFD), -1);
	fd_close(&fd);
	assert_int_equal(fd, -1);
}

static void
test_fd_flags(void **state)
{
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(fd_set_nonblocking(fds[0], true), RESULT_OK);
	assert_true(fcntl(fds[0], F_GETFL) & O_NONBLOCK);
	assert_int_equal(fd_set_nonblocking(fds[0], false), RESULT_OK);
	assert_false(fcntl(fds[0], F_GETFL) & O_NONBLOCK);
	assert_int_equal(fd_set_cloexec(fds[0], true), RESULT_OK);
	assert_int_equal(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
	assert_int_equal(fd_set_cloexec(-1, true), RESULT_SYSTEM);
	fd_close(&fds[0]);
	fd_close(&fds[1]);
}

static void
test_fd_read_all_bound(void **state)
{
	static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 20000};
	char *bytes, source[20000];
	size_t i, len;
	int fds[2];

	(void)state;
	memset(source, 'x', sizeof(source));
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_int_equal(pipe(fds), 0);
		assert_int_equal(
		    fd_write_all(fds[1], source, sizes[i]), RESULT_OK);
		fd_close(&fds[1]);
		assert_int_equal(
		    fd_read_all(fds[0], sizes[i], &bytes, &len), RESULT_OK);
		assert_int_equal(len, sizes[i]);
		assert_int_equal(strlen(bytes), sizes[i]);
		free(bytes);
		fd_close(&fds[0]);
	}
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(fd_write_all(fds[1], source, 4097), RESULT_OK);
	assert_int_equal(
	    fd_read_all(fds[0], 4096, &bytes, &len), RESULT_TOO_LONG);
	assert_null(bytes);
	fd_close(&fds[0]);
	fd_close(&fds[1]);
	assert_int_equal(fd_read_all(-1, 10, &bytes, &len), RESULT_SYSTEM);
	assert_int_equal(fd_write_all(-1, "x", 1), RESULT_SYSTEM);
}

static void
test_fd_sealed(void **state)
{
	char *bytes;
	size_t len;
	int fd, plain;

	(void)state;
	assert_int_equal(fd_sealed_memfd("t", "hello", 5, &fd), RESULT_OK);
	assert_true(fd_is_sealed(fd));
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fd_read_all(fd, 5, &bytes, &len), RESULT_OK);
	assert_string_equal(bytes, "hello");
	free(bytes);
	assert_int_equal(pwrite(fd, "j", 1, 0), -1);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_ptr_equal(
	    mmap(NULL, 5, PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	fd_close(&fd);
	plain = memfd_create("t", MFD_ALLOW_SEALING);
	assert_false(fd_is_sealed(plain));
	assert_int_equal(fcntl(plain, F_ADD_SEALS, F_SEAL_WRITE), 0);
	assert_false(fd_is_sealed(plain)); /* may still grow and shrink */
	fd_close(&plain);
	assert_false(fd_is_sealed(0));
	assert_false(fd_is_sealed(-1));
}

static void
test_fd_pass(void **state)
{
	int pair[2], sent[FD_PASS_MAX], got[FD_PASS_MAX];
	char bytes[16];
	size_t i, len, count;

	(void)state;
	assert_int_equal(fd_socketpair(pair), RESULT_OK);
	assert_int_equal(fcntl(pair[0], F_GETFD), FD_CLOEXEC);
	for (i = 0; i < FD_PASS_MAX; i++)
		sent[i] = 0;
	assert_int_equal(
	    fd_send(pair[0], "hi", 2, sent, FD_PASS_MAX), RESULT_OK);
	assert_int_equal(fd_receive(pair[1], bytes, sizeof(bytes), &len, got,
			     FD_PASS_MAX, &count),
	    RESULT_OK);
	assert_int_equal(len, 2);
	assert_int_equal(count, FD_PASS_MAX);
	for (i = 0; i < count; i++) {
		assert_int_equal(fcntl(got[i], F_GETFD), FD_CLOEXEC);
		fd_close(&got[i]);
	}
	assert_int_equal(
	    fd_send(pair[0], "hi", 2, sent, FD_PASS_MAX + 1), RESULT_TOO_LONG);
	fd_close(&pair[0]);
	fd_close(&pair[1]);
}

/* More than asked for, by one (room of padding) and by many. */
static void
test_fd_pass_too_many(void **state)
{
	static const size_t asked[] = {0, 1, 2, 15};
	int pair[2], sent[FD_PASS_MAX] = {0}, got[FD_PASS_MAX];
	unsigned before;
	char bytes[16];
	size_t i, len, count;

	(void)state;
	assert_int_equal(fd_socketpair(pair), RESULT_OK);
	before = test_fd_open_count();
	for (i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		assert_int_equal(
		    fd_send(pair[0], "hi", 2, sent, asked[i] + 1), RESULT_OK);
		assert_int_equal(fd_receive(pair[1], bytes, sizeof(bytes), &len,
				     got, asked[i], &count),
		    RESULT_TOO_LONG);
		assert_int_equal(count, 0);
		assert_int_equal(test_fd_open_count(), before);
	}
	fd_close(&pair[0]);
	fd_close(&pair[1]);
}

/* A hand-made message with 40 descriptors: the kernel cuts the control
 * part, and what did arrive is closed. */
static void
test_fd_pass_flood(void **state)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * 40)];
	struct iovec iov = {(char[]){'x'}, 1};
	struct msghdr message = {.msg_iov = &iov,
	    .msg_iovlen = 1,
	    .msg_control = control,
	    .msg_controllen = sizeof(control)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	int pair[2], got[FD_PASS_MAX];
	unsigned before;
	char bytes[16];
	size_t len, count;

	(void)state;
	memset(control, 0, sizeof(control)); /* forty times descriptor 0 */
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int) * 40);
	assert_int_equal(fd_socketpair(pair), RESULT_OK);
	before = test_fd_open_count();
	assert_int_equal(sendmsg(pair[0], &message, 0), 1);
	assert_int_equal(fd_receive(pair[1], bytes, sizeof(bytes), &len, got,
			     FD_PASS_MAX, &count),
	    RESULT_TOO_LONG);
	assert_int_equal(test_fd_open_count(), before);
	fd_close(&pair[0]);
	fd_close(&pair[1]);
}

static void
test_fd_datagram_edges(void **state)
{
	int pair[2], got[1], zero = 0;
	unsigned before;
	char bytes[4];
	size_t len, count;

	(void)state;
	assert_int_equal(fd_socketpair(pair), RESULT_OK);
	assert_int_equal(fd_set_nonblocking(pair[1], true), RESULT_OK);
	before = test_fd_open_count();
	assert_int_equal(fd_receive(pair[1], bytes, 4, &len, got, 1, &count),
	    RESULT_NEED_MORE);
	/* too long for the buffer, with a descriptor that must not leak */
	assert_int_equal(fd_send(pair[0], "hello", 5, &zero, 1), RESULT_OK);
	assert_int_equal(fd_receive(pair[1], bytes, 4, &len, got, 1, &count),
	    RESULT_TOO_LONG);
	assert_int_equal(test_fd_open_count(), before);
	/* an empty datagram is the end */
	assert_int_equal(send(pair[0], "", 0, 0), 0);
	assert_int_equal(
	    fd_receive(pair[1], bytes, 4, &len, got, 1, &count), RESULT_EOF);
	fd_close(&pair[1]);
	assert_int_equal(fd_send(pair[0], "x", 1, NULL, 0), RESULT_CLOSED);
	fd_close(&pair[0]);
}

/* The other side sent its last word, then closed without reading ours. */
static void
test_fd_last_word_after_reset(void **state)
{
	int pair[2], got[1];
	char bytes[8];
	size_t len, count;

	(void)state;
	assert_int_equal(fd_socketpair(pair), RESULT_OK);
	assert_int_equal(fd_send(pair[0], "unread", 6, NULL, 0), RESULT_OK);
	assert_int_equal(fd_send(pair[1], "last", 4, NULL, 0), RESULT_OK);
	fd_close(&pair[1]);
	assert_int_equal(
	    fd_receive(pair[0], bytes, 8, &len, got, 1, &count), RESULT_OK);
	assert_memory_equal(bytes, "last", 4);
	assert_int_equal(
	    fd_receive(pair[0], bytes, 8, &len, got, 1, &count), RESULT_EOF);
	fd_close(&pair[0]);
}

static void
test_fd_pid(void **state)
{
	int pair[2], got[1], on = 1;
	char bytes[8];
	size_t len, count;
	pid_t pid = -1;

	(void)state;
	assert_int_equal(fd_socketpair(pair), RESULT_OK);
	assert_int_equal(fd_send(pair[0], "a", 1, NULL, 0), RESULT_OK);
	assert_int_equal(
	    fd_receive_pid(pair[1], bytes, 8, &len, got, 1, &count, &pid),
	    RESULT_OK);
	assert_int_equal(pid, 0);
	assert_int_equal(
	    setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
	assert_int_equal(fd_send(pair[0], "b", 1, (int[]){0}, 1), RESULT_OK);
	assert_int_equal(
	    fd_receive_pid(pair[1], bytes, 8, &len, got, 1, &count, &pid),
	    RESULT_OK);
	assert_int_equal(pid, getpid());
	assert_int_equal(count, 1);
	fd_close(&got[0]);
	fd_close(&pair[0]);
	fd_close(&pair[1]);
}

static void
test_fd_close_everything_from(void **state)
{
	int first = fcntl(0, F_DUPFD, 200), second = fcntl(0, F_DUPFD, 210);

	(void)state;
	assert_int_equal(fd_close_from(205), RESULT_OK);
	assert_int_equal(fcntl(second, F_GETFD), -1);
	assert_int_equal(fcntl(first, F_GETFD), 0);
	fd_close(&first);
}

/* Connections that another process passes: none yet, one, and no more ever,
 * which is not the same as none yet. */
static void
test_fd_accept_passed(void **state)
{
	int pair[2], client[2], fd;

	(void)state;
	assert_int_equal(fd_socketpair(pair), RESULT_OK);
	assert_int_equal(fd_set_nonblocking(pair[0], true), RESULT_OK);
	assert_true(fd_is_listener(pair[0]));
	assert_int_equal(fd_accept(pair[0], NULL), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, client), 0);
	assert_int_equal(fd_send(pair[1], "", 1, &client[0], 1), RESULT_OK);
	fd = fd_accept(pair[0], NULL);
	assert_true(fd >= 0);
	fd_close(&fd);
	fd_close(&client[0]);
	fd_close(&client[1]);
	fd_close(&pair[1]);
	assert_int_equal(fd_accept(pair[0], NULL), -1);
	assert_int_equal(errno, ESHUTDOWN);
	fd_close(&pair[0]);
}

/* A unix socket has no reset: who resets it marks it, and who ends it in
 * order does not. */
static void
test_fd_reset_is_told(void **state)
{
	int pair[2];
	char byte;

	(void)state;
	for (int reset = 0; reset < 2; reset++) {
		assert_int_equal(
		    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair),
		    0);
		assert_false(fd_was_reset(pair[0]));
		assert_int_equal(write(pair[1], "x", 1), 1);
		if (reset == 1)
			fd_reset(&pair[1]);
		else
			fd_close(&pair[1]);
		assert_int_equal(pair[1], -1);
		assert_int_equal(read(pair[0], &byte, 1), 1);
		assert_int_equal(read(pair[0], &byte, 1), 0);
		assert_int_equal(fd_was_reset(pair[0]), reset == 1);
		fd_close(&pair[0]);
	}
	fd_reset(&pair[0]); /* none: nothing happens */
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	assert_false(fd_was_reset(pair[0]));
	fd_reset(&pair[0]);
	fd_reset(&pair[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_fd_close_keeps_errno),
	    cmocka_unit_test(test_fd_flags),
	    cmocka_unit_test(test_fd_read_all_bound),
	    cmocka_unit_test(test_fd_sealed),
	    cmocka_unit_test(test_fd_pass),
	    cmocka_unit_test(test_fd_pass_too_many),
	    cmocka_unit_test(test_fd_pass_flood),
	    cmocka_unit_test(test_fd_datagram_edges),
	    cmocka_unit_test(test_fd_last_word_after_reset),
	    cmocka_unit_test(test_fd_pid),
	    cmocka_unit_test(test_fd_close_everything_from),
	    cmocka_unit_test(test_fd_accept_passed),
	    cmocka_unit_test(test_fd_reset_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
