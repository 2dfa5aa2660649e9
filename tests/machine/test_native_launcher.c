/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode-native with records that must not start anything: none, not sealed,
 * not valid, and sources that are not what was looked at (a link, a device,
 * a socket, another file than before). Each ends with its code and one
 * sentence that names what is wrong. And with one that starts this very
 * program in init's place, without a filter: no user namespace inside.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/fd.h"
#include "supervisor/native/native_launch.h"
#include "tests/support/test_folder.h"

#define PROGRAM AGENTNODE_BUILD_DIR "/libexec/agentnode/agentnode-native"
#define STEPS 5
#define PAYLOAD "agentnode-init" /* how the launcher names what it starts */
#define PAYLOAD_EXIT 64          /* and the errno of its unshare */
#define SOMEBODY 65534
#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static char place[] = "/tmp/native-launcher-XXXXXX";
static struct native_launch *launch;
static char said[2048];

static const char *
below(const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", place, name);
	return path;
}

static int
setup(void **state)
{
	struct native_launch_step *one;

	(void)state;
	launch = calloc(1, native_launch_size(STEPS));
	if (launch == NULL)
		return -1;
	launch->magic = NATIVE_LAUNCH_MAGIC;
	launch->version = NATIVE_LAUNCH_VERSION;
	launch->size = (uint32_t)native_launch_size(1);
	launch->rootless = geteuid() != 0;
	launch->uid = launch->gid = 1879100000;
	launch->step_count = 1;
	(void)snprintf(launch->hostname, sizeof(launch->hostname), "sandbox");
	(void)snprintf(launch->home, sizeof(launch->home), "/home");
	one = &launch->steps[0];
	one->owner = -1;
	one->step.kind = NATIVE_STEP_BIND;
	(void)snprintf(one->step.target, sizeof(one->step.target), "/x");
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	free(launch);
	return 0;
}

static void
source(const char *path)
{
	(void)snprintf(launch->steps[0].step.source,
	    sizeof(launch->steps[0].step.source), "%s", path);
}

static int
record(int seals)
{
	int fd = memfd_create("record", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(
	    write(fd, launch, launch->size), (ssize_t)launch->size);
	if (seals != 0)
		assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

/* The launcher in this process, with one end of a pair where it expects it;
 * who started it need not be able to reach its place. */
static _Noreturn void
become(int report, int end, uid_t uid)
{
	char *const argv[] = {(char *)(uintptr_t) "agentnode-native", NULL};
	char *const env[] = {NULL};
	int err = fcntl(report, F_DUPFD_CLOEXEC, 64);
	int high = fcntl(end, F_DUPFD_CLOEXEC, 64);
	int program = fcntl(open(PROGRAM, O_PATH), F_DUPFD_CLOEXEC, 64);

	(void)dup2(high, NATIVE_LAUNCH_GIVE_FD);
	(void)dup2(err, STDERR_FILENO);
	(void)close_range(NATIVE_LAUNCH_GIVE_FD + 1, 63, 0);
	if (uid == geteuid() ||
	    (setgroups(0, NULL) == 0 && setresgid(uid, uid, uid) == 0 &&
		setresuid(uid, uid, uid) == 0))
		(void)syscall(
		    SYS_execveat, program, "", argv, env, AT_EMPTY_PATH);
	_exit(99);
}

/* As the supervisor does; init -1: nothing that would be started. */
static void
give(int end, int fd, int init)
{
	const char byte = NATIVE_LAUNCH_BYTE;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int fds[NATIVE_LAUNCH_GIVEN];

	for (size_t i = 0; i < NATIVE_LAUNCH_GIVEN; i++)
		fds[i] = null;
	fds[INIT_FD_COUNT] = fd;
	if (init >= 0)
		fds[INIT_PROGRAM_FD - INIT_CONTROL_FD] = init;
	assert_int_equal(
	    fd_send(end, &byte, 1, fds, NATIVE_LAUNCH_GIVEN), RESULT_OK);
	(void)close(null);
}

/* Its exit code; what it said is in said. fd -1: nothing is given; init -1:
 * nothing that would be started. */
static int
start_as(int fd, int init, uid_t uid)
{
	int ends[2], pair[2], status = 0;
	ssize_t got;
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(fd_socketpair(pair), RESULT_OK);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		become(ends[1], pair[1], uid);
	(void)close(ends[1]);
	(void)close(pair[1]);
	if (fd >= 0)
		give(pair[0], fd, init);
	(void)close(pair[0]);
	got = read(ends[0], said, sizeof(said) - 1);
	said[got > 0 ? got : 0] = '\0';
	(void)close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (fd >= 0)
		(void)close(fd);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int
start(int fd)
{
	return start_as(fd, -1, geteuid());
}

static void
refused(int fd, const char *words)
{
	assert_int_equal(start(fd), NATIVE_LAUNCH_EXIT_START);
	if (strstr(said, words) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", said, words);
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
}

static void
test_record(void **state)
{
	(void)state;
	source("/usr");
	refused(record(0), "agentnode alone starts this program");
	refused(record(SEALS & ~F_SEAL_WRITE), "agentnode alone");
	launch->uid = 0;
	refused(record(SEALS), "the launch record is not valid");
}

/* It ends, and what it made with it, when nothing comes, or something else. */
static void
test_given(void **state)
{
	int pair[2], null = open("/dev/null", O_RDWR | O_CLOEXEC), status = 0;
	pid_t pid;

	(void)state;
	assert_int_equal(start(-1), NATIVE_LAUNCH_EXIT_START);
	assert_string_equal(said, "");
	for (int i = 0; i < 2; i++) {
		int fds[2] = {null, null};
		int ends[2];

		assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
		assert_int_equal(fd_socketpair(pair), RESULT_OK);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			become(ends[1], i == 0 ? pair[1] : null, geteuid());
		(void)close(ends[1]);
		assert_int_equal(fd_send(pair[0], "l", 1, fds, 2), RESULT_OK);
		status = (int)read(ends[0], said, sizeof(said) - 1);
		said[status > 0 ? status : 0] = '\0';
		(void)close(ends[0]);
		assert_non_null(strstr(
		    said, i == 0 ? "what agentnode gave cannot be taken"
				 : "agentnode alone starts this program"));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), NATIVE_LAUNCH_EXIT_START);
		(void)close(pair[0]);
		(void)close(pair[1]);
	}
	(void)close(null);
}

/* What it cloned meanwhile waits for it, and dies with it. */
static void
test_killed(void **state)
{
	int ends[2], pair[2], status = 0;
	pid_t pid, inside = 0;
	char path[64];

	(void)state;
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(fd_socketpair(pair), RESULT_OK);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		become(ends[1], pair[1], geteuid());
	(void)close(ends[1]);
	(void)close(pair[1]);
	(void)snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children",
	    (long)pid, (long)pid);
	while (inside == 0) {
		FILE *children = fopen(path, "re");
		char text[32] = "";

		assert_non_null(children);
		if (fgets(text, sizeof(text), children) != NULL)
			inside = (pid_t)strtol(text, NULL, 10);
		(void)fclose(children);
	}
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* It is this process's now; both had the pipe of complaints. */
	assert_int_equal(waitpid(inside, &status, 0), inside);
	assert_true(WIFSIGNALED(status) ||
		    WEXITSTATUS(status) == NATIVE_LAUNCH_EXIT_START);
	assert_int_equal(read(ends[0], said, sizeof(said)), 0);
	(void)close(ends[0]);
	(void)close(pair[0]);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
}

static void
test_sources(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int end = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	source(below("missing"));
	refused(record(SEALS), "missing: No such file");
	assert_int_equal(mkdir(below("real"), 0755), 0);
	assert_int_equal(mkdir(below("real/in"), 0755), 0);
	assert_int_equal(symlink("real", below("link")), 0);
	source(below("link"));
	refused(record(SEALS), "link");
	source(below("link/in")); /* on the way */
	/* The rest are the words of the C library it is linked with. */
	refused(record(SEALS), "link/in: ");
	source("/dev/null");
	refused(record(SEALS), "neither a file nor a directory: /dev/null");
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%.100s",
	    below("socket"));
	assert_int_equal(
	    bind(end, (struct sockaddr *)&address, sizeof(address)), 0);
	source(below("socket"));
	refused(record(SEALS), "neither a file nor a directory");
	(void)close(end);
	assert_int_equal(mkfifo(below("fifo"), 0600), 0);
	source(below("fifo"));
	refused(record(SEALS), "neither a file nor a directory");
}

/* Looked at, then replaced by another one of the same name. */
static void
test_replaced(void **state)
{
	struct native_step *step = &launch->steps[0].step;
	struct stat info;

	(void)state;
	assert_int_equal(mkdir(below("first"), 0755), 0);
	assert_int_equal(stat(below("first"), &info), 0);
	step->dev = info.st_dev;
	step->ino = info.st_ino;
	source(below("first"));
	assert_int_equal(mkdir(below("second"), 0755), 0);
	assert_int_equal(rmdir(below("first")), 0);
	assert_int_equal(symlink("second", below("first")), 0);
	refused(record(SEALS), "first");
	assert_int_equal(unlink(below("first")), 0);
	assert_int_equal(mkdir(below("first"), 0755), 0);
	assert_int_equal(stat(below("second"), &info), 0);
	step->ino = info.st_ino;
	refused(record(SEALS), "replaced since it was looked at");
}

static void
step(uint32_t index, enum native_step_kind kind, const char *target,
    const char *from)
{
	struct native_launch_step *one = &launch->steps[index];

	one->owner = -1;
	one->step.kind = kind;
	(void)snprintf(
	    one->step.target, sizeof(one->step.target), "%s", target);
	(void)snprintf(one->step.source, sizeof(one->step.source), "%s", from);
}

/* As the supervisor hands init over: a copy that anybody may start. */
static int
own_program(void)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = memfd_create("payload", MFD_CLOEXEC);
	struct stat info = {.st_size = 0};

	assert_true(from >= 0 && to >= 0 && fstat(from, &info) == 0);
	for (off_t left = info.st_size; left > 0;) {
		ssize_t sent = sendfile(to, from, NULL, (size_t)left);

		assert_true(sent > 0);
		left -= sent;
	}
	assert_int_equal(fchmod(to, 0555), 0);
	(void)close(from);
	return to;
}

static void
test_inside(void **state)
{
	static const uid_t users[] = {0, SOMEBODY};
	int init = own_program();

	(void)state;
	step(0, NATIVE_STEP_BIND, "/usr", "/usr");
	step(1, NATIVE_STEP_LINK, "/lib", "usr/lib");
	step(2, NATIVE_STEP_LINK, "/lib64", "usr/lib64");
	step(3, NATIVE_STEP_DEV, "/dev", "");
	step(4, NATIVE_STEP_PROC, "/proc", "");
	launch->step_count = STEPS;
	launch->size = (uint32_t)native_launch_size(STEPS);
	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++) {
		int code;

		if (geteuid() != 0 && users[i] != geteuid())
			continue;
		launch->rootless = users[i] != 0;
		code = start_as(record(SEALS), init, users[i]);
		if (code != PAYLOAD_EXIT + ENOSPC)
			fail_msg("uid %u: %d, \"%s\"", (unsigned)users[i], code,
			    said);
	}
	(void)close(init);
}

/* In init's place, with what the launcher left it. */
static int
payload(void)
{
	return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 ? PAYLOAD_EXIT
							 : PAYLOAD_EXIT + errno;
}

static int
group_setup(void **state)
{
	(void)state;
	return test_folder_new(place) != NULL ? 0 : -1;
}

static int
group_teardown(void **state)
{
	static const char *const names[] = {
	    "link", "socket", "fifo", "real/in", "real", "first", "second", ""};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)remove(below(names[i]));
	return 0;
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_record, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_given, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_sources, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_replaced, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_inside, setup, teardown),
	};

	if (argc > 0 && strcmp(argv[0], PAYLOAD) == 0)
		return payload();
	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
