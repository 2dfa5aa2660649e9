/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's own line, written for people: nothing of the wiring, all
 * of the hardening, for docker in docker's words alone; and how words are
 * quoted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/argv/argv_judge.h"
#include "supervisor/argv/argv_port.h"
#include "supervisor/argv/argv_quote.h"
#include "supervisor/engine/run_argv.h"

#define TEST_DIGEST \
	"sha256:"   \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const char *const test_argv_port_env[] = {
    "HOME=/sandbox-home", "A=b c", NULL};
static const char *const test_argv_port_program[] = {
    "node", "/pack/x.js", "--privileged", NULL};

static void
test_argv_port_line(struct run_argv *argv_r)
{
	const struct run_argv_input input = {.client = "/usr/bin/podman",
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
		{"/home", 1 << 20, 0700, false, true}},
	    .tmpfs_count = 2,
	    .hosts = {{"api.example.com", "127.64.0.1"}},
	    .host_count = 1};
	char fault[256] = "";

	assert_int_equal(
	    run_argv_build(&input, argv_r, fault, sizeof(fault)), RESULT_OK);
}

static bool
test_argv_port_has(const struct argv_port *port, const char *word)
{
	for (size_t i = 0; i < port->count; i++) {
		if (strcmp(port->words[i], word) == 0)
			return true;
	}
	return false;
}

static void
test_argv_port_never(const struct argv_port *port, const char *start)
{
	for (size_t i = 0; i < port->count; i++) {
		if (strncmp(port->words[i], start, strlen(start)) == 0)
			fail_msg("%s", port->words[i]);
	}
}

static size_t
test_argv_port_findings(const struct argv_port *port)
{
	struct argv_line line;
	struct argv_items items;
	struct argv_findings findings;
	struct argv_fault fault;
	size_t count;

	if (argv_words_read((const char *const *)port->words, port->count,
		&line, &fault) != RESULT_OK)
		fail_msg("%s", fault.text);
	assert_int_equal(argv_items_of_line(&line, &items, &fault), RESULT_OK);
	assert_int_equal(argv_judge(&items, &findings, &fault), RESULT_OK);
	count = findings.count;
	argv_finding_clear(&findings);
	argv_items_clear(&items);
	argv_words_clear(&line);
	return count;
}

static void
test_argv_port_make(enum argv_engine engine, struct argv_port *port_r)
{
	static struct run_argv argv;
	const struct argv_port_input input = {.engine = engine,
	    .words = argv.words,
	    .env = test_argv_port_env,
	    .cwd = "/sandbox-home",
	    .program = test_argv_port_program,
	    .interactive = true,
	    .uid = 1879052903};
	const char *word = "";

	test_argv_port_line(&argv);
	if (argv_port_make(&input, port_r, &word) != RESULT_OK)
		fail_msg("%s", word);
}

/* What stands behind the options is the same for both. */
static void
test_argv_port_end(const struct argv_port *port)
{
	size_t count = port->count;

	assert_true(count > 5);
	assert_string_equal(port->words[count - 1], "--privileged");
	assert_string_equal(port->words[count - 2], "/pack/x.js");
	assert_string_equal(
	    port->words[count - 3], "localhost/sandbox@" TEST_DIGEST);
	assert_string_equal(port->words[count - 4], "--");
	assert_string_equal(port->words[count - 5], "--entrypoint=node");
	assert_null(port->words[count]);
	assert_true(test_argv_port_has(port, "--env=A=b c"));
	assert_true(test_argv_port_has(port, "--workdir=/sandbox-home"));
	assert_true(test_argv_port_has(port, "--interactive"));
	test_argv_port_never(port, "--cidfile");
	test_argv_port_never(port, "--preserve-fds");
	test_argv_port_never(port, "--name");
	test_argv_port_never(port, "--label");
	assert_int_equal(test_argv_port_findings(port), 0);
}

/* Every word of the fixed table is there, but the working directory. */
static void
test_argv_port_podman(void **state)
{
	static struct argv_port port;

	(void)state;
	test_argv_port_make(ARGV_PODMAN, &port);
	assert_string_equal(port.words[0], "/usr/bin/podman");
	for (size_t i = 0; run_argv_fixed[i] != NULL; i++) {
		if (strcmp(run_argv_fixed[i], "--workdir=/") != 0 &&
		    !test_argv_port_has(&port, run_argv_fixed[i]))
			fail_msg("%s", run_argv_fixed[i]);
	}
	test_argv_port_end(&port);
	argv_port_clear(&port);
	assert_int_equal(port.count, 0);
}

static void
test_argv_port_docker(void **state)
{
	static const char home[] =
	    "--tmpfs=/home:rw,noexec,nosuid,nodev,size=1048576,mode=0700,"
	    "uid=1879052903,gid=1879052903";
	static const char *const want[] = {"--network=none", "--read-only",
	    "--cap-drop=ALL", "--security-opt=no-new-privileges",
	    "--pull=never", "--pids-limit=256", "--memory=536870912",
	    "--memory-swap=536870912", "--user=1879052903:1879052903",
	    "--add-host=api.example.com:127.64.0.1",
	    "--volume=agentnode-pack-x-1:/pack:ro,nocopy",
	    "--tmpfs=/tmp:rw,noexec,nosuid,nodev,size=67108864,mode=1777",
	    home};
	static struct argv_port port;

	(void)state;
	test_argv_port_make(ARGV_DOCKER, &port);
	assert_string_equal(port.words[0], "docker");
	assert_string_equal(port.words[1], "run");
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		if (!test_argv_port_has(&port, want[i]))
			fail_msg("%s", want[i]);
	}
	test_argv_port_end(&port);
	argv_port_clear(&port);
}

/* A flag that nobody decided on for docker is no line at all. */
static void
test_argv_port_undecided(void **state)
{
	static const char *const words[] = {"/usr/bin/podman", "run",
	    "--network=none", "--new-flag=x", "--", "image", NULL};
	const struct argv_port_input input = {.engine = ARGV_DOCKER,
	    .words = words,
	    .env = test_argv_port_env,
	    .cwd = "/"};
	static struct argv_port port;
	const char *word = "";

	(void)state;
	assert_int_equal(argv_port_make(&input, &port, &word), RESULT_BAD);
	assert_string_equal(word, "--new-flag=x");
	assert_int_equal(port.count, 0);
}

static void
test_argv_port_quotes(void **state)
{
	static const struct {
		const char *word, *want;
	} rows[] = {{"plain-1.2/@:=x,+%_", "plain-1.2/@:=x,+%_"}, {"", "''"},
	    {"=x", "'=x'"}, {"a b", "'a b'"}, {"it's", "'it'\\''s'"},
	    {"$(x)`y`\"\\", "'$(x)`y`\"\\'"}, {"~", "'~'"}, {"#", "'#'"},
	    {"a\nb\t'\\\x1b", "$'a\\nb\\t\\'\\\\\\033'"}};
	struct buffer buffer;

	(void)state;
	buffer_init(&buffer, 4096);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		buffer_clear(&buffer);
		assert_int_equal(
		    argv_quote_word(&buffer, rows[i].word), RESULT_OK);
		assert_int_equal(buffer_append(&buffer, "", 1), RESULT_OK);
		assert_string_equal(
		    (const char *)buffer_bytes_borrow(&buffer), rows[i].want);
	}
	buffer_free(&buffer);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_argv_port_podman),
	    cmocka_unit_test(test_argv_port_docker),
	    cmocka_unit_test(test_argv_port_undecided),
	    cmocka_unit_test(test_argv_port_quotes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
