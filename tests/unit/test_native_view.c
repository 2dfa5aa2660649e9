/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views of several layouts, each against its golden list; what is refused,
 * with its sentence; and what no view ever shows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "supervisor/native/native_protect.h"
#include "tests/support/native_view_folder.h"

static void
read_only_shows_the_workspace_alone(void **state)
{
	struct native_view_choice choice =
	    choose(NATIVE_READ_ONLY, at("u/proj"));

	(void)state;
	assert_int_equal(make(&choice), RESULT_OK);
	assert_string_equal(users_part(), "dir \ndir /u\nro /u/proj\n");
	assert_string_equal(view.workspace, at("u/proj"));
	assert_string_equal(view.cwd, at("u/proj"));
}

static void
an_empty_workspace_is_held_by_placeholders(void **state)
{
	struct native_view_choice choice =
	    choose(NATIVE_WORKSPACE_WRITE, at("u/proj"));

	(void)state;
	assert_int_equal(make(&choice), RESULT_OK);
	assert_string_equal(users_part(),
	    "dir \ndir /u\nrw /u/proj\n"
	    "ro+d /u/proj/.git\nro+ /u/proj/.envrc\nro+d /u/proj/.vscode\n"
	    "ro+d /u/proj/.idea\nro+d /u/proj/.helix\nro+d /u/proj/.zed\n"
	    "ro+d /u/proj/.claude\nro+d /u/proj/.codex\n"
	    "ro+d /u/proj/.cursor\nro+d /u/proj/.gemini\n"
	    "ro+d /u/proj/.kiro\nro+d /u/proj/.opencode\n"
	    "ro+ /u/proj/opencode.json\nro+ /u/proj/opencode.jsonc\n"
	    "ro+ /u/proj/.aider.conf.yml\nro+ /u/proj/.mcp.json\nro+d "
	    "/u/proj/.agentnode\n"
	    "ro+ /u/proj/agentnode.lock\nro+ /u/proj/HEAD\n");
}

static void
a_repository_is_pinned_then_sealed(void **state)
{
	static const char *const more[] = {"build/out/", "key"};
	struct native_view_choice choice =
	    choose(NATIVE_WORKSPACE_WRITE, at("u/proj"));

	(void)state;
	folder("u/proj/.git");
	folder("u/proj/.git/hooks");
	folder("u/proj/.git/modules");
	file("u/proj/.git/config");
	file("u/proj/.bashrc");
	file("u/proj/.envrc");
	folder("u/proj/.husky");
	folder("u/proj/build");
	choice.protect = more;
	choice.protect_count = 2;
	assert_int_equal(make(&choice), RESULT_OK);
	assert_string_equal(users_part(),
	    "dir \ndir /u\nrw /u/proj\n"
	    "rw /u/proj/.git\nrw /u/proj/build\n"
	    "ro /u/proj/.git/hooks\nro /u/proj/.git/config\n"
	    "ro+ /u/proj/.git/config.worktree\nro+ /u/proj/.git/commondir\n"
	    "ro /u/proj/.git/modules\nro /u/proj/.husky\nro /u/proj/.envrc\n"
	    "ro+d /u/proj/.vscode\n"
	    "ro+d /u/proj/.idea\nro+d /u/proj/.helix\nro+d /u/proj/.zed\n"
	    "ro+d /u/proj/.claude\nro+d /u/proj/.codex\n"
	    "ro+d /u/proj/.cursor\nro+d /u/proj/.gemini\n"
	    "ro+d /u/proj/.kiro\nro+d /u/proj/.opencode\n"
	    "ro+ /u/proj/opencode.json\nro+ /u/proj/opencode.jsonc\n"
	    "ro+ /u/proj/.aider.conf.yml\nro+ /u/proj/.mcp.json\nro+d "
	    "/u/proj/.agentnode\n"
	    "ro+ /u/proj/agentnode.lock\nro /u/proj/.bashrc\n"
	    "ro+ /u/proj/commondir\nro+ /u/proj/refs\n"
	    "ro+d /u/proj/build/out\nro+ /u/proj/key\n");
}

static void
a_git_directory_handed_over_is_protected_too(void **state)
{
	const char *const dirs[] = {at("main.git")};
	struct native_view_choice choice =
	    choose(NATIVE_WORKSPACE_WRITE, at("u/proj"));

	(void)state;
	folder("main.git");
	folder("main.git/hooks");
	folder("main.git/objects");
	folder("main.git/refs");
	file("main.git/HEAD");
	file("main.git/config");
	choice.writable = dirs;
	choice.writable_count = 1;
	assert_int_equal(make(&choice), RESULT_OK);
	assert_non_null(strstr(users_part(), "\nrw /main.git\n"));
	assert_non_null(strstr(users_part(), "\nro /main.git/hooks\n"));
	assert_non_null(strstr(users_part(), "\nro /main.git/config\n"));
	assert_non_null(strstr(users_part(), "\nro+ /main.git/commondir\n"));
}

/* What git would take for a repository without a .git cannot be made: not
 * where there is none, nor where there is one that a command can break. */
static void
the_root_does_not_become_a_repository(void **state)
{
	struct native_view_choice choice =
	    choose(NATIVE_WORKSPACE_WRITE, at("u/proj"));

	(void)state;
	text_file("u/proj/.git", "gitdir: ../main/.git/modules/proj\n");
	assert_int_equal(make(&choice), RESULT_OK);
	assert_null(strstr(users_part(), "/HEAD"));
	assert_null(strstr(users_part(), "/commondir"));
	assert_int_equal(unlink(at("u/proj/.git")), 0);
	folder("u/proj/.git");
	folder("u/proj/refs");
	assert_int_equal(make(&choice), RESULT_OK);
	assert_non_null(strstr(users_part(), "\nro+ /u/proj/commondir\n"));
	assert_non_null(strstr(users_part(), "\nro+ /u/proj/objects\n"));
	folder("u/proj/objects");
	assert_int_equal(make(&choice), RESULT_OK);
	assert_non_null(strstr(users_part(), "\nro+ /u/proj/HEAD\n"));
	/* Half of one is held as one. */
	file("u/proj/HEAD");
	assert_int_equal(make(&choice), RESULT_OK);
	assert_null(strstr(users_part(), "/HEAD"));
	assert_non_null(strstr(users_part(), "\nro+ /u/proj/config\n"));
	assert_non_null(strstr(users_part(), "\nro+d /u/proj/hooks\n"));
	assert_non_null(strstr(users_part(), "\nro+ /u/proj/commondir\n"));
}

static void
danger_shows_all_but_our_state(void **state)
{
	struct native_view_choice choice = choose(NATIVE_DANGER, at("u/proj"));

	(void)state;
	folder("scratch");
	choice.scratch = at("scratch");
	assert_int_equal(make(&choice), RESULT_OK);
	assert_string_equal(view.steps[0].target, "/");
	assert_int_equal(view.steps[0].kind, NATIVE_STEP_BIND_RW);
	assert_string_equal(
	    users_part(), "tmpfs /scratch\nrw /u/proj\nmask /u/.agentnode\n");
}

/* --- refused ------------------------------------------------------------ */

static void
refused(const char *workspace, enum result expected, const char *words)
{
	struct native_view_choice choice =
	    choose(NATIVE_WORKSPACE_WRITE, workspace);

	assert_int_equal(make(&choice), expected);
	if (strstr(fault, words) == NULL)
		fail_msg("%s: \"%s\" has no \"%s\"", workspace, fault, words);
}

static void
no_system_no_home_no_state(void **state)
{
	static const char *const never[] = {"/", "/usr", "/usr/local/src",
	    "/etc", "/bin", "/proc", "/proc/self", "/sys", "/dev", "/dev/shm",
	    "/var", "/tmp", "/home", "/root", "/opt", "/run"};

	(void)state;
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		struct native_view_choice choice =
		    choose(NATIVE_READ_ONLY, never[i]);

		assert_int_equal(make(&choice), RESULT_REFUSED);
		assert_true(strlen(fault) > 20);
	}
	refused(base, RESULT_REFUSED, "home");
	refused(at("u"), RESULT_REFUSED, "home");
	refused(at("u/.ssh"), RESULT_REFUSED, "credentials");
	refused(at("u/.agentnode"), RESULT_REFUSED, "AGENTNODE_HOME");
	folder("u/.agentnode/runs");
	refused(at("u/.agentnode/runs"), RESULT_REFUSED, "AGENTNODE_HOME");
	refused(at("u/proj/../.ssh"), RESULT_REFUSED, "credentials");
}

/* Below a home: what its user runs, there or a link to elsewhere. */
static void
nothing_a_home_runs(void **state)
{
	static const char *const names[] = {".cargo", ".claude", ".codex",
	    ".gemini", ".oh-my-zsh", ".vim", ".vscode", "bin", ".local",
	    ".local/bin", "go", "go/bin"};
	char name[64];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(name, sizeof(name), "u/%s", names[i]);
		folder(name);
		/* What lies below decides whether the one above may be. */
		if (strcmp(names[i], ".local") == 0 ||
		    strcmp(names[i], "go") == 0)
			continue;
		refused(at(name), RESULT_REFUSED, "credentials");
		(void)strcat(name, "/x");
		folder(name);
		refused(at(name), RESULT_REFUSED, "credentials");
	}
	refused(at("u/.local"), RESULT_REFUSED, "credentials");
	refused(at("u/go"), RESULT_REFUSED, "credentials");
	folder("u/dotfiles");
	folder("u/dotfiles/zsh");
	assert_int_equal(symlink("dotfiles/zsh", at("u/.zsh")), 0);
	refused(at("u/dotfiles"), RESULT_REFUSED, "credentials");
	refused(at("u/dotfiles/zsh"), RESULT_REFUSED, "credentials");
}

static void
what_overrides_a_file_is_held_beside_it(void **state)
{
	struct native_view_choice choice =
	    choose(NATIVE_WORKSPACE_WRITE, at("u/proj"));

	(void)state;
	file("u/proj/lefthook.yml");
	assert_int_equal(make(&choice), RESULT_OK);
	assert_non_null(
	    strstr(users_part(), "\nro+ /u/proj/lefthook-local.yml\n"));
}

static void
no_path_through_a_link(void **state)
{
	char real[256];

	(void)state;
	(void)snprintf(real, sizeof(real), "%s", at("u/proj"));
	assert_int_equal(symlink(real, at("link")), 0);
	assert_int_equal(symlink(at("u"), at("v")), 0);
	refused(at("link"), RESULT_REFUSED, "is a link");
	refused(at("v/proj"), RESULT_REFUSED, "/v is a link");
	refused(at("v/proj"), RESULT_REFUSED, real);
	refused(at("u/none"), RESULT_NOT_FOUND, "no such directory");
	file("u/file");
	refused(at("u/file"), RESULT_REFUSED, "must be a directory");
	refused("", RESULT_TOO_LONG, "--workspace");
}

static void
what_cannot_be_protected_is_refused(void **state)
{
	(void)state;
	assert_int_equal(symlink("/etc/passwd", at("u/proj/.envrc")), 0);
	refused(at("u/proj"), RESULT_REFUSED, ".envrc is a link");
	assert_int_equal(unlink(at("u/proj/.envrc")), 0);
	file("u/proj/other");
	assert_int_equal(link(at("u/proj/other"), at("u/proj/.envrc")), 0);
	refused(at("u/proj"), RESULT_REFUSED, "2 names");
	assert_int_equal(unlink(at("u/proj/.envrc")), 0);
	assert_int_equal(mkfifo(at("u/proj/.envrc"), 0600), 0);
	refused(at("u/proj"), RESULT_REFUSED, "a file or a directory");
	assert_int_equal(unlink(at("u/proj/.envrc")), 0);
	assert_int_equal(symlink("elsewhere", at("u/proj/.git")), 0);
	refused(at("u/proj"), RESULT_REFUSED, ".git is a link");
}

static void
flags_that_do_not_fit(void **state)
{
	static const char *const odd[] = {
	    "", "/etc", "..", "a/../b", "./a", "a//b", "a/.", "/"};
	const char *dirs[1] = {at("u/proj")};
	struct native_view_choice choice;

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		choice = choose(NATIVE_WORKSPACE_WRITE, at("u/proj"));
		choice.protect = &odd[i];
		choice.protect_count = 1;
		assert_int_equal(make(&choice), RESULT_REFUSED);
		assert_non_null(strstr(fault, "--protect"));
	}
	choice = choose(NATIVE_READ_ONLY, NULL);
	choice.writable = dirs;
	choice.writable_count = 1;
	assert_int_equal(make(&choice), RESULT_REFUSED);
	assert_non_null(strstr(fault, "workspace-write"));
	folder("u/proj/.vscode");
	dirs[0] = at("u/proj/.vscode");
	choice = choose(NATIVE_WORKSPACE_WRITE, at("u/proj"));
	choice.writable = dirs;
	choice.writable_count = 1;
	assert_int_equal(make(&choice), RESULT_REFUSED);
	assert_non_null(strstr(fault, "protected"));
}

/* --- never, in any view but danger -------------------------------------- */

static void
no_view_shows_what_names_the_host(void **state)
{
	static const char *const hidden[] = {"/etc/shadow", "/etc/ssh",
	    "/etc/machine-id", "/etc/hostname", "/etc/hosts", "/etc/passwd",
	    "/etc/resolv.conf", "/etc/ssl/private", "/etc/npmrc",
	    "/etc/pip.conf", "/root", "/home", "/var/lib", "/run/user", "/srv",
	    "/mnt", "/opt", "/sys", "/boot", "/root/.ssh/id_rsa"};
	struct native_view_choice choice = choose(NATIVE_READ_ONLY, NULL);

	(void)state;
	assert_int_equal(make(&choice), RESULT_OK);
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
		struct native_denial denial =
		    native_view_judge(&view, hidden[i], false);

		if (denial.code[0] == '\0')
			fail_msg("%s is shown", hidden[i]);
	}
	for (size_t i = 0; i < view.count; i++)
		assert_int_not_equal(view.steps[i].kind, NATIVE_STEP_BIND_RW);
}

static void
denials_name_the_flag(void **state)
{
	static const struct row {
		const char *path;
		bool write;
		const char *code, *flag;
	} rows[] = {{"new.txt", true, "", ""},
	    {".git/hooks/pre-commit", true, "path_protected", ""},
	    {"./x/../.git/hooks/pre-commit", true, "path_protected", ""},
	    {".git/hooks/pre-commit", false, "", ""},
	    {".git", true, "path_protected", ""},
	    {".git/index.lock", true, "", ""},
	    {"/usr/bin/x", true, "path_read_only", ""},
	    {"/usr/bin/x", false, "", ""},
	    {"/etc/shadow", false, "path_outside", "--input FILE"},
	    {"/etc/hosts", true, "path_outside", ""},
	    {"/srv/data", true, "path_outside", "--writable DIR"},
	    {"../.ssh/id_rsa", false, "path_hidden", "--input FILE"},
	    {"../.agentnode/config.json", false, "path_hidden", ""},
	    {"/scratch/a", true, "", ""}, {"/tmp/a", true, "", ""},
	    {"/proc/sys/kernel/core_pattern", true, "path_read_only", ""}};
	struct native_view_choice choice =
	    choose(NATIVE_WORKSPACE_WRITE, at("u/proj"));

	(void)state;
	folder("u/proj/.git");
	folder("u/proj/.git/hooks");
	assert_int_equal(make(&choice), RESULT_OK);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct native_denial denial =
		    native_view_judge(&view, rows[i].path, rows[i].write);

		if (strcmp(denial.code, rows[i].code) != 0 ||
		    strcmp(denial.flag, rows[i].flag) != 0)
			fail_msg("%s: \"%s\" \"%s\"", rows[i].path, denial.code,
			    denial.flag);
	}
	choice = choose(NATIVE_READ_ONLY, at("u/proj"));
	assert_int_equal(make(&choice), RESULT_OK);
	assert_string_equal(native_view_judge(&view, "new.txt", true).flag,
	    "--mode workspace-write");
}

/* --- the documentation --------------------------------------------------- */

static void
the_docs_list_every_protected_path(void **state)
{
	FILE *file = fopen(AGENTNODE_SOURCE_DIR "/docs/native.md", "r");
	char *text = calloc(1, 1 << 17), word[128];

	(void)state;
	assert_non_null(file);
	assert_non_null(text);
	assert_true(fread(text, 1, (1 << 17) - 1, file) > 1000);
	assert_int_equal(fclose(file), 0);
	assert_true(native_protect_count > 30);
	for (size_t i = 0; i < native_protect_count; i++) {
		(void)snprintf(
		    word, sizeof(word), "`%s`", native_protect_table[i].path);
		if (strstr(text, word) == NULL)
			fail_msg("docs/native.md does not have %s", word);
	}
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    CASE(read_only_shows_the_workspace_alone),
	    CASE(an_empty_workspace_is_held_by_placeholders),
	    CASE(a_repository_is_pinned_then_sealed),
	    CASE(a_git_directory_handed_over_is_protected_too),
	    CASE(the_root_does_not_become_a_repository),
	    CASE(danger_shows_all_but_our_state),
	    CASE(no_system_no_home_no_state),
	    CASE(nothing_a_home_runs),
	    CASE(what_overrides_a_file_is_held_beside_it),
	    CASE(no_path_through_a_link),
	    CASE(what_cannot_be_protected_is_refused),
	    CASE(flags_that_do_not_fit),
	    CASE(no_view_shows_what_names_the_host),
	    CASE(denials_name_the_flag),
	    cmocka_unit_test(the_docs_list_every_protected_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
