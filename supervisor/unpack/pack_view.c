/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps names and a few files of a package; see pack_view.h. Called by the
 * pack jobs through tree_check. It must never keep more of a file than its
 * row allows.
 */
#include "supervisor/unpack/pack_view.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/package/manifest.h"
#include "supervisor/package/requirement.h"
#include "supervisor/unpack/describe.h"
#include "supervisor/unpack/yaml_json.h"

#define PACK_VIEW_LOCK_MAX (16U << 20)
#define PACK_VIEW_SMALL_MAX (1U << 20)
#define PACK_VIEW_DEPTHS 2U /* at the top, and one folder down */

static const struct {
	const char *name;
	size_t max;
} pack_view_rows[PACK_VIEW_FILES] = {
    [PACK_VIEW_MANIFEST] = {MANIFEST_FILE, YAML_JSON_BYTES_MAX},
    [PACK_VIEW_REQUIREMENTS] = {REQUIREMENT_FILE, REQUIREMENT_FILE_MAX},
    [PACK_VIEW_PACKAGE] = {"package.json", PACK_VIEW_SMALL_MAX},
    [PACK_VIEW_LOCK] = {"package-lock.json", PACK_VIEW_LOCK_MAX},
    [PACK_VIEW_REPORT] = {DESCRIBE_PIP_REPORT, PACK_VIEW_LOCK_MAX},
};

struct pack_view_kept {
	char *bytes; /* owned; NULL: not there, or too long */
	size_t len;
	bool too_long;
};

struct pack_view {
	struct manifest_report *clashes;
	json_t *paths;  /* owned: path -> true for what is no folder */
	json_t *folded; /* owned: path in lower case -> path, true: the same */
	json_t *tops;   /* owned: first components */
	char prefix[TREE_STREAM_PATH_MAX + 2]; /* "" or "folder/" */
	struct pack_view_kept kept[PACK_VIEW_DEPTHS][PACK_VIEW_FILES];
	struct pack_view_kept *current; /* content goes there; NULL */
	unsigned depth;                 /* of the package; after settle */
};

enum result
pack_view_new(struct manifest_report *clashes, struct pack_view **view_r)
{
	struct pack_view *view = calloc(1, sizeof(*view));

	if (view == NULL)
		return RESULT_NO_MEMORY;
	view->clashes = clashes;
	view->paths = json_object();
	view->folded = json_object();
	view->tops = json_object();
	*view_r = view;
	return RESULT_OK;
}

void
pack_view_free(struct pack_view **view)
{
	struct pack_view *gone = *view;

	if (gone == NULL)
		return;
	*view = NULL;
	for (size_t i = 0; i < PACK_VIEW_DEPTHS; i++)
		for (size_t k = 0; k < PACK_VIEW_FILES; k++)
			free(gone->kept[i][k].bytes);
	json_decref(gone->paths);
	json_decref(gone->folded);
	json_decref(gone->tops);
	free(gone);
}

/* Two names that a file system without case takes for one. */
static enum result
pack_view_fold(struct pack_view *view, const char *path)
{
	char folded[TREE_STREAM_PATH_MAX + 1];
	const json_t *there;
	const char *other;
	size_t i;

	for (i = 0; path[i] != '\0' && i < sizeof(folded) - 1; i++)
		folded[i] = (char)tolower((unsigned char)path[i]);
	folded[i] = '\0';
	there = json_object_get(view->folded, folded);
	other = json_is_string(there) ? json_string_value(there) : folded;
	if (there != NULL && strcmp(other, path) != 0)
		manifest_report_fault(view->clashes, path,
		    "differs from %.100s only by upper and lower case", other);
	/* Most names are their own lower case, and kept once. */
	return json_object_set_new(view->folded, folded,
		   strcmp(folded, path) == 0 ? json_true()
					     : json_string(path)) == 0
		   ? RESULT_OK
		   : RESULT_NO_MEMORY;
}

/* The row of a name, at the top or one folder down. */
static struct pack_view_kept *
pack_view_wanted(struct pack_view *view, const char *path, size_t *max_r)
{
	const char *slash = strchr(path, '/');
	unsigned depth = slash != NULL ? 1 : 0;
	const char *name = slash != NULL ? slash + 1 : path;

	for (size_t i = 0; i < PACK_VIEW_FILES; i++) {
		if (strcmp(pack_view_rows[i].name, name) != 0)
			continue;
		*max_r = pack_view_rows[i].max;
		/* Of several folders none is the package's. */
		if (view->kept[depth][i].bytes != NULL)
			return NULL;
		return &view->kept[depth][i];
	}
	return NULL;
}

static enum result
pack_view_entry(void *context, const struct tree_entry *entry)
{
	struct pack_view *view = context;
	char top[TREE_STREAM_PATH_MAX + 1];
	size_t max = 0;
	struct pack_view_kept *kept;

	view->current = NULL;
	(void)snprintf(top, sizeof(top), "%.*s", (int)strcspn(entry->path, "/"),
	    entry->path);
	if (json_object_set_new(view->tops, top, json_true()) != 0 ||
	    pack_view_fold(view, entry->path) != RESULT_OK)
		return RESULT_NO_MEMORY;
	if (entry->type == TREE_STREAM_DIR)
		return RESULT_OK;
	if (json_object_set_new(view->paths, entry->path, json_true()) != 0)
		return RESULT_NO_MEMORY;
	kept = entry->type == TREE_STREAM_FILE
		   ? pack_view_wanted(view, entry->path, &max)
		   : NULL;
	if (kept == NULL)
		return RESULT_OK;
	kept->too_long = entry->size > max;
	if (kept->too_long)
		return RESULT_OK;
	kept->bytes = malloc((size_t)entry->size + 1);
	kept->len = 0;
	view->current = kept;
	return kept->bytes != NULL ? RESULT_OK : RESULT_NO_MEMORY;
}

/* tree_check never hands on more than the entry's size. */
static enum result
pack_view_data(void *context, const uint8_t *bytes, size_t len)
{
	struct pack_view *view = context;

	if (view->current == NULL)
		return RESULT_OK;
	memcpy(view->current->bytes + view->current->len, bytes, len);
	view->current->len += len;
	return RESULT_OK;
}

static enum result
pack_view_end(void *context)
{
	struct pack_view *view = context;

	view->current = NULL;
	return RESULT_OK;
}

void
pack_view_sink(struct pack_view *view, struct tree_sink *sink_r)
{
	*sink_r = (struct tree_sink){.entry = pack_view_entry,
	    .data = pack_view_data,
	    .end = pack_view_end,
	    .context = view};
}

int
pack_view_settle(struct pack_view *view)
{
	const struct pack_view_kept(*kept)[PACK_VIEW_FILES] = view->kept;
	const char *top;
	json_t *value;

	view->prefix[0] = '\0';
	view->depth = 0;
	if (kept[0][PACK_VIEW_MANIFEST].bytes != NULL ||
	    kept[0][PACK_VIEW_MANIFEST].too_long)
		return 0;
	if (json_object_size(view->tops) != 1 ||
	    (kept[1][PACK_VIEW_MANIFEST].bytes == NULL &&
		!kept[1][PACK_VIEW_MANIFEST].too_long))
		return -1;
	json_object_foreach(view->tops, top, value)(void)
	    snprintf(view->prefix, sizeof(view->prefix), "%s/", top);
	view->depth = 1;
	return 1;
}

bool
pack_view_has(const struct pack_view *view, const char *path)
{
	char whole[2 * TREE_STREAM_PATH_MAX + 4];
	int len = snprintf(whole, sizeof(whole), "%s%s", view->prefix, path);

	return len > 0 && (size_t)len < sizeof(whole) &&
	       json_object_get(view->paths, whole) != NULL;
}

bool
pack_view_has_in(
    const struct pack_view *view, const char *folder, const char *end)
{
	size_t prefix = strlen(view->prefix), len = strlen(folder);
	size_t end_len = strlen(end);
	const char *path;
	json_t *value;

	json_object_foreach(view->paths, path, value)
	{
		size_t path_len = strlen(path);

		if (strncmp(path, view->prefix, prefix) == 0 &&
		    strncmp(path + prefix, folder, len) == 0 &&
		    path[prefix + len] == '/' && path_len >= end_len &&
		    strcmp(path + path_len - end_len, end) == 0)
			return true;
	}
	return false;
}

const char *
pack_view_content(const struct pack_view *view, enum pack_view_file file,
    size_t *len_r, bool *too_long_r)
{
	const struct pack_view_kept *kept = &view->kept[view->depth][file];

	*len_r = kept->len;
	*too_long_r = kept->too_long;
	return kept->bytes;
}

const char *
pack_view_file_name(enum pack_view_file file)
{
	return pack_view_rows[file].name;
}

void
pack_view_each(const struct pack_view *view,
    void (*look)(const char *path, void *context), void *context)
{
	size_t prefix = strlen(view->prefix);
	const char *path;
	json_t *value;

	json_object_foreach(view->paths, path, value)
	    look(path + (strlen(path) > prefix ? prefix : 0), context);
}
