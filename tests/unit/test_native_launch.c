/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launch record of agentnode-native: what is accepted, and that each
 * single fault is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/native/native_launch.h"

#define STEPS 6U

static struct native_launch *launch;

static void
step(unsigned index, enum native_step_kind kind, const char *target,
    const char *source)
{
	struct native_launch_step *one = &launch->steps[index];

	memset(one, 0, sizeof(*one));
	one->step.kind = kind;
	(void)snprintf(
	    one->step.target, sizeof(one->step.target), "%s", target);
	(void)snprintf(
	    one->step.source, sizeof(one->step.source), "%s", source);
	one->step.size = kind == NATIVE_STEP_TMPFS ? 4096 : 0;
	one->owner = -1;
}

static int
setup(void **state)
{
	(void)state;
	launch = calloc(1, native_launch_size(STEPS));
	if (launch == NULL)
		return -1;
	launch->magic = NATIVE_LAUNCH_MAGIC;
	launch->version = NATIVE_LAUNCH_VERSION;
	launch->size = (uint32_t)native_launch_size(STEPS);
	launch->uid = launch->gid = 4711;
	launch->step_count = STEPS;
	launch->group_count = 1;
	launch->limit_count = 1;
	launch->hosts_len = 10;
	(void)snprintf(launch->hostname, sizeof(launch->hostname), "sandbox");
	(void)snprintf(launch->home, sizeof(launch->home), "/sandbox-home");
	(void)snprintf(launch->groups[0], sizeof(launch->groups[0]),
	    "/sys/fs/cgroup/native-1");
	step(0, NATIVE_STEP_BIND, "/usr", "/usr");
	step(1, NATIVE_STEP_LINK, "/bin", "usr/bin");
	step(2, NATIVE_STEP_PROC, "/proc", "");
	step(3, NATIVE_STEP_TMPFS, "/tmp", "");
	step(4, NATIVE_STEP_BIND_RW, "/data", "/home/a/data");
	step(5, NATIVE_STEP_MASK, "/data/.env", "");
	launch->steps[4].owner = 4;
	launch->steps[3].mode = 01777;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	free(launch);
	return 0;
}

static bool
valid(void)
{
	return native_launch_valid(launch, native_launch_size(STEPS));
}

static void
test_good(void **state)
{
	(void)state;
	assert_true(valid());
	launch->rootless = 1;
	assert_true(valid());
}

static void
test_sizes(void **state)
{
	size_t size = native_launch_size(STEPS);

	(void)state;
	assert_false(native_launch_valid(launch, 0));
	assert_false(native_launch_valid(launch, size - 1));
	assert_false(native_launch_valid(launch, size + 1));
	launch->step_count = STEPS - 1;
	assert_false(valid());
	launch->step_count = NATIVE_LAUNCH_STEPS_MAX + 1;
	assert_false(valid());
}

static void
test_header(void **state)
{
	uint32_t *const fields[] = {&launch->magic, &launch->version,
	    &launch->rootless, &launch->group_count, &launch->limit_count,
	    &launch->hosts_len, &launch->size, &launch->uid, &launch->gid};

	(void)state;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		uint32_t good = *fields[i];

		*fields[i] = UINT32_MAX;
		assert_false(valid());
		*fields[i] = good;
	}
	launch->uid = 0; /* nobody inside is root */
	assert_false(valid());
	launch->uid = 4711;
	launch->gid = 0;
	assert_false(valid());
}

static void
test_texts(void **state)
{
	(void)state;
	memset(launch->hostname, 'a', sizeof(launch->hostname));
	assert_false(valid());
	launch->hostname[0] = '\0';
	assert_false(valid());
	(void)snprintf(launch->hostname, sizeof(launch->hostname), "s");
	assert_true(valid());
	(void)snprintf(launch->home, sizeof(launch->home), "/a:b");
	assert_false(valid()); /* a field of passwd */
	(void)snprintf(launch->home, sizeof(launch->home), "/a\nroot::0:0");
	assert_false(valid());
	(void)snprintf(launch->home, sizeof(launch->home), "/a");
	memset(launch->groups[0], '/', sizeof(launch->groups[0]));
	assert_false(valid());
}

static void
test_paths(void **state)
{
	static const char *const bad[] = {"", "usr", "//", "/usr/", "/usr//x",
	    "/usr/.", "/usr/..", "/../usr", "/usr/../etc", "/."};
	static const char *const good[] = {
	    "/", "/usr", "/usr/...", "/a b", "/usr/.x", "/usr/..x", "/x.."};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(native_launch_path_valid(bad[i], 32));
		(void)snprintf(launch->steps[0].step.source,
		    NATIVE_VIEW_PATH_MAX, "%s", bad[i]);
		assert_false(valid());
		(void)snprintf(
		    launch->steps[0].step.source, NATIVE_VIEW_PATH_MAX, "/usr");
		(void)snprintf(launch->steps[5].step.target,
		    NATIVE_VIEW_PATH_MAX, "%s", bad[i]);
		assert_false(valid());
		(void)snprintf(launch->steps[5].step.target,
		    NATIVE_VIEW_PATH_MAX, "/data/x");
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(native_launch_path_valid(good[i], 32));
	assert_false(native_launch_path_valid("/aaaaaaaa", 4)); /* no end */
}

static void
test_steps(void **state)
{
	(void)state;
	launch->steps[2].step.kind = (enum native_step_kind)99;
	assert_false(valid());
	launch->steps[2].step.kind = NATIVE_STEP_PROC;
	launch->steps[3].step.size = 0; /* a tmpfs without a bound */
	assert_false(valid());
	launch->steps[3].step.size = 1;
	launch->steps[3].mode = 04777;
	assert_false(valid());
	launch->steps[3].mode = 0700;
	launch->steps[1].step.source[0] = '\0';
	assert_false(valid());
}

static void
test_owners(void **state)
{
	(void)state;
	launch->steps[4].owner = (int32_t)STEPS;
	assert_false(valid());
	launch->steps[4].owner = -2;
	assert_false(valid());
	launch->steps[4].owner = 3; /* no bind */
	assert_false(valid());
	launch->steps[4].owner = 0;
	assert_true(valid());
	launch->steps[3].owner = 0; /* of no bind */
	assert_false(valid());
}

/* The root itself comes first, and from somewhere. */
static void
test_root(void **state)
{
	(void)state;
	step(0, NATIVE_STEP_BIND_RW, "/", "/");
	assert_true(valid());
	step(0, NATIVE_STEP_TMPFS, "/", "");
	assert_false(valid());
	step(0, NATIVE_STEP_BIND, "/usr", "/usr");
	step(4, NATIVE_STEP_BIND, "/", "/");
	assert_false(valid());
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_good, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_sizes, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_header, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_texts, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_paths, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_steps, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_owners, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_root, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
