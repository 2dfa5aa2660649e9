/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The merged view over real files: order, rotation before and while one
 * looks, the last lines, torn and endless ones.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/logs/logs_view.h"
#include "tests/support/test_folder.h"

struct place {
	char path[64];
	struct state_dir dir;
	char *text; /* what was shown */
	size_t len;
	FILE *out;
	struct logs_view_spec spec;
};

static void
place_open(struct place *place, size_t last)
{
	struct json_fault fault = {""};

	*place = (struct place){.path = "/tmp/agentnode-test-XXXXXX"};
	assert_non_null(test_folder_new(place->path));
	assert_int_equal(
	    state_dir_open(place->path, STATE_DIR_OURS, &place->dir, &fault),
	    RESULT_OK);
	place->out = open_memstream(&place->text, &place->len);
	assert_non_null(place->out);
	place->spec = (struct logs_view_spec){.last = last, .out = place->out};
}

static void
place_close(struct place *place)
{
	static const char *const names[] = {"a.jsonl", "b.jsonl", "c.jsonl"};
	char name[32];

	for (size_t i = 0; i < 3; i++) {
		(void)unlinkat(place->dir.fd, names[i], 0);
		for (int k = 1; k <= 5; k++) {
			snprintf(name, sizeof(name), "%s.%d", names[i], k);
			(void)unlinkat(place->dir.fd, name, 0);
		}
	}
	state_dir_close(&place->dir);
	assert_int_equal(rmdir(place->path), 0);
	fclose(place->out);
	free(place->text);
}

static void
place_write(struct place *place, const char *name, const char *text)
{
	int fd =
	    openat(place->dir.fd, name, O_WRONLY | O_APPEND | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* A line of second s whose event is a word. */
static void
place_line(struct place *place, const char *name, int s, const char *word)
{
	char text[160];

	snprintf(text, sizeof(text),
	    "{\"ts\":\"2026-01-02T03:04:%02d.000Z\",\"event\":\"%s\"}\n", s,
	    word);
	place_write(place, name, text);
}

/* The events shown so far, as words. */
static void
place_check(struct place *place, const char *wanted)
{
	char words[512] = "", word[64];
	const char *at, *line;

	fflush(place->out);
	line = place->text != NULL ? place->text : "";
	for (; *line != '\0'; line = at + 1) {
		at = strchr(line, '\n');
		assert_non_null(at);
		assert_int_equal(sscanf(line, "%*s %*s %40[^\n]", word), 1);
		if (words[0] != '\0')
			strncat(words, " ", sizeof(words) - 1 - strlen(words));
		strncat(words, word, sizeof(words) - 1 - strlen(words));
	}
	assert_string_equal(words, wanted);
}

static struct logs_view *
place_view(struct place *place, bool follow)
{
	struct json_fault fault = {""};
	struct logs_view *view;

	assert_int_equal(
	    logs_view_new(&place->dir, &place->spec, &view, &fault), RESULT_OK);
	assert_int_equal(logs_view_show(view, follow, &fault), RESULT_OK);
	return view;
}

static void
place_more(struct logs_view *view)
{
	struct json_fault fault = {""};

	assert_int_equal(logs_view_refresh(view, &fault), RESULT_OK);
	assert_int_equal(logs_view_show(view, true, &fault), RESULT_OK);
}

static void
test_logs_view_order(void **state)
{
	struct logs_view *view;
	struct place place;

	(void)state;
	place_open(&place, SIZE_MAX);
	place_line(&place, "a.jsonl.2", 1, "one");
	place_line(&place, "a.jsonl.1", 3, "three");
	place_line(&place, "a.jsonl.1", 6, "six");
	place_line(&place, "a.jsonl", 5, "five"); /* a moment too early */
	place_line(&place, "a.jsonl", 8, "eight");
	place_line(&place, "b.jsonl", 2, "two");
	place_line(&place, "b.jsonl", 4, "four");
	place_line(&place, "b.jsonl", 7, "seven");
	view = place_view(&place, false);
	place_check(&place, "one two three four five six seven eight");
	assert_int_equal(logs_view_shown(view), 8);
	logs_view_free(&view);
	place_close(&place);
}

static void
test_logs_view_last(void **state)
{
	struct logs_view *view;
	struct place place;
	char word[16];

	(void)state;
	place_open(&place, 3);
	for (int i = 0; i < 50; i++) {
		snprintf(word, sizeof(word), "n%d", i);
		place_line(&place, i % 2 == 0 ? "a.jsonl" : "b.jsonl", i, word);
	}
	view = place_view(&place, true);
	place_check(&place, "n47 n48 n49");
	place_line(&place, "a.jsonl", 51, "more");
	place_more(view);
	place_check(&place, "n47 n48 n49 more");
	logs_view_free(&view);
	place_close(&place);
}

/* An unfinished line waits; once there will be no more of it, it is shown. */
static void
test_logs_view_torn(void **state)
{
	struct logs_view *view;
	struct place place;

	(void)state;
	place_open(&place, SIZE_MAX);
	place_line(&place, "a.jsonl", 1, "one");
	place_write(&place, "a.jsonl", "{\"ts\":\"2026-");
	view = place_view(&place, true);
	place_check(&place, "one");
	place_write(
	    &place, "a.jsonl", "01-02T03:04:02.000Z\",\"event\":\"two\"}\n");
	place_more(view);
	place_check(&place, "one two");
	logs_view_free(&view);
	place_write(&place, "a.jsonl", "ab");
	view = place_view(&place, false);
	place_check(&place, "one two one two ab (torn)");
	logs_view_free(&view);
	place_close(&place);
}

static void
rotate(struct place *place, const char *name)
{
	char from[32], to[32];

	for (int i = 5; i > 0; i--) {
		snprintf(to, sizeof(to), "%s.%d", name, i);
		snprintf(
		    from, sizeof(from), i > 1 ? "%s.%d" : "%s", name, i - 1);
		(void)renameat(place->dir.fd, from, place->dir.fd, to);
	}
}

/* Rotated while one watches, twice between two looks; who was not told yet
 * still writes to the file before. */
static void
test_logs_view_rotated(void **state)
{
	struct logs_view *view;
	struct place place;

	(void)state;
	place_open(&place, SIZE_MAX);
	place_line(&place, "a.jsonl", 1, "one");
	view = place_view(&place, true);
	place_line(&place, "a.jsonl", 2, "two");
	rotate(&place, "a.jsonl");
	place_line(&place, "a.jsonl", 3, "three");
	rotate(&place, "a.jsonl");
	place_line(&place, "a.jsonl", 5, "five");
	place_line(&place, "c.jsonl", 4, "four");
	place_more(view);
	place_check(&place, "one two three four five");
	place_line(&place, "a.jsonl.1", 6, "late");
	place_more(view);
	place_check(&place, "one two three four five late");
	for (int i = 0; i < 7; i++) {
		rotate(&place, "a.jsonl");
		place_line(&place, "a.jsonl", 10 + i, "r");
		place_more(view);
	}
	place_check(&place, "one two three four five late r r r r r r r");
	logs_view_free(&view);
	place_close(&place);
}

static void
test_logs_view_endless(void **state)
{
	const size_t len = 5 * LOGS_LINE_MAX + 77;
	char *text = malloc(len + 1);
	struct json_fault fault = {""};
	struct logs_view *view;
	struct place place;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', len);
	text[len] = '\0';
	place_open(&place, SIZE_MAX);
	place_line(&place, "a.jsonl", 1, "one");
	place_write(&place, "a.jsonl", text);
	place_write(&place, "a.jsonl", "\n\n");
	place_line(&place, "a.jsonl", 2, "two");
	view = place_view(&place, false);
	assert_int_equal(logs_view_shown(view), 3);
	fflush(place.out);
	assert_non_null(strstr(place.text, "x (cut)\n"));
	assert_true(place.len < LOGS_LINE_MAX + 300);
	logs_view_free(&view);
	/* No link is followed, and another's file is refused. */
	assert_int_equal(symlinkat("/etc/passwd", place.dir.fd, "b.jsonl"), 0);
	assert_int_not_equal(
	    logs_view_new(&place.dir, &place.spec, &view, &fault), RESULT_OK);
	assert_non_null(strstr(fault.text, "b.jsonl"));
	place_close(&place);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_logs_view_order),
	    cmocka_unit_test(test_logs_view_last),
	    cmocka_unit_test(test_logs_view_torn),
	    cmocka_unit_test(test_logs_view_rotated),
	    cmocka_unit_test(test_logs_view_endless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
