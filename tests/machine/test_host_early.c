/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What changes between the checks and GO: the first process of agentnode-host
 * is killed, or the folder that was read is replaced. Nothing starts then.
 * The launch record is held back, so that each case is at its moment always.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/policy/boundary.h"
#include "tests/support/host_world.h"

static pid_t test_host_early_keeper;

static pid_t
test_host_early_guard(void)
{
	pid_t guard = host_world_child(getpid(), "agentnode-host");

	assert_true(guard > 1);
	return guard;
}

static void
test_host_early_nothing(const struct host_world *test, const char *code)
{
	assert_string_equal(test->outcome.code, code);
	assert_false(test->outcome.started);
	assert_true(test->outcome.removed);
	assert_string_equal(test->output, "");
	assert_int_not_equal(access("it-ran", F_OK), 0);
}

static void
test_host_early_kill(struct host_world *test)
{
	(void)test;
	assert_int_equal(kill(test_host_early_guard(), SIGKILL), 0);
}

static void
test_host_early_no_go(struct host_world *test)
{
	(void)test;
	fail_msg("GO was said");
}

/* The guard dies while the record is on its way: GO is never said. */
static void
test_host_early_guard_dead(void **state)
{
	struct host_world test;

	(void)state;
	host_world_open(&test);
	test.at_audit = test_host_early_kill;
	test.at_go = test_host_early_no_go;
	host_world_shell(&test, "touch it-ran; echo it ran");
	test_host_early_nothing(&test, "host_died");
	host_world_close(&test);
}

static void
test_host_early_stop_keeper(struct host_world *test)
{
	(void)test;
	test_host_early_keeper =
	    host_world_child(test_host_early_guard(), "agentnode-host");
	assert_true(test_host_early_keeper > 1);
	assert_int_equal(kill(test_host_early_keeper, SIGSTOP), 0);
}

/* GO is said and not read yet. */
static void
test_host_early_at_go(struct host_world *test)
{
	pid_t guard = test_host_early_guard();

	(void)test;
	assert_int_equal(kill(guard, SIGKILL), 0);
	while (!host_world_is_dead(guard))
		(void)usleep(1000);
	assert_int_equal(kill(test_host_early_keeper, SIGCONT), 0);
}

/* It dies behind GO: the keeper has heard of it before it reads that. */
static void
test_host_early_guard_late(void **state)
{
	struct host_world test;

	(void)state;
	host_world_open(&test);
	test.at_audit = test_host_early_stop_keeper;
	test.at_go = test_host_early_at_go;
	host_world_shell(&test, "touch it-ran; echo it ran");
	test_host_early_nothing(&test, "host_died");
	host_world_close(&test);
}

/* --- the folder ---------------------------------------------------------- */

static void
test_host_early_pack(struct host_world *test, const char *hash)
{
	static const struct boundary_verdict verdict = {
	    BOUNDARY_HOST, "", "", "", ""};
	static char tree[128];

	host_world_open(test);
	(void)snprintf(tree, sizeof(tree), "%s/tree", host_world_home);
	test->spec.kind = "toolpack";
	test->spec.package = "some-pack";
	test->spec.version = "1.0.0";
	test->spec.tier = "trusted";
	test->spec.verdict = &verdict;
	test->spec.tree_path = tree;
	test->spec.tree_hash = hash;
}

static void
test_host_early_swap(struct host_world *test)
{
	(void)test;
	assert_int_equal(rename("tree", "tree-read"), 0);
	assert_int_equal(mkdir("tree", 0700), 0);
}

static void
test_host_early_link(struct host_world *test)
{
	(void)test;
	assert_int_equal(rename("tree", "tree-read"), 0);
	assert_int_equal(symlink("tree-read", "tree"), 0);
}

/* What was read has its name no more: what has it now was not read. */
static void
test_host_early_folder(void **state)
{
	void (*const swaps[])(struct host_world * test) = {
	    test_host_early_swap, test_host_early_link};
	char hash[80] = "sha256:00";
	const char *at;
	struct host_world test;

	(void)state;
	assert_int_equal(mkdir("tree", 0700), 0);
	test_host_early_pack(&test, hash);
	host_world_shell(&test, "touch it-ran; echo it ran");
	test_host_early_nothing(&test, "integrity_volume");
	at = strstr(test.outcome.detail, "sha256:");
	assert_non_null(at);
	(void)snprintf(hash, sizeof(hash), "%.71s", at);
	host_world_close(&test);
	for (size_t i = 0; i < 2; i++) {
		test_host_early_pack(&test, hash);
		test.at_audit = swaps[i];
		test.at_go = test_host_early_no_go;
		host_world_shell(&test, "touch it-ran; echo it ran");
		test_host_early_nothing(&test, "integrity_volume");
		host_world_close(&test);
		assert_int_equal(remove("tree"), 0);
		assert_int_equal(rename("tree-read", "tree"), 0);
	}
	test_host_early_pack(&test, hash);
	host_world_shell(&test, "echo it ran");
	assert_string_equal(test.outcome.code, "");
	assert_string_equal(test.output, "it ran\n");
	host_world_close(&test);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_host_early_guard_dead),
	    cmocka_unit_test(test_host_early_guard_late),
	    cmocka_unit_test(test_host_early_folder),
	};

	return cmocka_run_group_tests(
	    tests, host_world_setup, host_world_teardown);
}
