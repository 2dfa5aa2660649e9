/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repositories below a workspace: what makes git run something else there is
 * told, in whatever part of one it lies; what git does every day is not.
 */
#include <fcntl.h>

#include "supervisor/native/native_found.h"
#include "tests/support/native_view_folder.h"

static struct native_found *before;

static void
look(void)
{
	struct native_view_choice choice =
	    choose(NATIVE_WORKSPACE_WRITE, at("u/proj"));

	assert_int_equal(make(&choice), RESULT_OK);
	before = native_found_take(&view, NULL);
	assert_non_null(before);
}

/* The only path that is told since the look, "" for none. */
static const char *
told(void)
{
	static char path[NATIVE_VIEW_PATH_MAX];
	struct native_found *after = native_found_take(&view, before);
	const char *next;
	size_t at = 0;

	assert_non_null(after);
	assert_true(native_found_complete(after));
	next = native_found_next(before, after, &at);
	(void)snprintf(
	    path, sizeof(path), "%s", next != NULL ? next + strlen(base) : "");
	assert_null(native_found_next(before, after, &at));
	native_found_free(&before);
	before = after;
	return path;
}

static void
touch(const char *name)
{
	FILE *out = fopen(at(name), "a");

	assert_non_null(out);
	assert_true(fputs("x", out) >= 0);
	assert_int_equal(fclose(out), 0);
}

static void
git(const char *dir)
{
	static const char *const folders[] = {
	    "", "/hooks", "/objects", "/refs", "/modules", "/modules/a"};
	char name[128];

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		(void)snprintf(name, sizeof(name), "%s%s", dir, folders[i]);
		folder(name);
	}
	(void)snprintf(name, sizeof(name), "%s/HEAD", dir);
	text_file(name, "ref: refs/heads/main\n");
	(void)snprintf(name, sizeof(name), "%s/config", dir);
	text_file(name, "[core]\n");
}

static void
every_part_of_a_repository_counts(void **state)
{
	static const char *const changes[] = {"hooks/post-index-change",
	    "config", "config.worktree", "commondir", "modules/a/config",
	    "modules/a/hooks/update", "modules/b/commondir",
	    "worktrees/x/config.worktree", "remotes/origin"};
	static const char *const calm[] = {"index", "HEAD.lock", "refs/heads",
	    "objects/ab", "hooks/update.sample", "modules/a/index",
	    "modules/a/HEAD", "worktrees/x/HEAD"};
	char name[128];

	(void)state;
	folder("u/proj/.git");
	folder("u/proj/vendor");
	git("u/proj/vendor/.git");
	folder("u/proj/vendor/.git/modules/a/hooks");
	folder("u/proj/vendor/.git/modules/b");
	folder("u/proj/vendor/.git/worktrees");
	folder("u/proj/vendor/.git/worktrees/x");
	folder("u/proj/vendor/.git/remotes");
	look();
	assert_string_equal(told(), "");
	for (size_t i = 0; i < sizeof(calm) / sizeof(calm[0]); i++) {
		(void)snprintf(
		    name, sizeof(name), "u/proj/vendor/.git/%s", calm[i]);
		touch(name);
		assert_string_equal(told(), "");
	}
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		(void)snprintf(
		    name, sizeof(name), "u/proj/vendor/.git/%s", changes[i]);
		touch(name);
		if (strcmp(told(), "/u/proj/vendor/.git") != 0)
			fail_msg("%s is not told", changes[i]);
		touch(name);
		if (strcmp(told(), "/u/proj/vendor/.git") != 0)
			fail_msg("another %s is not told", changes[i]);
	}
	/* What a hook leads to is the hook. */
	assert_int_equal(
	    symlink("../../hook", at("u/proj/vendor/.git/hooks/pre-commit")),
	    0);
	touch("u/proj/vendor/hook");
	assert_string_equal(told(), "/u/proj/vendor/.git");
	touch("u/proj/vendor/hook");
	assert_string_equal(told(), "/u/proj/vendor/.git");
	native_found_free(&before);
}

/* Each kind that git takes for one, and where git adds to a protected one. */
static void
each_kind_of_repository_is_found(void **state)
{
	(void)state;
	folder("u/proj/.git");
	folder("u/proj/d");
	look();
	assert_string_equal(told(), "");
	touch("u/proj/d/HEAD");
	assert_string_equal(told(), "");
	touch("u/proj/d/commondir");
	assert_string_equal(told(), "/u/proj/d");
	folder("u/proj/d/sub");
	touch("u/proj/d/sub/.git");
	assert_string_equal(told(), "/u/proj/d/sub/.git");
	git("u/proj/bare");
	assert_string_equal(told(), "/u/proj/bare");
	folder("u/proj/.git/modules");
	assert_string_equal(told(), "");
	folder("u/proj/.git/modules/lib");
	touch("u/proj/.git/modules/lib/config");
	assert_string_equal(told(), "/u/proj/.git");
	folder("u/proj/.git/remotes");
	touch("u/proj/.git/remotes/origin");
	assert_string_equal(told(), "/u/proj/.git");
	/* The root itself, by whoever could. */
	touch("u/proj/HEAD");
	folder("u/proj/refs");
	folder("u/proj/objects");
	assert_string_equal(told(), "/u/proj");
	native_found_free(&before);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    CASE(every_part_of_a_repository_counts),
	    CASE(each_kind_of_repository_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
