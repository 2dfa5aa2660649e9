/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command on the host with the real agentnode-host and ledger: what it
 * gets, its limits, and that its whole tree is dead at its end, at its time
 * limit, at a stop, and whichever of supervisor, guard and keeper is killed.
 * Nothing of a community tier comes there (invariant 8).
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
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "supervisor/policy/boundary.h"
#include "tests/support/host_world.h"

static void
test_host_run_all_dead(const char *path, int count, unsigned wait_ms)
{
	FILE *file = fopen(path, "re");
	int pid, seen = 0;

	assert_non_null(file);
	while (fscanf(file, "%d", &pid) == 1) {
		unsigned waited = 0;

		seen++;
		while (!host_world_is_dead((pid_t)pid) && waited < wait_ms) {
			(void)usleep(10000);
			waited += 10;
		}
		assert_true(host_world_is_dead((pid_t)pid));
	}
	(void)fclose(file);
	assert_int_equal(seen, count);
}

static void
test_host_run_environment(void **state)
{
	struct host_world test;

	(void)state;
	host_world_open(&test);
	test.spec.cwd = "/tmp";
	/* No pipe in the script: the shell would hold one end for a moment. */
	assert_int_equal(setenv("SECRET_OF_THE_CALLER", "x", 1), 0);
	host_world_shell(&test,
	    "tr '\\0' '\\n' < /proc/$$/environ; umask; pwd; ulimit -c; ls "
	    "/proc/$$/fd; grep -E 'NoNewPrivs|CapEff' /proc/$$/status; exit "
	    "3");
	assert_string_equal(test.outcome.code, "");
	assert_int_equal(test.outcome.exit_code, 3);
	assert_true(test.outcome.started && test.outcome.removed);
	assert_true(test.outcome.peak_memory > 0);
	assert_string_equal(test.output,
	    "PATH=/usr/bin:/bin\nHOME=/tmp\nONLY=this\n0077\n/tmp\n0\n"
	    "0\n1\n2\nCapEff:\t0000000000000000\nNoNewPrivs:\t1\n");
	host_world_close(&test);
}

static void
test_host_run_background(void **state)
{
	struct host_world test;

	(void)state;
	host_world_open(&test);
	(void)unlink("test_host_run_pids");
	/* Another session; forked twice; ignoring what can be ignored. */
	host_world_shell(&test,
	    "f=test_host_run_pids; (setsid sh -c 'trap \"\" TERM HUP; "
	    "echo "
	    "$$; exec sleep 300' >> $f &) ; sh -c '(sleep 301 & echo $! >> "
	    "test_host_run_pids) &' ; while [ $(wc -l < $f) -lt 2 ]; do "
	    "sleep 0.02; done; exit 0");
	assert_int_equal(test.outcome.exit_code, 0);
	assert_true(test.outcome.removed);
	test_host_run_all_dead("test_host_run_pids", 2, 0);
	host_world_close(&test);
}

static void
test_host_run_time(void **state)
{
	struct host_world test;
	uint64_t start;

	(void)state;
	host_world_open(&test);
	test.spec.limits.wall_s = 3;
	(void)unlink("test_host_run_pids");
	start = event_loop_now_ms();
	host_world_shell(&test,
	    "trap '' TERM; echo $$ > test_host_run_pids; setsid sleep 300 "
	    "& echo $! >> test_host_run_pids; while :; do wait; sleep 1; "
	    "done");
	assert_string_equal(test.outcome.code, "timeout");
	assert_true(event_loop_now_ms() - start < 10000);
	assert_int_equal(test.outcome.signal, SIGKILL);
	test_host_run_all_dead("test_host_run_pids", 2, 0);
	host_world_close(&test);
}

/* Is there a group, as root everywhere but in a container without any? */
static bool
test_host_run_is_grouped(void)
{
	struct host_world test;
	bool is_grouped;

	host_world_open(&test);
	host_world_shell(&test, "cat /proc/self/cgroup");
	is_grouped = strstr(test.output, "/agentnode-host-") != NULL;
	host_world_close(&test);
	return is_grouped;
}

/* A tree that grows while it is being killed, within its limit of
 * processes. */
static void
test_host_run_growing(void **state)
{
	struct host_world test;

	(void)state;
	/* Without a control group nothing holds root's processes. */
	if (getuid() == 0 && !test_host_run_is_grouped())
		fail_msg("no control group can be made here");
	host_world_open(&test);
	test.spec.limits.wall_s = 1;
	test.spec.limits.pids = 64;
	host_world_shell(&test, "f() { f | f & f; }; f 2>/dev/null; sleep 300");
	assert_true(test.outcome.removed);
	host_world_close(&test);
}

static void
test_host_run_missing(void **state)
{
	static const char *const argv[] = {"/nonexistent/program", NULL};
	struct host_world test;

	(void)state;
	host_world_open(&test);
	test.spec.argv = argv;
	host_world_loop(&test);
	assert_string_equal(test.outcome.code, "exec_failed");
	assert_string_equal(test.outcome.detail,
	    "/nonexistent/program cannot be started on the host: No such file "
	    "or directory");
	assert_false(test.outcome.started);
	assert_true(test.outcome.removed);
	host_world_close(&test);
}

static void
test_host_run_at_go_stop(struct host_world *test)
{
	host_run_stop(test->run, "stopped", "the test says so");
}

static void
test_host_run_stop(void **state)
{
	struct host_world test;

	(void)state;
	host_world_open(&test);
	test.at_go = test_host_run_at_go_stop;
	host_world_shell(&test, "sleep 300 & sleep 301");
	assert_string_equal(test.outcome.code, "stopped");
	assert_string_equal(test.outcome.detail, "the test says so");
	assert_true(test.outcome.removed);
	host_world_close(&test);
}

/* --- whoever dies -------------------------------------------------------- */

/* In the script $PPID is the keeper; its parent is the guard. */
static const char test_host_run_who[] =
    "echo $$ > test_host_run_pids; setsid sh -c 'sleep 300 & echo $! >> "
    "test_host_run_pids; sleep 301' & while [ $(wc -l < "
    "test_host_run_pids) -lt 2 ]; do sleep 0.02; done; ";

static void
test_host_run_keeper_killed(void **state)
{
	struct host_world test;
	char script[512];

	(void)state;
	host_world_open(&test);
	(void)snprintf(script, sizeof(script), "%skill -9 $PPID; sleep 300",
	    test_host_run_who);
	host_world_shell(&test, script);
	assert_string_equal(test.outcome.code, "host_died");
	assert_true(test.outcome.removed);
	test_host_run_all_dead("test_host_run_pids", 2, 0);
	host_world_close(&test);
}

static void
test_host_run_guard_killed(void **state)
{
	struct host_world test;
	char script[512];

	(void)state;
	host_world_open(&test);
	(void)snprintf(script, sizeof(script),
	    "%skill -9 $(awk '{print $4}' /proc/$PPID/stat); sleep 300",
	    test_host_run_who);
	host_world_shell(&test, script);
	assert_true(test.outcome.code[0] != '\0');
	assert_true(test.outcome.removed);
	test_host_run_all_dead("test_host_run_pids", 2, 0);
	host_world_close(&test);
}

/* With their process groups. */
static void
test_host_run_kill(const char *path)
{
	FILE *file = fopen(path, "re");
	int pid;

	assert_non_null(file);
	while (fscanf(file, "%d", &pid) == 1) {
		pid_t group = getpgid((pid_t)pid);

		if (group > 1)
			(void)kill(-group, SIGKILL);
	}
	(void)fclose(file);
}

/* Both at once: the control group is what finds the tree then. */
static void
test_host_run_both_killed(void **state)
{
	struct host_world test;
	char script[512];

	(void)state;
	host_world_open(&test);
	(void)snprintf(script, sizeof(script),
	    "%sg=$(awk '{print $4}' /proc/$PPID/stat) k=$PPID setsid sh -c "
	    "'kill -9 $g $k'; sleep 300",
	    test_host_run_who);
	host_world_shell(&test, script);
	/* The keeper may have been quicker than the second signal. */
	assert_true(test.outcome.code[0] != '\0');
	/* Without a group it may live, and that is said. */
	if (getuid() == 0)
		assert_true(test.outcome.removed);
	if (!test.outcome.removed)
		test_host_run_kill("test_host_run_pids");
	test_host_run_all_dead("test_host_run_pids", 2, 1000);
	host_world_close(&test);
}

static void
test_host_run_supervise(void)
{
	struct host_world test;

	host_world_open(&test);
	host_world_shell(&test,
	    "echo $$ > test_host_run_pids; setsid sleep 300 & echo "
	    "$! >> test_host_run_pids; echo ready > "
	    "test_host_run_ready; sleep 300");
	_exit(0);
}

static void
test_host_run_supervisor_killed(void **state)
{
	unsigned waited = 0;
	pid_t pid;

	(void)state;
	(void)unlink("test_host_run_ready");
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		test_host_run_supervise();
	while (access("test_host_run_ready", F_OK) != 0 && waited++ < 1000)
		(void)usleep(10000);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	test_host_run_all_dead("test_host_run_pids", 2, 2000);
}

/* --- i08: who may ----------------------------------------------------------
 */

static void
test_host_run_i08_tiers(void **state)
{
	static const enum boundary_place places[] = {
	    BOUNDARY_REFUSED, BOUNDARY_SANDBOX, BOUNDARY_HOST};
	char tree[128];

	(void)state;
	(void)snprintf(tree, sizeof(tree), "%s/tree", host_world_home);
	assert_int_equal(mkdir(tree, 0700), 0);
	for (int tier = TIER_UNKNOWN; tier < TIER_COUNT; tier++) {
		for (size_t i = 0; i < 3; i++) {
			struct boundary_verdict verdict = {
			    places[i], "", "", "", ""};
			bool may =
			    places[i] == BOUNDARY_HOST &&
			    (tier == TIER_CURATED || tier == TIER_TRUSTED);
			struct host_world test;

			host_world_open(&test);
			test.spec.kind = "toolpack";
			test.spec.package = "some-pack";
			test.spec.version = "1.0.0";
			test.spec.tier = tier_name((enum tier)tier);
			test.spec.verdict = &verdict;
			test.spec.tree_path = tree;
			test.spec.tree_hash = "sha256:00";
			host_world_shell(&test, "echo it ran");
			assert_string_equal(test.outcome.code,
			    may ? "integrity_volume" : "host_refused");
			assert_false(test.outcome.started);
			assert_string_equal(test.output, "");
			host_world_close(&test);
		}
	}
	assert_int_equal(rmdir(tree), 0);
}

/* No package, but not the operator's own command either; no verdict. */
static void
test_host_run_i08_forged(void **state)
{
	struct host_world test;

	(void)state;
	host_world_open(&test);
	test.spec.kind = "toolpack";
	host_world_shell(&test, "echo it ran");
	assert_string_equal(test.outcome.code, "host_refused");
	host_world_close(&test);
	host_world_open(&test);
	test.spec.package = "some-pack";
	test.spec.tier = "curated";
	host_world_shell(&test, "echo it ran");
	assert_string_equal(test.outcome.code, "host_refused");
	assert_string_equal(test.output, "");
	host_world_close(&test);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_host_run_environment),
	    cmocka_unit_test(test_host_run_background),
	    cmocka_unit_test(test_host_run_time),
	    cmocka_unit_test(test_host_run_growing),
	    cmocka_unit_test(test_host_run_missing),
	    cmocka_unit_test(test_host_run_stop),
	    cmocka_unit_test(test_host_run_keeper_killed),
	    cmocka_unit_test(test_host_run_guard_killed),
	    cmocka_unit_test(test_host_run_both_killed),
	    cmocka_unit_test(test_host_run_supervisor_killed),
	    cmocka_unit_test(test_host_run_i08_tiers),
	    cmocka_unit_test(test_host_run_i08_forged),
	};

	return cmocka_run_group_tests(
	    tests, host_world_setup, host_world_teardown);
}
