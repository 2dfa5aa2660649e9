/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile of agentnode-unpack, tried: in a child under
 * unpack_confine_enter forbidden calls end the process, files outside of
 * the root and every write give EACCES, and reading below the root works.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/unpack/unpack_confine.h"
#include "tests/support/test_folder.h"

#define TEST_UNPACK_SETUP 120 /* exit code: confine_enter said no */

static int test_unpack_root = -1;

/* Returns 0 when the call got through, else its errno. */
typedef int test_unpack_try(void);

/* Exit code of a child that tries under confinement; -signal if killed. */
static int
test_unpack_run(test_unpack_try *try, bool with_root)
{
	struct unpack_config config = {.log_fd = -1,
	    .roots = {test_unpack_root, -1, -1, -1},
	    .root_count = with_root ? 1 : 0};
	struct confine_layers layers;
	char detail[256];
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (unpack_confine_enter(
			&config, &layers, detail, sizeof(detail)) != RESULT_OK)
			_exit(TEST_UNPACK_SETUP);
		_exit(try());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static int
test_unpack_errno(long result)
{
	return result >= 0 ? 0 : errno;
}

static int
test_unpack_try_inside(void)
{
	return test_unpack_errno(
	    openat(test_unpack_root, "inside", O_RDONLY | O_CLOEXEC));
}

static int
test_unpack_try_list(void)
{
	DIR *folder = fdopendir(
	    openat(test_unpack_root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

	return folder != NULL && readdir(folder) != NULL ? 0 : errno;
}

/* What a seal asks of the kernel (tree_seal.c): a lease only its owner
 * gets. */
static int
test_unpack_try_lease(void)
{
	int fd = openat(test_unpack_root, "inside", O_RDONLY | O_CLOEXEC);
	int error = test_unpack_errno(fcntl(fd, F_SETLEASE, F_RDLCK));

	return error == EACCES ? 0 : error;
}

static int
test_unpack_try_write_back(void)
{
	int fd = openat(test_unpack_root, "inside", O_RDONLY | O_CLOEXEC);

	return test_unpack_errno(
	    sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE));
}

static int
test_unpack_try_lock(void)
{
	int fd = openat(test_unpack_root, "inside", O_RDONLY | O_CLOEXEC);
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

	return test_unpack_errno(fcntl(fd, F_SETLK, &lock));
}

static int
test_unpack_try_write(void)
{
	return test_unpack_errno(
	    openat(test_unpack_root, "inside", O_WRONLY | O_CLOEXEC));
}

static int
test_unpack_try_create(void)
{
	return test_unpack_errno(openat(
	    test_unpack_root, "new", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static int
test_unpack_try_folder(void)
{
	return test_unpack_errno(mkdirat(test_unpack_root, "new", 0700));
}

static int
test_unpack_try_outside(void)
{
	return test_unpack_errno(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
}

static int
test_unpack_try_above(void)
{
	return test_unpack_errno(
	    openat(test_unpack_root, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static int
test_unpack_try_exec(void)
{
	return test_unpack_errno(execl("/bin/true", "true", (char *)NULL));
}

static int
test_unpack_try_socket(void)
{
	return test_unpack_errno(socket(AF_INET, SOCK_STREAM, 0));
}

static int
test_unpack_try_fork(void)
{
	return test_unpack_errno(fork());
}

static int
test_unpack_try_unlink(void)
{
	return test_unpack_errno(unlinkat(test_unpack_root, "inside", 0));
}

static int
test_unpack_try_chmod(void)
{
	return test_unpack_errno(fchmodat(test_unpack_root, "inside", 0777, 0));
}

static int
test_unpack_try_rename(void)
{
	return test_unpack_errno(
	    renameat(test_unpack_root, "inside", test_unpack_root, "x"));
}

static int
test_unpack_try_ptrace(void)
{
	return test_unpack_errno(syscall(SYS_ptrace, 0, 0, 0, 0));
}

static int
test_unpack_try_kill(void)
{
	return test_unpack_errno(kill(getppid(), 0));
}

static void
test_unpack_with_root(void **state)
{
	(void)state;
	assert_int_equal(test_unpack_run(test_unpack_try_inside, true), 0);
	assert_int_equal(test_unpack_run(test_unpack_try_list, true), 0);
	assert_int_equal(test_unpack_run(test_unpack_try_lease, true), 0);
	assert_int_equal(test_unpack_run(test_unpack_try_write_back, true), 0);
	assert_int_equal(test_unpack_run(test_unpack_try_lock, true), -SIGSYS);
	assert_int_equal(test_unpack_run(test_unpack_try_write, true), EACCES);
	assert_int_equal(test_unpack_run(test_unpack_try_create, true), EACCES);
	assert_int_equal(test_unpack_run(test_unpack_try_folder, true), EACCES);
	assert_int_equal(
	    test_unpack_run(test_unpack_try_outside, true), EACCES);
	assert_int_equal(test_unpack_run(test_unpack_try_above, true), EACCES);
}

static void
test_unpack_without_root(void **state)
{
	(void)state;
	assert_int_equal(
	    test_unpack_run(test_unpack_try_inside, false), EACCES);
	assert_int_equal(
	    test_unpack_run(test_unpack_try_outside, false), EACCES);
}

static void
test_unpack_killed(void **state)
{
	static test_unpack_try *const tries[] = {test_unpack_try_exec,
	    test_unpack_try_socket, test_unpack_try_fork,
	    test_unpack_try_unlink, test_unpack_try_chmod,
	    test_unpack_try_rename, test_unpack_try_ptrace,
	    test_unpack_try_kill};

	(void)state;
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		assert_int_equal(test_unpack_run(tries[i], true), -SIGSYS);
		assert_int_equal(test_unpack_run(tries[i], false), -SIGSYS);
	}
}

static int
test_unpack_folder(void **state)
{
	static char path[] = "/tmp/agentnode-unpack-XXXXXX";
	int fd;

	(void)state;
	if (test_folder_new(path) == NULL || chmod(path, 0755) != 0)
		return -1;
	test_unpack_root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = openat(test_unpack_root, "inside",
	    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	return fd < 0 || fchmod(fd, 0666) != 0 || close(fd) != 0 ? -1 : 0;
}

static int
test_unpack_clean(void **state)
{
	char path[64], link[64];
	ssize_t len;

	(void)state;
	(void)unlinkat(test_unpack_root, "inside", 0);
	(void)snprintf(
	    link, sizeof(link), "/proc/self/fd/%d", test_unpack_root);
	len = readlink(link, path, sizeof(path) - 1);
	if (len < 0)
		return -1;
	path[len] = '\0';
	return rmdir(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_unpack_with_root),
	    cmocka_unit_test(test_unpack_without_root),
	    cmocka_unit_test(test_unpack_killed),
	};

	return cmocka_run_group_tests(
	    tests, test_unpack_folder, test_unpack_clean);
}
