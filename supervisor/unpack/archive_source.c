/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of archives; see archive_source.h. Formats are listed by name:
 * what libarchive could read besides is not asked for. Must never let
 * libarchive write or open anything: it gets bytes and gives bytes.
 */
#include "supervisor/unpack/archive_source.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/unpack/tree_name.h"

#define ARCHIVE_SOURCE_CHUNK 131072U

struct archive_source {
	struct unpack_io *io;
	struct archive *archive;
	const struct archive_source_spec *spec;
	struct tree_check *check;
	int fd;
	uint8_t bytes[ARCHIVE_SOURCE_CHUNK];
};

static la_ssize_t
archive_source_on_read(
    struct archive *archive, void *context, const void **bytes_r)
{
	struct archive_source *source = context;
	size_t len = 0;

	*bytes_r = source->bytes;
	if (unpack_io_read(source->io, source->fd, source->bytes,
		sizeof(source->bytes), &len) == RESULT_OK)
		return (la_ssize_t)len;
	archive_set_error(archive, EIO, "%s", source->io->detail);
	return ARCHIVE_FATAL;
}

static la_int64_t
archive_source_on_seek(
    struct archive *archive, void *context, la_int64_t offset, int whence)
{
	struct archive_source *source = context;
	off_t at = lseek(source->fd, offset, whence);

	(void)archive;
	return at < 0 ? ARCHIVE_FATAL : at;
}

static enum result
archive_source_fault(struct archive_source *source)
{
	const char *text = archive_error_string(source->archive);

	return unpack_io_fault(source->io, UNPACK_MALFORMED, "the archive: %s",
	    text == NULL ? "not readable" : unpack_io_name(text, strlen(text)));
}

/* Only a regular file can seek; zip's directory at the end needs it. */
static int
archive_source_open(struct archive_source *source)
{
	struct archive *archive = source->archive;

	if (archive_read_support_format_tar(archive) != ARCHIVE_OK ||
	    archive_read_support_format_zip(archive) != ARCHIVE_OK ||
	    archive_read_support_filter_gzip(archive) != ARCHIVE_OK ||
	    archive_read_set_options(archive, "hdrcharset=UTF-8") <
		ARCHIVE_WARN)
		return ARCHIVE_FATAL;
	if (lseek(source->fd, 0, SEEK_CUR) >= 0)
		(void)archive_read_set_seek_callback(
		    archive, archive_source_on_seek);
	return archive_read_open2(
	    archive, source, NULL, archive_source_on_read, NULL, NULL);
}

/* Drop leading components; false when nothing is left. */
static bool
archive_source_strip(unsigned strip, const char **name, size_t *len)
{
	const char *slash;

	for (; strip > 0; strip--) {
		slash = memchr(*name, '/', *len);
		if (slash == NULL)
			return false;
		*len -= (size_t)(slash + 1 - *name);
		*name = slash + 1;
	}
	return *len > 0;
}

static bool
archive_source_wanted(const json_t *only, const char *name, size_t len)
{
	const char *path;
	size_t index, path_len;
	json_t *item;

	if (only == NULL)
		return true;
	json_array_foreach((json_t *)only, index, item)
	{
		path = json_string_value(item);
		path_len = json_string_length(item);
		if (len >= path_len && memcmp(name, path, path_len) == 0 &&
		    (len == path_len || name[path_len] == '/'))
			return true;
	}
	return false;
}

/* prefix/name; RESULT_TOO_LONG is a fault by name. */
static enum result
archive_source_place(struct archive_source *source, const char *name,
    size_t len, char *path_r, size_t size, size_t *len_r)
{
	size_t prefix = strlen(source->spec->prefix), at = 0;

	if (prefix + 1 + len >= size)
		return unpack_io_fault(source->io, UNPACK_UNSAFE,
		    "the name \"%s\" is too long", unpack_io_name(name, len));
	if (prefix > 0) {
		memcpy(path_r, source->spec->prefix, prefix);
		path_r[prefix] = '/';
		at = prefix + 1;
	}
	memcpy(path_r + at, name, len);
	*len_r = at + len;
	path_r[*len_r] = '\0';
	return RESULT_OK;
}

static enum result
archive_source_content(struct archive_source *source)
{
	enum result result = RESULT_OK;
	static uint8_t bytes[ARCHIVE_SOURCE_CHUNK];
	la_ssize_t got;

	for (;;) {
		got = archive_read_data(source->archive, bytes, sizeof(bytes));
		if (got < 0)
			return archive_source_fault(source);
		if (got == 0)
			return RESULT_OK;
		result = tree_check_data(source->check, bytes, (size_t)got);
		if (result != RESULT_OK)
			return result;
	}
}

static enum result
archive_source_type(struct archive_source *source, struct archive_entry *entry,
    const char *name, enum tree_stream_type *type_r)
{
	const char *what = "is no file, folder or link";

	if (archive_entry_hardlink(entry) != NULL)
		what = "is a hard link";
	else if (archive_entry_is_encrypted(entry))
		what = "is encrypted";
	else if (archive_entry_filetype(entry) == AE_IFDIR)
		return *type_r = TREE_STREAM_DIR, RESULT_OK;
	else if (archive_entry_filetype(entry) == AE_IFLNK)
		return *type_r = TREE_STREAM_LINK, RESULT_OK;
	else if (archive_entry_filetype(entry) == AE_IFREG &&
		 archive_entry_size_is_set(entry) &&
		 archive_entry_size(entry) >= 0)
		return *type_r = TREE_STREAM_FILE, RESULT_OK;
	else if (archive_entry_filetype(entry) == AE_IFREG)
		what = "does not say its size";
	return unpack_io_fault(source->io, UNPACK_UNSAFE, "\"%s\" %s",
	    unpack_io_name(name, strlen(name)), what);
}

static enum result
archive_source_take(struct archive_source *source, struct archive_entry *entry,
    const char *name, size_t len)
{
	char path[TREE_STREAM_PATH_MAX + 1];
	const char *target = archive_entry_symlink_utf8(entry);
	enum tree_stream_type type = TREE_STREAM_END;
	enum result result;

	result = archive_source_type(source, entry, name, &type);
	if (result == RESULT_OK)
		result = archive_source_place(
		    source, name, len, path, sizeof(path), &len);
	if (result != RESULT_OK)
		return result;
	result = tree_check_entry(source->check, type,
	    archive_entry_perm(entry), path, len, target,
	    target == NULL ? 0 : strlen(target),
	    type == TREE_STREAM_FILE ? (uint64_t)archive_entry_size(entry) : 0);
	if (result == RESULT_OK && type == TREE_STREAM_FILE)
		result = archive_source_content(source);
	return result;
}

static enum result
archive_source_entry(struct archive_source *source, struct archive_entry *entry)
{
	const char *name = archive_entry_pathname_utf8(entry);
	enum tree_name_verdict verdict;
	size_t len;

	if (name == NULL)
		return unpack_io_fault(source->io, UNPACK_UNSAFE,
		    "an entry of the archive has a name that is not UTF-8");
	len = strlen(name);
	name = tree_name_trim(name, &len);
	if (len == 0)
		return RESULT_OK; /* the root itself */
	/* Before anything is cut off: "package/../../x" stays visible. */
	verdict = tree_name_check(name, len);
	if (verdict != TREE_NAME_OK)
		return unpack_io_fault(source->io, UNPACK_UNSAFE,
		    "the name \"%s\" %s", unpack_io_name(name, len),
		    tree_name_text(verdict));
	if (!archive_source_strip(source->spec->strip, &name, &len) ||
	    !archive_source_wanted(source->spec->only, name, len))
		return RESULT_OK;
	return archive_source_take(source, entry, name, len);
}

static enum result
archive_source_links(struct archive_source *source)
{
	enum result result = RESULT_OK;
	const char *path, *target;
	json_t *link;
	size_t index;

	json_array_foreach((json_t *)source->spec->links, index, link)
	{
		path = json_string_value(json_object_get(link, "path"));
		target = json_string_value(json_object_get(link, "target"));
		result = tree_check_entry(source->check, TREE_STREAM_LINK, 0777,
		    path, strlen(path), target, strlen(target), 0);
		if (result != RESULT_OK)
			return result;
	}
	return result;
}

static enum result
archive_source_loop(struct archive_source *source)
{
	struct archive_entry *entry;
	enum result result;
	int status = archive_source_open(source);

	while (status == ARCHIVE_OK || status == ARCHIVE_WARN) {
		status = archive_read_next_header(source->archive, &entry);
		if (status == ARCHIVE_EOF)
			return archive_source_links(source);
		if (status != ARCHIVE_OK && status != ARCHIVE_WARN)
			break;
		result = archive_source_entry(source, entry);
		if (result != RESULT_OK)
			return result;
	}
	return archive_source_fault(source);
}

void
archive_source_load(void)
{
	struct archive *archive;

	/* UTF-8 names are converted by libc's own tables. */
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	archive = archive_read_new();
	if (archive != NULL)
		(void)archive_read_free(archive);
}

enum result
archive_source_read(struct unpack_io *io, int fd,
    const struct archive_source_spec *spec, struct tree_check *check)
{
	struct archive_source *source = calloc(1, sizeof(*source));
	enum result result = RESULT_NO_MEMORY;

	if (source == NULL)
		return result;
	source->io = io;
	source->fd = fd;
	source->spec = spec;
	source->check = check;
	source->archive = archive_read_new();
	if (source->archive != NULL)
		result = archive_source_loop(source);
	(void)archive_read_free(source->archive);
	free(source);
	return result;
}
