/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a result stream (supervisor/init/result_stream.h) as it comes, in
 * any pieces. Used by agentnode-unpack on what a command left. Pure: no
 * I/O, fuzzed.
 */
#ifndef SUPERVISOR_UNPACK_RESULT_READER_H
#define SUPERVISOR_UNPACK_RESULT_READER_H

#include <stddef.h>
#include <stdint.h>

#include "supervisor/init/result_stream.h"

#define RESULT_READER_HEAD sizeof(struct result_stream_header)

enum result_reader_verdict {
	RESULT_READER_MORE,  /* fine so far */
	RESULT_READER_END,   /* whole */
	RESULT_READER_MAGIC, /* not a result stream, or out of step */
	RESULT_READER_KIND,  /* unknown kind, or spare is not 0 */
	RESULT_READER_SIZE,  /* a size or length that the kind cannot have */
	RESULT_READER_NAME,  /* '/', 0, "." or "..", or not after the last */
	RESULT_READER_AFTER  /* bytes behind the end */
};

/* name has no NUL and is valid during the call only. on_data comes for
 * files, as often as it takes, header->sent bytes in all, then on_done. */
struct result_reader_sink {
	void (*on_entry)(const struct result_stream_header *header,
	    const char *name, void *context);
	void (*on_data)(const uint8_t *bytes, size_t len, void *context);
	void (*on_done)(void *context);
	void *context;
};

struct result_reader {
	const struct result_reader_sink *sink;
	enum result_reader_verdict verdict;
	struct result_stream_header header;
	uint8_t head[RESULT_READER_HEAD];
	size_t have;    /* of head, then of name */
	int has_header; /* the name or the content is next */
	int in_content;
	uint64_t left; /* of the content */
	/* The name before this one, for the order. */
	char name[RESULT_STREAM_NAME_MAX + 1], last[RESULT_STREAM_NAME_MAX + 1];
};

void result_reader_init(
    struct result_reader *reader, const struct result_reader_sink *sink);
/* After anything but MORE and END nothing more is called. */
enum result_reader_verdict result_reader_feed(
    struct result_reader *reader, const uint8_t *bytes, size_t len);
const char *result_reader_text(enum result_reader_verdict verdict);

#endif
