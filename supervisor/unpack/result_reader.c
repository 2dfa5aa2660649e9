/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of result streams; see result_reader.h. Called by collect.c;
 * must never hand on a name that is no plain file name, nor more content
 * than a header announced.
 */
#include "supervisor/unpack/result_reader.h"

#include <stdbool.h>
#include <string.h>

void
result_reader_init(
    struct result_reader *reader, const struct result_reader_sink *sink)
{
	memset(reader, 0, sizeof(*reader));
	reader->sink = sink;
	reader->verdict = RESULT_READER_MORE;
}

static enum result_reader_verdict
result_reader_sizes(const struct result_stream_header *header)
{
	bool named = header->kind < RESULT_STREAM_MORE;
	bool file = header->kind == RESULT_STREAM_FILE;

	if (named != (header->name_len > 0) ||
	    header->name_len > RESULT_STREAM_NAME_MAX ||
	    header->sent > header->size || (!file && header->sent != 0) ||
	    (header->kind == RESULT_STREAM_DIR && header->size > UINT32_MAX) ||
	    (!file && header->kind != RESULT_STREAM_MORE &&
		header->kind != RESULT_STREAM_DIR && header->size != 0))
		return RESULT_READER_SIZE;
	return RESULT_READER_MORE;
}

static enum result_reader_verdict
result_reader_header(struct result_reader *reader)
{
	struct result_stream_header *header = &reader->header;

	memcpy(header, reader->head, sizeof(*header));
	reader->have = 0;
	if (header->magic != RESULT_STREAM_MAGIC)
		return RESULT_READER_MAGIC;
	if (header->kind < RESULT_STREAM_FILE ||
	    header->kind > RESULT_STREAM_END ||
	    header->flags > (header->kind == RESULT_STREAM_DIR
				    ? RESULT_STREAM_AT_LEAST
				    : 0))
		return RESULT_READER_KIND;
	if (result_reader_sizes(header) != RESULT_READER_MORE)
		return RESULT_READER_SIZE;
	if (header->kind == RESULT_STREAM_END)
		return RESULT_READER_END;
	if (header->kind == RESULT_STREAM_MORE)
		reader->sink->on_entry(header, "", reader->sink->context);
	else
		reader->has_header = 1;
	return RESULT_READER_MORE;
}

/* Sorted by byte, so that no name can come twice. */
static enum result_reader_verdict
result_reader_name(struct result_reader *reader)
{
	const struct result_reader_sink *sink = reader->sink;
	char *name = reader->name;
	size_t len = reader->header.name_len;

	name[len] = '\0';
	reader->have = 0;
	reader->has_header = 0;
	if (strlen(name) != len || strchr(name, '/') != NULL ||
	    strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    strcmp(reader->last, name) >= 0)
		return RESULT_READER_NAME;
	memcpy(reader->last, name, len + 1);
	sink->on_entry(&reader->header, name, sink->context);
	if (reader->header.kind != RESULT_STREAM_FILE)
		return RESULT_READER_MORE;
	reader->left = reader->header.sent;
	reader->in_content = reader->left > 0;
	if (!reader->in_content)
		sink->on_done(sink->context);
	return RESULT_READER_MORE;
}

/* Take bytes until want are there; returns how many were used. */
static size_t
result_reader_fill(struct result_reader *reader, void *to, size_t want,
    const uint8_t *bytes, size_t len)
{
	size_t part = want - reader->have < len ? want - reader->have : len;

	memcpy((uint8_t *)to + reader->have, bytes, part);
	reader->have += part;
	return part;
}

static size_t
result_reader_content(
    struct result_reader *reader, const uint8_t *bytes, size_t len)
{
	size_t part = reader->left < len ? (size_t)reader->left : len;

	reader->sink->on_data(bytes, part, reader->sink->context);
	reader->left -= part;
	reader->in_content = reader->left > 0;
	if (!reader->in_content)
		reader->sink->on_done(reader->sink->context);
	return part;
}

/* One piece of what is next; returns how many bytes it took. */
static size_t
result_reader_step(
    struct result_reader *reader, const uint8_t *bytes, size_t len)
{
	size_t used;

	if (reader->in_content)
		return result_reader_content(reader, bytes, len);
	if (reader->has_header) {
		used = result_reader_fill(
		    reader, reader->name, reader->header.name_len, bytes, len);
		if (reader->have == reader->header.name_len)
			reader->verdict = result_reader_name(reader);
		return used;
	}
	used = result_reader_fill(
	    reader, reader->head, RESULT_READER_HEAD, bytes, len);
	if (reader->have == RESULT_READER_HEAD)
		reader->verdict = result_reader_header(reader);
	return used;
}

enum result_reader_verdict
result_reader_feed(
    struct result_reader *reader, const uint8_t *bytes, size_t len)
{
	while (len > 0 && reader->verdict == RESULT_READER_MORE) {
		size_t used = result_reader_step(reader, bytes, len);

		bytes += used;
		len -= used;
	}
	if (len > 0 && reader->verdict == RESULT_READER_END)
		reader->verdict = RESULT_READER_AFTER;
	return reader->verdict;
}

const char *
result_reader_text(enum result_reader_verdict verdict)
{
	switch (verdict) {
	case RESULT_READER_MORE:
		return "was cut before its end";
	case RESULT_READER_END:
		return "is whole";
	case RESULT_READER_MAGIC:
		return "has a record that does not begin as one";
	case RESULT_READER_KIND:
		return "has a record of an unknown kind";
	case RESULT_READER_SIZE:
		return "has a size that its kind cannot have";
	case RESULT_READER_NAME:
		return "has a name that is no plain file name, or out of order";
	case RESULT_READER_AFTER:
		return "goes on behind its end";
	}
	return "is not known";
}
