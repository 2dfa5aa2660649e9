/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common/confine, the layers: what the kernel says of a confined process,
 * Landlock's paths and scopes, limits; and each layer taken away once, to
 * show that the probe of that layer notices.
 */
#define CONFINE_INTERNAL
#include "common/confine.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/fd.h"
#include "tests/support/confine_run.h"
#include "tests/support/test_folder.h"

/* What the kernel says of a confined child, read by its parent. */
static void
test_confine_layers_status(void **state)
{
	struct confine_spec spec = confine_run_spec();
	struct confine_layers layers;
	char path[64], text[8192], detail[256], byte = 'x';
	int ready[2], go[2], fd, status;
	ssize_t got;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (pid == 0) {
		if (confine_enter(&spec, &layers, detail, sizeof(detail)) !=
			RESULT_OK ||
		    !layers.no_new_privs || !layers.seccomp ||
		    !layers.landlock || !layers.unprivileged ||
		    !layers.not_dumpable || !layers.no_core ||
		    !layers.no_capabilities || !layers.one_thread ||
		    layers.landlock_abi < 1)
			_exit(CONFINE_RUN_FAILED);
		if (write(ready[1], &byte, 1) != 1 ||
		    read(go[0], &byte, 1) != 1)
			_exit(1);
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY);
	got = read(fd, text, sizeof(text) - 1);
	assert_true(got > 0);
	text[got] = '\0';
	fd_close(&fd);
	assert_non_null(strstr(text, "\nNoNewPrivs:\t1\n"));
	assert_non_null(strstr(text, "\nSeccomp:\t2\n"));
	assert_non_null(strstr(text, "\nSeccomp_filters:\t1\n"));
	assert_non_null(strstr(text, "\nCapInh:\t0000000000000000\n"));
	assert_non_null(strstr(text, "\nCapPrm:\t0000000000000000\n"));
	assert_non_null(strstr(text, "\nCapEff:\t0000000000000000\n"));
	assert_non_null(strstr(text, "\nCapAmb:\t0000000000000000\n"));
	if (getuid() == 0) {
		assert_non_null(strstr(text, "\nCapBnd:\t0000000000000000\n"));
		assert_non_null(
		    strstr(text, "\nUid:\t64123\t64123\t64123\t64123\n"));
		assert_non_null(
		    strstr(text, "\nGid:\t64123\t64123\t64123\t64123\n"));
		assert_non_null(strstr(text, "\nGroups:\t \n"));
	}
	snprintf(path, sizeof(path), "/proc/%d/limits", (int)pid);
	fd = open(path, O_RDONLY);
	got = read(fd, text, sizeof(text) - 1);
	assert_true(got > 0);
	text[got] = '\0';
	fd_close(&fd);
	assert_non_null(
	    strstr(text, "Max core file size        0                    0  "));
	assert_non_null(strstr(
	    text, "Max open files            64                   64  "));
	assert_int_equal(write(go[1], &byte, 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(confine_run_passed(status));
	fd_close(&ready[0]);
	fd_close(&ready[1]);
	fd_close(&go[0]);
	fd_close(&go[1]);
}

/* A process that may open sees only its directory, with only the rights
 * given: Landlock decides where seccomp lets pass. */
static char test_confine_layers_dir[] = "/tmp/test_confine_layers_XXXXXX";

static int
test_confine_layers_try_paths(void)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/file", test_confine_layers_dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return 1;
	if (write(fd, "x", 1) != 1)
		return 2;
	if (open("/etc/passwd", O_RDONLY) >= 0 || errno != EACCES)
		return 3;
	if (open("/proc/self/status", O_RDONLY) >= 0 || errno != EACCES)
		return 4;
	snprintf(path, sizeof(path), "%s/../passwd", test_confine_layers_dir);
	if (open(path, O_RDWR | O_CREAT, 0600) >= 0 || errno != EACCES)
		return 5;
	return 0;
}

static void
test_confine_layers_paths(void **state)
{
	struct confine_path paths[2] = {{-1, 0}, {-1, 0}};
	struct confine_spec spec = confine_run_spec();
	char command[128];

	(void)state;
	assert_non_null(test_folder_new(test_confine_layers_dir));
	assert_int_equal(chmod(test_confine_layers_dir, 0777), 0);
	paths[0].dir_fd = open(test_confine_layers_dir, O_PATH | O_CLOEXEC);
	paths[0].rights = LANDLOCK_ACCESS_FS_READ_FILE |
			  LANDLOCK_ACCESS_FS_WRITE_FILE |
			  LANDLOCK_ACCESS_FS_MAKE_REG;
	spec.paths = paths;
	spec.may_open = true;
	assert_true(confine_run_passed(
	    confine_run(&spec, NULL, test_confine_layers_try_paths)));
	/* without the right to make files, and read-only */
	paths[0].rights = LANDLOCK_ACCESS_FS_READ_FILE;
	assert_true(confine_run_got(
	    confine_run(&spec, NULL, test_confine_layers_try_paths), 1));
	/* without may_open the path helps nobody */
	spec.may_open = false;
	assert_true(confine_run_got(
	    confine_run(&spec, NULL, test_confine_layers_try_paths), 1));
	fd_close(&paths[0].dir_fd);
	snprintf(command, sizeof(command), "%s/file", test_confine_layers_dir);
	assert_int_equal(unlink(command), 0);
	assert_int_equal(rmdir(test_confine_layers_dir), 0);
}

/* Refusals: a second thread, uid 0 as the target, a bad table. */
static char test_confine_layers_stack[65536] __attribute__((aligned(16)));

static int
test_confine_layers_thread(void *unused)
{
	(void)unused;
	for (;;)
		syscall(SYS_pause);
	return 0;
}

static void
test_confine_layers_second_thread(void **state)
{
	struct confine_spec spec = confine_run_spec();
	struct confine_layers layers;
	char detail[256];
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		if (clone(test_confine_layers_thread,
			test_confine_layers_stack +
			    sizeof(test_confine_layers_stack),
			CLONE_VM | CLONE_THREAD | CLONE_SIGHAND | CLONE_FS |
			    CLONE_FILES,
			NULL) < 0)
			_exit(1);
		if (confine_enter(&spec, &layers, detail, sizeof(detail)) !=
		    RESULT_REFUSED)
			_exit(2);
		_exit(strncmp(detail, "one_thread: ", 12) == 0 ? 0 : 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(confine_run_passed(status));
}

static void
test_confine_layers_refuses_root(void **state)
{
	struct confine_spec spec = confine_run_spec();
	struct confine_layers layers;
	char detail[256];
	int status;
	pid_t pid;

	(void)state;
	spec.uid = 0;
	pid = fork();
	if (pid == 0) {
		enum result expected =
		    geteuid() == 0 ? RESULT_REFUSED : RESULT_OK;

		_exit(confine_enter(&spec, &layers, detail, sizeof(detail)) ==
			      expected
			  ? 0
			  : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(confine_run_passed(status));
}

static void
test_confine_layers_keeps_death_signal(void **state)
{
	struct confine_spec spec = confine_run_spec();
	struct confine_step steps[16];
	size_t i;
	int status, signal_now = 0;
	pid_t pid = fork();

	(void)state;
	for (i = 0; confine_steps[i].name != NULL; i++)
		steps[i] = confine_steps[i];
	steps[i - 1] = confine_steps[i]; /* without seccomp, to ask */
	if (pid == 0) {
		struct confine_layers layers;
		char detail[256];

		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		if (confine_enter_steps(&spec, steps, &layers, detail,
			sizeof(detail)) != RESULT_OK)
			_exit(1);
		prctl(PR_GET_PDEATHSIG, &signal_now, 0, 0, 0);
		_exit(signal_now == SIGKILL ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(confine_run_passed(status));
}

/* One probe per layer: 0 when the layer holds. */
static int
test_confine_layers_probe_no_new_privs(void)
{
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 1;
}

static int
test_confine_layers_probe_landlock(void)
{
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0 ? 1 : 0;
}

static int
test_confine_layers_probe_ids(void)
{
	return getuid() == 0 || geteuid() == 0 || getgid() == 0 ? 1 : 0;
}

static int
test_confine_layers_probe_dumpable(void)
{
	return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : 1;
}

static int
test_confine_layers_probe_core(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_CORE, &limit) != 0)
		return 2;
	return limit.rlim_max == 0 ? 0 : 1;
}

static int
test_confine_layers_probe_bounding(void)
{
	return prctl(PR_CAPBSET_READ, CAP_CHOWN, 0, 0, 0) == 0 ? 0 : 1;
}

static int
test_confine_layers_probe_capabilities(void)
{
	struct __user_cap_header_struct header = {
	    _LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct caps[2];

	if (syscall(SYS_capget, &header, caps) != 0)
		return 2;
	return caps[0].permitted == 0 && caps[1].permitted == 0 ? 0 : 1;
}

/* A step, what hides its absence, and the probe. root_only: an ordinary
 * user has nothing there to lose. */
static const struct test_confine_layers_row {
	const char *name, *hidden_by;
	confine_run_try *probe;
	bool root_only, in_verify;
} test_confine_layers_rows[] = {
    {"limits", "", test_confine_layers_probe_core, false, true},
    {"bounding_set", "", test_confine_layers_probe_bounding, true, false},
    {"ids", "", test_confine_layers_probe_ids, true, true},
    /* the probe holds on to them with PR_SET_KEEPCAPS */
    {"capabilities", "", test_confine_layers_probe_capabilities, true, true},
    {"not_dumpable", "ids", test_confine_layers_probe_dumpable, false, true},
    {"no_new_privs", "landlock", test_confine_layers_probe_no_new_privs, false,
	true},
    {"landlock", "", test_confine_layers_probe_landlock, false, false}};

static int
test_confine_layers_layer_run(
    const struct confine_step *steps, confine_run_try *probe)
{
	struct confine_spec spec = confine_run_spec();
	int status;

	prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
	status = confine_run(&spec, steps, probe);
	prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
	return status;
}

static void
test_confine_layers_matter(void **state)
{
	const struct test_confine_layers_row *layer;
	struct confine_step steps[16];
	size_t i;
	int status;

	(void)state;
	for (i = 0; i < sizeof(test_confine_layers_rows) /
			    sizeof(test_confine_layers_rows[0]);
	     i++) {
		layer = &test_confine_layers_rows[i];
		if (layer->root_only && getuid() != 0)
			continue;
		/* with it (and without seccomp, so that one may ask) */
		confine_run_without(
		    steps, (const char *const[]){"seccomp", "", "", ""});
		status = test_confine_layers_layer_run(steps, layer->probe);
		if (!confine_run_passed(status))
			fail_msg("%s does not hold", layer->name);
		/* without it the probe notices ... */
		confine_run_without(
		    steps, (const char *const[]){"seccomp", "verify",
			       layer->name, layer->hidden_by});
		status = test_confine_layers_layer_run(steps, layer->probe);
		if (!confine_run_got(status, 1))
			fail_msg("nobody notices that %s is gone (%#x)",
			    layer->name, (unsigned)status);
		/* ... and so does the last step before the filter */
		confine_run_without(
		    steps, (const char *const[]){
			       "seccomp", layer->name, layer->hidden_by, ""});
		status = test_confine_layers_layer_run(steps, layer->probe);
		if (layer->in_verify)
			assert_int_equal(
			    WEXITSTATUS(status), CONFINE_RUN_FAILED);
	}
}

/* Memory and descriptor limits bite. */
static int
test_confine_layers_try_memory(void)
{
	void *memory = mmap(NULL, 256U << 20, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? errno : 0;
}

static int
test_confine_layers_try_descriptors(void)
{
	int fd = 0;

	while (fd >= 0 && fd < 1000)
		fd = fcntl(0, F_DUPFD_CLOEXEC, 0);
	return errno;
}

static void
test_confine_layers_limits_bite(void **state)
{
	struct confine_spec spec = confine_run_spec();

	(void)state;
	assert_true(confine_run_got(
	    confine_run(&spec, NULL, test_confine_layers_try_descriptors),
	    EMFILE));
	assert_true(confine_run_passed(
	    confine_run(&spec, NULL, test_confine_layers_try_memory)));
	spec.memory_max = 200U << 20;
	assert_int_equal(confine_run_got(confine_run(&spec, NULL,
					     test_confine_layers_try_memory),
			     ENOMEM),
	    !CONFINE_SANITIZED);
}

/* Landlock's TCP rights, and the scope of signals and abstract sockets. */
static int test_confine_layers_port;

static int
test_confine_layers_tcp(bool do_bind)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
	    .sin_addr = {htonl(INADDR_LOOPBACK)},
	    .sin_port =
		htons((uint16_t)(do_bind ? 0 : test_confine_layers_port))};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), failed;

	failed =
	    do_bind ? bind(fd, (struct sockaddr *)&address, sizeof(address))
		    : connect(fd, (struct sockaddr *)&address, sizeof(address));
	return failed != 0 ? errno : 0;
}

static int
test_confine_layers_try_tcp_bind(void)
{
	return test_confine_layers_tcp(true);
}

static int
test_confine_layers_try_tcp_connect(void)
{
	return test_confine_layers_tcp(false);
}

static int
test_confine_layers_try_abstract(void)
{
	struct sockaddr_un address = {
	    .sun_family = AF_UNIX, .sun_path = "\0test_confine"};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return confine_run_errno(
	    connect(fd, (struct sockaddr *)&address, sizeof(sa_family_t) + 13));
}

static void
test_confine_layers_landlock_scopes(void **state)
{
	static const struct confine_syscall rows[] = {
	    {SYS_socket, CONFINE_ALLOW, 0, "test"},
	    {SYS_connect, CONFINE_ALLOW, 0, "test"},
	    {SYS_bind, CONFINE_ALLOW, 0, "test"},
	    {SYS_kill, CONFINE_ALLOW, 0, "test"},
	    {-1, CONFINE_EACCES, 0, NULL}};
	struct confine_spec spec = confine_run_spec();
	struct sockaddr_in here = {
	    .sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct sockaddr_un abstract = {
	    .sun_family = AF_UNIX, .sun_path = "\0test_confine"};
	socklen_t len = sizeof(here);
	int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);

	(void)state;
	spec.syscalls = rows;
	assert_int_equal(bind(tcp, (struct sockaddr *)&here, len), 0);
	assert_int_equal(listen(tcp, 4), 0);
	assert_int_equal(getsockname(tcp, (struct sockaddr *)&here, &len), 0);
	test_confine_layers_port = ntohs(here.sin_port);
	assert_int_equal(
	    bind(local, (struct sockaddr *)&abstract, sizeof(sa_family_t) + 13),
	    0);
	assert_int_equal(listen(local, 4), 0);
	assert_true(confine_run_passed(
	    confine_run(&spec, NULL, test_confine_layers_try_tcp_bind)));
	assert_true(confine_run_passed(
	    confine_run(&spec, NULL, test_confine_layers_try_tcp_connect)));
	spec.deny_tcp_bind = spec.deny_tcp_connect = true;
	assert_int_equal(confine_run_got(confine_run(&spec, NULL,
					     test_confine_layers_try_tcp_bind),
			     EACCES),
	    abi >= 4);
	assert_int_equal(
	    confine_run_got(
		confine_run(&spec, NULL, test_confine_layers_try_tcp_connect),
		EACCES),
	    abi >= 4);
	assert_int_equal(confine_run_got(confine_run(&spec, NULL,
					     test_confine_layers_try_abstract),
			     EPERM),
	    abi >= 6);
	fd_close(&tcp);
	fd_close(&local);
}

/* Without no_new_privs nobody unprivileged gets a filter. */
static void
test_confine_layers_order(void **state)
{
	struct confine_spec spec = confine_run_spec();
	struct confine_step steps[16];
	int status;

	(void)state;
	confine_run_without(steps,
	    (const char *const[]){"no_new_privs", "landlock", "verify", ""});
	status = confine_run(&spec, steps, test_confine_layers_probe_ids);
	assert_int_equal(WEXITSTATUS(status), CONFINE_RUN_FAILED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_confine_layers_status),
	    cmocka_unit_test(test_confine_layers_paths),
	    cmocka_unit_test(test_confine_layers_second_thread),
	    cmocka_unit_test(test_confine_layers_refuses_root),
	    cmocka_unit_test(test_confine_layers_keeps_death_signal),
	    cmocka_unit_test(test_confine_layers_matter),
	    cmocka_unit_test(test_confine_layers_order),
	    cmocka_unit_test(test_confine_layers_limits_bite),
	    cmocka_unit_test(test_confine_layers_landlock_scopes),
	};
	struct rlimit core = {0, 0};

	/* A hard core limit of 0 here would hide the layer. */
	if (getrlimit(RLIMIT_CORE, &core) != 0 || core.rlim_max == 0) {
		core.rlim_cur = core.rlim_max = 1 << 20;
		if (setrlimit(RLIMIT_CORE, &core) != 0)
			fputs("hard core limit is 0: raise it\n", stderr);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
