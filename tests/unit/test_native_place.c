/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placeholders: none is left by an end, a second run or a kill; what
 * somebody put there stays; nothing is removed on a journal's word alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <signal.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "supervisor/native/native_journal.h"
#include "supervisor/native/native_place.h"
#include "tests/support/test_folder.h"

static char base[64], home[128], state[128], work[128];
static char fault[512];
static struct native_view views[2];

static const char *
in(const char *dir, const char *name)
{
	static char paths[32][512];
	static unsigned next;
	char *path = paths[next++ % 32];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
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
there(const char *path)
{
	struct stat info;

	return lstat(path, &info) == 0;
}

/* Names in a directory, without "." and "..". */
static int
names(const char *path)
{
	DIR *list = opendir(path);
	int count = 0;

	assert_non_null(list);
	while (readdir(list) != NULL)
		count++;
	(void)closedir(list);
	return count - 2;
}

static int
setup(void **unused)
{
	(void)unused;
	(void)strcpy(base, "/tmp/native_place.XXXXXX");
	assert_non_null(test_folder_new(base));
	(void)snprintf(home, sizeof(home), "%s/u", base);
	(void)snprintf(state, sizeof(state), "%s/u/.agentnode", base);
	(void)snprintf(work, sizeof(work), "%s/work", base);
	return mkdir(home, 0755) | mkdir(state, 0700) | mkdir(work, 0755);
}

static int
teardown(void **unused)
{
	pid_t child = fork();

	(void)unused;
	if (child == 0) {
		(void)execl("/bin/rm", "rm", "-rf", base, (char *)NULL);
		_exit(127);
	}
	return child < 0 || waitpid(child, NULL, 0) != child;
}

static struct native_place *
begin(int which)
{
	struct native_view_choice choice = {.mode = NATIVE_WORKSPACE_WRITE,
	    .workspace = work,
	    .home = home,
	    .agentnode = state,
	    .scratch = "/scratch",
	    .scratch_size = 1 << 20};
	struct native_place *place = NULL;
	enum result result = native_place_begin(
	    &choice, &views[which], &place, fault, sizeof(fault));

	if (result != RESULT_OK)
		fail_msg("%s", fault);
	assert_non_null(place);
	return place;
}

/* How many steps are held by a placeholder with a known inode. */
static int
held(int which)
{
	int count = 0;

	for (size_t i = 0; i < views[which].count; i++) {
		const struct native_step *step = &views[which].steps[i];

		if (!step->placeholder)
			continue;
		assert_int_not_equal(step->ino, 0);
		assert_true(there(step->source));
		count++;
	}
	return count;
}

static void
nothing_is_left_after_the_run(void **unused)
{
	struct native_place *place = begin(0);

	(void)unused;
	assert_int_equal(held(0), names(work));
	assert_true(held(0) >= 10);
	assert_true(there(in(work, ".git")));
	assert_int_equal(native_place_end(place), RESULT_OK);
	assert_null(native_place_changed(place, 0));
	native_place_free(&place);
	assert_int_equal(names(work), 0);
	assert_int_equal(names(in(state, "native")), 1); /* the lock */
}

static void
runs_side_by_side_hold_the_same(void **unused)
{
	struct native_place *first = begin(0), *second = begin(1);

	(void)unused;
	assert_int_equal(held(0), held(1));
	for (size_t i = 0; i < views[0].count; i++)
		assert_int_equal(views[0].steps[i].ino, views[1].steps[i].ino);
	native_place_free(&first);
	assert_int_equal(held(1), names(work));
	first = begin(0);
	native_place_free(&second);
	assert_int_equal(held(0), names(work));
	native_place_free(&first);
	assert_int_equal(names(work), 0);
}

static void
swept(const char *path, void *context)
{
	assert_int_equal(strncmp(path, work, strlen(work)), 0);
	assert_false(there(path));
	*(int *)context += 1;
}

/* More than one pass takes: each gets further. */
static void
many_killed_runs_are_swept(void **unused)
{
	char line[NATIVE_VIEW_PATH_MAX], journal[64];
	int count = 0;

	(void)unused;
	assert_int_equal(
	    native_place_sweep(state, swept, &count), RESULT_NOT_FOUND);
	assert_false(there(in(state, "native")));
	assert_int_equal(mkdir(in(state, "native"), 0700), 0);
	for (int i = 0; i < 300; i++) {
		(void)snprintf(line, sizeof(line), "%s/d%03d", work, i);
		assert_int_equal(mkdir(line, 0755), 0);
		(void)snprintf(line, sizeof(line), "d 0 0 %s/d%03d\n", work, i);
		(void)snprintf(journal, sizeof(journal), "native/%016x.run", i);
		put(in(state, journal), line);
	}
	assert_int_equal(native_place_sweep(state, swept, &count), RESULT_OK);
	assert_int_equal(count, 300);
	assert_int_equal(names(work), 0);
	assert_int_equal(names(in(state, "native")), 1);
}

static void
a_killed_run_is_swept_by_the_next(void **unused)
{
	pid_t child = fork();
	int status;
	struct native_place *place;
	int count = 0, before;

	(void)unused;
	if (child == 0) {
		(void)begin(0);
		(void)kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	before = names(work);
	assert_true(before >= 10);
	/* Somebody took one of them for good. */
	put(in(work, ".git/HEAD"), "ref: refs/heads/main\n");
	put(in(work, ".envrc"), "use nix\n");
	assert_int_equal(native_place_sweep(state, swept, &count), RESULT_OK);
	/* Each that was removed is told, and only these. */
	assert_int_equal(count, before - 2);
	assert_int_equal(names(work), 2);
	assert_int_equal(names(in(state, "native")), 1);
	place = begin(0);
	assert_true(there(in(work, ".git/config.worktree")));
	native_place_free(&place);
	assert_int_equal(names(work), 2);
	assert_int_equal(names(in(work, ".git")), 1);
}

static void
what_somebody_put_there_stays(void **unused)
{
	struct native_place *place = begin(0);

	(void)unused;
	put(in(work, ".vscode/settings.json"), "{}");
	put(in(work, ".mcp.json"), "{\"mcpServers\":{}}");
	assert_int_equal(unlink(in(work, ".envrc")), 0);
	assert_int_equal(symlink("/etc/passwd", in(work, ".envrc")), 0);
	/* Taken away for good, and with it the mount that protected it. */
	assert_int_equal(rmdir(in(work, ".idea")), 0);
	assert_int_equal(native_place_end(place), RESULT_MISMATCH);
	for (size_t i = 0; i < 4; i++)
		assert_non_null(native_place_changed(place, i));
	assert_string_equal(native_place_changed(place, 0), in(work, ".envrc"));
	assert_string_equal(native_place_changed(place, 2), in(work, ".idea"));
	assert_null(native_place_changed(place, 4));
	native_place_free(&place);
	assert_int_equal(names(work), 3);
	assert_true(there("/etc/passwd"));
}

/* Also where nothing can be removed, since the journals cannot be had. */
static void
what_was_taken_away_is_told_without_journals(void **unused)
{
	struct native_place *place = begin(0);
	char folder[160];

	(void)unused;
	(void)snprintf(folder, sizeof(folder), "%s/native", state);
	assert_int_equal(rmdir(in(work, ".idea")), 0);
	assert_int_equal(chmod(folder, 0777), 0);
	assert_int_equal(native_place_end(place), RESULT_SYSTEM);
	assert_non_null(native_place_changed(place, 0));
	assert_string_equal(native_place_changed(place, 0), in(work, ".idea"));
	assert_null(native_place_changed(place, 1));
	assert_int_equal(chmod(folder, 0700), 0);
	native_place_free(&place);
}

static void
filled_while_held_it_is_real_for_the_next(void **unused)
{
	struct native_place *first = begin(0), *second;
	bool sealed = false;

	(void)unused;
	put(in(work, ".git/HEAD"), "ref: refs/heads/main\n");
	put(in(work, ".git/config"), "[core]\n");
	second = begin(1);
	for (size_t i = 0; i < views[1].count; i++) {
		const struct native_step *step = &views[1].steps[i];

		sealed |= strcmp(step->target, in(work, ".git/config")) == 0 &&
			  step->kind == NATIVE_STEP_BIND && !step->placeholder;
	}
	assert_true(sealed);
	native_place_free(&second);
	native_place_free(&first);
	assert_int_equal(names(work), 1);
	assert_int_equal(names(in(work, ".git")), 2);
}

static void
a_change_on_the_host_is_told(void **unused)
{
	struct native_place *place;

	(void)unused;
	assert_int_equal(mkdir(in(work, ".git"), 0755), 0);
	put(in(work, ".git/config"), "[core]\n");
	put(in(work, ".bashrc"), "true\n");
	place = begin(0);
	put(in(work, ".git/config.new"), "[core]\n\tfsmonitor = evil\n");
	assert_int_equal(
	    rename(in(work, ".git/config.new"), in(work, ".git/config")), 0);
	assert_int_equal(native_place_end(place), RESULT_OK);
	assert_string_equal(
	    native_place_changed(place, 0), in(work, ".git/config"));
	assert_null(native_place_changed(place, 1));
	native_place_free(&place);
}

/* A journal in a dead run's words: this placeholder, as it is now. */
static void
remember(unsigned number, const char *path)
{
	char line[600], name[64];
	struct stat info;

	assert_int_equal(lstat(path, &info), 0);
	(void)snprintf(line, sizeof(line), "%c %llu %llu %s\n",
	    S_ISDIR(info.st_mode) ? 'd' : 'f', (unsigned long long)info.st_dev,
	    (unsigned long long)info.st_ino, path);
	(void)snprintf(name, sizeof(name), "native/%016x.run", number);
	put(in(state, name), line);
}

static void
what_was_moved_away_is_remembered(void **unused)
{
	char project[160], elsewhere[160], left[200];

	(void)unused;
	(void)snprintf(project, sizeof(project), "%s/project", work);
	(void)snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", work);
	(void)snprintf(left, sizeof(left), "%s/.idea", project);
	assert_int_equal(mkdir(in(state, "native"), 0700), 0);
	assert_int_equal(mkdir(project, 0755), 0);
	assert_int_equal(mkdir(left, 0755), 0);
	remember(1, left);
	assert_int_equal(rename(project, elsewhere), 0);
	assert_int_equal(native_place_sweep(state, NULL, NULL), RESULT_OK);
	assert_true(there(in(state, "native/0000000000000001.run")));
	/* Something else in its place meanwhile is not it. */
	assert_int_equal(symlink(elsewhere, project), 0);
	assert_int_equal(native_place_sweep(state, NULL, NULL), RESULT_OK);
	assert_int_equal(unlink(project), 0);
	assert_int_equal(rename(elsewhere, project), 0);
	assert_int_equal(native_place_sweep(state, NULL, NULL), RESULT_OK);
	assert_false(there(left));
	assert_false(there(in(state, "native/0000000000000001.run")));
}

/* What is not known of one says nothing of another. */
static void
each_journal_goes_by_itself(void **unused)
{
	char line[300];

	(void)unused;
	assert_int_equal(mkdir(in(state, "native"), 0700), 0);
	assert_int_equal(mkdir(in(work, ".idea"), 0755), 0);
	remember(2, in(work, ".idea"));
	(void)snprintf(line, sizeof(line), "d 1 1 %s/gone/.idea\n", work);
	put(in(state, "native/0000000000000001.run"), line);
	(void)snprintf(line, sizeof(line), "d 0 0 %s/.vscode\n", work);
	put(in(state, "native/0000000000000003.run"), line);
	assert_int_equal(native_place_sweep(state, NULL, NULL), RESULT_OK);
	assert_int_equal(names(work), 0);
	assert_true(there(in(state, "native/0000000000000001.run")));
	assert_false(there(in(state, "native/0000000000000002.run")));
	assert_false(there(in(state, "native/0000000000000003.run")));
}

/* The same path on another disk than the one that the journal names. */
static void
what_is_on_another_disk_is_remembered(void **unused)
{
	char line[300];
	struct stat info;

	(void)unused;
	assert_int_equal(mkdir(in(state, "native"), 0700), 0);
	assert_int_equal(stat(work, &info), 0);
	(void)snprintf(line, sizeof(line), "d %llu 77 %s/.idea\n",
	    (unsigned long long)info.st_dev + 1, work);
	put(in(state, "native/0000000000000001.run"), line);
	assert_int_equal(native_place_sweep(state, NULL, NULL), RESULT_OK);
	assert_true(there(in(state, "native/0000000000000001.run")));
	assert_int_equal(mkdir(in(work, ".idea"), 0755), 0);
	assert_int_equal(native_place_sweep(state, NULL, NULL), RESULT_OK);
	assert_true(there(in(work, ".idea")));
	assert_true(there(in(state, "native/0000000000000001.run")));
	assert_int_equal(rmdir(in(work, ".idea")), 0);
	/* One that was about to be made. */
	(void)snprintf(line, sizeof(line), "d %llu 0 %s/.idea\n",
	    (unsigned long long)info.st_dev + 1, work);
	put(in(state, "native/0000000000000001.run"), line);
	assert_int_equal(native_place_sweep(state, NULL, NULL), RESULT_OK);
	assert_true(there(in(state, "native/0000000000000001.run")));
	(void)snprintf(line, sizeof(line), "d %llu 77 %s/.idea\n",
	    (unsigned long long)info.st_dev, work);
	put(in(state, "native/0000000000000001.run"), line);
	assert_int_equal(native_place_sweep(state, NULL, NULL), RESULT_OK);
	assert_false(there(in(state, "native/0000000000000001.run")));
}

/* Wherever a limit of open files is met: what cannot be removed now is by
 * the next. */
static void
what_a_limit_left_goes_later(void **unused)
{
	struct rlimit all, few;

	(void)unused;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
	few = all;
	for (few.rlim_cur = 3; few.rlim_cur < 20; few.rlim_cur++) {
		struct native_place *place = begin(0);

		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		(void)native_place_end(place);
		native_place_free(&place);
		/* A start that fails on it leaves nothing either. */
		(void)native_place_sweep(state, NULL, NULL);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
		assert_int_equal(
		    native_place_sweep(state, NULL, NULL), RESULT_OK);
		if (names(work) != 0)
			fail_msg("limit %u", (unsigned)few.rlim_cur);
	}
}

/* In whatever order journals are read: a directory is not empty as long as
 * another run's placeholder is in it. */
static void
what_lies_in_another_goes_first(void **unused)
{
	(void)unused;
	assert_int_equal(mkdir(in(state, "native"), 0700), 0);
	for (unsigned i = 0; i < 8; i++) {
		assert_int_equal(mkdir(in(work, ".git"), 0755), 0);
		assert_int_equal(mkdir(in(work, ".git/hooks"), 0755), 0);
		remember(16 + i, in(work, ".git"));
		remember(i % 2 == 0 ? 99 - i : i, in(work, ".git/hooks"));
		assert_int_equal(
		    native_place_sweep(state, NULL, NULL), RESULT_OK);
		assert_int_equal(names(work), 0);
	}
}

static void
what_never_comes_back_is_forgotten(void **unused)
{
	const struct timespec old[2] = {{1000000000, 0}, {1000000000, 0}};
	char gone[160];
	char name[64];

	(void)unused;
	(void)snprintf(gone, sizeof(gone), "%s/gone", work);
	assert_int_equal(mkdir(in(state, "native"), 0700), 0);
	assert_int_equal(mkdir(gone, 0755), 0);
	assert_int_equal(mkdir(in(work, "gone/.idea"), 0755), 0);
	for (unsigned i = 0; i < NATIVE_JOURNAL_KEPT_MAX + 6; i++)
		remember(i, in(work, "gone/.idea"));
	(void)snprintf(name, sizeof(name), "native/%016x.run", 9U);
	assert_int_equal(utimensat(AT_FDCWD, in(state, name), old, 0), 0);
	assert_int_equal(rmdir(in(work, "gone/.idea")), 0);
	assert_int_equal(rmdir(gone), 0);
	assert_int_equal(native_place_sweep(state, NULL, NULL), RESULT_OK);
	assert_false(there(in(state, name)));
	/* And the lock. */
	assert_int_equal(
	    names(in(state, "native")), NATIVE_JOURNAL_KEPT_MAX + 1);
	assert_int_equal(utimensat(AT_FDCWD,
			     in(state, "native/000000000000000a.run"), old, 0),
	    0);
	assert_int_equal(native_place_sweep(state, NULL, NULL), RESULT_OK);
	assert_false(there(in(state, "native/000000000000000a.run")));
}

static void
a_journal_is_not_taken_at_its_word(void **unused)
{
	char line[600];
	struct stat info;

	(void)unused;
	assert_int_equal(stat(work, &info), 0);
	put(in(work, "mine"), "bytes");
	put(in(work, "empty"), "");
	assert_int_equal(mkdir(in(work, "full"), 0755), 0);
	put(in(work, "full/x"), "");
	assert_int_equal(mkdir(in(state, "native"), 0700), 0);
	(void)snprintf(line, sizeof(line),
	    "f 0 0 %s/mine\nd 0 0 %s/full\nf %llu 1 %s/empty\n"
	    "f 0 0 %s/../work/empty\nx\n",
	    work, work, (unsigned long long)info.st_dev, work, work);
	put(in(state, "native/0123456789abcdef.run"), line);
	assert_int_equal(native_place_sweep(state, NULL, NULL), RESULT_OK);
	assert_int_equal(names(work), 3);
	assert_int_equal(names(in(work, "full")), 1);
	/* What is no line may tell of something, for all that is known. */
	assert_int_equal(names(in(state, "native")), 2);
	line[strlen(line) - 2] = '\0';
	put(in(state, "native/0123456789abcdef.run"), line);
	assert_int_equal(native_place_sweep(state, NULL, NULL), RESULT_OK);
	assert_int_equal(names(in(state, "native")), 2);
	*strstr(line, "/../work") = '\0';
	*(strrchr(line, '\n') + 1) = '\0';
	put(in(state, "native/0123456789abcdef.run"), line);
	assert_int_equal(native_place_sweep(state, NULL, NULL), RESULT_OK);
	assert_int_equal(names(in(state, "native")), 1);
}

static void
lines_are_read_strictly(void **unused)
{
	static const struct row {
		const char *line;
		enum result result;
	} rows[] = {{"d 1 2 /a", RESULT_OK}, {"f 0 0 /a b", RESULT_OK},
	    {"f 18446744073709551610 2 /a", RESULT_BAD},
	    {"f 18446744073709551600 2 /a", RESULT_OK}, {"f 1 2 a", RESULT_BAD},
	    {"f 1 2 ", RESULT_BAD}, {"f 1 2", RESULT_BAD},
	    {"f  1 2 /a", RESULT_BAD}, {"g 1 2 /a", RESULT_BAD},
	    {"f 1 -2 /a", RESULT_BAD}, {"f 1 2 /a/../b", RESULT_BAD},
	    {"f 1 2 /a/..", RESULT_BAD}, {"f 1 2 /a/./b", RESULT_BAD},
	    {"f 1 2 //a", RESULT_BAD}, {"f 1 2 /a/", RESULT_BAD},
	    {"f 1 2 /a\tb", RESULT_BAD}, {"", RESULT_BAD}, {"f", RESULT_BAD}};
	struct native_journal_entry entry;

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (native_journal_parse(rows[i].line, strlen(rows[i].line),
			&entry) != rows[i].result)
			fail_msg("%s", rows[i].line);
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    CASE(nothing_is_left_after_the_run),
	    CASE(runs_side_by_side_hold_the_same),
	    CASE(many_killed_runs_are_swept),
	    CASE(a_killed_run_is_swept_by_the_next),
	    CASE(what_somebody_put_there_stays),
	    CASE(what_was_taken_away_is_told_without_journals),
	    CASE(filled_while_held_it_is_real_for_the_next),
	    CASE(a_change_on_the_host_is_told),
	    CASE(what_was_moved_away_is_remembered),
	    CASE(each_journal_goes_by_itself),
	    CASE(what_is_on_another_disk_is_remembered),
	    CASE(what_a_limit_left_goes_later),
	    CASE(what_lies_in_another_goes_first),
	    CASE(what_never_comes_back_is_forgotten),
	    CASE(a_journal_is_not_taken_at_its_word),
	    cmocka_unit_test(lines_are_read_strictly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
