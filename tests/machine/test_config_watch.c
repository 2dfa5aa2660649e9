/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every way a configuration file can change is seen, other files are not,
 * and many changes are few calls. In a mount namespace of its own, where
 * /etc is a small disk.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/config_watch.h"

#define HOME "/etc/home"
#define POLICY CONFIG_POLICY_DIR "/" CONFIG_POLICY_FILE
/* Longer than the settling; nothing happens, so it is waited for. */
#define QUIET_MS 200U

struct test_config_watch {
	struct event_base *base;
	struct event *limit;
	struct config_watch *watch;
	unsigned calls;
	bool lost;
};

static void
test_config_watch_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), RESULT_OK);
	close(fd);
}

static void
test_config_watch_on_change(bool lost, void *context)
{
	struct test_config_watch *test = context;

	test->calls++;
	test->lost = lost;
	event_loop_stop(test->base);
}

static void
test_config_watch_on_limit(evutil_socket_t fd, short what, void *context)
{
	struct test_config_watch *test = context;

	(void)fd;
	(void)what;
	event_loop_stop(test->base);
}

/* Calls until one came (or none for ms). */
static unsigned
test_config_watch_calls(struct test_config_watch *test, unsigned ms)
{
	struct timeval limit = event_loop_timeval(ms);
	unsigned before = test->calls;

	assert_int_equal(event_add(test->limit, &limit), 0);
	assert_int_equal(event_loop_run(test->base), RESULT_OK);
	(void)event_del(test->limit);
	return test->calls - before;
}

/* One change: exactly one call, and then silence. */
static void
test_config_watch_seen(struct test_config_watch *test, const char *what)
{
	if (test_config_watch_calls(test, 5000) != 1)
		fail_msg("not seen: %s", what);
	if (test_config_watch_calls(test, QUIET_MS) != 0)
		fail_msg("seen twice: %s", what);
	if (test->lost)
		fail_msg("lost: %s", what);
}

static void
test_config_watch_namespace(void)
{
	unsigned uid = geteuid();
	char map[64];
	int fd;

	assert_int_equal(
	    unshare(CLONE_NEWNS | (uid != 0 ? CLONE_NEWUSER : 0)), 0);
	if (uid != 0) {
		snprintf(map, sizeof(map), "0 %u 1", uid);
		fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
		assert_int_equal(fd_write_all(fd, map, strlen(map)), RESULT_OK);
		close(fd);
	}
	assert_int_equal(
	    mount("none", "/", "none", MS_REC | MS_PRIVATE, ""), 0);
	assert_int_equal(
	    mount("none", "/etc", "tmpfs", 0, "mode=0755,size=64k"), 0);
	assert_int_equal(mkdir(HOME, 0700), 0);
	assert_int_equal(setenv("AGENTNODE_HOME", HOME, 1), 0);
}

static int
test_config_watch_setup(void **state)
{
	static struct test_config_watch test;
	struct json_fault fault = {""};

	test_config_watch_namespace();
	assert_int_equal(event_loop_new(&test.base), RESULT_OK);
	test.limit =
	    event_new(test.base, -1, 0, test_config_watch_on_limit, &test);
	assert_non_null(test.limit);
	assert_int_equal(
	    config_watch_new(test.base, test_config_watch_on_change, &test,
		&test.watch, &fault),
	    RESULT_OK);
	*state = &test;
	return 0;
}

static int
test_config_watch_teardown(void **state)
{
	struct test_config_watch *test = *state;

	config_watch_free(&test->watch);
	config_watch_free(&test->watch); /* again does nothing */
	event_free(test->limit);
	event_base_free(test->base);
	return 0;
}

static void
test_config_watch_user_file(void **state)
{
	struct test_config_watch *test = *state;
	struct json_fault fault = {""};

	test_config_watch_seen(test, "the first call");
	if (config_set("egress.deny", "a.example.com", &fault) != RESULT_OK)
		fail_msg("%s", fault.text);
	test_config_watch_seen(test, "config set");
	test_config_watch_write(HOME "/" CONFIG_FILE, "{}");
	test_config_watch_seen(test, "written in place");
	assert_int_equal(chmod(HOME "/" CONFIG_FILE, 0644), 0);
	test_config_watch_seen(test, "another mode");
	test_config_watch_write(HOME "/aside", "{}");
	test_config_watch_write(HOME "/agentnode.lock", "{}");
	assert_int_equal(test_config_watch_calls(test, QUIET_MS), 0);
	assert_int_equal(rename(HOME "/aside", HOME "/" CONFIG_FILE), 0);
	test_config_watch_seen(test, "renamed to");
	assert_int_equal(unlink(HOME "/" CONFIG_FILE), 0);
	test_config_watch_seen(test, "removed");
}

static void
test_config_watch_team_policy(void **state)
{
	struct test_config_watch *test = *state;

	assert_int_equal(mkdir("/etc/other", 0755), 0);
	assert_int_equal(test_config_watch_calls(test, QUIET_MS), 0);
	assert_int_equal(mkdir(CONFIG_POLICY_DIR, 0755), 0);
	test_config_watch_seen(test, "the folder comes");
	test_config_watch_write(POLICY, "{}");
	test_config_watch_seen(test, "the policy comes");
	assert_int_equal(rename(CONFIG_POLICY_DIR, "/etc/aside"), 0);
	test_config_watch_seen(test, "the folder goes");
	test_config_watch_write("/etc/aside/" CONFIG_POLICY_FILE, "[]");
	assert_int_equal(test_config_watch_calls(test, QUIET_MS), 0);
	assert_int_equal(rename("/etc/aside", CONFIG_POLICY_DIR), 0);
	test_config_watch_seen(test, "the folder comes back");
	test_config_watch_write(POLICY, "{}");
	test_config_watch_seen(test, "the policy changes");
}

/* Thousands of changes, more than the kernel keeps: few calls, and one
 * after the last. */
static void
test_config_watch_flood(void **state)
{
	struct test_config_watch *test = *state;
	unsigned i, calls;

	for (i = 0; i < 20000; i++) {
		assert_int_equal(chmod(POLICY, i % 2 == 0 ? 0600 : 0644), 0);
		assert_int_equal(
		    chmod(CONFIG_POLICY_DIR, i % 2 == 0 ? 0700 : 0755), 0);
	}
	calls = test_config_watch_calls(test, 5000);
	assert_int_equal(calls, 1);
	while (test_config_watch_calls(test, QUIET_MS) > 0)
		assert_true(++calls < 10);
	test_config_watch_write(POLICY, "{ }");
	test_config_watch_seen(test, "after the flood");
}

static void
test_config_watch_again_is_bounded(void **state)
{
	struct test_config_watch *test = *state;

	config_watch_again(test->watch, 1);
	config_watch_again(test->watch, 1);
	test_config_watch_seen(test, "asked for");
}

static void
test_config_watch_lost(void **state)
{
	struct test_config_watch *test = *state;

	assert_int_equal(rename(HOME, "/etc/away"), 0);
	assert_int_equal(test_config_watch_calls(test, 5000), 1);
	assert_true(test->lost);
	assert_int_equal(rename("/etc/away", HOME), 0);
	config_watch_again(test->watch, 1);
	test_config_watch_seen(test, "the home is back");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_config_watch_user_file),
	    cmocka_unit_test(test_config_watch_team_policy),
	    cmocka_unit_test(test_config_watch_flood),
	    cmocka_unit_test(test_config_watch_again_is_bounded),
	    cmocka_unit_test(test_config_watch_lost),
	};

	return cmocka_run_group_tests(
	    tests, test_config_watch_setup, test_config_watch_teardown);
}
