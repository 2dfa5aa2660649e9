/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The socket in a volume, outside of an engine: who may connect, how often,
 * and what init is there. A child plays init, well and badly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "supervisor/engine/wiring.h"
#include "tests/support/test_folder.h"

#define TEST_UID 1879052903U

struct test_wiring_volume {
	struct event_base *base;
	char dir[64];
	struct wiring *wiring;
	bool timed_out;
	unsigned hellos, ends;
	enum result why;
	char detail[256];
};

static void
test_wiring_volume_on_hello(pid_t pid, void *context)
{
	struct test_wiring_volume *out = context;

	(void)pid;
	out->hellos++;
	event_loop_stop(out->base);
}

static void
test_wiring_volume_on_listener(uint32_t index, int fd, void *context)
{
	(void)index;
	(void)context;
	(void)close(fd);
}

static void
test_wiring_volume_on_report(int fd, void *context)
{
	test_wiring_volume_on_listener(0, fd, context);
}

static void
test_wiring_volume_on_tree(bool is_export, int error, void *context)
{
	(void)is_export;
	(void)error;
	(void)context;
}

static void
test_wiring_volume_on_status(const struct init_status *status, void *context)
{
	(void)status;
	(void)context;
}

static void
test_wiring_volume_on_end(enum result why, const char *detail, void *context)
{
	struct test_wiring_volume *out = context;

	out->ends++;
	out->why = why;
	(void)snprintf(out->detail, sizeof(out->detail), "%s", detail);
	event_loop_stop(out->base);
}

static void
test_wiring_volume_on_timeout(evutil_socket_t fd, short what, void *context)
{
	struct test_wiring_volume *out = context;

	(void)fd;
	(void)what;
	out->timed_out = true;
	event_loop_stop(out->base);
}

static enum result
test_wiring_volume_open(struct test_wiring_volume *out)
{
	static const struct wiring_handlers handlers = {
	    test_wiring_volume_on_hello, test_wiring_volume_on_listener,
	    test_wiring_volume_on_report, test_wiring_volume_on_tree,
	    test_wiring_volume_on_status, test_wiring_volume_on_end, NULL,
	    NULL};
	static const struct init_setup setup = {
	    .record = {.magic = INIT_MAGIC,
		.version = INIT_PROTOCOL_VERSION,
		.type = INIT_SETUP}};
	static const int streams[3] = {-1, -1, -1};
	const struct wiring_place place = {.dir = out->dir, .uid = TEST_UID};
	struct wiring_pass pass;
	enum result result =
	    wiring_new(out->base, WIRING_VOLUME, &place, &setup, &handlers, out,
		&out->wiring, out->detail, sizeof(out->detail));

	if (result != RESULT_OK)
		return result;
	assert_int_equal(wiring_pass(out->wiring, streams, &pass), RESULT_OK);
	assert_int_equal(pass.count, 0);
	wiring_passed(out->wiring);
	return RESULT_OK;
}

static void
test_wiring_volume_make(struct test_wiring_volume *out)
{
	*out = (struct test_wiring_volume){.dir = "/tmp/test-wiring-XXXXXX"};
	assert_non_null(test_folder_new(out->dir));
	assert_int_equal(chmod(out->dir, 0755), 0);
	assert_int_equal(event_loop_new(&out->base), RESULT_OK);
}

static void
test_wiring_volume_end(struct test_wiring_volume *out)
{
	char path[96];

	wiring_free(&out->wiring);
	event_base_free(out->base);
	(void)snprintf(path, sizeof(path), "%s/control", out->dir);
	assert_int_equal(access(path, F_OK), -1); /* never left behind */
	(void)snprintf(path, sizeof(path), "%s/init", out->dir);
	(void)unlink(path);
	assert_int_equal(rmdir(out->dir), 0);
}

static int
test_wiring_volume_connect(const char *dir)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	(void)snprintf(
	    address.sun_path, sizeof(address.sun_path), "%s/control", dir);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) !=
	    0) {
		(void)close(fd);
		return -errno;
	}
	return fd;
}

/* The first word, before it is known whether anybody listens to it. */
static void
test_wiring_volume_hello(int fd)
{
	const struct init_record hello = {.magic = INIT_MAGIC,
	    .version = INIT_PROTOCOL_VERSION,
	    .type = INIT_HELLO};

	(void)fd_send(fd, &hello, sizeof(hello), NULL, 0);
}

/* 0: connected and spoke, and a second time was refused. */
static _Noreturn void
test_wiring_volume_child(const char *dir, uint32_t uid)
{
	int fd;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (setgroups(0, NULL) != 0 || setgid(uid) != 0 || setuid(uid) != 0)
		_exit(1);
	fd = test_wiring_volume_connect(dir);
	if (fd < 0)
		_exit(fd == -EACCES ? 13 : 2);
	test_wiring_volume_hello(fd);
	(void)usleep(300000);
	_exit(test_wiring_volume_connect(dir) == -ENOENT ? 0 : 3);
}

static int
test_wiring_volume_play(struct test_wiring_volume *out, uint32_t uid)
{
	struct timeval limit = event_loop_timeval(3000);
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		test_wiring_volume_child(out->dir, uid);
	assert_int_equal(event_base_once(out->base, -1, EV_TIMEOUT,
			     test_wiring_volume_on_timeout, out, &limit),
	    0);
	assert_int_equal(event_loop_run(out->base), RESULT_OK);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Its own uid: heard, from the right process, and once. That the child has
 * our network namespace is what ends it here, after its first word. */
static void
test_wiring_volume_owner(void **state)
{
	struct test_wiring_volume out;

	(void)state;
	test_wiring_volume_make(&out);
	if (test_wiring_volume_open(&out) != RESULT_OK)
		fail_msg("%s", out.detail);
	assert_int_equal(test_wiring_volume_play(&out, TEST_UID), 0);
	assert_false(out.timed_out);
	assert_int_equal(out.why, RESULT_MISMATCH);
	assert_non_null(strstr(out.detail, "namespace"));
	test_wiring_volume_end(&out);
}

/* Another uid does not get as far. */
static void
test_wiring_volume_stranger(void **state)
{
	struct test_wiring_volume out;

	(void)state;
	test_wiring_volume_make(&out);
	assert_int_equal(test_wiring_volume_open(&out), RESULT_OK);
	assert_int_equal(test_wiring_volume_play(&out, 65534), 13);
	assert_true(out.timed_out);
	assert_int_equal(out.ends + out.hellos, 0);
	test_wiring_volume_end(&out);
}

/* root could: it is found out by the kernel's word for who it is. */
static void
test_wiring_volume_root(void **state)
{
	struct test_wiring_volume out;
	int fd;

	(void)state;
	test_wiring_volume_make(&out);
	assert_int_equal(test_wiring_volume_open(&out), RESULT_OK);
	fd = test_wiring_volume_connect(out.dir);
	assert_true(fd >= 0);
	test_wiring_volume_hello(fd);
	assert_int_equal(event_loop_run(out.base), RESULT_OK);
	assert_int_equal(out.why, RESULT_MISMATCH);
	assert_non_null(strstr(out.detail, "not the sandbox's init"));
	(void)close(fd);
	test_wiring_volume_end(&out);
}

/* Another init is replaced, a folder that others can write refused. */
static void
test_wiring_volume_place(void **state)
{
	struct test_wiring_volume out;
	char path[96], first[8] = "";
	struct stat info;
	int fd;

	(void)state;
	test_wiring_volume_make(&out);
	(void)snprintf(path, sizeof(path), "%s/init", out.dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0555);
	assert_int_equal(write(fd, "#!/bin/sh", 9), 9);
	(void)close(fd);
	assert_int_equal(test_wiring_volume_open(&out), RESULT_OK);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, first, 4), 4);
	assert_memory_equal(first, "\177ELF", 4);
	assert_int_equal(fstat(fd, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0555);
	(void)close(fd);
	wiring_free(&out.wiring);
	/* The same once more is left as it is. */
	assert_int_equal(test_wiring_volume_open(&out), RESULT_OK);
	fd = (int)info.st_ino;
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal((int)info.st_ino, fd);
	wiring_free(&out.wiring);
	assert_int_equal(chmod(out.dir, 0777), 0);
	assert_int_equal(test_wiring_volume_open(&out), RESULT_REFUSED);
	test_wiring_volume_end(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_wiring_volume_owner),
	    cmocka_unit_test(test_wiring_volume_stranger),
	    cmocka_unit_test(test_wiring_volume_root),
	    cmocka_unit_test(test_wiring_volume_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
