/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that inspect printed: those of podman are real ones, those of docker
 * follow its API. Exactly the codes of each; and files that are no list of
 * containers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/argv/argv_inspect.h"
#include "supervisor/argv/argv_judge.h"

#define TEST_FOLDER AGENTNODE_SOURCE_DIR "/tests/golden/inspect/"

static const struct {
	const char *name, *codes; /* "|" between two containers */
} test_argv_inspect_files[] = {
    {"podman_hardened", ""},
    {"podman_plain",
	"network_not_none root_user root_writable cgroupns_host caps_kept "
	"new_privileges no_memory_limit"},
    {"podman_privileged",
	"network_not_none network_host root_user root_writable privileged "
	"pid_host uts_host cgroupns_host caps_kept new_privileges "
	"no_memory_limit"},
    {"podman_mounts", "mount_home mount_system device mount_read_only"},
    {"podman_rights",
	"env_key cap_added seccomp_off label_off annotation output_file "
	"restart"},
    {"docker_hardened", ""},
    {"docker_howto",
	"env_key network_not_none mount_read_write root_user root_writable "
	"caps_kept new_privileges no_memory_limit no_pids_limit no_digest"},
    {"docker_privileged",
	"privileged seccomp_off apparmor_off label_off paths_unmasked "
	"pid_host uts_host userns_host cgroupns_host namespace_joined"},
    {"docker_mounts",
	"mount_engine_socket mount_propagation volumes_from mount_read_only"},
    {"docker_devices",
	"device device_rule gpus cap_added group_added sysctl_host "
	"annotation"},
    {"docker_network", "network_not_none link host_gateway ports_published"},
    {"docker_limits", "output_file no_memory_limit swap_unlimited "
		      "no_pids_limit cgroup_parent "
		      "oom_kill_off oom_score runtime log_driver restart"},
    {"docker_two", "|root_writable"},
};

static const struct {
	const char *name, *says;
} test_argv_inspect_bad[] = {
    {"bad_image", "[0] is no container"},
    {"bad_object", "a list of 1 to 64 containers"},
    {"bad_empty", "a list of 1 to 64 containers"},
    {"bad_duplicate", "duplicate"},
    {"bad_type", "[0].HostConfig.Privileged must be true or false"},
    {"bad_deep", ""},
};

static enum result
test_argv_inspect_load(const char *name, struct argv_inspect **inspect_r,
    struct argv_fault *fault_r)
{
	static char bytes[65536];
	char path[512];
	FILE *file;
	size_t len;

	snprintf(path, sizeof(path), TEST_FOLDER "%s.json", name);
	file = fopen(path, "re");
	if (file == NULL)
		fail_msg("%s is missing", path);
	len = fread(bytes, 1, sizeof(bytes), file);
	assert_true(len < sizeof(bytes));
	fclose(file);
	return argv_inspect_parse(bytes, len, inspect_r, fault_r);
}

static void
test_argv_inspect_codes(
    const struct argv_inspect *inspect, char *said_r, size_t size)
{
	size_t used = 0;

	said_r[0] = '\0';
	for (size_t i = 0; i < argv_inspect_count(inspect); i++) {
		struct argv_findings findings;
		struct argv_fault fault;

		assert_int_equal(
		    argv_judge(argv_inspect_items_borrow(inspect, i), &findings,
			&fault),
		    RESULT_OK);
		if (i > 0)
			used +=
			    (size_t)snprintf(said_r + used, size - used, "|");
		for (size_t k = 0; k < findings.count; k++)
			used += (size_t)snprintf(said_r + used, size - used,
			    "%s%s", k > 0 ? " " : "",
			    argv_code_row(findings.list[k].code)->code);
		argv_finding_clear(&findings);
	}
}

static void
test_argv_inspect_known(void **state)
{
	size_t count = sizeof(test_argv_inspect_files) /
		       sizeof(test_argv_inspect_files[0]);
	int failed = 0;

	(void)state;
	assert_true(count >= 12);
	for (size_t i = 0; i < count; i++) {
		struct argv_inspect *inspect = NULL;
		struct argv_fault fault;
		char said[2048] = "";

		if (test_argv_inspect_load(test_argv_inspect_files[i].name,
			&inspect, &fault) == RESULT_OK)
			test_argv_inspect_codes(inspect, said, sizeof(said));
		else
			snprintf(said, sizeof(said), "%s", fault.text);
		if (strcmp(said, test_argv_inspect_files[i].codes) != 0) {
			print_error("%s\n  want: %s\n  have: %s\n",
			    test_argv_inspect_files[i].name,
			    test_argv_inspect_files[i].codes, said);
			failed++;
		}
		argv_inspect_free(&inspect);
	}
	assert_int_equal(failed, 0);
}

static void
test_argv_inspect_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(test_argv_inspect_bad) /
				   sizeof(test_argv_inspect_bad[0]);
	     i++) {
		struct argv_inspect *inspect = NULL;
		struct argv_fault fault;

		assert_int_equal(
		    test_argv_inspect_load(
			test_argv_inspect_bad[i].name, &inspect, &fault),
		    RESULT_BAD);
		assert_null(inspect);
		if (strstr(fault.text, test_argv_inspect_bad[i].says) == NULL)
			fail_msg("%s: %s", test_argv_inspect_bad[i].name,
			    fault.text);
		assert_true(fault.text[0] != '\0');
	}
}

/* Too long is said before anything is parsed. */
static void
test_argv_inspect_bound(void **state)
{
	size_t len = ARGV_INSPECT_BYTES_MAX + 1;
	char *bytes = malloc(len);
	struct argv_inspect *inspect = NULL;
	struct argv_fault fault;

	(void)state;
	assert_non_null(bytes);
	memset(bytes, ' ', len);
	assert_int_equal(
	    argv_inspect_parse(bytes, len, &inspect, &fault), RESULT_BAD);
	assert_non_null(strstr(fault.text, "longer"));
	free(bytes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_argv_inspect_known),
	    cmocka_unit_test(test_argv_inspect_refused),
	    cmocka_unit_test(test_argv_inspect_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
