/* SPDX-License-Identifier: Apache-2.0 */
/* A control group that cannot be looked at is never called empty. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/engine/cgroup.h"
#include "tests/support/test_folder.h"

static void
test_cgroup_kill_make(struct cgroup *cgroup_r, char *folder)
{
	assert_non_null(test_folder_new(folder));
	memset(cgroup_r, 0, sizeof(*cgroup_r));
	memset(cgroup_r->id, 'a', sizeof(cgroup_r->id) - 1);
	cgroup_r->count = 1;
	(void)snprintf(cgroup_r->dirs[0].controllers,
	    sizeof(cgroup_r->dirs[0].controllers), "memory");
	(void)snprintf(cgroup_r->dirs[0].path, sizeof(cgroup_r->dirs[0].path),
	    "%s", folder);
}

static void
test_cgroup_kill_unreadable(void **state)
{
	char folder[] = "/tmp/agentnode-test-XXXXXX", procs[64];
	struct cgroup cgroup;

	(void)state;
	test_cgroup_kill_make(&cgroup, folder);
	assert_int_equal(cgroup_kill(&cgroup), 0); /* gone */
	(void)snprintf(procs, sizeof(procs), "%s/cgroup.procs", folder);
	assert_int_equal(mkdir(procs, 0700), 0); /* opens, reads EISDIR */
	assert_int_not_equal(cgroup_kill(&cgroup), 0);
	assert_int_equal(rmdir(procs) | rmdir(folder), 0);
	assert_int_equal(cgroup_kill(&cgroup), 0);
}

/* Without a free descriptor nothing can be seen. */
static void
test_cgroup_kill_no_descriptor(void **state)
{
	char folder[] = "/tmp/agentnode-test-XXXXXX";
	struct rlimit before, none;
	struct cgroup cgroup;
	size_t alive;

	(void)state;
	test_cgroup_kill_make(&cgroup, folder);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){0, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	alive = cgroup_kill(&cgroup);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_not_equal(alive, 0);
	assert_int_equal(rmdir(folder), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_cgroup_kill_unreadable),
	    cmocka_unit_test(test_cgroup_kill_no_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
