/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose home is meant does not hang on HOME: with a user database of its
 * own, in a mount namespace of its own, the homes of the caller and of the
 * directory's owner are never handed over, nor what is private below them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "supervisor/native/native_homes.h"
#include "tests/support/test_folder.h"

#define OTHER 64111U

static char base[64];
static struct native_view view;

static const char *
at(const char *name)
{
	static char paths[16][256];
	static unsigned next;
	char *path = paths[next++ % 16];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", base, name);
	return path;
}

static void
put(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	assert_true(fputs(text, out) >= 0);
	assert_int_equal(fclose(out), 0);
}

static int
setup(void **state)
{
	static const char *const folders[] = {"own", "own/.ssh", "own/bin",
	    "own/project", "other", "other/.config", "other/.config/x",
	    "other/project", "elsewhere", ".agentnode"};

	(void)state;
	(void)strcpy(base, "/tmp/native_homes.XXXXXX");
	assert_non_null(test_folder_new(base));
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		assert_int_equal(mkdir(at(folders[i]), 0755), 0);
	return 0;
}

static int
teardown(void **state)
{
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		(void)execl("/bin/rm", "rm", "-rf", base, (char *)NULL);
		_exit(127);
	}
	return child < 0 || waitpid(child, NULL, 0) != child;
}

/* Its own users from here on; a caller that is not root needs a user
 * namespace for it, in which it stays who it was. */
static bool
own_users(uid_t uid)
{
	char text[600];

	(void)snprintf(text, sizeof(text),
	    "me:x:%u:0::%s/own:/bin/sh\nother:x:%u:0::%s/other:/bin/sh\n",
	    (unsigned)uid, base, OTHER, base);
	put(at("passwd"), text);
	if (unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0)
		return false;
	if (uid != 0) {
		(void)snprintf(text, sizeof(text), "%u %u 1", (unsigned)uid,
		    (unsigned)uid);
		put("/proc/self/uid_map", text);
	}
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount(at("passwd"), "/etc/passwd", NULL, MS_BIND, NULL) == 0;
}

static enum result
make(const char *workspace, char fault_r[512])
{
	char state[256], home[256];
	struct native_view_choice choice = {.mode = NATIVE_READ_ONLY,
	    .workspace = workspace,
	    .home = home,
	    .agentnode = state,
	    .scratch = "/scratch",
	    .scratch_size = 1 << 20};

	(void)snprintf(state, sizeof(state), "%s/.agentnode", base);
	(void)snprintf(home, sizeof(home), "%s/elsewhere", base);
	return native_view_make(&choice, &view, fault_r, 512);
}

/* The number of the first that was not judged as it should be; 0: none. */
static int
judged(void)
{
	static const struct {
		const char *name, *why; /* NULL: it may be handed over */
	} rows[] = {{"own", "home directory"}, {"own/.ssh", "credentials"},
	    {"own/bin", "credentials"}, {"own/project", NULL},
	    {"elsewhere", "home directory"}};
	char fault[512];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum result result = make(at(rows[i].name), fault);
		bool good = rows[i].why == NULL
				? result == RESULT_OK
				: result == RESULT_REFUSED &&
				      strstr(fault, rows[i].why) != NULL;

		if (!good) {
			(void)fprintf(stderr, "%s: %s\n", rows[i].name, fault);
			return (int)i + 1;
		}
	}
	return 0;
}

static int
judged_of_others(void)
{
	char fault[512];

	if (chown(at("other"), OTHER, 0) != 0 ||
	    chown(at("other/.config"), OTHER, 0) != 0 ||
	    chown(at("other/.config/x"), OTHER, 0) != 0 ||
	    chown(at("other/project"), OTHER, 0) != 0)
		return 20;
	if (make(at("other"), fault) != RESULT_REFUSED ||
	    strstr(fault, "home directory") == NULL)
		return 21;
	if (make(at("other/.config/x"), fault) != RESULT_REFUSED ||
	    strstr(fault, "credentials") == NULL)
		return 22;
	return make(at("other/project"), fault) == RESULT_OK ? 0 : 23;
}

static void
homes_are_those_of_the_users(void **state)
{
	uid_t uid = geteuid();
	pid_t child = fork();
	int status, code;

	(void)state;
	if (child == 0) {
		if (!own_users(uid))
			_exit(99);
		code = judged();
		if (code == 0 && uid == 0)
			code = judged_of_others();
		_exit(code);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

static void
what_is_found(void **state)
{
	struct native_homes homes;

	(void)state;
	assert_int_equal(
	    native_homes_find("/a", "/home/bob/.ssh/x", geteuid(), &homes),
	    RESULT_OK);
	assert_true(homes.count >= 2);
	assert_string_equal(homes.paths[0], "/a");
	assert_string_equal(homes.paths[homes.count - 1], "/home/bob");
	/* "/" is nobody's; a user without an entry has none. */
	assert_int_equal(
	    native_homes_find("/", "/srv/x", 3999999999U, &homes), RESULT_OK);
	assert_true(homes.count <= 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		homes_are_those_of_the_users, setup, teardown),
	    cmocka_unit_test(what_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
