/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the control group of a run on the host is, v1 and v2, read out of
 * /proc/self/cgroup: below our own or beside it, and nowhere when that is
 * out of sight or the run's id is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "supervisor/host/host_group.h"

#define TEST_HOST_GROUP_ID "0123456789abcdef"
#define TEST_HOST_GROUP_NAME "/agentnode-host-" TEST_HOST_GROUP_ID

static void
test_host_group_old(void **state)
{
	static const char text[] = "9:name=systemd:/user.slice\n"
				   "8:pids:/user.slice/a\n"
				   "4:memory:/\n"
				   "2:cpu,cpuacct:/b:c\n"
				   "0::/user.slice\n";
	struct host_group group;

	(void)state;
	assert_int_equal(
	    host_group_places(text, false, TEST_HOST_GROUP_ID, &group), 0);
	assert_int_equal(group.count, 3);
	assert_false(group.is_unified);
	assert_string_equal(
	    group.dirs[0], "/sys/fs/cgroup/memory" TEST_HOST_GROUP_NAME);
	assert_string_equal(group.dirs[1],
	    "/sys/fs/cgroup/pids/user.slice/a" TEST_HOST_GROUP_NAME);
	assert_string_equal(group.dirs[2],
	    "/sys/fs/cgroup/cpu,cpuacct/b:c" TEST_HOST_GROUP_NAME);
}

/* Beside our own group, which has processes: it may have no limited groups
 * below it. */
static void
test_host_group_unified(void **state)
{
	static const struct {
		const char *text, *dir;
	} rows[] = {
	    {"0::/\n", "/sys/fs/cgroup" TEST_HOST_GROUP_NAME},
	    {"0::/one.scope\n", "/sys/fs/cgroup" TEST_HOST_GROUP_NAME},
	    {"0::/user.slice/session-1.scope\n",
		"/sys/fs/cgroup/user.slice" TEST_HOST_GROUP_NAME},
	    {"1:name=systemd:/x\n0::/a/b/c\n",
		"/sys/fs/cgroup/a/b" TEST_HOST_GROUP_NAME},
	};
	struct host_group group;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(host_group_places(rows[i].text, true,
				     TEST_HOST_GROUP_ID, &group),
		    0);
		assert_int_equal(group.count, 1);
		assert_true(group.is_unified);
		assert_string_equal(group.dirs[0], rows[i].dir);
	}
}

static void
test_host_group_none(void **state)
{
	static const struct {
		const char *text;
		bool is_unified;
	} rows[] = {
	    {"", true},
	    {"", false},
	    {"0::/../outside\n", true},
	    {"8:pids:/../x\n4:memory:/\n2:cpu:/\n", false},
	    {"8:pids:/\n4:memory:/\n", false},
	    {"8:pidsx:/\n4:memory:/\n2:cpu:/\n", false},
	    {"0:\n", true},
	    {"0::relative\n", true},
	};
	static const char *const ids[] = {
	    "", "0123456789abcde", "0123456789abcdeg", "../../../../etc/x"};
	struct host_group group;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_not_equal(
		    host_group_places(rows[i].text, rows[i].is_unified,
			TEST_HOST_GROUP_ID, &group),
		    0);
		assert_int_equal(group.count, 0);
	}
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		assert_int_not_equal(
		    host_group_places("0::/\n", true, ids[i], &group), 0);
		assert_int_equal(group.count, 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_host_group_old),
	    cmocka_unit_test(test_host_group_unified),
	    cmocka_unit_test(test_host_group_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
