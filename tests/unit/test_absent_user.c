/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Users as bin/agentnode knows them: which source is asked first, who is in
 * the file, and that nobody is said not to exist.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/entry/absent_user.h"
#include "tests/support/test_folder.h"

static char place[] = "/tmp/absent-user-XXXXXX";

static const char *
below(const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", place, name);
	return path;
}

static const char *
file(const char *text)
{
	FILE *to = fopen(below("file"), "we");

	assert_non_null(to);
	assert_true(fputs(text, to) >= 0);
	assert_int_equal(fclose(to), 0);
	return below("file");
}

static void
test_sources(void **state)
{
	static const char *const first[] = {"passwd: files\n",
	    "# x\npasswd:\t\tfiles systemd\ngroup: sss\n",
	    "  passwd:files [NOTFOUND=return] sss", "passwd: files#", ""};
	static const char *const not [] = {"passwd: sss files\n",
	    "passwd: filesystem files\n", "passwd:\n", "passwd: compat\n",
	    "passwd: # files\n", "passwd: files\npasswd: ldap files\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		assert_true(absent_user_files_first(file(first[i])));
	for (size_t i = 0; i < sizeof(not ) / sizeof(not [0]); i++)
		assert_false(absent_user_files_first(file(not [i])));
	assert_true(absent_user_files_first(below("missing")));
	assert_false(absent_user_files_first(place)); /* a directory */
}

static void
test_find(void **state)
{
	const char *users = file("root:x:0:0:root:/root:/bin/bash\n"
				 "no line\n"
				 "one:x:1001:1001::/home/one:/bin/sh\n"
				 "again:x:1001:1001::/home/again:/bin/sh\n");
	struct passwd entry, *found = NULL;
	char bytes[256];

	(void)state;
	assert_int_equal(
	    absent_user_find(users, 1001, &entry, bytes, sizeof(bytes), &found),
	    0);
	assert_ptr_equal(found, &entry);
	assert_string_equal(entry.pw_dir, "/home/one");
	assert_int_equal(
	    absent_user_find(users, 1001, &entry, bytes, 8, &found), ERANGE);
	assert_null(found);
	/* Others were not asked. */
	assert_int_equal(
	    absent_user_find(users, 1002, &entry, bytes, sizeof(bytes), &found),
	    EIO);
	assert_null(found);
	assert_int_equal(absent_user_find(below("missing"), 0, &entry, bytes,
			     sizeof(bytes), &found),
	    EIO);
	assert_null(found);
}

static void
test_known(void **state)
{
	char owned[] = "owned", value[] = "--workspace=owned", end[] = "--";
	char none[] = "not-there";
	char *const words[] = {none, value, end, NULL};
	char *const behind[] = {none, end, owned, NULL};
	char *const plain[] = {owned, NULL};
	char before[1024];

	(void)state;
	if (geteuid() != 0)
		return; /* nobody else may give a file away */
	assert_true(absent_user_files_first(ABSENT_USER_SOURCES));
	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir(place), 0);
	(void)file("");
	assert_int_equal(rename(below("file"), owned), 0);
	assert_true(absent_user_known(plain, true));
	assert_int_equal(chown(owned, 3999999999U, 0), 0);
	assert_false(absent_user_known(plain, true));
	assert_true(absent_user_known(plain, false));
	assert_false(absent_user_known(words, true));
	assert_true(absent_user_known(behind, true));
	assert_int_equal(unlink(owned), 0);
	/* The current directory is a workspace too. */
	assert_int_equal(chown(".", 3999999999U, 0), 0);
	assert_false(absent_user_known(behind, true));
	assert_int_equal(chown(".", 0, 0), 0);
	assert_int_equal(chdir(before), 0);
}

static int
group_setup(void **state)
{
	(void)state;
	return test_folder_new(place) != NULL ? 0 : -1;
}

static int
group_teardown(void **state)
{
	(void)state;
	(void)unlink(below("file"));
	return rmdir(place);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_sources),
	    cmocka_unit_test(test_find),
	    cmocka_unit_test(test_known),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
