/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges the files of all logs (see the header). Called by the command and
 * by logs_follow; must never hold more than it says, nor show a line twice.
 */
#include "supervisor/logs/logs_view.h"

#include <stdlib.h>
#include <string.h>

#include "supervisor/logs/logs_file.h"

#define LOGS_VIEW_FILES_MAX 256U
#define LOGS_VIEW_TEXT_MAX (64U * LOGS_LINE_MAX) /* one line, escaped */

struct logs_view_file {
	struct logs_file file;
	struct logs_line line; /* its next one, in file's buffer */
	bool has;
};

/* A line that may be among the last. */
struct logs_view_kept {
	char *text; /* as it is shown; owned */
	size_t len;
};

struct logs_view {
	const struct state_dir *dir; /* borrowed, like spec */
	const struct logs_view_spec *spec;
	struct logs_view_file *files; /* owned, in the order of their names */
	size_t count;
	struct logs_view_kept *kept; /* owned, a ring of spec->last */
	size_t kept_first, kept_count, kept_bytes;
	bool live; /* the last lines were shown: the rest as it comes */
	struct buffer text;
	uint64_t shown;
	struct json_fault *fault; /* of a listing */
	enum result result;
};

/* --- files -------------------------------------------------------------- */

/* Where the file is in the list already; else count. */
static size_t
logs_view_find(const struct logs_view *view, const struct logs_file *file)
{
	size_t i;

	for (i = 0; i < view->count; i++)
		if (view->files[i].file.device == file->device &&
		    view->files[i].file.inode == file->inode)
			break;
	return i;
}

static enum result
logs_view_add(struct logs_view *view, struct logs_file *file)
{
	if (view->count == LOGS_VIEW_FILES_MAX) {
		logs_file_close(file);
		json_field_fault(view->fault,
		    "there are more than %u files of logs; name one with "
		    "--process",
		    LOGS_VIEW_FILES_MAX);
		return RESULT_TOO_LONG;
	}
	view->files[view->count++] = (struct logs_view_file){.file = *file};
	return RESULT_OK;
}

/* Newest first: a file that is rotated while we look is seen twice and known
 * by its inode, but never missed. Behind one that was there before are only
 * older ones, all read. */
static enum result
logs_view_open(struct logs_view *view, const char *name)
{
	size_t before = view->count, at;
	struct logs_file file;
	enum result result;
	unsigned found = 0;
	time_t written;

	for (unsigned i = 0; i <= LOG_FILES_KEPT; i++) {
		result = logs_file_open(
		    view->dir, name, i, &file, &written, view->fault);
		if (result == RESULT_NOT_FOUND)
			continue; /* a gap, or just being rotated */
		if (result != RESULT_OK)
			return result;
		at = logs_view_find(view, &file);
		if (at < before || (i > 0 && written < view->spec->since_s)) {
			logs_file_close(&file);
			break;
		}
		if (at < view->count) {
			logs_file_close(&file);
			continue;
		}
		file.newer = found++;
		result = logs_view_add(view, &file);
		if (result != RESULT_OK)
			return result;
	}
	for (size_t i = 0; i < before; i++)
		if (strcmp(view->files[i].file.name, name) == 0)
			view->files[i].file.newer += found;
	return RESULT_OK;
}

static void
logs_view_on_name(const char *name, void *context)
{
	struct logs_view *view = context;

	if (view->result == RESULT_OK)
		view->result = logs_view_open(view, name);
}

static enum result
logs_view_look(struct logs_view *view, struct json_fault *fault)
{
	enum result result;

	view->fault = fault;
	view->result = RESULT_OK;
	if (view->spec->process != NULL)
		return logs_view_open(view, view->spec->process);
	result = log_files_list(view->dir, logs_view_on_name, view, fault);
	return result != RESULT_OK ? result : view->result;
}

/* Those that are read to their end and get nothing more. */
static void
logs_view_forget(struct logs_view *view)
{
	size_t kept = 0;

	for (size_t i = 0; i < view->count; i++) {
		struct logs_view_file *file = &view->files[i];

		if (file->file.fd < 0 && !file->has)
			logs_file_close(&file->file);
		else
			view->files[kept++] = *file;
	}
	view->count = kept;
}

enum result
logs_view_refresh(struct logs_view *view, struct json_fault *fault)
{
	return logs_view_look(view, fault);
}

/* --- the last lines ----------------------------------------------------- */

static void
logs_view_drop_first(struct logs_view *view)
{
	struct logs_view_kept *first = &view->kept[view->kept_first];

	view->kept_bytes -= first->len;
	free(first->text);
	first->text = NULL;
	view->kept_first = (view->kept_first + 1) % view->spec->last;
	view->kept_count--;
}

static enum result
logs_view_keep(struct logs_view *view)
{
	size_t len = view->text.len;
	struct logs_view_kept *place;
	char *text;

	if (view->spec->last == 0)
		return RESULT_OK;
	while (view->kept_count > 0 &&
	       (view->kept_count == view->spec->last ||
		   view->kept_bytes + len > LOGS_VIEW_KEPT_MAX))
		logs_view_drop_first(view);
	text = malloc(len);
	if (text == NULL)
		return RESULT_NO_MEMORY;
	memcpy(text, buffer_bytes_borrow(&view->text), len);
	place = &view->kept[(view->kept_first + view->kept_count) %
			    view->spec->last];
	*place = (struct logs_view_kept){text, len};
	view->kept_count++;
	view->kept_bytes += len;
	return RESULT_OK;
}

static enum result
logs_view_write(struct logs_view *view, const void *bytes, size_t len)
{
	view->shown++;
	return fwrite(bytes, 1, len, view->spec->out) == len ? RESULT_OK
							     : RESULT_CLOSED;
}

/* From now on lines are shown as they come. */
static enum result
logs_view_go_live(struct logs_view *view)
{
	enum result result = RESULT_OK;

	while (view->kept_count > 0) {
		const struct logs_view_kept *first =
		    &view->kept[view->kept_first];

		if (result == RESULT_OK)
			result = logs_view_write(view, first->text, first->len);
		logs_view_drop_first(view);
	}
	view->live = true;
	return result;
}

/* --- lines -------------------------------------------------------------- */

static enum result
logs_view_line(struct logs_view *view, const struct logs_view_file *file)
{
	const char *process = file->file.name;
	enum result result;

	if (!logs_line_takes(&view->spec->filter, &file->line))
		return RESULT_OK;
	buffer_clear(&view->text);
	result =
	    logs_line_show(&file->line, process, view->spec->json, &view->text);
	if (result != RESULT_OK)
		return result;
	return view->live || view->spec->last == SIZE_MAX
		   ? logs_view_write(
			 view, buffer_bytes_borrow(&view->text), view->text.len)
		   : logs_view_keep(view);
}

/* Of lines of one time, those of an older file of the same log. */
static bool
logs_view_is_before(
    const struct logs_view_file *a, const struct logs_view_file *b)
{
	int order = strcmp(a->line.ts, b->line.ts);

	return order < 0 || (order == 0 && a->file.newer > b->file.newer &&
				strcmp(a->file.name, b->file.name) == 0);
}

/* The file whose next line is the oldest; NULL: there is none. */
static struct logs_view_file *
logs_view_oldest(struct logs_view *view)
{
	struct logs_view_file *oldest = NULL;

	for (size_t i = 0; i < view->count; i++) {
		struct logs_view_file *file = &view->files[i];

		if (file->has &&
		    (oldest == NULL || logs_view_is_before(file, oldest)))
			oldest = file;
	}
	return oldest;
}

static enum result
logs_view_next(
    struct logs_view_file *file, bool follow, struct json_fault *fault)
{
	enum result result = logs_file_next(&file->file, follow, &file->line);

	file->has = result == RESULT_OK;
	if (result == RESULT_OK || result == RESULT_NOT_FOUND)
		return RESULT_OK;
	json_field_fault(
	    fault, "the log of %s cannot be read", file->file.name);
	return result;
}

enum result
logs_view_show(struct logs_view *view, bool follow, struct json_fault *fault)
{
	struct logs_view_file *file;
	enum result result = RESULT_OK;

	for (size_t i = 0; i < view->count && result == RESULT_OK; i++)
		result = logs_view_next(&view->files[i], follow, fault);
	while (result == RESULT_OK && (file = logs_view_oldest(view)) != NULL) {
		result = logs_view_line(view, file);
		if (result == RESULT_OK)
			result = logs_view_next(file, follow, fault);
	}
	logs_view_forget(view);
	if (result == RESULT_OK && !view->live)
		result = logs_view_go_live(view);
	if (result == RESULT_OK && fflush(view->spec->out) != 0)
		result = RESULT_CLOSED;
	return result;
}

/* --- from start to end -------------------------------------------------- */

enum result
logs_view_new(const struct state_dir *dir, const struct logs_view_spec *spec,
    struct logs_view **view_r, struct json_fault *fault)
{
	struct logs_view *view = calloc(1, sizeof(*view));
	size_t last = spec->last == SIZE_MAX ? 0 : spec->last;
	enum result result = RESULT_NO_MEMORY;

	*view_r = NULL;
	if (view == NULL)
		return result;
	view->dir = dir;
	view->spec = spec;
	buffer_init(&view->text, LOGS_VIEW_TEXT_MAX);
	view->files = calloc(LOGS_VIEW_FILES_MAX, sizeof(*view->files));
	view->kept = calloc(last + 1, sizeof(*view->kept));
	if (view->files != NULL && view->kept != NULL)
		result = logs_view_look(view, fault);
	if (result == RESULT_OK && spec->process != NULL && view->count == 0)
		result = RESULT_NOT_FOUND;
	if (result == RESULT_OK)
		*view_r = view;
	else
		logs_view_free(&view);
	return result;
}

void
logs_view_free(struct logs_view **view)
{
	struct logs_view *gone = *view;

	if (gone == NULL)
		return;
	*view = NULL;
	while (gone->kept != NULL && gone->kept_count > 0)
		logs_view_drop_first(gone);
	for (size_t i = 0; i < gone->count; i++)
		logs_file_close(&gone->files[i].file);
	free(gone->files);
	free(gone->kept);
	buffer_free(&gone->text);
	free(gone);
}

uint64_t
logs_view_shown(const struct logs_view *view)
{
	return view->shown;
}
