/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge of every tree; see tree_check.h. Called by the sources (walk,
 * stream, archive), calls one sink. Must never hand an entry on before it
 * was judged.
 */
#include "supervisor/unpack/tree_check.h"

#include <stdlib.h>
#include <string.h>

#include "supervisor/unpack/tree_hash.h"
#include "supervisor/unpack/tree_index.h"
#include "supervisor/unpack/tree_name.h"

/* The job's time limit and the supervisor are looked at this often. */
#define TREE_CHECK_EVERY 256U

struct tree_check {
	struct tree_check_spec spec;
	struct tree_digest *digest;
	struct tree_index index;
	struct tree_hash_record *records;
	size_t count, capacity;
	uint64_t bytes; /* announced by the entries so far */
	uint64_t left;  /* of the current file's content */
};

enum result
tree_check_new(const struct tree_check_spec *spec, struct tree_check **check_r)
{
	struct tree_check *check = calloc(1, sizeof(*check));
	enum result result;

	if (check == NULL)
		return RESULT_NO_MEMORY;
	check->spec = *spec;
	result = tree_digest_new(&check->digest);
	if (result != RESULT_OK) {
		free(check);
		return result;
	}
	*check_r = check;
	return RESULT_OK;
}

void
tree_check_free(struct tree_check **check)
{
	if (*check == NULL)
		return;
	for (size_t i = 0; i < (*check)->count; i++)
		free((*check)->records[i].path);
	free((*check)->records);
	tree_index_free(&(*check)->index);
	tree_digest_free(&(*check)->digest);
	free(*check);
	*check = NULL;
}

static enum result
tree_check_memory(struct tree_check *check)
{
	return unpack_io_fault(check->spec.io, UNPACK_TOO_BIG,
	    "there is not enough memory for the names of the tree");
}

static enum result
tree_check_names(struct tree_check *check, enum tree_stream_type type,
    const char *path, size_t path_len, const char *target, size_t target_len)
{
	enum tree_name_verdict verdict = tree_name_check(path, path_len);
	char copy[TREE_STREAM_PATH_MAX + 1];

	if (verdict != TREE_NAME_OK)
		return unpack_io_fault(check->spec.io, UNPACK_UNSAFE,
		    "the name \"%s\" %s", unpack_io_name(path, path_len),
		    tree_name_text(verdict));
	if (type != TREE_STREAM_LINK)
		return RESULT_OK;
	memcpy(copy, path, path_len);
	copy[path_len] = '\0';
	verdict = tree_name_check_link(copy, target, target_len);
	if (verdict != TREE_NAME_OK)
		return unpack_io_fault(check->spec.io, UNPACK_UNSAFE,
		    "the target of the link \"%s\" %s",
		    unpack_io_name(path, path_len), tree_name_text(verdict));
	return RESULT_OK;
}

static enum result
tree_check_bounds(struct tree_check *check, uint64_t size)
{
	if (check->count >= check->spec.max_files)
		return unpack_io_fault(check->spec.io, UNPACK_TOO_BIG,
		    "the tree has more than %llu entries",
		    (unsigned long long)check->spec.max_files);
	if (size > check->spec.max_bytes - check->bytes)
		return unpack_io_fault(check->spec.io, UNPACK_TOO_BIG,
		    "the tree has more than %llu bytes",
		    (unsigned long long)check->spec.max_bytes);
	check->bytes += size;
	if (check->count % TREE_CHECK_EVERY == 0)
		return unpack_io_check(check->spec.io);
	return RESULT_OK;
}

static uint32_t
tree_check_mode(
    const struct tree_check *check, enum tree_stream_type type, uint32_t mode)
{
	if (type == TREE_STREAM_LINK)
		return 0777;
	if (check->spec.keep_mode)
		return mode & 07777;
	return type == TREE_STREAM_DIR || (mode & 0111) != 0 ? 0755 : 0644;
}

/* Append a record; path and target are copied into one block. */
static enum result
tree_check_record(struct tree_check *check, enum tree_stream_type type,
    uint32_t mode, const char *path, size_t path_len, const char *target,
    size_t target_len)
{
	struct tree_hash_record *record;

	if (check->count == check->capacity) {
		size_t capacity = check->capacity * 2 + 256;

		record =
		    realloc(check->records, capacity * sizeof(*check->records));
		if (record == NULL)
			return tree_check_memory(check);
		check->records = record;
		check->capacity = capacity;
	}
	record = &check->records[check->count];
	*record = (struct tree_hash_record){.type = type,
	    .mode = tree_check_mode(check, type, mode),
	    .path = calloc(1, path_len + target_len + 2)};
	if (record->path == NULL)
		return tree_check_memory(check);
	memcpy(record->path, path, path_len);
	if (type == TREE_STREAM_LINK) {
		record->target = record->path + path_len + 1;
		memcpy(record->target, target, target_len);
	}
	check->count++;
	return RESULT_OK;
}

/* The content of the newest file is complete. */
static enum result
tree_check_sum(struct tree_check *check)
{
	return tree_digest_end(
	    check->digest, check->records[check->count - 1].sha256);
}

static enum result
tree_check_pass(struct tree_check *check, uint64_t size)
{
	const struct tree_hash_record *record =
	    &check->records[check->count - 1];
	struct tree_entry entry = {
	    record->type, record->mode, record->path, record->target, size};
	enum result result = RESULT_OK;

	if (check->spec.sink != NULL)
		result =
		    check->spec.sink->entry(check->spec.sink->context, &entry);
	if (result != RESULT_OK || record->type != TREE_STREAM_FILE)
		return result;
	check->left = size;
	result = tree_digest_start(check->digest, TREE_DIGEST_SHA256);
	if (result == RESULT_OK && size == 0)
		result = tree_check_sum(check);
	return result;
}

static enum result tree_check_parents(
    struct tree_check *check, const char *path, size_t len);

/* A folder that an archive did not list. */
static enum result
tree_check_imply(struct tree_check *check, const char *path, size_t len)
{
	enum result result = tree_check_parents(check, path, len);

	if (result == RESULT_OK)
		result = tree_check_bounds(check, 0);
	if (result == RESULT_OK)
		result = tree_check_record(
		    check, TREE_STREAM_DIR, 0755, path, len, NULL, 0);
	if (result == RESULT_OK &&
	    tree_index_put(&check->index, check->records[check->count - 1].path,
		TREE_INDEX_IMPLIED) != RESULT_OK)
		result = tree_check_memory(check);
	if (result == RESULT_OK)
		result = tree_check_pass(check, 0);
	return result;
}

/* Is what path lies in a folder of this tree? Recursion is bounded by
 * TREE_STREAM_DEPTH_MAX. */
static enum result
tree_check_parents(struct tree_check *check, const char *path, size_t len)
{
	char parent[TREE_STREAM_PATH_MAX + 1];

	while (len > 0 && path[len - 1] != '/')
		len--;
	if (len == 0)
		return RESULT_OK;
	memcpy(parent, path, len - 1);
	parent[len - 1] = '\0';
	switch (tree_index_find(&check->index, parent)) {
	case TREE_INDEX_FOLDER:
	case TREE_INDEX_IMPLIED:
		return RESULT_OK;
	case TREE_INDEX_NONE:
		if (check->spec.make_parents)
			return tree_check_imply(check, parent, len - 1);
		break;
	case TREE_INDEX_OTHER:
		break;
	}
	return unpack_io_fault(check->spec.io, UNPACK_UNSAFE,
	    "the entry \"%s\" does not lie in a folder of the tree",
	    unpack_io_name(path, strlen(path)));
}

/* Refuse a second entry of one name; *known_r: a folder that is there
 * already, because something in it came first. */
static enum result
tree_check_once(struct tree_check *check, enum tree_stream_type type,
    const char *path, bool *known_r)
{
	enum tree_index_kind kind = tree_index_find(&check->index, path);
	enum result result = tree_check_parents(check, path, strlen(path));

	if (result != RESULT_OK)
		return result;
	*known_r =
	    type == TREE_STREAM_DIR &&
	    (kind == TREE_INDEX_IMPLIED ||
		(check->spec.merge_folders && kind == TREE_INDEX_FOLDER));
	if (kind != TREE_INDEX_NONE && !*known_r)
		return unpack_io_fault(check->spec.io, UNPACK_UNSAFE,
		    "the name \"%s\" comes twice",
		    unpack_io_name(path, strlen(path)));
	kind = type == TREE_STREAM_DIR ? TREE_INDEX_FOLDER : TREE_INDEX_OTHER;
	if (tree_index_put(&check->index, path, kind) != RESULT_OK)
		return tree_check_memory(check);
	return RESULT_OK;
}

enum result
tree_check_entry(struct tree_check *check, enum tree_stream_type type,
    uint32_t mode, const char *path, size_t path_len, const char *target,
    size_t target_len, uint64_t size)
{
	char copy[TREE_STREAM_PATH_MAX + 1];
	bool known = false;
	enum result result;

	if (check->left != 0)
		return unpack_io_fault(check->spec.io, UNPACK_MALFORMED,
		    "a file is shorter than its entry says");
	result =
	    tree_check_names(check, type, path, path_len, target, target_len);
	if (result != RESULT_OK)
		return result;
	memcpy(copy, path, path_len);
	copy[path_len] = '\0';
	if (!check->spec.is_directory)
		result = tree_check_once(check, type, copy, &known);
	if (result != RESULT_OK || known)
		return result;
	result = tree_check_bounds(check, size);
	if (result == RESULT_OK)
		result = tree_check_record(
		    check, type, mode, path, path_len, target, target_len);
	if (result == RESULT_OK)
		result = tree_check_pass(check, size);
	return result;
}

enum result
tree_check_data(struct tree_check *check, const uint8_t *bytes, size_t len)
{
	enum result result;

	if (len > check->left)
		return unpack_io_fault(check->spec.io, UNPACK_MALFORMED,
		    "a file is longer than its entry says");
	result = tree_digest_put(check->digest, bytes, len);
	if (result == RESULT_OK && check->spec.sink != NULL)
		result = check->spec.sink->data(
		    check->spec.sink->context, bytes, len);
	check->left -= len;
	if (result == RESULT_OK && len > 0 && check->left == 0)
		result = tree_check_sum(check);
	return result;
}

enum result
tree_check_end(struct tree_check *check, struct tree_check_total *total_r)
{
	enum result result = RESULT_OK;

	if (check->left != 0)
		return unpack_io_fault(check->spec.io, UNPACK_MALFORMED,
		    "the last file is shorter than its entry says");
	if (check->spec.sink != NULL)
		result = check->spec.sink->end(check->spec.sink->context);
	if (result != RESULT_OK)
		return result;
	total_r->files = check->count;
	total_r->bytes = check->bytes;
	return tree_hash_records(check->records, check->count, total_r->hash);
}
