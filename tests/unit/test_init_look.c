/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What init finds in a place: each kind of entry, what it may not read, how
 * deep it goes, and what it says of a name.
 */
#include "supervisor/init/init_look.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/init/tree_stream.h"

static char place[64];
static struct init_setup setup;
static struct init_report report;

static void
file(const char *path)
{
	FILE *out = fopen(path, "we");

	assert_non_null(out);
	fclose(out);
}

static int
drop_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
	(void)info;
	(void)kind;
	(void)at;
	return remove(path);
}

static int
make(void **state)
{
	(void)state;
	memset(&setup, 0, sizeof(setup));
	memset(&report, 0, sizeof(report));
	(void)snprintf(place, sizeof(place), "/tmp/agentnode-look-XXXXXX");
	assert_non_null(mkdtemp(place));
	assert_int_equal(chdir(place), 0);
	setup.look_count = 1;
	memcpy(setup.look[0], place, strlen(place) + 1);
	return 0;
}

static int
drop(void **state)
{
	(void)state;
	assert_int_equal(chdir("/"), 0);
	return nftw(place, drop_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void
look(uint32_t odd, const char *path)
{
	char whole[512] = "";

	memset(&report, 0, sizeof(report));
	init_look(&setup, &report);
	assert_int_equal(report.look.places, setup.look_count);
	assert_int_equal(report.look.odd, odd);
	if (path != NULL)
		(void)snprintf(whole, sizeof(whole), "%s%s", place, path);
	assert_string_equal(report.look.path, whole);
}

static void
bind_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_int_equal(
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
}

static void
test_kinds(void **state)
{
	(void)state;
	assert_int_equal(mkdir("a", 0755), 0);
	assert_int_equal(mkdir("a/b", 0755), 0);
	assert_int_equal(mkdir("a/b/c", 0755), 0);
	assert_int_equal(symlink("/etc", "a/link"), 0);
	assert_int_equal(symlink("nowhere", "a/b/lost"), 0);
	file("a/file");
	file(".hidden");
	look(0, NULL);
	bind_at("a/b/c/one");
	look(1, "/a/b/c/one");
	assert_int_equal(unlink("a/b/c/one"), 0);
	assert_int_equal(mkfifo("a/fifo", 0644), 0);
	look(1, "/a/fifo");
	bind_at("a/b/two");
	memset(&report, 0, sizeof(report));
	init_look(&setup, &report);
	assert_int_equal(report.look.odd, 2);
}

/* What a terminal would act on is not in what is said. */
static void
test_name(void **state)
{
	(void)state;
	bind_at("a\033[2Jb");
	look(1, "/a?[2Jb");
}

static void
test_unread(void **state)
{
	(void)state;
	memcpy(setup.look[1], "/nowhere", sizeof("/nowhere"));
	setup.look_count = 2;
	memset(&report, 0, sizeof(report));
	init_look(&setup, &report);
	assert_int_equal(report.look.places, 2);
	assert_int_equal(report.look.odd, 1);
	assert_string_equal(report.look.path, "/nowhere");
	/* A link in the place's own place is not followed. */
	assert_int_equal(symlink("/etc", "top"), 0);
	setup.look_count = 1;
	(void)snprintf(setup.look[0], INIT_PATH_MAX, "%s/top", place);
	look(1, "/top");
}

static void
test_depth(void **state)
{
	(void)state;
	for (unsigned i = 0; i < TREE_STREAM_DEPTH_MAX; i++) {
		assert_int_equal(mkdir("d", 0755), 0);
		assert_int_equal(chdir("d"), 0);
	}
	look(0, NULL);
	assert_int_equal(mkdir("d", 0755), 0);
	memset(&report, 0, sizeof(report));
	init_look(&setup, &report);
	assert_int_equal(report.look.odd, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_kinds, make, drop),
	    cmocka_unit_test_setup_teardown(test_name, make, drop),
	    cmocka_unit_test_setup_teardown(test_unread, make, drop),
	    cmocka_unit_test_setup_teardown(test_depth, make, drop)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
