/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A container that is handed from process to process while it is looked
 * for: as the engine's client, its monitor and the runtime do. Somebody
 * always holds it, so a look that finds nobody is wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/engine/holder_kill.h"
#include "supervisor/init/init_protocol.h"

#define TEST_HOLDER_ROUNDS 60
#define TEST_HOLDER_HANDED 5

/* Each forks the next and goes at once; the last one stays. */
static void
test_holder_kill_hand_on(unsigned pause)
{
	for (unsigned i = 0; i < TEST_HOLDER_HANDED; i++) {
		pid_t pid = fork();

		if (pid != 0)
			_exit(pid < 0);
		for (volatile unsigned spin = pause * i; spin > 0; spin--)
			;
	}
	for (;;)
		(void)sleep(60);
}

static void
test_holder_kill_start(int socket, int memfd, unsigned pause)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid != 0)
		return;
	if (dup2(socket, INIT_CONTROL_FD) < 0 ||
	    dup2(memfd, INIT_PROGRAM_FD) < 0)
		_exit(1);
	test_holder_kill_hand_on(pause);
}

static void
test_holder_kill_handed(void **state)
{
	int memfd = memfd_create("agentnode-init", MFD_CLOEXEC);
	int high = fcntl(memfd, F_DUPFD_CLOEXEC, 20);

	(void)state;
	assert_true(memfd >= 0 && high >= 0);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	for (unsigned i = 0; i < TEST_HOLDER_ROUNDS; i++) {
		int pair[2], far;
		struct stat info;

		assert_int_equal(fd_socketpair(pair), RESULT_OK);
		far = fcntl(pair[1], F_DUPFD_CLOEXEC, 20);
		assert_int_equal(fstat(far, &info), 0);
		test_holder_kill_start(far, high, i * 100);
		/* From its first moment on: the child may not be there yet,
		 * so wait until it is seen once. */
		while (holder_kill(info.st_ino, false, NULL) == 0)
			;
		for (unsigned looks = 0; looks < 5; looks++)
			assert_true(holder_kill(info.st_ino, false, NULL) > 0);
		holder_kill_all(info.st_ino, NULL);
		assert_int_equal(holder_kill(info.st_ino, false, NULL), 0);
		while (waitpid(-1, NULL, 0) > 0)
			;
		fd_close(&far);
		fd_close(&pair[0]);
		fd_close(&pair[1]);
	}
	fd_close(&high);
	fd_close(&memfd);
}

/* Another socket, another memfd, or no socket: nobody. */
static void
test_holder_kill_others(void **state)
{
	struct stat info;
	int pair[2], other, memfd;
	pid_t pid;

	(void)state;
	assert_int_equal(fd_socketpair(pair), RESULT_OK);
	memfd = memfd_create("something-else", MFD_CLOEXEC);
	other = fcntl(memfd, F_DUPFD_CLOEXEC, 20);
	assert_int_equal(fstat(pair[1], &info), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (dup2(pair[1], INIT_CONTROL_FD) >= 0 &&
		    dup2(other, INIT_PROGRAM_FD) >= 0)
			(void)pause();
		_exit(1);
	}
	(void)usleep(50000);
	assert_int_equal(holder_kill(info.st_ino, true, NULL), 0);
	assert_int_equal(holder_kill(0, true, NULL), 0);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0); /* it lives */
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	fd_close(&other);
	fd_close(&memfd);
	fd_close(&pair[0]);
	fd_close(&pair[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_holder_kill_handed),
	    cmocka_unit_test(test_holder_kill_others)};

	(void)alarm(100); /* who is missed is waited for */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
