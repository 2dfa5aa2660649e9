/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of a container: every flag is there, and no value can
 * become a flag or a second option.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/engine/run_argv.h"

#define TEST_DIGEST \
	"sha256:"   \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct run_argv_input
test_run_argv_input(void)
{
	return (struct run_argv_input){.client = "/usr/bin/podman",
	    .runtime = "/usr/bin/crun",
	    .cgroup_manager = "cgroupfs",
	    .hooks = "/run/agentnode/hooks",
	    .mounts_conf = "/run/agentnode/mounts.conf",
	    .seccomp = "/usr/share/agentnode/seccomp/agentnode.json",
	    .id_file = "/run/agentnode/runs/00112233445566ff.cid",
	    .kind = "mcp",
	    .package = "fetch-server",
	    .id = "00112233445566ff",
	    .image = "localhost/sandbox@" TEST_DIGEST,
	    .uid = 1879052903,
	    .gid = 1879052903,
	    .memory = 512ULL << 20,
	    .pids = 256,
	    .cpu_milli = 1500,
	    .files = 4096,
	    .fd_count = 5,
	    .entrypoint = "/proc/self/fd/4",
	    .mounts = {{"agentnode-pack-x-1", "/pack"}},
	    .mount_count = 1,
	    .tmpfs = {{"/tmp", 64 << 20, 01777, false, false},
		{"/work", 1 << 20, 0700, true, true}},
	    .tmpfs_count = 2,
	    .hosts = {{"api.example.com", "127.64.0.1"}},
	    .host_count = 1};
}

static bool
test_run_argv_has(const struct run_argv *argv, const char *word)
{
	for (size_t i = 0; i < argv->count; i++) {
		if (strcmp(argv->words[i], word) == 0)
			return true;
	}
	return false;
}

static void
test_run_argv_flags(void **state)
{
	static const char *const wanted[] = {"--runtime=/usr/bin/crun",
	    "--cgroup-manager=cgroupfs", "--events-backend=none",
	    "--hooks-dir=/run/agentnode/hooks",
	    "--default-mounts-file=/run/agentnode/mounts.conf", "run", "--rm",
	    "--name=agentnode-mcp-fetch-server-00112233445566ff",
	    "--label=agentnode.run=00112233445566ff",
	    "--cidfile=/run/agentnode/runs/00112233445566ff.cid",
	    "--label=agentnode.package=fetch-server", "--network=none",
	    "--read-only", "--read-only-tmpfs=false", "--cap-drop=ALL",
	    "--security-opt=no-new-privileges",
	    "--security-opt=seccomp=/usr/share/agentnode/seccomp/"
	    "agentnode.json",
	    "--user=1879052903:1879052903", "--pids-limit=256",
	    "--memory=536870912", "--memory-swap=536870912", "--cpus=1.500",
	    "--ulimit=nofile=4096:4096", "--ulimit=nproc=256:256",
	    "--ulimit=core=0:0", "--pull=never", "--log-driver=none",
	    "--image-volume=ignore", "--no-healthcheck", "--http-proxy=false",
	    "--unsetenv-all", "--hostname=sandbox", "--ipc=private",
	    "--pid=private", "--uts=private", "--cgroupns=private",
	    "--sysctl=net.ipv4.ip_unprivileged_port_start=0", "--systemd=false",
	    "--stop-timeout=0", "--preserve-fds=5",
	    "--entrypoint=/proc/self/fd/4",
	    "--tmpfs=/tmp:rw,noexec,nosuid,nodev,size=67108864,mode=1777,"
	    "notmpcopyup",
	    "--tmpfs=/work:rw,exec,nosuid,nodev,size=1048576,mode=0700,"
	    "notmpcopyup,U",
	    "--volume=agentnode-pack-x-1:/pack:ro,nodev,nosuid,nocopy",
	    "--add-host=api.example.com:127.64.0.1"};
	struct run_argv_input input = test_run_argv_input();
	struct run_argv *argv = calloc(1, sizeof(*argv));
	char fault[256] = "";

	(void)state;
	assert_int_equal(
	    run_argv_build(&input, argv, fault, sizeof(fault)), RESULT_OK);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (!test_run_argv_has(argv, wanted[i]))
			fail_msg("no word %s", wanted[i]);
	}
	assert_string_equal(argv->words[0], "/usr/bin/podman");
	assert_string_equal(argv->words[argv->count - 2], "--");
	assert_string_equal(argv->words[argv->count - 1], input.image);
	assert_null(argv->words[argv->count]);
	free(argv);
}

static void
test_run_argv_refuse(struct run_argv_input input, const char *what)
{
	struct run_argv *argv = calloc(1, sizeof(*argv));
	char fault[256] = "";

	if (run_argv_build(&input, argv, fault, sizeof(fault)) != RESULT_BAD)
		fail_msg("%s was not refused", what);
	if (fault[0] == '\0')
		fail_msg("%s was refused without a sentence", what);
	free(argv);
}

/* The same walls in Docker's words; what only podman has is not there. */
static void
test_run_argv_docker(void **state)
{
	static const char *const wanted[] = {"run", "--rm", "--detach",
	    "--name=agentnode-mcp-fetch-server-00112233445566ff",
	    "--label=agentnode.run=00112233445566ff",
	    "--cidfile=/run/agentnode/runs/00112233445566ff.cid",
	    "--network=none", "--read-only", "--cap-drop=ALL",
	    "--security-opt=no-new-privileges",
	    "--security-opt=seccomp=/usr/share/agentnode/seccomp/"
	    "agentnode.json",
	    "--user=1879052903:1879052903", "--pids-limit=256",
	    "--memory=536870912", "--memory-swap=536870912", "--cpus=1.500",
	    "--ulimit=nofile=4096:4096", "--ulimit=nproc=256:256",
	    "--ulimit=core=0:0", "--pull=never", "--log-driver=none",
	    "--no-healthcheck", "--hostname=sandbox", "--ipc=private",
	    "--cgroupns=private", "--dns=127.0.0.1", "--dns-search=.",
	    "--sysctl=net.ipv4.ip_unprivileged_port_start=0",
	    "--stop-timeout=0", "--init=false", "--restart=no",
	    "--entrypoint=/run/agentnode-wiring/init",
	    "--tmpfs=/tmp:rw,noexec,nosuid,nodev,size=67108864,mode=1777",
	    "--tmpfs=/work:rw,exec,nosuid,nodev,size=1048576,mode=0700,"
	    "uid=1879052903,gid=1879052903",
	    "--mount=type=volume,src=agentnode-pack-x-1,dst=/pack,readonly,"
	    "volume-nocopy",
	    "--add-host=api.example.com:127.64.0.1"};
	static const char *const podman[] = {"--runtime", "--hooks-dir",
	    "--preserve-fds", "--passwd-entry", "--unsetenv-all",
	    "--image-volume", "--cgroup-manager", "--volume"};
	struct run_argv_input input = test_run_argv_input();
	struct run_argv *argv = calloc(1, sizeof(*argv));
	char fault[256] = "";

	(void)state;
	input.dialect = RUN_ARGV_DOCKER;
	input.client = "/usr/bin/docker";
	input.runtime = input.hooks = input.mounts_conf = NULL;
	input.entrypoint = "/run/agentnode-wiring/init";
	input.init_word = "volume";
	input.image = "sha256:000102030405060708090a0b0c0d0e0f"
		      "101112131415161718191a1b1c1d1e1f";
	assert_int_equal(
	    run_argv_build(&input, argv, fault, sizeof(fault)), RESULT_OK);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (!test_run_argv_has(argv, wanted[i]))
			fail_msg("no word %s", wanted[i]);
	}
	for (size_t i = 0; i < argv->count; i++) {
		for (size_t k = 0; k < sizeof(podman) / sizeof(podman[0]);
		     k++) {
			if (strncmp(argv->words[i], podman[k],
				strlen(podman[k])) == 0)
				fail_msg("the word %s", argv->words[i]);
		}
	}
	assert_string_equal(argv->words[0], "/usr/bin/docker");
	assert_string_equal(argv->words[1], "run");
	assert_string_equal(argv->words[argv->count - 3], "--");
	assert_string_equal(argv->words[argv->count - 2], input.image);
	assert_string_equal(argv->words[argv->count - 1], "volume");
	/* Attached: the client carries what init says. */
	input.interactive = true;
	input.init_word = "mux";
	assert_int_equal(
	    run_argv_build(&input, argv, fault, sizeof(fault)), RESULT_OK);
	assert_true(test_run_argv_has(argv, "--interactive"));
	assert_false(test_run_argv_has(argv, "--detach"));
	assert_string_equal(argv->words[1], "run");
	assert_string_equal(argv->words[argv->count - 1], "mux");
	/* Made only: we attach, and then it is started. */
	input.made = true;
	assert_int_equal(
	    run_argv_build(&input, argv, fault, sizeof(fault)), RESULT_OK);
	assert_string_equal(argv->words[1], "create");
	assert_true(test_run_argv_has(argv, "--interactive"));
	assert_false(test_run_argv_has(argv, "--detach"));
	/* A daemon has what is others', too. */
	input.owner = "1000-00112233445566ff";
	assert_int_equal(
	    run_argv_build(&input, argv, fault, sizeof(fault)), RESULT_OK);
	assert_true(test_run_argv_has(
	    argv, "--label=agentnode.owner=1000-00112233445566ff"));
	input.owner = "a,b";
	assert_int_equal(
	    run_argv_build(&input, argv, fault, sizeof(fault)), RESULT_BAD);
	input.owner = NULL;
	input.image = "sandbox:latest";
	assert_int_equal(
	    run_argv_build(&input, argv, fault, sizeof(fault)), RESULT_BAD);
	free(argv);
	/* Docker's id of an image is not podman's to take. */
	input = test_run_argv_input();
	input.image = "sha256:000102030405060708090a0b0c0d0e0f"
		      "101112131415161718191a1b1c1d1e1f";
	assert_true(run_argv_is_image_id(input.image));
	assert_false(run_argv_is_image_id("sha256:00"));
	assert_false(run_argv_is_image_id(NULL));
	test_run_argv_refuse(input, "an id");
}

/* No terminal, no standard input, nothing privileged. */
static void
test_run_argv_never(void **state)
{
	static const char *const never[] = {"-i", "-t", "--interactive",
	    "--tty", "--privileged", "--device", "--cap-add", "--publish",
	    "--env-host", "--userns=host", "--pid=host", "--ipc=host"};
	struct run_argv_input input = test_run_argv_input();
	struct run_argv *argv = calloc(1, sizeof(*argv));
	char fault[256] = "";

	(void)state;
	assert_int_equal(
	    run_argv_build(&input, argv, fault, sizeof(fault)), RESULT_OK);
	for (size_t i = 0; i < argv->count; i++) {
		for (size_t k = 0; k < sizeof(never) / sizeof(never[0]); k++) {
			size_t len = strlen(never[k]);

			if (strncmp(argv->words[i], never[k], len) == 0 &&
			    (argv->words[i][len] == '\0' ||
				argv->words[i][len] == '='))
				fail_msg("the word %s", argv->words[i]);
		}
	}
	free(argv);
}

#define TEST_REFUSE(field, value)                                    \
	do {                                                         \
		struct run_argv_input input = test_run_argv_input(); \
		input.field = (value);                               \
		test_run_argv_refuse(input, #field " = " #value);    \
	} while (0)

static void
test_run_argv_injection(void **state)
{
	(void)state;
	TEST_REFUSE(image, "--privileged");
	TEST_REFUSE(image, "localhost/sandbox:latest");
	TEST_REFUSE(image, "-v@" TEST_DIGEST);
	TEST_REFUSE(image, "a b@" TEST_DIGEST);
	TEST_REFUSE(image, "localhost/sandbox@sha256:0123");
	TEST_REFUSE(image, NULL);
	TEST_REFUSE(package, "--privileged");
	TEST_REFUSE(package, "a,b");
	TEST_REFUSE(package, "a b");
	TEST_REFUSE(package, "a\nb");
	TEST_REFUSE(package, "");
	TEST_REFUSE(package, NULL);
	TEST_REFUSE(kind, "../x");
	TEST_REFUSE(id, "0011223344556677889");
	TEST_REFUSE(id, "zz112233445566ff");
	TEST_REFUSE(mounts[0].volume, "/etc");
	TEST_REFUSE(mounts[0].volume, "../etc");
	TEST_REFUSE(mounts[0].volume, "-v");
	TEST_REFUSE(mounts[0].volume, "v:/x");
	TEST_REFUSE(mounts[0].target, "pack");
	TEST_REFUSE(mounts[0].target, "/pack:rw");
	TEST_REFUSE(mounts[0].target, "/pack,rw");
	TEST_REFUSE(mounts[0].target, "/a/../b");
	TEST_REFUSE(mounts[0].target, "/a/..");
	TEST_REFUSE(mounts[0].target, "/a/.");
	TEST_REFUSE(mounts[0].target, "/a/./b");
	TEST_REFUSE(mounts[0].target, "/a/");
	TEST_REFUSE(mounts[0].target, "/");
	TEST_REFUSE(tmpfs[0].target, "/tmp/..");
	TEST_REFUSE(tmpfs[0].target, "/tmp:exec");
	TEST_REFUSE(tmpfs[0].size, 0);
	TEST_REFUSE(hosts[0].name, "--x");
	TEST_REFUSE(hosts[0].name, "a.example.com:10.0.0.1");
	TEST_REFUSE(hosts[0].address, "host-gateway");
	TEST_REFUSE(seccomp, "unconfined");
	TEST_REFUSE(runtime, "crun");
	TEST_REFUSE(entrypoint, "sh");
	TEST_REFUSE(cgroup_manager, "none");
}

static void
test_run_argv_ranges(void **state)
{
	(void)state;
	TEST_REFUSE(uid, 0);
	TEST_REFUSE(gid, 0);
	TEST_REFUSE(memory, 0);
	TEST_REFUSE(memory, 1ULL << 50);
	TEST_REFUSE(pids, 0);
	TEST_REFUSE(pids, 100000);
	TEST_REFUSE(cpu_milli, 0);
	TEST_REFUSE(files, 0);
	TEST_REFUSE(mount_count, RUN_ARGV_MOUNTS_MAX + 1);
	TEST_REFUSE(tmpfs_count, RUN_ARGV_TMPFS_MAX + 1);
	TEST_REFUSE(host_count, RUN_ARGV_HOSTS_MAX + 1);
}

static void
test_run_argv_pinned(void **state)
{
	static const struct {
		const char *name;
		bool want;
	} rows[] = {{"sandbox", true}, {"localhost/sandbox", true},
	    {"localhost:5000/a/b", true}, {"127.0.0.1:5000/a", true},
	    {"registry.example.com/a/b:1.2", true}, {"docker.io/a:b", true},
	    {"oci:/tmp/x", false}, {"oci:x", false}, {"oci:5000/x", false},
	    {"dir:/x", false}, {"docker://a.example.com/x", false},
	    {"docker-archive:a/b", false}, {"containers-storage:x", false},
	    {"a.example.com:/x", false}, {"a.example.com:x/y", false},
	    {"a.example.com/x:", false}, {"a.example.com/x:y:z", false},
	    {"a.example.com/x:y/z", false}, {"a//b", false}, {"a@b", false},
	    {"-q", false}, {"", false}, {"a b", false}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char image[256];

		(void)snprintf(
		    image, sizeof(image), "%s@" TEST_DIGEST, rows[i].name);
		if (run_argv_is_pinned(image) != rows[i].want)
			fail_msg("%s", image);
	}
	assert_false(run_argv_is_pinned(NULL));
	assert_false(run_argv_is_pinned("localhost/sandbox:latest"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_run_argv_flags),
	    cmocka_unit_test(test_run_argv_pinned),
	    cmocka_unit_test(test_run_argv_docker),
	    cmocka_unit_test(test_run_argv_never),
	    cmocka_unit_test(test_run_argv_injection),
	    cmocka_unit_test(test_run_argv_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
