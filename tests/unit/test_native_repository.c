/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a repository names elsewhere in its workspace is protected too, what
 * is named twice is mounted once, and what cannot be followed is refused.
 */
#include "tests/support/native_view_folder.h"

static void
a_git_file_is_sealed_as_it_is(void **state)
{
	struct native_view_choice choice =
	    choose(NATIVE_WORKSPACE_WRITE, at("u/proj"));

	(void)state;
	text_file("u/proj/.git", "gitdir: ../main/.git/worktrees/proj\n");
	assert_int_equal(make(&choice), RESULT_OK);
	assert_non_null(strstr(users_part(), "\nro /u/proj/.git\n"));
	assert_null(strstr(users_part(), ".git/"));
}

/* The repository of a linked worktree lies outside, and what it names in
 * the worktree is held, there or not. */
static void
a_linked_worktree_is_read_for_what_it_names(void **state)
{
	struct native_view_choice choice =
	    choose(NATIVE_WORKSPACE_WRITE, at("u/proj"));
	char config[512];

	(void)state;
	text_file("u/proj/.git", "gitdir: ../main/.git/worktrees/proj\n");
	folder("u/main");
	folder("u/main/.git");
	folder("u/main/.git/hooks");
	folder("u/main/.git/worktrees");
	folder("u/main/.git/worktrees/proj");
	text_file("u/main/.git/worktrees/proj/commondir", "../..\n");
	text_file("u/main/.git/worktrees/proj/config.worktree",
	    "[include]path = ../../../../proj/more\n");
	(void)snprintf(config, sizeof(config),
	    "[core]\n\thooksPath = h\n[include]\n\tpath = %s\n",
	    at("u/proj/inc"));
	text_file("u/main/.git/config", config);
	text_file("u/proj/inc", "[core]hooksPath = k\n");
	text_file("u/proj/check", "");
	assert_int_equal(
	    symlink("../../../proj/check", at("u/main/.git/hooks/pre-commit")),
	    0);
	file("u/main/.git/hooks/update");
	assert_int_equal(
	    link(at("u/main/.git/hooks/update"), at("u/main/second")), 0);
	assert_int_equal(make(&choice), RESULT_OK);
	assert_non_null(strstr(users_part(), "\nro /u/proj/.git\n"));
	assert_non_null(strstr(users_part(), "\nro+d /u/proj/h\n"));
	assert_non_null(strstr(users_part(), "\nro+d /u/proj/k\n"));
	assert_non_null(strstr(users_part(), "\nro /u/proj/inc\n"));
	assert_non_null(strstr(users_part(), "\nro+ /u/proj/more\n"));
	assert_non_null(strstr(users_part(), "\nro /u/proj/check\n"));
	assert_null(strstr(users_part(), "/u/main"));
	/* A place through a link in the worktree could be turned. */
	folder("u/proj/real");
	assert_int_equal(symlink("real", at("u/proj/turned")), 0);
	assert_int_equal(unlink(at("u/main/.git/config")), 0);
	text_file("u/main/.git/config", "[core]hooksPath = turned/x\n");
	folder("u/proj/real/x");
	assert_int_equal(make(&choice), RESULT_REFUSED);
	assert_non_null(strstr(fault, "through a link"));
	/* A config that is a link, hooks that are one into the worktree. */
	assert_int_equal(
	    rename(at("u/main/.git/config"), at("u/main/real")), 0);
	assert_int_equal(symlink("../real", at("u/main/.git/config")), 0);
	assert_int_equal(make(&choice), RESULT_REFUSED);
	assert_non_null(strstr(fault, "cannot be read"));
	assert_int_equal(unlink(at("u/main/.git/config")), 0);
	assert_int_equal(
	    rename(at("u/main/.git/hooks"), at("u/main/hooks")), 0);
	assert_int_equal(symlink("../hooks", at("u/main/.git/hooks")), 0);
	assert_int_equal(make(&choice), RESULT_OK);
	assert_int_equal(unlink(at("u/main/.git/hooks")), 0);
	assert_int_equal(
	    symlink("../../proj/real", at("u/main/.git/hooks")), 0);
	assert_int_equal(make(&choice), RESULT_REFUSED);
	assert_non_null(strstr(fault, "hooks are a link"));
}

static void
a_git_file_that_leads_inside_is_followed(void **state)
{
	struct native_view_choice choice =
	    choose(NATIVE_WORKSPACE_WRITE, at("u/proj"));

	(void)state;
	text_file("u/proj/.git", "gitdir: ./.bare/worktrees/x\n");
	folder("u/proj/.bare");
	folder("u/proj/.bare/worktrees");
	folder("u/proj/.bare/worktrees/x");
	text_file("u/proj/.bare/worktrees/x/commondir", "../..\n");
	text_file("u/proj/.bare/config", "[core]\n\thooksPath = h\n");
	assert_int_equal(make(&choice), RESULT_OK);
	assert_non_null(strstr(users_part(), "\nro /u/proj/.git\n"));
	assert_non_null(strstr(users_part(), "\nrw /u/proj/.bare\n"));
	assert_non_null(strstr(users_part(), "\nro /u/proj/.bare/config\n"));
	assert_non_null(strstr(users_part(), "\nro+d /u/proj/.bare/hooks\n"));
	assert_non_null(strstr(users_part(), "\nro /u/proj/.bare/worktrees\n"));
	assert_non_null(strstr(users_part(), "\nro+d /u/proj/h\n"));
}

static void
a_git_file_that_cannot_be_followed_is_refused(void **state)
{
	struct native_view_choice choice =
	    choose(NATIVE_WORKSPACE_WRITE, at("u/proj"));

	(void)state;
	file("u/proj/.git");
	assert_int_equal(make(&choice), RESULT_REFUSED);
	assert_non_null(strstr(fault, "gitdir:"));
	assert_int_equal(unlink(at("u/proj/.git")), 0);
	/* Through a link inside, and through one from outside. */
	folder("u/proj/real");
	folder("u/proj/real/git");
	assert_int_equal(symlink("real", at("u/proj/turned")), 0);
	text_file("u/proj/.git", "gitdir: turned/git\n");
	assert_int_equal(make(&choice), RESULT_REFUSED);
	assert_int_equal(unlink(at("u/proj/.git")), 0);
	assert_int_equal(symlink("proj", at("u/alias")), 0);
	text_file("u/proj/.git", "gitdir: ../alias/real/git\n");
	assert_int_equal(make(&choice), RESULT_REFUSED);
	assert_non_null(strstr(fault, "through a link"));
}

/* Two names of the list for one thing, or one in the other. */
static void
what_is_named_twice_is_mounted_once(void **state)
{
	static const char *const more[] = {
	    ".envrc", "build/", "build/out/x", ".git/hooks/"};
	struct native_view_choice choice =
	    choose(NATIVE_WORKSPACE_WRITE, at("u/proj"));

	(void)state;
	folder("u/proj/.git");
	folder("u/proj/.git/hooks");
	folder("u/proj/.githooks");
	folder("u/proj/.husky");
	folder("u/proj/.husky/_");
	folder("u/proj/build");
	folder("u/proj/build/out");
	file("u/proj/.envrc");
	file("u/proj/.gitconfig");
	text_file("u/proj/.git/config",
	    "[core]\n\thooksPath = .husky/_\n\thooksPath = .githooks\n"
	    "[include]\n\tpath = ../.gitconfig\n");
	choice.protect = more;
	choice.protect_count = 4;
	assert_int_equal(make(&choice), RESULT_OK);
	assert_non_null(strstr(users_part(), "\nro /u/proj/.husky\n"));
	assert_null(strstr(users_part(), "rw /u/proj/.husky"));
	assert_non_null(strstr(users_part(), "\nro /u/proj/build\n"));
	assert_null(strstr(users_part(), "rw /u/proj/build"));
	assert_non_null(strstr(users_part(), "\nro /u/proj/.githooks\n"));
	assert_non_null(strstr(users_part(), "\nro /u/proj/.gitconfig\n"));
}

static void
a_root_is_given_once(void **state)
{
	const char *const dirs[] = {at("u/proj")};
	const char *const twice[] = {at("other"), at("other")};
	const char *const pinned[] = {at("u/proj/.git")};
	struct native_view_choice choice =
	    choose(NATIVE_WORKSPACE_WRITE, at("u/proj"));

	(void)state;
	folder("other");
	folder("u/proj/.git");
	choice.writable = dirs;
	choice.writable_count = 1;
	assert_int_equal(make(&choice), RESULT_REFUSED);
	assert_non_null(strstr(fault, "can be written already"));
	choice.writable = twice;
	assert_int_equal(make(&choice), RESULT_OK);
	choice.writable_count = 2;
	assert_int_equal(make(&choice), RESULT_REFUSED);
	choice.writable = pinned;
	choice.writable_count = 1;
	assert_int_equal(make(&choice), RESULT_REFUSED);
}

static void
places_the_config_names_are_protected(void **state)
{
	struct native_view_choice choice =
	    choose(NATIVE_WORKSPACE_WRITE, at("u/proj"));
	FILE *out;

	(void)state;
	folder("u/proj/.git");
	folder("u/proj/tools");
	folder("u/proj/tools/hooks");
	out = fopen(at("u/proj/.git/config"), "wx");
	assert_non_null(out);
	assert_true(fputs("[core]\n\thooksPath = tools/hooks # ours\n"
			  "[include]\n\tpath = \"../git.inc\"\n"
			  "\tpath = ~/.shared\n\tpath = ../../outside\n"
			  "[alias]\n\tpath = nothing\n",
			out) >= 0);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(make(&choice), RESULT_OK);
	assert_non_null(strstr(users_part(), "\nrw /u/proj/tools\n"));
	assert_non_null(strstr(users_part(), "\nro /u/proj/tools/hooks\n"));
	assert_non_null(strstr(users_part(), "\nro+ /u/proj/git.inc\n"));
	assert_null(strstr(users_part(), "outside"));
	assert_null(strstr(users_part(), "shared"));
	assert_null(strstr(users_part(), "nothing"));
}

static void
configs_are_read_to_the_end(void **state)
{
	struct native_view_choice choice =
	    choose(NATIVE_WORKSPACE_WRITE, at("u/proj"));
	const char *part;

	(void)state;
	folder("u/proj/.git");
	folder("u/proj/conf");
	text_file("u/proj/.git/config",
	    "[includeIf \"gitdir:a]b/\"]path = ../conf/more\n");
	text_file("u/proj/conf/more", "[include]\n\tpath = third\n");
	text_file("u/proj/conf/third", "[core]\n\thooksPath = ~/proj/h1\n");
	text_file("u/proj/.git/config.worktree", "[core]hooksPath = h2\n");
	assert_int_equal(make(&choice), RESULT_OK);
	part = users_part();
	assert_non_null(strstr(part, "\nro /u/proj/conf/more\n"));
	assert_non_null(strstr(part, "\nro /u/proj/conf/third\n"));
	assert_non_null(strstr(part, "\nro+d /u/proj/h1\n"));
	assert_non_null(strstr(part, "\nro+d /u/proj/h2\n"));
	text_file("u/proj/.gitconfig", "");
	assert_int_equal(unlink(at("u/proj/conf/third")), 0);
	text_file("u/proj/conf/third", "[core]\n\thooksPath = .\n");
	assert_int_equal(make(&choice), RESULT_REFUSED);
	assert_non_null(strstr(fault, "the workspace itself"));
}

/* A chain of includes that has no end is not read for ever. */
static void
too_many_configs_are_refused(void **state)
{
	struct native_view_choice choice =
	    choose(NATIVE_WORKSPACE_WRITE, at("u/proj"));
	char name[32], text[64];

	(void)state;
	folder("u/proj/.git");
	text_file("u/proj/.git/config", "[include]\npath = ../c0\n");
	for (int i = 0; i < 20; i++) {
		(void)snprintf(name, sizeof(name), "u/proj/c%d", i);
		(void)snprintf(
		    text, sizeof(text), "[include]\npath = c%d\n", i + 1);
		text_file(name, text);
	}
	assert_int_equal(make(&choice), RESULT_REFUSED);
	assert_non_null(strstr(fault, "too many"));
}

static void
what_hooks_lead_to_is_protected(void **state)
{
	struct native_view_choice choice =
	    choose(NATIVE_WORKSPACE_WRITE, at("u/proj"));

	(void)state;
	folder("u/proj/.git");
	folder("u/proj/.git/hooks");
	folder("u/proj/scripts");
	file("u/proj/scripts/check");
	assert_int_equal(
	    symlink("../../scripts/check", at("u/proj/.git/hooks/pre-commit")),
	    0);
	assert_int_equal(
	    symlink("../../new", at("u/proj/.git/hooks/pre-push")), 0);
	assert_int_equal(
	    symlink("/usr/bin/true", at("u/proj/.git/hooks/update")), 0);
	assert_int_equal(make(&choice), RESULT_OK);
	assert_non_null(strstr(users_part(), "\nrw /u/proj/scripts\n"));
	assert_non_null(strstr(users_part(), "\nro /u/proj/scripts/check\n"));
	assert_non_null(strstr(users_part(), "\nro+ /u/proj/new\n"));
	/* A link on the way could be turned. */
	assert_int_equal(symlink("scripts", at("u/proj/way")), 0);
	assert_int_equal(
	    symlink("../../way/check", at("u/proj/.git/hooks/post-merge")), 0);
	assert_int_equal(make(&choice), RESULT_REFUSED);
	assert_int_equal(unlink(at("u/proj/.git/hooks/post-merge")), 0);
	file("u/proj/.git/hooks/commit-msg");
	assert_int_equal(
	    link(at("u/proj/.git/hooks/commit-msg"), at("u/proj/mine")), 0);
	assert_int_equal(make(&choice), RESULT_REFUSED);
	assert_non_null(strstr(fault, "2 names"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    CASE(a_git_file_is_sealed_as_it_is),
	    CASE(a_linked_worktree_is_read_for_what_it_names),
	    CASE(a_git_file_that_leads_inside_is_followed),
	    CASE(a_git_file_that_cannot_be_followed_is_refused),
	    CASE(what_is_named_twice_is_mounted_once),
	    CASE(a_root_is_given_once),
	    CASE(places_the_config_names_are_protected),
	    CASE(configs_are_read_to_the_end),
	    CASE(too_many_configs_are_refused),
	    CASE(what_hooks_lead_to_is_protected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
