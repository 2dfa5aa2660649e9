/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of an image's layer; see layer_source.h. libarchive gets bytes
 * and gives bytes; every byte, also those behind the archive's end, goes
 * into the digest. Must never pass a name on that it has not checked.
 */
#include "supervisor/unpack/layer_source.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/unpack/layer_mark.h"
#include "supervisor/unpack/layer_stream.h"
#include "supervisor/unpack/tree_digest.h"
#include "supervisor/unpack/tree_name.h"

#define LAYER_SOURCE_CHUNK 131072U

struct layer_source {
	struct unpack_io *io;
	struct archive *archive;
	struct tree_digest *digest;
	const struct layer_source_spec *spec;
	struct unpack_out *out;
	struct layer_source_total *total;
	int fd;
	uint8_t bytes[LAYER_SOURCE_CHUNK], content[LAYER_SOURCE_CHUNK];
};

/* The next bytes of the tar, counted into its digest. */
static enum result
layer_source_next(struct layer_source *source, size_t *len_r)
{
	enum result result = unpack_io_read(source->io, source->fd,
	    source->bytes, sizeof(source->bytes), len_r);

	if (result == RESULT_OK)
		result = tree_digest_put(source->digest, source->bytes, *len_r);
	return result;
}

static la_ssize_t
layer_source_on_read(
    struct archive *archive, void *context, const void **bytes_r)
{
	struct layer_source *source = context;
	size_t len = 0;

	*bytes_r = source->bytes;
	if (layer_source_next(source, &len) == RESULT_OK)
		return (la_ssize_t)len;
	archive_set_error(archive, EIO, "%s", source->io->detail);
	return ARCHIVE_FATAL;
}

static enum result
layer_source_fault(struct layer_source *source)
{
	const char *text = archive_error_string(source->archive);

	return unpack_io_fault(source->io, UNPACK_MALFORMED, "the layer: %s",
	    text == NULL ? "not readable" : unpack_io_name(text, strlen(text)));
}

static enum result
layer_source_unsafe(
    struct layer_source *source, const char *name, const char *what)
{
	return unpack_io_fault(source->io, UNPACK_UNSAFE, "\"%s\" %s",
	    unpack_io_name(name, strlen(name)), what);
}

static enum result
layer_source_put(struct layer_source *source, enum layer_stream_type type,
    struct layer_stream_header *header, const char *path, const char *target)
{
	enum result result;

	header->magic = LAYER_STREAM_MAGIC;
	header->type = type;
	header->path_len = (uint32_t)strlen(path);
	header->target_len = (uint32_t)strlen(target);
	result = unpack_out_put(source->out, header, sizeof(*header));
	if (result == RESULT_OK)
		result = unpack_out_put(source->out, path, header->path_len);
	if (result == RESULT_OK)
		result =
		    unpack_out_put(source->out, target, header->target_len);
	return result;
}

/* Exactly size bytes, as the header that was written says. */
static enum result
layer_source_content(struct layer_source *source, uint64_t size)
{
	uint64_t done = 0;

	for (;;) {
		la_ssize_t got = archive_read_data(
		    source->archive, source->content, sizeof(source->content));
		enum result result;

		if (got < 0)
			return layer_source_fault(source);
		done += (uint64_t)got;
		if (got == 0 || done > size)
			break;
		result =
		    unpack_out_put(source->out, source->content, (size_t)got);
		if (result != RESULT_OK)
			return result;
	}
	if (done == size)
		return RESULT_OK;
	return unpack_io_fault(source->io, UNPACK_MALFORMED,
	    "a file of the layer has another length than it says");
}

static enum result
layer_source_file(struct layer_source *source, struct archive_entry *entry,
    struct layer_stream_header *header, const char *path)
{
	enum result result;

	if (!archive_entry_size_is_set(entry) || archive_entry_size(entry) < 0)
		return layer_source_unsafe(
		    source, path, "does not say its size");
	header->size = (uint64_t)archive_entry_size(entry);
	source->total->bytes += header->size;
	if (header->size > source->spec->max_bytes ||
	    source->total->bytes > source->spec->max_bytes)
		return unpack_io_fault(source->io, UNPACK_TOO_BIG,
		    "the layer is larger than allowed");
	result = layer_source_put(source, LAYER_STREAM_FILE, header, path, "");
	if (result == RESULT_OK)
		result = layer_source_content(source, header->size);
	return result;
}

static enum result
layer_source_link(struct layer_source *source,
    struct layer_stream_header *header, const char *path, const char *target)
{
	if (target == NULL || target[0] == '\0' ||
	    strlen(target) > LAYER_STREAM_TARGET_MAX)
		return layer_source_unsafe(
		    source, path, "is a link without a usable target");
	return layer_source_put(
	    source, LAYER_STREAM_LINK, header, path, target);
}

/* A second name of a file of this tree. */
static enum result
layer_source_hard(struct layer_source *source,
    struct layer_stream_header *header, const char *path, const char *target)
{
	char name[TREE_STREAM_PATH_MAX + 1];
	size_t len = strlen(target);

	target = tree_name_trim(target, &len);
	if (tree_name_check(target, len) != TREE_NAME_OK)
		return layer_source_unsafe(
		    source, path, "is a hard link that leaves the image");
	memcpy(name, target, len);
	name[len] = '\0';
	return layer_source_put(source, LAYER_STREAM_HARD, header, path, name);
}

static enum result
layer_source_entry(struct layer_source *source, struct archive_entry *entry,
    char *path, size_t len)
{
	struct layer_stream_header header = {
	    .mode = archive_entry_perm(entry) & 0755,
	    .mtime = archive_entry_mtime_is_set(entry)
			 ? (int64_t)archive_entry_mtime(entry)
			 : 0};
	const char *hard = archive_entry_hardlink_utf8(entry);

	switch (layer_mark_read(path, &len)) {
	case LAYER_MARK_REMOVE:
		return layer_source_put(
		    source, LAYER_STREAM_REMOVE, &header, path, "");
	case LAYER_MARK_EMPTY:
		return layer_source_put(
		    source, LAYER_STREAM_EMPTY, &header, path, "");
	case LAYER_MARK_OTHER:
		return RESULT_OK;
	case LAYER_MARK_BAD:
		return layer_source_unsafe(source, path, "removes nothing");
	case LAYER_MARK_NONE:
		break;
	}
	if (hard != NULL)
		return layer_source_hard(source, &header, path, hard);
	if (archive_entry_hardlink(entry) != NULL)
		return layer_source_unsafe(
		    source, path, "is a hard link to a name not UTF-8");
	if (archive_entry_filetype(entry) == AE_IFDIR)
		return layer_source_put(
		    source, LAYER_STREAM_DIR, &header, path, "");
	if (archive_entry_filetype(entry) == AE_IFLNK)
		return layer_source_link(
		    source, &header, path, archive_entry_symlink_utf8(entry));
	if (archive_entry_filetype(entry) == AE_IFREG)
		return layer_source_file(source, entry, &header, path);
	source->total->skipped++;
	return RESULT_OK;
}

static enum result
layer_source_take(struct layer_source *source, struct archive_entry *entry)
{
	const char *name = archive_entry_pathname_utf8(entry);
	char path[TREE_STREAM_PATH_MAX + 1];
	enum tree_name_verdict verdict;
	size_t len;

	if (++source->total->entries > source->spec->max_files)
		return unpack_io_fault(source->io, UNPACK_TOO_BIG,
		    "the layer has more entries than allowed");
	if (name == NULL)
		return unpack_io_fault(source->io, UNPACK_UNSAFE,
		    "an entry of the layer has a name that is not UTF-8");
	len = strlen(name);
	name = tree_name_trim(name, &len);
	if (len == 0)
		return RESULT_OK; /* the root itself */
	verdict = tree_name_check(name, len);
	if (verdict != TREE_NAME_OK)
		return unpack_io_fault(source->io, UNPACK_UNSAFE,
		    "the name \"%s\" %s", unpack_io_name(name, len),
		    tree_name_text(verdict));
	memcpy(path, name, len);
	path[len] = '\0';
	return layer_source_entry(source, entry, path, len);
}

static enum result
layer_source_loop(struct layer_source *source)
{
	struct archive *archive = source->archive;
	struct archive_entry *entry;
	enum result result;
	int status = ARCHIVE_FATAL;

	if (archive_read_support_format_tar(archive) == ARCHIVE_OK &&
	    archive_read_set_options(archive, "hdrcharset=UTF-8") >=
		ARCHIVE_WARN)
		status = archive_read_open2(
		    archive, source, NULL, layer_source_on_read, NULL, NULL);
	while (status == ARCHIVE_OK || status == ARCHIVE_WARN) {
		status = archive_read_next_header(archive, &entry);
		if (status == ARCHIVE_EOF)
			return RESULT_OK;
		if (status != ARCHIVE_OK && status != ARCHIVE_WARN)
			break;
		result = layer_source_take(source, entry);
		if (result != RESULT_OK)
			return result;
	}
	return layer_source_fault(source);
}

/* What comes behind the archive counts too; then the sum and the end. */
static enum result
layer_source_end(struct layer_source *source)
{
	struct layer_stream_header header = {.mode = 0};
	uint8_t sum[TREE_DIGEST_SHA256];
	enum result result;
	size_t len;

	do
		result = layer_source_next(source, &len);
	while (result == RESULT_OK && len > 0);
	if (result == RESULT_OK)
		result = tree_digest_end(source->digest, sum);
	if (result != RESULT_OK)
		return result;
	memcpy(source->total->diff_id, "sha256:", 7);
	tree_digest_hex(sum, sizeof(sum), source->total->diff_id + 7);
	result = layer_source_put(source, LAYER_STREAM_END, &header, "", "");
	if (result == RESULT_OK)
		result = unpack_out_flush(source->out);
	return result;
}

enum result
layer_source_read(struct unpack_io *io, int fd,
    const struct layer_source_spec *spec, struct unpack_out *out,
    struct layer_source_total *total_r)
{
	struct layer_source *source = calloc(1, sizeof(*source));
	enum result result = RESULT_NO_MEMORY;

	memset(total_r, 0, sizeof(*total_r));
	if (source == NULL)
		return result;
	source->io = io;
	source->fd = fd;
	source->spec = spec;
	source->out = out;
	source->total = total_r;
	source->archive = archive_read_new();
	if (source->archive != NULL)
		result = tree_digest_new(&source->digest);
	if (result == RESULT_OK)
		result = tree_digest_start(source->digest, TREE_DIGEST_SHA256);
	if (result == RESULT_OK)
		result = layer_source_loop(source);
	if (result == RESULT_OK)
		result = layer_source_end(source);
	(void)archive_read_free(source->archive);
	tree_digest_free(&source->digest);
	free(source);
	return result;
}
