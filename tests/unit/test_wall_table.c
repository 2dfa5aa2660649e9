/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wall_table: a report as a good container gives it has no difference, and
 * every single thing that is changed in it is told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "supervisor/engine/wall_table.h"

static struct init_report report;
static char told_text[4096];

static const struct wall_table_mount mounts[] = {
    {"/tmp", "tmpfs",
	INIT_REPORT_NOSUID | INIT_REPORT_NODEV | INIT_REPORT_NOEXEC, 16U << 20},
    {"/pack", NULL, INIT_REPORT_RDONLY, 0}};
static const struct wall_table_host hosts[] = {
    {"127.64.0.1", "api.example.test"}};
static const char *const variables[] = {"NODE_VERSION=22", "LANG=", NULL};

static const struct wall_table_expected expected = {.uid = 70001,
    .gid = 70001,
    .landlock_required = true,
    .sockets = true,
    .hostname = "sandbox",
    .container_name = "agentnode-1",
    .mounts = mounts,
    .mount_count = 2,
    .hosts = hosts,
    .host_count = 1,
    .env = variables,
    .files_max = 4096,
    .processes_max = 4096};

static void
told(const char *text, void *context)
{
	size_t used = strlen(told_text);

	(void)context;
	snprintf(told_text + used, sizeof(told_text) - used, "%s\n", text);
}

/* What was told is printed, for whoever reads a failure. */
static unsigned
compare(const struct wall_table_expected *want)
{
	unsigned differences;

	told_text[0] = '\0';
	differences =
	    wall_table_compare(&report, sizeof(report), want, told, NULL);
	print_message("%s", told_text);
	return differences;
}

static void
add_mount(const char *point, const char *type, uint32_t flags, uint64_t size)
{
	struct init_report_mount *mount = &report.mounts[report.mount_count++];

	memset(mount, 0, sizeof(*mount));
	snprintf(mount->point, sizeof(mount->point), "%s", point);
	snprintf(mount->type, sizeof(mount->type), "%s", type);
	mount->flags = flags;
	mount->size = size;
}

static void
set_hosts(const char *text)
{
	memset(report.hosts, 0, sizeof(report.hosts));
	memcpy(report.hosts, text, strlen(text));
	report.hosts_len = (uint32_t)strlen(text);
}

static void
set_resolver(const char *text)
{
	memcpy(report.resolv, text, strlen(text));
	report.resolv_len = (uint32_t)strlen(text);
}

static void
set_walls(void)
{
	static const struct {
		enum init_wall wall;
		int32_t outcome;
	} others[] = {{INIT_WALL_CLONE_USER, ENOSYS},
	    {INIT_WALL_CLONE3, ENOSYS}, {INIT_WALL_PERSONALITY, ENOSYS},
	    {INIT_WALL_VSOCK, EAFNOSUPPORT}, {INIT_WALL_PACKET, EAFNOSUPPORT},
	    {INIT_WALL_ALG, EAFNOSUPPORT},
	    {INIT_WALL_NETLINK_AUDIT, EAFNOSUPPORT},
	    {INIT_WALL_SCTP, EPROTONOSUPPORT}, {INIT_WALL_ROUTE4, ENETUNREACH},
	    {INIT_WALL_ROUTE6, ENETUNREACH}, {INIT_WALL_METADATA, ENETUNREACH},
	    {INIT_WALL_RESOLVER, ECONNREFUSED}, {INIT_WALL_MKNOD, EACCES},
	    {INIT_WALL_INIT_MEMORY, EACCES}, {INIT_WALL_INIT_ENVIRON, EACCES},
	    {INIT_WALL_INIT_FD, EACCES}, {INIT_WALL_INIT_PIPES, EACCES},
	    {INIT_WALL_INIT_ROOT, EACCES}, {INIT_WALL_WRITE_ROOT, EROFS},
	    {INIT_WALL_WRITE_PROC, EACCES}, {INIT_WALL_WRITE_SOCKETS, EACCES},
	    {INIT_WALL_SET_UID, 0}, {INIT_WALL_EXEC_WRITABLE, EACCES},
	    {INIT_WALL_CONTROL_WRITE, 0}, {INIT_WALL_CONTROL_FORK, 0},
	    {INIT_WALL_CONTROL_TCP, 0}, {INIT_WALL_CONTROL_UNIX, 0},
	    {INIT_WALL_CONTROL_NETLINK, 0}, {INIT_WALL_CONTROL_NULL, 0},
	    {INIT_WALL_CONTROL_SCHED, 0}};

	for (unsigned i = 0; i < INIT_WALL_COUNT; i++)
		report.walls[i] = EPERM;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		report.walls[others[i].wall] = others[i].outcome;
}

static int
good_report(void **state)
{
	(void)state;
	memset(&report, 0, sizeof(report));
	report.magic = INIT_REPORT_MAGIC;
	report.version = INIT_REPORT_VERSION;
	report.size = sizeof(report);
	report.landlock_abi = 7;
	set_walls();
	for (unsigned i = 0; i < 4; i++)
		report.status.uid[i] = report.status.gid[i] = 70001;
	report.status.no_new_privs = 1;
	report.status.seccomp = 2;
	add_mount("/", "overlay", INIT_REPORT_RDONLY, 0);
	add_mount("/proc", "proc", 14, 0);
	add_mount("/proc/sys", "proc", INIT_REPORT_RDONLY, 0);
	add_mount("/dev", "tmpfs", 10, 65536);
	add_mount("/tmp", "tmpfs", 14, 16U << 20);
	add_mount("/pack", "ext4", 15, 0);
	add_mount("/etc/hosts", "ext4", 15, 0);
	strcpy(report.env[0], "PATH=/usr/bin");
	strcpy(report.env[1], "container=podman");
	strcpy(report.env[2], "NODE_VERSION=22");
	strcpy(report.env[3], "LANG=C.UTF-8");
	report.env_count = 4;
	strcpy(report.interfaces[0], "lo");
	report.interface_count = 1;
	strcpy(report.hostname, "sandbox");
	strcpy(report.domainname, "(none)");
	set_hosts("127.0.0.1 localhost localhost.localdomain\n"
		  "::1\tlocalhost # a comment\n"
		  "127.64.0.1\tapi.example.test\n"
		  "127.0.0.1\tsandbox agentnode-1\n");
	report.limits[RLIMIT_NOFILE].hard = 4096;
	report.limits[RLIMIT_NPROC].hard = 4096;
	return 0;
}

static void
test_good(void **state)
{
	(void)state;
	assert_int_equal(compare(&expected), 0);
	assert_string_equal(told_text, "");
}

/* What a guest kernel answers is good there alone, and nothing else is. */
static void
test_guest(void **state)
{
	static const struct {
		enum init_wall wall;
		int32_t outcome;
	} guest[] = {{INIT_WALL_MKNOD, 0}, {INIT_WALL_ROUTE4, EHOSTUNREACH},
	    {INIT_WALL_ROUTE6, EHOSTUNREACH},
	    {INIT_WALL_METADATA, EHOSTUNREACH}, {INIT_WALL_INIT_ENVIRON, 0},
	    {INIT_WALL_INIT_FD, 0}, {INIT_WALL_WRITE_ROOT, EACCES},
	    {INIT_WALL_WRITE_PROC, 0}, {INIT_WALL_WRITE_SOCKETS, EACCES},
	    {INIT_WALL_SIGNAL_INIT, EPERM}};
	struct wall_table_expected want = expected;

	(void)state;
	want.guest = true;
	for (unsigned i = 0; i < INIT_WALL_COUNT; i++) {
		enum init_wall wall = (enum init_wall)i;
		int32_t good = report.walls[i];

		for (size_t k = 0; k < sizeof(guest) / sizeof(guest[0]); k++)
			good = guest[k].wall == wall ? guest[k].outcome : good;
		report.walls[i] = good;
		assert_true(wall_table_outcome(&report, wall, &want));
		report.walls[i] = EIO;
		assert_false(wall_table_outcome(&report, wall, &want));
		report.walls[i] = good == 0 ? EPERM : 0;
		assert_false(wall_table_outcome(&report, wall, &want));
		report.walls[i] = good;
	}
	report.walls[INIT_WALL_INIT_PIPES] = ENOENT;
	assert_false(wall_table_outcome(&report, INIT_WALL_INIT_PIPES, &want));
	report.walls[INIT_WALL_MKNOD] = 0;
	assert_false(wall_table_outcome(&report, INIT_WALL_MKNOD, &expected));
}

static void
test_every_wall(void **state)
{
	(void)state;
	for (unsigned i = 0; i < INIT_WALL_COUNT; i++) {
		int32_t good = report.walls[i];
		char want[64];

		snprintf(want, sizeof(want),
		    "wall %s:", wall_table_name((enum init_wall)i));
		report.walls[i] = good == 0 ? EACCES : 0;
		assert_int_equal(compare(&expected), 1);
		assert_non_null(strstr(told_text, want));
		report.walls[i] = -1;
		assert_int_equal(compare(&expected), 1);
		report.walls[i] = EIO;
		assert_int_equal(compare(&expected), 1);
		report.walls[i] = good;
	}
}

static void
test_landlock_missing(void **state)
{
	struct wall_table_expected override = expected;

	(void)state;
	report.landlock_abi = 0;
	report.walls[INIT_WALL_MKNOD] = EPERM;
	report.walls[INIT_WALL_WRITE_PROC] = 0;
	report.walls[INIT_WALL_WRITE_SOCKETS] = 0;
	report.walls[INIT_WALL_SIGNAL_INIT] = 0;
	assert_int_equal(compare(&expected), 1);
	assert_non_null(strstr(told_text, "no_landlock"));
	override.landlock_required = false;
	assert_int_equal(compare(&override), 0);
}

static void
test_build_sandbox(void **state)
{
	struct wall_table_expected build = expected;

	(void)state;
	build.writable_exec = true;
	build.sockets = false;
	report.walls[INIT_WALL_EXEC_WRITABLE] = ENOEXEC;
	report.walls[INIT_WALL_WRITE_SOCKETS] = ENOENT;
	assert_int_equal(compare(&build), 0);
	report.walls[INIT_WALL_EXEC_WRITABLE] = EACCES;
	assert_int_equal(compare(&build), 1);
}

static void
test_status(void **state)
{
	(void)state;
	report.status.uid[2] = 0;
	assert_int_equal(compare(&expected), 1);
	assert_non_null(strstr(told_text, "instead of 70001:70001"));
	report.status.uid[2] = 70001;
	report.status.group_count = 1;
	assert_int_equal(compare(&expected), 1);
	report.status.group_count = 0;
	report.status.bounding = 1;
	assert_int_equal(compare(&expected), 1);
	assert_non_null(strstr(told_text, "capabilities"));
	report.status.bounding = 0;
	report.status.no_new_privs = 0;
	report.status.seccomp = 0;
	report.status.init_dumpable = 1;
	assert_int_equal(compare(&expected), 3);
}

static void
test_limits(void **state)
{
	(void)state;
	report.limits[RLIMIT_CORE].hard = 1;
	report.limits[RLIMIT_NOFILE].hard = 4097;
	report.limits[RLIMIT_NPROC].hard = UINT64_MAX;
	assert_int_equal(compare(&expected), 3);
}

static void
test_network(void **state)
{
	(void)state;
	strcpy(report.interfaces[1], "eth0");
	report.interface_count = 2;
	assert_int_equal(compare(&expected), 1);
	report.interface_count = 1;
	strcpy(report.interfaces[0], "lo1");
	assert_int_equal(compare(&expected), 1);
	strcpy(report.interfaces[0], "lo");
	report.interfaces[0][3] = '\0';
	report.route_count = 1;
	assert_int_equal(compare(&expected), 1);
}

static void
test_mounts(void **state)
{
	(void)state;
	add_mount("/host", "ext4", 15, 0);
	assert_int_equal(compare(&expected), 1);
	assert_non_null(strstr(told_text, "the mount /host"));
	report.mount_count--;
	report.mounts[0].flags = 0; /* / writable */
	assert_int_equal(compare(&expected), 1);
	report.mounts[0].flags = 1;
	report.mounts[4].size *= 2; /* /tmp larger */
	assert_int_equal(compare(&expected), 2);
	report.mounts[4].size /= 2;
	report.mounts[4].flags &= ~INIT_REPORT_NOEXEC;
	assert_int_equal(compare(&expected), 2);
	report.mounts[4].flags |= INIT_REPORT_NOEXEC;
	add_mount("/pack", "tmpfs", 15, 0); /* over the sealed one */
	assert_int_equal(compare(&expected), 1);
	report.mount_count--;
	add_mount("/dev/shm", "tmpfs", 14, 0); /* without a size */
	assert_int_equal(compare(&expected), 1);
	report.mounts[report.mount_count - 1].size = 4096;
	assert_int_equal(compare(&expected), 0);
	report.mount_count = INIT_REPORT_MOUNTS_MAX + 1;
	assert_int_equal(compare(&expected), 1);
	report.mount_count = 4; /* /tmp and /pack are missing */
	assert_int_equal(compare(&expected), 2);
}

static void
test_mount_without_end(void **state)
{
	(void)state;
	memset(report.mounts[1].point, 'a', INIT_REPORT_POINT_MAX);
	assert_true(compare(&expected) > 0);
}

static void
test_names(void **state)
{
	static const struct {
		const char *hosts;
		unsigned differences;
	} rows[] = {{"127.64.0.1 api.example.test\n", 0},
	    {"127.64.0.1 api.example.test", 0}, {"", 1},
	    {"127.64.0.2 api.example.test\n", 2},
	    {"127.64.0.1 api.example.test\n10.0.0.7 host.internal\n", 1},
	    {"127.64.0.1 api.example.test\n10.0.0.7 localhost\n", 1},
	    {"127.64.0.1 api.example.test other\n", 1},
	    {"127.64.0.1 api.example.test\n127.0.0.1 runner7\n", 1},
	    {"# 10.0.0.7 x\n127.64.0.1 api.example.test#y\n", 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		set_hosts(rows[i].hosts);
		assert_int_equal(compare(&expected), rows[i].differences);
	}
	report.hosts_len = sizeof(report.hosts) + 1;
	assert_int_equal(compare(&expected), 1);
}

static void
test_resolver(void **state)
{
	static const struct {
		const char *text;
		unsigned differences;
	} rows[] = {{"", 0}, {"# none\n; none\n\n", 0},
	    {"nameserver 127.0.0.1\n", 0}, {"nameserver 10.0.0.1\n", 1},
	    {"nameserver\n", 1}, {"search corp.example\n", 1},
	    {"options ndots:5", 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		set_resolver(rows[i].text);
		assert_int_equal(compare(&expected), rows[i].differences);
	}
}

static void
test_hostname(void **state)
{
	(void)state;
	strcpy(report.hostname, "vm");
	assert_int_equal(compare(&expected), 1);
	strcpy(report.hostname, "sandbox2");
	assert_int_equal(compare(&expected), 1);
	strcpy(report.hostname, "sandbox");
	report.hostname[8] = '\0';
	strcpy(report.domainname, "corp.example");
	assert_int_equal(compare(&expected), 1);
}

static void
test_environment(void **state)
{
	static const struct {
		const char *entry;
		unsigned differences;
	} rows[] = {{"AWS_SECRET_ACCESS_KEY=x", 1}, {"NODE_VERSION=23", 1},
	    {"HTTPS_PROXY=http://u:p@proxy", 1}, {"LANG=", 0},
	    {"container=lxc", 1}, {"HOME=/", 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		strcpy(report.env[3], rows[i].entry);
		assert_int_equal(compare(&expected), rows[i].differences);
		/* The value of a variable is never told. */
		assert_null(strstr(told_text, "u:p"));
	}
	report.env_count = INIT_REPORT_ENV_MAX + 1;
	assert_int_equal(compare(&expected), 1);
}

static void
test_look(void **state)
{
	struct wall_table_expected one = expected;

	(void)state;
	one.looks = 1;
	assert_int_equal(compare(&one), 1);
	report.look.places = 1;
	assert_int_equal(compare(&expected), 1);
	assert_int_equal(compare(&one), 0);
	report.look.odd = 2;
	memcpy(report.look.path, "/pack/socket", sizeof("/pack/socket"));
	assert_int_equal(compare(&one), 1);
	assert_non_null(strstr(told_text, "/pack/socket, which is no file"));
	/* A path without an end is no reason to read on. */
	memset(report.look.path, 'x', sizeof(report.look.path));
	assert_int_equal(compare(&one), 1);
	report.look.places = 0;
	assert_int_equal(compare(&one), 2);
}

static void
test_other_build(void **state)
{
	(void)state;
	assert_int_equal(wall_table_compare(&report, sizeof(report) - 1,
			     &expected, told, NULL),
	    1);
	report.version++;
	assert_int_equal(compare(&expected), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(test_good, good_report),
	    cmocka_unit_test_setup(test_every_wall, good_report),
	    cmocka_unit_test_setup(test_landlock_missing, good_report),
	    cmocka_unit_test_setup(test_build_sandbox, good_report),
	    cmocka_unit_test_setup(test_status, good_report),
	    cmocka_unit_test_setup(test_limits, good_report),
	    cmocka_unit_test_setup(test_network, good_report),
	    cmocka_unit_test_setup(test_mounts, good_report),
	    cmocka_unit_test_setup(test_mount_without_end, good_report),
	    cmocka_unit_test_setup(test_names, good_report),
	    cmocka_unit_test_setup(test_guest, good_report),
	    cmocka_unit_test_setup(test_resolver, good_report),
	    cmocka_unit_test_setup(test_hostname, good_report),
	    cmocka_unit_test_setup(test_environment, good_report),
	    cmocka_unit_test_setup(test_look, good_report),
	    cmocka_unit_test_setup(test_other_build, good_report),
	};

	return cmocka_run_group_tests_name("wall_table", tests, NULL, NULL);
}
