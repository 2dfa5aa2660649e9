/* SPDX-License-Identifier: Apache-2.0 */
/* What an image may have at the places that engine and runtime write to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/engine/image_layout.h"
#include "tests/support/test_folder.h"

#define TEST_IMAGE "localhost/x@sha256:0"

/* 'd' directory, 'f' file, 'l' link, 'p' FIFO; upper comes first. */
static const struct {
	const char *name, *upper, *lower;
	enum result want;
	const char *says;
} test_image_layout_rows[] = {
    {"nothing", "", "", RESULT_OK, ""},
    {"as it should be", "ddev detc fetc/passwd drun drun/agentnode dtmp", "",
	RESULT_OK, ""},
    {"dev is a link", "ldev", "", RESULT_REFUSED, "/dev as a link"},
    {"dev is a file", "fdev", "", RESULT_REFUSED, "/dev as a file"},
    {"in the layer below", "ddev", "ltmp", RESULT_REFUSED, "/tmp as a link"},
    {"a directory above hides a link", "ddev", "ldev", RESULT_OK, ""},
    {"a link above hides a directory", "ldev", "ddev", RESULT_REFUSED,
	"/dev as a link"},
    {"a link on the way", "lrun", "drun drun/agentnode", RESULT_REFUSED,
	"/run as a link"},
    {"a link below", "drun lrun/agentnode", "drun drun/agentnode",
	RESULT_REFUSED, "/run/agentnode as a link"},
    {"a link below a hidden link", "drun", "lrun", RESULT_OK, ""},
    {"passwd is a FIFO", "detc petc/passwd", "", RESULT_REFUSED,
	"/etc/passwd as a special file"},
    {"passwd is a link", "detc letc/passwd", "", RESULT_REFUSED,
	"/etc/passwd as a link"},
    {"passwd is a directory", "detc detc/passwd", "", RESULT_REFUSED,
	"/etc/passwd as a directory"},
    {"resolv.conf is a link", "detc letc/resolv.conf", "", RESULT_OK, ""},
    {"resolv.conf is a FIFO", "detc petc/resolv.conf", "", RESULT_REFUSED,
	"/etc/resolv.conf as a special file"},
};

static void
test_image_layout_make(int root, const char *list)
{
	char text[256], *rest = text, *word;

	(void)snprintf(text, sizeof(text), "%s", list);
	while ((word = strsep(&rest, " ")) != NULL) {
		const char *path = word + 1;
		int fd;

		if (word[0] == 'd')
			assert_int_equal(mkdirat(root, path, 0755), 0);
		else if (word[0] == 'l')
			assert_int_equal(symlinkat("/etc", root, path), 0);
		else if (word[0] == 'p')
			assert_int_equal(mkfifoat(root, path, 0644), 0);
		else if (word[0] == 'f') {
			fd = openat(root, path, O_WRONLY | O_CREAT, 0644);
			assert_true(fd >= 0);
			(void)close(fd);
		}
	}
}

static int
test_image_layout_remove(
    const char *path, const struct stat *info, int type, struct FTW *ftw)
{
	(void)info;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void
test_image_layout_layer(const char *list, char path_r[64])
{
	int root;

	(void)snprintf(path_r, 64, "/tmp/test_image_layout.XXXXXX");
	assert_non_null(test_folder_new(path_r));
	root = open(path_r, O_PATH | O_DIRECTORY);
	assert_true(root >= 0);
	test_image_layout_make(root, list);
	(void)close(root);
}

static void
test_image_layout_table(void **state)
{
	size_t count =
	    sizeof(test_image_layout_rows) / sizeof(test_image_layout_rows[0]);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		char upper[64], lower[64], detail[256] = "";
		const char *const layers[] = {upper, lower};
		enum result result;

		test_image_layout_layer(test_image_layout_rows[i].upper, upper);
		test_image_layout_layer(test_image_layout_rows[i].lower, lower);
		result = image_layout_judge(
		    layers, 2, TEST_IMAGE, detail, sizeof(detail));
		if (result != test_image_layout_rows[i].want ||
		    strstr(detail, test_image_layout_rows[i].says) == NULL)
			fail_msg("%s: %s: %s", test_image_layout_rows[i].name,
			    result_text(result), detail);
		(void)nftw(
		    upper, test_image_layout_remove, 8, FTW_DEPTH | FTW_PHYS);
		(void)nftw(
		    lower, test_image_layout_remove, 8, FTW_DEPTH | FTW_PHYS);
	}
}

static void
test_image_layout_missing(void **state)
{
	const char *const layers[] = {"/nonexistent/layer"};
	char detail[256] = "";

	(void)state;
	assert_int_equal(
	    image_layout_judge(layers, 1, TEST_IMAGE, detail, sizeof(detail)),
	    RESULT_UNSUPPORTED);
	assert_non_null(strstr(detail, "cannot be looked at"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_image_layout_table),
	    cmocka_unit_test(test_image_layout_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
