/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger's profile, tried: in a child under ledger_confine_enter each
 * forbidden call must end the process by SIGSYS, files outside of its
 * folder and folders or links inside must give EACCES, and what the chain
 * and usage.db need must work.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/ledger/audit_chain.h"
#include "supervisor/ledger/budget.h"
#include "supervisor/ledger/ledger_confine.h"
#include "tests/support/budget_one.h"
#include "tests/support/test_folder.h"

enum test_ledger_confine_end {
	WORKED = 10,
	DENIED = 11, /* EACCES */
	OTHER = 12,
	SETUP = 13,
	KILLED = 100
};

struct test_ledger_confine_row {
	const char *name;
	long number, a, b, c, d;
	int expected;
};

static char test_ledger_confine_path[64];
static int test_ledger_confine_dir, test_ledger_confine_file;

static int
test_ledger_confine_setup(void **state)
{
	uid_t owner = geteuid() == 0 ? LEDGER_CONFINE_UID : geteuid();

	(void)state;
	snprintf(test_ledger_confine_path, sizeof(test_ledger_confine_path),
	    "/tmp/test_ledger_XXXXXX");
	if (test_folder_new(test_ledger_confine_path) == NULL)
		return -1;
	test_ledger_confine_dir =
	    open(test_ledger_confine_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fchown(test_ledger_confine_dir, owner, (gid_t)owner) != 0)
		return -1;
	test_ledger_confine_file = openat(test_ledger_confine_dir, "file",
	    O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	return fchown(test_ledger_confine_file, owner, (gid_t)owner);
}

static int
test_ledger_confine_teardown(void **state)
{
	static const char *const names[] = {"file", "new", AUDIT_HEAD_LOG,
	    AUDIT_HEAD_FILE, BUDGET_FILE, BUDGET_FILE "-wal",
	    BUDGET_FILE "-shm", BUDGET_FILE "-journal", BUDGET_LOCK_FILE};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlinkat(test_ledger_confine_dir, names[i], 0);
	close(test_ledger_confine_file);
	close(test_ledger_confine_dir);
	return rmdir(test_ledger_confine_path);
}

static int
test_ledger_confine_enter(void)
{
	struct confine_layers layers;
	char detail[256];

	if (ledger_confine_enter(0, test_ledger_confine_dir, true, &layers,
		detail, sizeof(detail)) != RESULT_OK)
		return SETUP;
	return layers.landlock && layers.seccomp && layers.no_capabilities &&
		       layers.not_dumpable && layers.no_core &&
		       layers.one_thread && layers.no_new_privs
		   ? 0
		   : SETUP;
}

static int
test_ledger_confine_wait(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGSYS ? KILLED : OTHER;
	return WEXITSTATUS(status);
}

static int
test_ledger_confine_try(const struct test_ledger_confine_row *row)
{
	pid_t pid = fork();
	long result;

	assert_true(pid >= 0);
	if (pid == 0) {
		if (test_ledger_confine_enter() != 0)
			_exit(SETUP);
		result = syscall(row->number, row->a, row->b, row->c, row->d);
		if (result >= 0)
			_exit(WORKED);
		_exit(errno == EACCES ? DENIED : OTHER);
	}
	return test_ledger_confine_wait(pid);
}

static void
test_ledger_confine_calls(void **state)
{
	static char buffer[256];
	static struct flock lock = {.l_type = F_WRLCK, .l_len = 1};
	long dir = test_ledger_confine_dir, file = test_ledger_confine_file;
	const struct test_ledger_confine_row rows[] = {
	    {"openat new", SYS_openat, dir, (long)"new", O_RDWR | O_CREAT, 0600,
		WORKED},
	    {"openat old", SYS_openat, dir, (long)"file", O_RDWR | O_APPEND, 0,
		WORKED},
	    {"newfstatat", SYS_newfstatat, dir, (long)"file", (long)buffer, 0,
		WORKED},
	    {"pwrite", SYS_pwrite64, file, (long)"x", 1, 0, WORKED},
	    {"pread", SYS_pread64, file, (long)buffer, 1, 0, WORKED},
	    {"fdatasync", SYS_fdatasync, file, 0, 0, 0, WORKED},
	    {"fsync folder", SYS_fsync, dir, 0, 0, 0, WORKED},
	    {"ftruncate", SYS_ftruncate, file, 0, 0, 0, WORKED},
	    {"flock", SYS_flock, file, LOCK_EX | LOCK_NB, 0, 0, WORKED},
	    {"openat etc", SYS_openat, AT_FDCWD, (long)"/etc/passwd", O_RDONLY,
		0, DENIED},
	    {"openat proc", SYS_openat, AT_FDCWD, (long)"/proc/self/maps",
		O_RDONLY, 0, DENIED},
	    {"openat tmp", SYS_openat, AT_FDCWD, (long)"/tmp/test_ledger_x",
		O_RDWR | O_CREAT, 0600, DENIED},
	    {"openat above", SYS_openat, dir, (long)"../test_ledger_x",
		O_RDWR | O_CREAT, 0600, DENIED},
	    {"mkdirat inside", SYS_mkdirat, dir, (long)"sub", 0700, 0, DENIED},
	    {"symlinkat", SYS_symlinkat, (long)"/etc/passwd", dir, (long)"l", 0,
		KILLED},
	    {"fcntl lock", SYS_fcntl, file, F_SETLK, (long)&lock, 0, WORKED},
	    {"fcntl ask", SYS_fcntl, file, F_GETLK, (long)&lock, 0, WORKED},
	    {"fcntl own", SYS_fcntl, file, F_SETOWN, 1, 0, KILLED},
	    {"fcntl lease", SYS_fcntl, file, F_SETLEASE, F_RDLCK, 0, KILLED},
	    {"fcntl waiting", SYS_fcntl, file, F_SETLKW, (long)&lock, 0,
		KILLED},
	    {"geteuid", SYS_geteuid, 0, 0, 0, 0, WORKED},
	    {"openat folder", SYS_openat, dir, (long)".", O_RDONLY, 0, DENIED},
	    {"unlink", SYS_unlink, (long)"file", 0, 0, 0, KILLED},
	    {"linkat", SYS_linkat, dir, (long)"file", dir, (long)"l", KILLED},
	    {"unlinkat", SYS_unlinkat, dir, (long)"file", 0, 0, KILLED},
	    {"renameat2", SYS_renameat2, dir, (long)"file", dir, (long)"x",
		KILLED},
	    {"fchmod", SYS_fchmod, file, 0777, 0, 0, KILLED},
	    {"fchown", SYS_fchown, file, 0, 0, 0, KILLED},
	    {"socket inet", SYS_socket, AF_INET, SOCK_STREAM, 0, 0, KILLED},
	    {"socket unix", SYS_socket, AF_UNIX, SOCK_STREAM, 0, 0, KILLED},
	    {"socketpair", SYS_socketpair, AF_UNIX, SOCK_STREAM, 0,
		(long)buffer, KILLED},
	    {"connect", SYS_connect, 0, 0, 0, 0, KILLED},
	    {"bind", SYS_bind, 0, 0, 0, 0, KILLED},
	    {"listen", SYS_listen, 0, 1, 0, 0, KILLED},
	    {"accept4", SYS_accept4, 0, 0, 0, 0, KILLED},
	    {"execve", SYS_execve, (long)"/bin/true", 0, 0, 0, KILLED},
	    {"execveat", SYS_execveat, AT_FDCWD, (long)"/bin/true", 0, 0,
		KILLED},
	    {"clone", SYS_clone, SIGCHLD, 0, 0, 0, KILLED},
	    {"ptrace", SYS_ptrace, 0, 0, 0, 0, KILLED},
	    {"process_vm_readv", SYS_process_vm_readv, 1, 0, 0, 0, KILLED},
	    {"kill", SYS_kill, 1, 0, 0, 0, KILLED},
	    {"mount", SYS_mount, 0, 0, 0, 0, KILLED},
	    {"unshare", SYS_unshare, 0, 0, 0, 0, KILLED},
	    {"setns", SYS_setns, 0, 0, 0, 0, KILLED},
	    {"bpf", SYS_bpf, 0, 0, 0, 0, KILLED},
	    {"keyctl", SYS_keyctl, 0, 0, 0, 0, KILLED},
	    {"io_uring_setup", SYS_io_uring_setup, 1, 0, 0, 0, KILLED},
	    {"userfaultfd", SYS_userfaultfd, 0, 0, 0, 0, KILLED},
	    {"memfd_create", SYS_memfd_create, (long)"x", 0, 0, 0, KILLED},
	    {"pidfd_open", SYS_pidfd_open, 1, 0, 0, 0, KILLED},
	    {"pidfd_getfd", SYS_pidfd_getfd, 1, 0, 0, 0, KILLED},
	    {"setuid", SYS_setuid, 0, 0, 0, 0, KILLED},
	    {"mmap exec", SYS_mmap, 0, 4096, 7, 0x22, KILLED},
	};
	size_t i;
	int got;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		got = test_ledger_confine_try(&rows[i]);
		if (got != rows[i].expected)
			fail_msg("%s: expected %d, got %d", rows[i].name,
			    rows[i].expected, got);
	}
}

/* The whole of a ledger's work on the chain, inside. */
static int
test_ledger_confine_chain_inside(void)
{
	struct json_fault fault = {""};
	struct audit_chain chain;
	json_t *fields = json_object();

	if (test_ledger_confine_enter() != 0)
		return SETUP;
	audit_chain_init(&chain);
	if (audit_chain_open(&chain, test_ledger_confine_dir, &fault) !=
		RESULT_OK ||
	    audit_chain_lock(&chain) != RESULT_OK ||
	    audit_chain_catch_up(&chain, 0, &fault) != RESULT_OK ||
	    audit_chain_add(&chain, 0, "launch", fields) != RESULT_OK ||
	    audit_chain_commit(&chain, &fault) != RESULT_OK)
		return OTHER;
	json_decref(fields);
	audit_chain_close(&chain);
	return WORKED;
}

static void
test_ledger_confine_chain(void **state)
{
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(test_ledger_confine_chain_inside());
	assert_int_equal(test_ledger_confine_wait(pid), WORKED);
}

/* One run, one call, one report; enough of them for a checkpoint. */
static int
test_ledger_confine_budget_run(struct budget *budget)
{
	const struct budget_amounts some = {{1, 1, 1, 1, 1}};
	struct budget_report_query query = {0, BUDGET_BY_MODEL, 0};
	struct budget_refusal refusal;
	struct budget_limits limits;
	struct budget_run *run;
	json_t *rows;
	int i;

	memset(&limits, 0xff, sizeof(limits)); /* no limit */
	if (budget_begin(budget, 1) != RESULT_OK ||
	    budget_run_open(budget, "r", "p", &limits, &run) != RESULT_OK ||
	    budget_commit(budget) != RESULT_OK)
		return OTHER;
	for (i = 0; i < 2000; i++)
		if (budget_begin(budget, 1) != RESULT_OK ||
		    budget_one_reserve(budget, run, i, "p", "m", &some,
			&refusal) != RESULT_OK ||
		    budget_one_settle(budget, run, i, &some, true, false) !=
			RESULT_OK ||
		    budget_commit(budget) != RESULT_OK)
			return OTHER;
	if (budget_begin(budget, 1) != RESULT_OK ||
	    budget_report(budget, &query, &rows) != RESULT_OK ||
	    budget_run_close(budget, run) != RESULT_OK ||
	    budget_commit(budget) != RESULT_OK || json_array_size(rows) != 1)
		return OTHER;
	json_decref(rows);
	budget_run_free(&run);
	return WORKED;
}

/* The whole of a ledger's work on usage.db, inside: new, then again. */
static int
test_ledger_confine_budget_inside(void)
{
	struct json_fault fault = {""};
	struct budget *budget;
	int i, result = WORKED;

	(void)umask(077);
	if (budget_prepare() != RESULT_OK || test_ledger_confine_enter() != 0)
		return SETUP;
	for (i = 0; i < 2 && result == WORKED; i++) {
		if (budget_open(test_ledger_confine_dir, &budget, &fault) !=
		    RESULT_OK)
			return OTHER;
		result = test_ledger_confine_budget_run(budget);
		budget_free(&budget);
	}
	return result;
}

static void
test_ledger_confine_budget(void **state)
{
	static const char *const names[] = {BUDGET_FILE, BUDGET_FILE "-wal",
	    BUDGET_FILE "-shm", BUDGET_LOCK_FILE};
	struct stat status;
	pid_t pid = fork();
	size_t i;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(test_ledger_confine_budget_inside());
	assert_int_equal(test_ledger_confine_wait(pid), WORKED);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(
		    fstatat(test_ledger_confine_dir, names[i], &status, 0), 0);
		assert_int_equal(status.st_mode & 0777, 0600);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_ledger_confine_calls),
	    cmocka_unit_test(test_ledger_confine_chain),
	    cmocka_unit_test(test_ledger_confine_budget),
	};

	return cmocka_run_group_tests(
	    tests, test_ledger_confine_setup, test_ledger_confine_teardown);
}
