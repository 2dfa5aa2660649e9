/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command was given; see collect_handed.h. Called by collect.c; must
 * never take a file for unchanged of which a byte was not compared.
 */
#include "supervisor/unpack/collect_handed.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/unpack/tree_header.h"
#include "supervisor/unpack/unpack_jobs.h"

#define COLLECT_HANDED_CHUNK 16384U

/* Exactly len bytes. */
static bool
collect_handed_pread(int fd, void *bytes, size_t len, uint64_t offset)
{
	uint8_t *to = bytes;

	while (len > 0) {
		ssize_t got = pread(fd, to, len, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		to += got;
		offset += (uint64_t)got;
		len -= (size_t)got;
	}
	return true;
}

enum result
collect_handed_read(
    struct unpack_io *io, int fd, struct collect_handed *handed_r)
{
	uint8_t head[TREE_HEADER_SIZE];
	struct tree_stream_header header;
	uint64_t at = 0;

	handed_r->fd = fd;
	handed_r->count = 0;
	for (;;) {
		struct collect_handed_file *file =
		    &handed_r->files[handed_r->count];

		if (!collect_handed_pread(fd, head, sizeof(head), at) ||
		    tree_header_parse(head, &header) != TREE_HEADER_OK)
			break;
		at += sizeof(head);
		if (header.type == TREE_STREAM_END)
			return RESULT_OK;
		if (header.type != TREE_STREAM_FILE ||
		    header.path_len >= sizeof(file->name) ||
		    handed_r->count == COLLECT_HANDED_MAX ||
		    header.size > UNPACK_BYTES_MAX ||
		    !collect_handed_pread(fd, file->name, header.path_len, at))
			break;
		file->name[header.path_len] = '\0';
		file->offset = at + header.path_len;
		file->size = header.size;
		at = file->offset + file->size;
		handed_r->count++;
	}
	return unpack_io_fault(
	    io, UNPACK_MALFORMED, "what the command was given cannot be read");
}

const struct collect_handed_file *
collect_handed_find(const struct collect_handed *handed, const char *name)
{
	for (size_t i = 0; i < handed->count; i++) {
		if (strcmp(handed->files[i].name, name) == 0)
			return &handed->files[i];
	}
	return NULL;
}

bool
collect_handed_same(const struct collect_handed *handed,
    const struct collect_handed_file *file, uint64_t offset,
    const uint8_t *bytes, size_t len)
{
	uint8_t chunk[COLLECT_HANDED_CHUNK];

	if (offset > file->size || len > file->size - offset)
		return false;
	while (len > 0) {
		size_t part = len < sizeof(chunk) ? len : sizeof(chunk);

		if (!collect_handed_pread(
			handed->fd, chunk, part, file->offset + offset) ||
		    memcmp(chunk, bytes, part) != 0)
			return false;
		bytes += part;
		offset += part;
		len -= part;
	}
	return true;
}
