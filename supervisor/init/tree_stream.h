/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file tree as a stream of fixed headers, for moving files into and out
 * of a container's tmpfs through init: no archive parser inside. Written
 * and read by a child of init (as the workload's uid) and by
 * agentnode-unpack, which treats what comes out of a container as foreign.
 * Entries come parents first, sorted by path within a folder; paths are
 * relative, without "." or "..", never start with '/', and are not
 * NUL-terminated in the stream.
 */
#ifndef SUPERVISOR_INIT_TREE_STREAM_H
#define SUPERVISOR_INIT_TREE_STREAM_H

#include <stdint.h>

#define TREE_STREAM_MAGIC 0x414e5431U /* "ANT1" */
#define TREE_STREAM_PATH_MAX 1024U
#define TREE_STREAM_DEPTH_MAX 64U

enum tree_stream_type {
	TREE_STREAM_DIR = 1,
	TREE_STREAM_FILE = 2,
	TREE_STREAM_LINK = 3, /* content is the target; size its length */
	TREE_STREAM_END = 4,  /* last record; a stream without it was cut */
};

struct tree_stream_header {
	uint32_t magic;
	uint32_t type;
	uint32_t mode;     /* 0755 or 0644 after cleaning */
	uint32_t path_len; /* bytes of path that follow */
	uint64_t size;     /* bytes of content that follow the path */
};

#endif
