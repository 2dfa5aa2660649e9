/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command left in its scratch directory, as a stream of fixed
 * headers: the regular files at the top with their content, cut where it is
 * too long, and of everything else only that it is there. Written by a
 * child of init (or, where there is no init, by the supervisor) once nothing
 * of the command lives; read by agentnode-unpack, for which it is foreign.
 * A name follows its header, then `sent` bytes of content.
 */
#ifndef SUPERVISOR_INIT_RESULT_STREAM_H
#define SUPERVISOR_INIT_RESULT_STREAM_H

#include <stdint.h>

#define RESULT_STREAM_MAGIC 0x414e5231U /* "ANR1" */
#define RESULT_STREAM_NAME_MAX 255U

/* Of a directory's size: not all of it was looked at. */
#define RESULT_STREAM_AT_LEAST 1U

enum result_stream_kind {
	RESULT_STREAM_FILE = 1,
	RESULT_STREAM_DIR = 2,
	RESULT_STREAM_LINK = 3,
	RESULT_STREAM_SPECIAL = 4,    /* pipe, socket, device */
	RESULT_STREAM_UNREADABLE = 5, /* a regular file, not to be opened */
	RESULT_STREAM_MORE = 6,       /* no name; size entries are not listed */
	RESULT_STREAM_END = 7,        /* last; a stream without it was cut */
};

struct result_stream_header {
	uint32_t magic;
	uint32_t kind;
	uint32_t name_len; /* bytes of name that follow; 0: MORE, END */
	uint32_t flags;    /* DIR: AT_LEAST or 0; else 0 */
	uint64_t size;     /* FILE: as the file system says; MORE: how many;
			    * DIR: how many below it are no directory */
	uint64_t sent;     /* FILE: bytes of content that follow the name */
};

#endif
