/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small parts of the engine: control group paths, the go memfd, run locks,
 * uids, spawning, the records of a selftest.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/engine/cgroup.h"
#include "supervisor/engine/engine_spawn.h"
#include "supervisor/engine/go_memfd.h"
#include "supervisor/engine/init_check.h"
#include "supervisor/engine/run_lock.h"
#include "supervisor/engine/sandbox_uid.h"
#include "supervisor/engine/selftest.h"
#include "supervisor/init/init_go.h"
#include "supervisor/probe/probe_record.h"
#include "tests/support/test_folder.h"

#define TEST_ID \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void
test_engine_leaves_cgroup_path(void **state)
{
	static const struct {
		const char *path, *want; /* NULL: not its own */
	} rows[] = {
	    {"/libpod_parent/libpod-" TEST_ID,
		"/libpod_parent/libpod-" TEST_ID},
	    {"/machine.slice/libpod-" TEST_ID ".scope/container",
		"/machine.slice/libpod-" TEST_ID ".scope"},
	    {"/libpod_parent/libpod-conmon-" TEST_ID, NULL},
	    {"/libpod_parent/libpod-0123", NULL},
	    {"/user.slice/user-1000.slice/session-1.scope", NULL},
	    {"/", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char own[512] = "", id[CGROUP_ID_MAX] = "";
		bool found =
		    cgroup_own_path(rows[i].path, own, sizeof(own), id);

		assert_int_equal(found, rows[i].want != NULL);
		if (found) {
			assert_string_equal(own, rows[i].want);
			assert_string_equal(id, TEST_ID);
		}
	}
}

/* We are in no container: no group is ours to limit or to kill. */
static void
test_engine_leaves_cgroup_self(void **state)
{
	struct cgroup_limits limits = {1 << 20, 10, 1000};
	struct cgroup cgroup;
	char detail[256] = "";

	(void)state;
	assert_int_equal(
	    cgroup_find(getpid(), &cgroup, detail, sizeof(detail)), RESULT_OK);
	assert_int_equal(cgroup.count, 0);
	assert_int_equal(cgroup.pidns_ino, 0);
	assert_int_equal(cgroup_kill(&cgroup), 0);
	assert_int_equal(
	    cgroup_check_limits(&cgroup, &limits, detail, sizeof(detail)),
	    RESULT_UNSUPPORTED);
}

static const char *
test_engine_leaves_word(const char *go, uint32_t table, uint32_t index)
{
	uint32_t offset;

	memcpy(&offset, go + table + index * sizeof(offset), sizeof(offset));
	return go + offset;
}

static void
test_engine_leaves_go(void **state)
{
	static const char *const argv[] = {"prog", "", "--x", NULL};
	static const char *const envp[] = {"A=1", "B=", NULL};
	struct init_go header;
	int fd = -1;
	char *go;

	(void)state;
	assert_int_equal(
	    go_memfd_new(argv, envp, "/work", INIT_GO_RESULT, &fd), RESULT_OK);
	assert_true(fd_is_sealed(fd));
	assert_int_equal(
	    pread(fd, &header, sizeof(header), 0), (ssize_t)sizeof(header));
	go = mmap(NULL, header.size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(go != MAP_FAILED);
	assert_int_equal(header.magic, INIT_MAGIC);
	assert_int_equal(header.flags, INIT_GO_RESULT);
	assert_int_equal(header.argc, 3);
	assert_int_equal(header.envc, 2);
	assert_string_equal(
	    test_engine_leaves_word(go, header.argv_offset, 0), "prog");
	assert_string_equal(
	    test_engine_leaves_word(go, header.argv_offset, 1), "");
	assert_string_equal(
	    test_engine_leaves_word(go, header.argv_offset, 2), "--x");
	assert_string_equal(
	    test_engine_leaves_word(go, header.env_offset, 1), "B=");
	assert_string_equal(go + header.cwd_offset, "/work");
	assert_int_equal(lseek(fd, 0, SEEK_END), (off_t)header.size);
	(void)munmap(go, header.size);
	fd_close(&fd);
}

static void
test_engine_leaves_go_bounds(void **state)
{
	char *big = malloc(INIT_GO_MAX + 1);
	const char *argv[] = {big, NULL};
	const char *const none[] = {NULL};
	const char *const small[] = {"x", NULL};
	char cwd[INIT_PATH_MAX + 1];
	int fd = -1;

	(void)state;
	memset(big, 'x', INIT_GO_MAX);
	big[INIT_GO_MAX] = '\0';
	assert_int_equal(
	    go_memfd_new(argv, none, "/", 0, &fd), RESULT_TOO_LONG);
	big[INIT_GO_MAX - 4096] = '\0';
	assert_int_equal(go_memfd_new(argv, none, "/", 0, &fd), RESULT_OK);
	fd_close(&fd);
	memset(cwd, '/', sizeof(cwd));
	cwd[INIT_PATH_MAX] = '\0';
	assert_int_equal(
	    go_memfd_new(small, none, cwd, 0, &fd), RESULT_TOO_LONG);
	free(big);
}

static void
test_engine_leaves_files(struct engine_files *files)
{
	char folder[] = "/tmp/agentnode-test-XXXXXX";

	memset(files, 0, sizeof(*files));
	assert_non_null(test_folder_new(folder));
	(void)snprintf(files->dir, sizeof(files->dir), "%s", folder);
	(void)snprintf(files->runs, sizeof(files->runs), "%s/runs", folder);
	(void)snprintf(files->uids, sizeof(files->uids), "%s/uids", folder);
	assert_int_equal(mkdir(files->runs, 0700), 0);
	assert_int_equal(mkdir(files->uids, 0700), 0);
}

static void
test_engine_leaves_write(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* A run that knows no id: what the engine wrote down is taken, whole or
 * not at all, and goes with the run's file. */
static void
test_engine_leaves_id_file(const struct engine_files *files)
{
	static const char *const cut[] = {
	    "", "0123", TEST_ID "0", "../" TEST_ID, TEST_ID "\n"};
	struct run_lock_facts facts = {"agentnode-x-y-z", 1, "", true};
	struct run_lock_stale stale[1];
	struct run_lock lock;
	char path[RUN_LOCK_ID_FILE_MAX], id[RUN_LOCK_CONTAINER_MAX];

	assert_int_equal(run_lock_new(files, &lock), RESULT_OK);
	assert_int_equal(run_lock_note(&lock, &facts), RESULT_OK);
	run_lock_id_file(files, lock.id, path, sizeof(path));
	for (size_t i = 0; i < sizeof(cut) / sizeof(cut[0]); i++) {
		test_engine_leaves_write(path, cut[i]);
		run_lock_container(files, lock.id, id);
		assert_string_equal(id, "");
	}
	test_engine_leaves_write(path, TEST_ID);
	run_lock_leave(&lock);
	assert_int_equal(run_lock_stale(files, RUN_LOCK_ALL, stale, 1), 1);
	assert_string_equal(stale[0].facts.container, TEST_ID);
	/* What docker has, podman cannot say to be gone. */
	assert_true(stale[0].facts.docker);
	assert_int_equal(run_lock_stale(files, RUN_LOCK_PODMAN, stale, 1), 0);
	assert_int_equal(run_lock_stale(files, RUN_LOCK_DOCKER, stale, 1), 1);
	run_lock_forget(files, stale[0].id);
	assert_int_not_equal(access(path, F_OK), 0);
}

static void
test_engine_leaves_run_lock(void **state)
{
	struct run_lock_facts facts = {"agentnode-x-y-z", 4711, TEST_ID, false};
	struct run_lock_stale stale[4];
	struct engine_files files;
	struct run_lock lock, other;
	char id[RUN_LOCK_ID_MAX];

	(void)state;
	test_engine_leaves_files(&files);
	assert_int_equal(run_lock_new(&files, &lock), RESULT_OK);
	assert_int_equal(run_lock_new(&files, &other), RESULT_OK);
	assert_string_not_equal(lock.id, other.id);
	assert_int_equal(run_lock_note(&lock, &facts), RESULT_OK);
	assert_true(run_lock_is_alive(&files, lock.id));
	assert_int_equal(run_lock_stale(&files, RUN_LOCK_ALL, stale, 4), 0);
	memcpy(id, lock.id, sizeof(id));
	run_lock_leave(&lock); /* as when its supervisor died */
	assert_false(run_lock_is_alive(&files, id));
	assert_int_equal(run_lock_stale(&files, RUN_LOCK_ALL, stale, 4), 1);
	assert_string_equal(stale[0].id, id);
	assert_int_equal(run_lock_stale(&files, RUN_LOCK_DOCKER, stale, 4), 0);
	assert_int_equal(run_lock_stale(&files, RUN_LOCK_PODMAN, stale, 4), 1);
	assert_string_equal(stale[0].facts.name, "agentnode-x-y-z");
	assert_int_equal(stale[0].facts.socket, 4711);
	assert_string_equal(stale[0].facts.container, TEST_ID);
	run_lock_forget(&files, id);
	run_lock_forget(&files, other.id); /* lives: stays */
	test_engine_leaves_id_file(&files);
	assert_int_equal(run_lock_stale(&files, RUN_LOCK_ALL, stale, 4), 0);
	assert_true(run_lock_is_alive(&files, other.id));
	run_lock_end(&files, &other);
	assert_false(run_lock_is_alive(&files, "../../etc/passwd"));
	assert_int_equal(
	    rmdir(files.runs) | rmdir(files.uids) | rmdir(files.dir), 0);
}

static void
test_engine_leaves_uid(void **state)
{
	struct engine_files files;
	struct sandbox_uid uids[32];

	(void)state;
	test_engine_leaves_files(&files);
	for (size_t i = 0; i < 32; i++) {
		assert_int_equal(
		    sandbox_uid_take(&files, 1879048192, false, &uids[i]),
		    RESULT_OK);
		assert_in_range(uids[i].uid, 1879048192, 1879048192 + 65535);
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(uids[i].uid, uids[k].uid);
	}
	for (size_t i = 0; i < 32; i++)
		sandbox_uid_end(&uids[i]);
	assert_int_equal(
	    rmdir(files.runs) | rmdir(files.uids) | rmdir(files.dir), 0);
}

/* Exactly the named descriptors, environment and words arrive. */
static void
test_engine_leaves_spawn(void **state)
{
	const char *const argv[] = {"/bin/sh", "-c",
	    "env | grep -v -e ^PWD= -e ^_= -e ^SHLVL=; "
	    "ls /proc/$$/fd; cat <&4",
	    NULL};
	const char *const envp[] = {"PATH=/usr/bin:/bin", "ONLY=this", NULL};
	int out[2], in[2], status;
	struct engine_spawn_spec spec = {.argv = argv,
	    .envp = envp,
	    .stdin_fd = -1,
	    .stderr_fd = -1,
	    .umask = 022};
	int pass[2];
	char text[512] = "";
	size_t len = 0;
	ssize_t got;
	int pidfd = -1;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(write(in[1], "passed", 6), 6);
	(void)close(in[1]);
	pass[0] = out[0];
	pass[1] = in[0];
	spec.pass = pass;
	spec.pass_count = 2;
	spec.stdout_fd = out[1];
	assert_int_equal(engine_spawn(&spec, &pid, &pidfd), RESULT_OK);
	(void)close(out[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	while (len < sizeof(text) - 1 &&
	       (got = read(out[0], text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)got;
	assert_string_equal(
	    text, "PATH=/usr/bin:/bin\nONLY=this\n0\n1\n2\n3\n4\npassed");
	fd_close(&pidfd);
	(void)close(out[0]);
	(void)close(in[0]);
}

/* Reads of this descriptor fail with EIO from now on, in this process. */
static void
test_engine_leaves_unreadable(int fd)
{
	struct sock_filter code[] = {
	    BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_read, 0, 3),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		offsetof(struct seccomp_data, args[0])),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)fd, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EIO),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		_exit(70);
}

/* The program runs, but whether it does cannot be read: it is ended and not
 * waited for until it ends by itself. */
static void
test_engine_leaves_spawn_unread(void **state)
{
	const char *argv[] = {"/bin/sleep", "600", NULL};
	const char *envp[] = {NULL};
	struct engine_spawn_spec spec = {.argv = argv,
	    .envp = envp,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .stderr_fd = -1};
	int status, pidfd, high;
	pid_t pid, child = fork();

	(void)state;
	if (child == 0) {
		(void)alarm(20);
		do /* the loader's descriptors are low, the pipe's is not */
			high = open("/dev/null", O_RDONLY | O_CLOEXEC);
		while (high >= 0 && high < 100);
		test_engine_leaves_unreadable(high + 1);
		_exit(engine_spawn(&spec, &pid, &pidfd) == RESULT_SYSTEM &&
			      errno == EIO && pid == -1 && pidfd == -1 &&
			      waitpid(-1, NULL, 0) < 0 && errno == ECHILD
			  ? 0
			  : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void
test_engine_leaves_spawn_fails(void **state)
{
	const char *const argv[] = {"/nonexistent/program", NULL};
	const char *const envp[] = {NULL};
	struct engine_spawn_spec spec = {.argv = argv,
	    .envp = envp,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .stderr_fd = -1};
	int pidfd = -1;
	pid_t pid;

	(void)state;
	assert_int_equal(engine_spawn(&spec, &pid, &pidfd), RESULT_SYSTEM);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(pidfd, -1);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nothing left */
}

static struct probe_record
test_engine_leaves_record(uint32_t index, uint32_t count)
{
	return (struct probe_record){.magic = PROBE_RECORD_MAGIC,
	    .version = PROBE_RECORD_VERSION,
	    .index = index,
	    .count = count,
	    .ok = 1,
	    .name = "wall",
	    .detail = "held"};
}

static void
test_engine_leaves_records(void **state)
{
	struct probe_record records[3];
	json_t *probes = json_array();

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		records[i] = test_engine_leaves_record(i, 3);
	memset(records[2].name, 'x', sizeof(records[2].name));
	memset(records[2].detail, '\x1b', sizeof(records[2].detail));
	assert_true(selftest_take(records, sizeof(records), probes));
	assert_int_equal(json_array_size(probes), 3);
	/* Cut, one missing, wrong order, nothing. */
	assert_false(selftest_take(records, sizeof(records) - 1, probes));
	assert_false(selftest_take(records, sizeof(records[0]) * 2, probes));
	assert_false(selftest_take(records + 1, sizeof(records[0]), probes));
	assert_false(selftest_take(records, 0, probes));
	records[1].magic = 0;
	assert_false(selftest_take(records, sizeof(records), probes));
	json_decref(probes);
}

#define TEST_CAPS(bnd)                                           \
	"CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n" \
	"CapEff:\t0000000000000000\nCapBnd:\t" bnd "\n"          \
	"CapAmb:\t0000000000000000\n"
#define TEST_UIDS "Uid:\t7\t7\t7\t7\nGid:\t7\t7\t7\t7\n"
#define TEST_IDS TEST_UIDS "Groups:\t7 \n"
#define TEST_NONE "0000000000000000"

static void
test_engine_leaves_init_status(void **state)
{
	static const struct {
		const char *status, *says; /* NULL: good */
	} rows[] = {
	    {TEST_IDS "NSpid:\t99\t1\n" TEST_CAPS(
		 TEST_NONE) "NoNewPrivs:\t1\nSeccomp:\t2\n",
		NULL},
	    {TEST_IDS "NSpid:\t99\t1\n" TEST_CAPS(
		 "0000000000000001") "NoNewPrivs:\t1\nSeccomp:\t2\n",
		"capabilities"},
	    {TEST_IDS "NSpid:\t99\t1\n" TEST_CAPS(
		 TEST_NONE) "NoNewPrivs:\t0\nSeccomp:\t2\n",
		"privileges"},
	    {TEST_IDS "NSpid:\t99\t1\n" TEST_CAPS(
		 TEST_NONE) "NoNewPrivs:\t1\nSeccomp:\t0\n",
		"seccomp"},
	    {TEST_IDS "NSpid:\t99\t1\n" TEST_CAPS(TEST_NONE) "NoNewPrivs:\t1\n",
		"seccomp"},
	    {TEST_IDS "NSpid:\t99\n" TEST_CAPS(
		 TEST_NONE) "NoNewPrivs:\t1\nSeccomp:\t2\n",
		"first process"},
	    {TEST_IDS "NSpid:\t99\t11\n" TEST_CAPS(
		 TEST_NONE) "NoNewPrivs:\t1\nSeccomp:\t2\n",
		"first process"},
	    {"Uid:\t7\t0\t7\t7\nGid:\t7\t7\t7\t7\nNSpid:\t99\t1\n" TEST_CAPS(
		 TEST_NONE) "NoNewPrivs:\t1\nSeccomp:\t2\n",
		"another user"},
	    {TEST_UIDS "Groups:\t \nNSpid:\t99\t1\n" TEST_CAPS(
		 TEST_NONE) "NoNewPrivs:\t1\nSeccomp:\t2\n",
		NULL},
	    {TEST_UIDS "Groups:\t7 8 \nNSpid:\t99\t1\n" TEST_CAPS(
		 TEST_NONE) "NoNewPrivs:\t1\nSeccomp:\t2\n",
		"a group"},
	    {TEST_UIDS "NSpid:\t99\t1\n" TEST_CAPS(
		 TEST_NONE) "NoNewPrivs:\t1\nSeccomp:\t2\n",
		"a group"},
	    {"", "capabilities"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char detail[256] = "";
		enum result result = init_check_status(
		    rows[i].status, 7, detail, sizeof(detail));

		assert_int_equal(
		    result, rows[i].says == NULL ? RESULT_OK : RESULT_MISMATCH);
		if (rows[i].says != NULL)
			assert_non_null(strstr(detail, rows[i].says));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_engine_leaves_cgroup_path),
	    cmocka_unit_test(test_engine_leaves_cgroup_self),
	    cmocka_unit_test(test_engine_leaves_go),
	    cmocka_unit_test(test_engine_leaves_go_bounds),
	    cmocka_unit_test(test_engine_leaves_run_lock),
	    cmocka_unit_test(test_engine_leaves_uid),
	    cmocka_unit_test(test_engine_leaves_spawn),
	    cmocka_unit_test(test_engine_leaves_spawn_fails),
	    cmocka_unit_test(test_engine_leaves_spawn_unread),
	    cmocka_unit_test(test_engine_leaves_records),
	    cmocka_unit_test(test_engine_leaves_init_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
