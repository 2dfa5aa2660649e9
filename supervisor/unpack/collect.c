/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects what comes of a command; see collect.h. Called by job_table.c;
 * must never hold more than its bounds, whatever is written into the pipes,
 * nor stop reading an output before its end: the command would wait.
 */
#include "supervisor/unpack/collect.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/native/native_hint.h"
#include "supervisor/unpack/collect_handed.h"
#include "supervisor/unpack/result_reader.h"
#include "supervisor/unpack/result_text.h"
#include "supervisor/unpack/unpack_jobs.h"

#define COLLECT_CHUNK 65536U
#define COLLECT_PIPES 3U
#define COLLECT_KINDS (RESULT_STREAM_MORE + 1)

struct collect {
	struct unpack_io *io;
	const int *fds;
	struct collect_bound left; /* what may still be shown */
	struct collect_handed handed;
	struct result_text output[2];
	struct result_reader reader;
	bool open[COLLECT_PIPES]; /* stdout, stderr, results */
	json_t *files, *names;    /* owned; of skipped entries */
	uint64_t skipped[COLLECT_KINDS];
	uint64_t below; /* files in skipped directories */
	bool below_cut; /* at least */
	/* the file that comes */
	char name[RESULT_STREAM_NAME_MAX + 1];
	uint64_t size, at;
	const struct collect_handed_file *given;
	bool same;
	struct result_text text;
	enum result fault; /* of memory */
	uint8_t chunk[COLLECT_CHUNK];
};

static void
collect_must(struct collect *collect, bool done)
{
	if (!done)
		collect->fault = RESULT_NO_MEMORY;
}

/* --- files -------------------------------------------------------------- */

static void
collect_on_entry(
    const struct result_stream_header *header, const char *name, void *context)
{
	struct collect *collect = context;

	if (header->kind == RESULT_STREAM_FILE) {
		(void)snprintf(
		    collect->name, sizeof(collect->name), "%s", name);
		collect->size = header->size;
		collect->at = 0;
		collect->given = collect_handed_find(&collect->handed, name);
		collect->same = collect->given != NULL &&
				collect->given->size == header->size &&
				header->sent == header->size;
		result_text_init(
		    &collect->text, collect->left.total < collect->left.text
					? (size_t)collect->left.total
					: (size_t)collect->left.text);
		return;
	}
	collect->skipped[header->kind] +=
	    header->kind == RESULT_STREAM_MORE ? header->size : 1;
	if (header->kind == RESULT_STREAM_DIR) {
		collect->below += header->size;
		if (header->flags == RESULT_STREAM_AT_LEAST)
			collect->below_cut = true;
	}
	if (name[0] != '\0' &&
	    json_array_size(collect->names) < COLLECT_SKIPPED_NAMES)
		collect_must(collect, json_array_append_new(collect->names,
					  result_text_name(name)) == 0);
}

static void
collect_on_data(const uint8_t *bytes, size_t len, void *context)
{
	struct collect *collect = context;

	if (collect->same)
		collect->same = collect_handed_same(
		    &collect->handed, collect->given, collect->at, bytes, len);
	collect->at += len;
	collect_must(
	    collect, result_text_put(&collect->text, bytes, len) == RESULT_OK);
}

/* A file that was not given, or is not as it was given. */
static void
collect_show(struct collect *collect)
{
	json_t *file = result_text_json(&collect->text, collect->size);

	collect->left.total -= collect->text.len;
	collect->left.files--;
	collect_must(collect,
	    file != NULL &&
		json_object_set_new(
		    file, "name", result_text_name(collect->name)) == 0 &&
		json_object_set_new(
		    file, "input", json_boolean(collect->given != NULL)) == 0);
	collect_must(collect, json_array_append_new(collect->files, file) == 0);
}

static void
collect_on_done(void *context)
{
	struct collect *collect = context;

	if (!collect->same && collect->left.files > 0)
		collect_show(collect);
	else if (!collect->same)
		collect->skipped[RESULT_STREAM_MORE]++;
	result_text_free(&collect->text);
}

/* --- pipes -------------------------------------------------------------- */

static void
collect_take(struct collect *collect, size_t pipe, size_t len)
{
	if (pipe < 2)
		collect_must(collect, result_text_put(&collect->output[pipe],
					  collect->chunk, len) == RESULT_OK);
	else
		(void)result_reader_feed(&collect->reader, collect->chunk, len);
}

/* Some bytes of a pipe that has some, or its end. */
static enum result
collect_read(struct collect *collect, size_t pipe)
{
	ssize_t got = read(collect->fds[COLLECT_STDOUT + pipe], collect->chunk,
	    sizeof(collect->chunk));

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return RESULT_OK;
	if (got < 0)
		return unpack_io_fault(
		    collect->io, UNPACK_UNREADABLE, "read: %m");
	if (got == 0)
		collect->open[pipe] = false;
	else
		collect_take(collect, pipe, (size_t)got);
	return RESULT_OK;
}

static enum result
collect_pipes(struct collect *collect)
{
	struct pollfd polls[COLLECT_PIPES];
	enum result result = RESULT_OK;

	while (result == RESULT_OK && collect->fault == RESULT_OK &&
	       (collect->open[0] || collect->open[1] || collect->open[2])) {
		for (size_t i = 0; i < COLLECT_PIPES; i++)
			polls[i] = (struct pollfd){
			    .fd = collect->open[i]
				      ? collect->fds[COLLECT_STDOUT + i]
				      : -1,
			    .events = POLLIN};
		result = unpack_io_poll(collect->io, polls, COLLECT_PIPES);
		for (size_t i = 0; i < COLLECT_PIPES; i++) {
			if (result == RESULT_OK && polls[i].fd >= 0 &&
			    polls[i].revents != 0)
				result = collect_read(collect, i);
		}
	}
	return result != RESULT_OK ? result : collect->fault;
}

/* --- the answer --------------------------------------------------------- */

static json_t *
collect_skipped(struct collect *collect)
{
	const uint64_t *counts = collect->skipped;

	return json_pack("{s:I, s:I, s:b, s:I, s:I, s:I, s:I, s:O}",
	    "directories", (json_int_t)counts[RESULT_STREAM_DIR], "below",
	    (json_int_t)collect->below, "below_complete", !collect->below_cut,
	    "links", (json_int_t)counts[RESULT_STREAM_LINK], "special",
	    (json_int_t)counts[RESULT_STREAM_SPECIAL], "unreadable",
	    (json_int_t)counts[RESULT_STREAM_UNREADABLE], "more",
	    (json_int_t)(counts[RESULT_STREAM_MORE] & INT64_MAX), "names",
	    collect->names);
}

/* Here, so that nobody with rights reads what a command wrote. */
static json_t *
collect_hints(const struct result_text *text)
{
	struct native_hints *hints = calloc(1, sizeof(*hints));
	json_t *list = json_array();
	bool good = hints != NULL && list != NULL;

	if (good && text->len > 0)
		native_hint_read((const char *)text->bytes, text->len, hints);
	for (size_t i = 0; good && i < hints->count; i++)
		good = json_array_append_new(list,
			   json_pack("{s:s, s:s}", "path", hints->hints[i].path,
			       "need",
			       native_hint_word(hints->hints[i].need))) == 0;
	free(hints);
	if (good)
		return list;
	json_decref(list);
	return NULL;
}

static json_t *
collect_answer(struct collect *collect)
{
	struct result_text *output = collect->output;
	bool complete = collect->reader.verdict == RESULT_READER_END;

	return json_pack("{s:o, s:o, s:O, s:b, s:s, s:o, s:o}", "stdout",
	    result_text_json(&output[0], output[0].total), "stderr",
	    result_text_json(&output[1], output[1].total), "files",
	    collect->files, "complete", complete, "fault",
	    complete ? "" : result_reader_text(collect->reader.verdict),
	    "skipped", collect_skipped(collect), "hints",
	    collect_hints(&collect->output[1]));
}

static enum result
collect_write(struct collect *collect)
{
	json_t *answer = collect_answer(collect);
	char *text = answer == NULL ? NULL : json_dumps(answer, JSON_COMPACT);
	enum result result =
	    text == NULL
		? RESULT_NO_MEMORY
		: unpack_io_write(collect->io, collect->fds[COLLECT_ANSWER],
		      (const uint8_t *)text, strlen(text));

	free(text);
	json_decref(answer);
	return result;
}

static enum result
collect_all(struct collect *collect)
{
	enum result result = collect_handed_read(
	    collect->io, collect->fds[COLLECT_HANDED], &collect->handed);

	if (result == RESULT_OK)
		result = collect_pipes(collect);
	if (result == RESULT_OK)
		result = collect_write(collect);
	return result;
}

enum result
collect_run(struct unpack_io *io, const int *fds,
    const struct collect_bound *bound, json_t **result_r)
{
	struct collect *collect = calloc(1, sizeof(*collect));
	const struct result_reader_sink sink = {
	    collect_on_entry, collect_on_data, collect_on_done, collect};
	enum result result = RESULT_NO_MEMORY;

	if (collect == NULL)
		return result;
	collect->io = io;
	collect->fds = fds;
	collect->left = *bound;
	collect->open[0] = collect->open[1] = collect->open[2] = true;
	collect->files = json_array();
	collect->names = json_array();
	result_text_init(&collect->output[0], (size_t)bound->text);
	result_text_init(&collect->output[1], (size_t)bound->text);
	result_reader_init(&collect->reader, &sink);
	if (collect->files != NULL && collect->names != NULL)
		result = collect_all(collect);
	if (result == RESULT_OK) {
		*result_r = json_pack("{s:b}", "complete",
		    collect->reader.verdict == RESULT_READER_END);
		result = *result_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
	}
	result_text_free(&collect->output[0]);
	result_text_free(&collect->output[1]);
	result_text_free(&collect->text);
	json_decref(collect->files);
	json_decref(collect->names);
	free(collect);
	return result;
}
