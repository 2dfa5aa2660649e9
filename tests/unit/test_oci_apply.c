/* SPDX-License-Identifier: Apache-2.0 */
/* A layer stream on the disk: what it makes, what it removes, and every way
 * out that a link of the image could be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/engine/oci_apply.h"
#include "supervisor/unpack/layer_stream.h"
#include "tests/support/test_folder.h"

struct test_oci_apply {
	char path[64];
	int top, root;
	char detail[512];
};

static void
test_oci_apply_put(int fd, enum layer_stream_type type, unsigned mode,
    const char *path, const char *more)
{
	struct layer_stream_header header = {.magic = LAYER_STREAM_MAGIC,
	    .type = type,
	    .mode = mode,
	    .mtime = 1234567,
	    .path_len = (uint32_t)strlen(path)};

	if (type == LAYER_STREAM_FILE)
		header.size = strlen(more);
	else
		header.target_len = (uint32_t)strlen(more);
	assert_int_equal(fd_write_all(fd, &header, sizeof(header)), RESULT_OK);
	assert_int_equal(fd_write_all(fd, path, strlen(path)), RESULT_OK);
	assert_int_equal(fd_write_all(fd, more, strlen(more)), RESULT_OK);
}

static int
test_oci_apply_stream(void)
{
	int fd = memfd_create("layer", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* Ends the stream and puts it on the disk. */
static enum result
test_oci_apply_do(struct test_oci_apply *test, int fd)
{
	enum result result;

	test_oci_apply_put(fd, LAYER_STREAM_END, 0, "", "");
	test->detail[0] = '\0';
	result = oci_apply(test->root, fd, test->detail, sizeof(test->detail));
	(void)close(fd);
	return result;
}

static int
test_oci_apply_setup(void **state)
{
	struct test_oci_apply *test = calloc(1, sizeof(*test));

	assert_non_null(test);
	(void)snprintf(test->path, sizeof(test->path), "/tmp/oci-XXXXXX");
	assert_non_null(test_folder_new(test->path));
	test->top = open(test->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(test->top, "root", 0755), 0);
	assert_int_equal(mkdirat(test->top, "out", 0755), 0);
	test->root =
	    openat(test->top, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(test->root >= 0);
	*state = test;
	return 0;
}

static int
test_oci_apply_teardown(void **state)
{
	struct test_oci_apply *test = *state;

	assert_int_equal(oci_apply_remove(test->top, "root"), RESULT_OK);
	assert_int_equal(oci_apply_remove(test->top, "out"), RESULT_OK);
	(void)close(test->root);
	(void)close(test->top);
	assert_int_equal(rmdir(test->path), 0);
	free(test);
	return 0;
}

static bool
test_oci_apply_there(const struct test_oci_apply *test, const char *path)
{
	return faccessat(test->root, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void
test_oci_apply_makes(void **state)
{
	struct test_oci_apply *test = *state;
	struct stat info, other;
	int fd = test_oci_apply_stream();

	test_oci_apply_put(fd, LAYER_STREAM_DIR, 0755, "usr", "");
	test_oci_apply_put(fd, LAYER_STREAM_FILE, 07777, "usr/bin/x", "run");
	test_oci_apply_put(fd, LAYER_STREAM_HARD, 0, "usr/y", "usr/bin/x");
	test_oci_apply_put(fd, LAYER_STREAM_LINK, 0777, "out", "../../out");
	test_oci_apply_put(fd, LAYER_STREAM_DIR, 0, "closed", "");
	assert_int_equal(test_oci_apply_do(test, fd), RESULT_OK);
	assert_int_equal(fstatat(test->root, "usr/bin/x", &info, 0), 0);
	/* No set-id bit, nobody else writes; the time stays. */
	assert_int_equal(info.st_mode & 07777, 0755);
	assert_int_equal(info.st_mtim.tv_sec, 1234567);
	assert_int_equal(info.st_uid, geteuid());
	assert_int_equal(fstatat(test->root, "usr/y", &other, 0), 0);
	assert_int_equal(info.st_ino, other.st_ino);
	assert_int_equal(fstatat(test->root, "closed", &info, 0), 0);
	assert_int_equal(info.st_mode & 07777, 0700);
	/* A second layer replaces, whatever it was. */
	fd = test_oci_apply_stream();
	test_oci_apply_put(fd, LAYER_STREAM_FILE, 0644, "usr", "a file");
	test_oci_apply_put(fd, LAYER_STREAM_DIR, 0755, "out", "");
	test_oci_apply_put(fd, LAYER_STREAM_FILE, 0644, "out/in", "x");
	assert_int_equal(test_oci_apply_do(test, fd), RESULT_OK);
	assert_true(test_oci_apply_there(test, "out/in"));
	assert_int_equal(
	    faccessat(test->top, "out/in", F_OK, AT_SYMLINK_NOFOLLOW), -1);
	assert_false(test_oci_apply_there(test, "usr/y"));
}

static void
test_oci_apply_removes(void **state)
{
	struct test_oci_apply *test = *state;
	int fd = test_oci_apply_stream();

	test_oci_apply_put(fd, LAYER_STREAM_FILE, 0644, "a/b/c", "1");
	test_oci_apply_put(fd, LAYER_STREAM_FILE, 0644, "a/d", "2");
	test_oci_apply_put(fd, LAYER_STREAM_FILE, 0644, "e/f", "3");
	test_oci_apply_put(fd, LAYER_STREAM_LINK, 0777, "link", "../out");
	assert_int_equal(test_oci_apply_do(test, fd), RESULT_OK);
	assert_int_equal(mkdirat(test->top, "out/kept", 0755), 0);
	/* A layer's removals are of what is below it, whatever the order. */
	fd = test_oci_apply_stream();
	test_oci_apply_put(fd, LAYER_STREAM_FILE, 0644, "e/new", "4");
	test_oci_apply_put(fd, LAYER_STREAM_EMPTY, 0, "e", "");
	test_oci_apply_put(fd, LAYER_STREAM_REMOVE, 0, "a/b", "");
	test_oci_apply_put(fd, LAYER_STREAM_REMOVE, 0, "not/there", "");
	test_oci_apply_put(fd, LAYER_STREAM_REMOVE, 0, "link/kept", "");
	test_oci_apply_put(fd, LAYER_STREAM_EMPTY, 0, "link", "");
	assert_int_equal(test_oci_apply_do(test, fd), RESULT_OK);
	assert_true(test_oci_apply_there(test, "e/new"));
	assert_false(test_oci_apply_there(test, "e/f"));
	assert_false(test_oci_apply_there(test, "a/b"));
	assert_true(test_oci_apply_there(test, "a/d"));
	assert_true(test_oci_apply_there(test, "link"));
	assert_int_equal(
	    faccessat(test->top, "out/kept", F_OK, AT_SYMLINK_NOFOLLOW), 0);
}

static void
test_oci_apply_stays_inside(void **state)
{
	static const struct {
		enum layer_stream_type type;
		const char *path, *more;
	} rows[] = {
	    {LAYER_STREAM_FILE, "up/x", "out"},
	    {LAYER_STREAM_FILE, "abs/x", "out"},
	    {LAYER_STREAM_DIR, "up/dir", ""},
	    {LAYER_STREAM_LINK, "abs/link", "x"},
	    {LAYER_STREAM_HARD, "hard", "up/secret"},
	    {LAYER_STREAM_HARD, "hard", "up"},
	    {LAYER_STREAM_HARD, "hard", "not/there"},
	    {LAYER_STREAM_HARD, "hard", "file/x"},
	    {LAYER_STREAM_FILE, "file/x", "behind a file"},
	    {LAYER_STREAM_FILE, "../x", "out"},
	    {LAYER_STREAM_FILE, "/x", "out"},
	    {LAYER_STREAM_FILE, "a/../../x", "out"},
	    {LAYER_STREAM_FILE, "..", "out"},
	    {LAYER_STREAM_DIR, "..", ""},
	    {LAYER_STREAM_DIR, "a/.", ""},
	    {LAYER_STREAM_REMOVE, "..", ""},
	    {LAYER_STREAM_REMOVE, "a/..", ""},
	    {LAYER_STREAM_EMPTY, "..", ""},
	    {LAYER_STREAM_EMPTY, ".", ""},
	    {LAYER_STREAM_HARD, "hard", ".."},
	};
	struct test_oci_apply *test = *state;
	int fd = test_oci_apply_stream();
	struct stat info;

	test_oci_apply_put(fd, LAYER_STREAM_LINK, 0777, "up", "../out");
	test_oci_apply_put(fd, LAYER_STREAM_LINK, 0777, "abs", "/tmp");
	test_oci_apply_put(fd, LAYER_STREAM_FILE, 0644, "file", "f");
	test_oci_apply_put(fd, LAYER_STREAM_DIR, 0755, "a", "");
	assert_int_equal(test_oci_apply_do(test, fd), RESULT_OK);
	fd = openat(test->top, "out/secret", O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	(void)close(fd);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fd = test_oci_apply_stream();
		test_oci_apply_put(
		    fd, rows[i].type, 0755, rows[i].path, rows[i].more);
		if (test_oci_apply_do(test, fd) == RESULT_OK)
			fail_msg("%s -> %s", rows[i].path, rows[i].more);
		assert_true(strlen(test->detail) > 0);
	}
	assert_int_equal(fstatat(test->top, "out/x", &info, 0), -1);
	assert_int_equal(fstatat(test->top, "x", &info, 0), -1);
	assert_int_equal(fstatat(test->top, "out/secret", &info, 0), 0);
	assert_int_equal(info.st_nlink, 1);
}

/* What cannot be looked at was not removed. */
static void
test_oci_apply_short(void **state)
{
	static const enum layer_stream_type types[] = {
	    LAYER_STREAM_REMOVE, LAYER_STREAM_EMPTY};
	struct test_oci_apply *test = *state;
	int fd = test_oci_apply_stream();
	struct rlimit before, low;
	struct stat info;

	test_oci_apply_put(fd, LAYER_STREAM_FILE, 0644, "dir/secret", "s");
	assert_int_equal(test_oci_apply_do(test, fd), RESULT_OK);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (size_t i = 0; i < 2; i++) {
		enum result result;

		fd = test_oci_apply_stream();
		test_oci_apply_put(fd, types[i], 0,
		    types[i] == LAYER_STREAM_EMPTY ? "dir" : "dir/secret", "");
		test_oci_apply_put(fd, LAYER_STREAM_END, 0, "", "");
		low = before;
		low.rlim_cur = (rlim_t)fd + 2; /* the stream's own, no more */
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
		result = oci_apply(
		    test->root, fd, test->detail, sizeof(test->detail));
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		(void)close(fd);
		assert_int_not_equal(result, RESULT_OK);
	}
	assert_int_equal(fstatat(test->root, "dir/secret", &info, 0), 0);
}

static void
test_oci_apply_malformed(void **state)
{
	struct test_oci_apply *test = *state;
	char long_path[2000];
	int fd;

	/* Cut at every byte: refused, never half believed to be whole. */
	for (off_t cut = 0; cut < 200; cut++) {
		enum result result;
		off_t end;

		fd = test_oci_apply_stream();
		test_oci_apply_put(fd, LAYER_STREAM_FILE, 0644, "x", "abc");
		test_oci_apply_put(fd, LAYER_STREAM_LINK, 0777, "l", "x");
		test_oci_apply_put(fd, LAYER_STREAM_END, 0, "", "");
		end = lseek(fd, 0, SEEK_END);
		if (cut < end)
			assert_int_equal(ftruncate(fd, cut), 0);
		result = oci_apply(
		    test->root, fd, test->detail, sizeof(test->detail));
		assert_int_equal(result == RESULT_OK, cut >= end);
		(void)close(fd);
	}
	memset(long_path, 'a', sizeof(long_path) - 1);
	long_path[sizeof(long_path) - 1] = '\0';
	fd = test_oci_apply_stream();
	test_oci_apply_put(fd, LAYER_STREAM_DIR, 0755, long_path, "");
	assert_int_not_equal(test_oci_apply_do(test, fd), RESULT_OK);
	fd = test_oci_apply_stream();
	test_oci_apply_put(fd, LAYER_STREAM_DIR, 0755, "", "");
	assert_int_not_equal(test_oci_apply_do(test, fd), RESULT_OK);
	fd = test_oci_apply_stream();
	test_oci_apply_put(fd, (enum layer_stream_type)99, 0755, "x", "");
	assert_int_not_equal(test_oci_apply_do(test, fd), RESULT_OK);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_oci_apply_makes,
		test_oci_apply_setup, test_oci_apply_teardown),
	    cmocka_unit_test_setup_teardown(test_oci_apply_removes,
		test_oci_apply_setup, test_oci_apply_teardown),
	    cmocka_unit_test_setup_teardown(test_oci_apply_stays_inside,
		test_oci_apply_setup, test_oci_apply_teardown),
	    cmocka_unit_test_setup_teardown(test_oci_apply_short,
		test_oci_apply_setup, test_oci_apply_teardown),
	    cmocka_unit_test_setup_teardown(test_oci_apply_malformed,
		test_oci_apply_setup, test_oci_apply_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
