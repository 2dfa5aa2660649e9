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
	text_file("u/proj/conf/third",
	    "[core]\n\thooksPath = ~/proj/h1\n[include]path = ~/shared\n");
	text_file("u/shared", "[core]\n\thooksPath = h3\n");
	text_file("u/proj/.git/config.worktree", "[core]hooksPath = h2\n");
	assert_int_equal(make(&choice), RESULT_OK);
	part = users_part();
	assert_non_null(strstr(part, "\nro /u/proj/conf/more\n"));
	assert_non_null(strstr(part, "\nro /u/proj/conf/third\n"));
	assert_non_null(strstr(part, "\nro+d /u/proj/h1\n"));
	assert_non_null(strstr(part, "\nro+d /u/proj/h2\n"));
	assert_non_null(strstr(part, "\nro+d /u/proj/h3\n"));
	text_file("u/proj/.gitconfig", "");
	assert_int_equal(unlink(at("u/proj/conf/third")), 0);
	text_file("u/proj/conf/third", "[core]\n\thooksPath = .\n");
	assert_int_equal(make(&choice), RESULT_REFUSED);
	assert_non_null(strstr(fault, "the workspace itself"));
}

/* What you set for every repository counts in this one, and in those around
 * it; where your file itself lies in the root it could be written. */
static void
your_own_configuration_is_read_for_places(void **state)
{
	struct native_view_choice choice =
	    choose(NATIVE_WORKSPACE_WRITE, at("u/proj/front"));

	(void)state;
	folder("u/proj/.git");
	folder("u/proj/front");
	folder("u/proj/front/bin");
	file("u/proj/front/bin/x");
	text_file("u/real", "[core]hooksPath = front/h1\n[include]path = more\n"
			    "[alias]x = !bin/x\n");
	text_file("u/more", "[core]hooksPath = h2\n");
	assert_int_equal(symlink("real", at("u/.gitconfig")), 0);
	assert_int_equal(make(&choice), RESULT_OK);
	assert_non_null(strstr(users_part(), "\nro+d /u/proj/front/h1\n"));
	assert_non_null(strstr(users_part(), "\nro+d /u/proj/front/h2\n"));
	assert_null(strstr(users_part(), "bin"));
	assert_int_equal(unlink(at("u/.gitconfig")), 0);
	text_file("u/proj/front/gitconfig", "");
	assert_int_equal(
	    symlink("proj/front/gitconfig", at("u/.gitconfig")), 0);
	assert_int_equal(make(&choice), RESULT_REFUSED);
	assert_non_null(strstr(fault, "is a link into it"));
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
	for (int i = 0; i < 80; i++) {
		(void)snprintf(name, sizeof(name), "u/proj/c%d", i);
		(void)snprintf(
		    text, sizeof(text), "[include]\npath = c%d\n", i + 1);
		text_file(name, text);
	}
	choice.workspace = at("u/proj");
	assert_int_equal(make(&choice), RESULT_REFUSED);
	if (strstr(fault, "too many") == NULL)
		fail_msg("%s", fault);
}

/* Each of these git reads, so that it is read here; or git refuses it. */
static void
a_config_is_read_as_git_reads_it(void **state)
{
	static const struct row {
		const char *config;
		bool read; /* else refused */
	} rows[] = {{"[core]\n\thooksPath = tools/\\\nhooks\n", true},
	    {"[core][core]hooksPath = tools/hooks\n", true},
	    {"[core]bare = false\n\r\n [CORE]\tHOOKSPATH\t=\"tools\"/hooks;x",
		true},
	    {"; [x\n#\\\n[core] hooksPath = tools/hooks # \\\n", true},
	    {"[core \"x\\\"]\"]a=b\n[core]hooksPath=tools/hooks\n", true},
	    {"[core]\n\thooksPath\n\thooksPath = tools/hooks\n", true},
	    {"[core]hooksPath = \"tools\nhooks\"\n", false},
	    {"[core]hooksPath = tools\\/hooks\n", false},
	    {"[core\n]hooksPath = tools/hooks\n", false},
	    {"[core]hooks_path = tools/hooks\n", false}};
	struct native_view_choice choice =
	    choose(NATIVE_WORKSPACE_WRITE, at("u/proj"));

	(void)state;
	folder("u/proj/.git");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		text_file("u/proj/.git/config", rows[i].config);
		assert_int_equal(
		    make(&choice), rows[i].read ? RESULT_OK : RESULT_REFUSED);
		if (rows[i].read &&
		    strstr(users_part(), "\nro+d /u/proj/tools\n") == NULL)
			fail_msg("%s: %s", rows[i].config, users_part());
		if (!rows[i].read)
			assert_non_null(strstr(fault, "as git reads it"));
		assert_int_equal(unlink(at("u/proj/.git/config")), 0);
	}
}

/* A long line is read, and one too long is refused, not passed over. */
static void
a_long_line_is_no_way_round(void **state)
{
	struct native_view_choice choice =
	    choose(NATIVE_WORKSPACE_WRITE, at("u/proj"));
	char *config = calloc(1, 8192);

	(void)state;
	assert_non_null(config);
	folder("u/proj/.git");
	memset(config, ' ', 3000);
	memcpy(config, "[core]", 6);
	memcpy(config + 3000, "hooksPath = h\n", 15);
	text_file("u/proj/.git/config", config);
	assert_int_equal(make(&choice), RESULT_OK);
	assert_non_null(strstr(users_part(), "\nro+d /u/proj/h\n"));
	assert_int_equal(unlink(at("u/proj/.git/config")), 0);
	memset(config, 'x', 6000);
	memcpy(config, "[core]hooksPath=", 16);
	text_file("u/proj/.git/config", config);
	assert_int_equal(make(&choice), RESULT_REFUSED);
	assert_non_null(strstr(fault, "as git reads it"));
	free(config);
}

/* The repository around a workspace is the one git asks in it. */
static void
a_repository_around_is_read_for_what_it_names(void **state)
{
	struct native_view_choice choice =
	    choose(NATIVE_WORKSPACE_WRITE, at("u/proj/front/end"));

	(void)state;
	folder("u/proj/.git");
	folder("u/proj/.git/hooks");
	folder("u/proj/front");
	folder("u/proj/front/end");
	text_file("u/proj/.git/config",
	    "[core]\n\thooksPath = front/end/hooks\n"
	    "\tfsmonitor = ./front/end/fsm.sh\n"
	    "[include]\n\tpath = ../front/end/team.gitconfig\n"
	    "[alias]\n\tx = front/other/y\n");
	text_file("u/proj/front/end/team.gitconfig",
	    "[core]\n\thooksPath = front/end/more\n");
	assert_int_equal(symlink("../../front/end/check",
			     at("u/proj/.git/hooks/pre-commit")),
	    0);
	assert_int_equal(make(&choice), RESULT_OK);
	assert_non_null(
	    strstr(users_part(), "\nro+d /u/proj/front/end/hooks\n"));
	assert_non_null(
	    strstr(users_part(), "\nro+d /u/proj/front/end/more\n"));
	assert_non_null(
	    strstr(users_part(), "\nro+ /u/proj/front/end/fsm.sh\n"));
	assert_non_null(
	    strstr(users_part(), "\nro /u/proj/front/end/team.gitconfig\n"));
	assert_non_null(
	    strstr(users_part(), "\nro+ /u/proj/front/end/check\n"));
	assert_null(strstr(users_part(), "front/other"));
	/* Of a linked worktree, of a bare one, and one that leads in. */
	assert_int_equal(rename(at("u/proj/.git"), at("u/main.git")), 0);
	text_file("u/proj/.git", "gitdir: ../main.git\n");
	assert_int_equal(make(&choice), RESULT_OK);
	assert_non_null(
	    strstr(users_part(), "\nro+d /u/proj/front/end/hooks\n"));
	assert_int_equal(unlink(at("u/proj/.git")), 0);
	folder("u/proj/front/objects");
	folder("u/proj/front/refs");
	file("u/proj/front/HEAD");
	text_file("u/proj/front/config", "[core]hooksPath = end/bare\n");
	assert_int_equal(make(&choice), RESULT_OK);
	assert_non_null(
	    strstr(users_part(), "\nro+d /u/proj/front/end/bare\n"));
	folder("u/proj/front/end/git");
	assert_int_equal(symlink("front/end/git", at("u/proj/.git")), 0);
	assert_int_equal(make(&choice), RESULT_REFUSED);
	assert_non_null(strstr(fault, "through a link"));
}

/* Words of a config that are files of the workspace, in whatever key. */
static void
programs_a_config_names_are_protected(void **state)
{
	static const char *const files[] = {"clean.sh", "fsm.sh", "with blank",
	    "nested.sh", "top.sh", "arg.py", "template", "escaped x"};
	struct native_view_choice choice =
	    choose(NATIVE_WORKSPACE_WRITE, at("u/proj"));
	char name[64];

	(void)state;
	folder("u/proj/.git");
	folder("u/proj/tools");
	folder("u/proj/src");
	file("u/proj/tools/free.sh");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		(void)snprintf(name, sizeof(name), "u/proj/tools/%s", files[i]);
		file(name);
	}
	text_file("u/proj/.git/config",
	    "[filter \"nb\"]\n\tclean = tools/clean.sh %f\n"
	    "\tsmudge = tools/new.sh --x\n"
	    "\tprocess = python3 ./tools/arg.py\n"
	    "[core]\n\tfsmonitor = tools/fsm.sh\n"
	    "\tpager = \"'tools/with blank' -x\"\n"
	    "\teditor = tools/escaped\\\\ x\n"
	    "[alias]\n\ta = \"!sh -c 'cd src && ../tools/x; "
	    "tools/nested.sh'\"\n"
	    "\tb = !$(git rev-parse --show-toplevel)/tools/top.sh src\n"
	    "[commit]\n\ttemplate = tools/template\n"
	    "[remote \"o\"]\n\tfetch = +refs/heads/*:refs/remotes/o/*\n"
	    "[branch \"main\"]\n\tmerge = refs/heads/main\n");
	assert_int_equal(make(&choice), RESULT_OK);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		(void)snprintf(
		    name, sizeof(name), "\nro /u/proj/tools/%s\n", files[i]);
		if (strstr(users_part(), name) == NULL)
			fail_msg("%s: %s", files[i], users_part());
	}
	assert_non_null(strstr(users_part(), "\nro+ /u/proj/tools/new.sh\n"));
	assert_null(strstr(users_part(), "free.sh"));
	assert_null(strstr(users_part(), "refs/"));
	assert_null(strstr(users_part(), "/src"));
	/* A program through a link cannot be held. */
	assert_int_equal(unlink(at("u/proj/tools/fsm.sh")), 0);
	assert_int_equal(symlink("free.sh", at("u/proj/tools/fsm.sh")), 0);
	assert_int_equal(make(&choice), RESULT_REFUSED);
	assert_non_null(strstr(fault, "through a link"));
}

/* In a protected directory, at any depth. */
static void
second_names_in_a_protected_directory(void **state)
{
	struct native_view_choice choice =
	    choose(NATIVE_WORKSPACE_WRITE, at("u/proj"));

	(void)state;
	folder("u/proj/.vscode");
	folder("u/proj/.claude");
	folder("u/proj/.claude/hooks");
	folder("u/proj/.claude/worktrees");
	folder("u/proj/tools");
	folder("u/proj/skills");
	file("u/proj/tools/tasks.json");
	assert_int_equal(
	    symlink("../tools/tasks.json", at("u/proj/.vscode/tasks.json")), 0);
	assert_int_equal(symlink("../skills", at("u/proj/.claude/skills")), 0);
	assert_int_equal(symlink("../../tools/h", at("u/proj/skills/a")), 0);
	assert_int_equal(make(&choice), RESULT_OK);
	assert_non_null(
	    strstr(users_part(), "\nro /u/proj/tools/tasks.json\n"));
	assert_non_null(strstr(users_part(), "\nro /u/proj/skills\n"));
	file("u/proj/tools/s.json");
	assert_int_equal(
	    link(at("u/proj/tools/s.json"), at("u/proj/.claude/worktrees/x")),
	    0);
	assert_int_equal(make(&choice), RESULT_OK);
	assert_int_equal(link(at("u/proj/tools/s.json"),
			     at("u/proj/.claude/hooks/settings.json")),
	    0);
	assert_int_equal(make(&choice), RESULT_REFUSED);
	assert_non_null(strstr(fault, ".claude/hooks/settings.json"));
	assert_non_null(strstr(fault, "3 names"));
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
	    CASE(your_own_configuration_is_read_for_places),
	    CASE(too_many_configs_are_refused),
	    CASE(a_config_is_read_as_git_reads_it),
	    CASE(a_long_line_is_no_way_round),
	    CASE(a_repository_around_is_read_for_what_it_names),
	    CASE(programs_a_config_names_are_protected),
	    CASE(second_names_in_a_protected_directory),
	    CASE(what_hooks_lead_to_is_protected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
