/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One layer of an image as a stream of fixed headers: what agentnode-unpack
 * makes of a layer's tar, and what the supervisor puts on the disk without
 * an archive parser (supervisor/engine/oci_apply.c). Behind a header come
 * the path, the target and the content. Paths are relative, checked
 * (tree_name.h), and not NUL-terminated.
 */
#ifndef SUPERVISOR_UNPACK_LAYER_STREAM_H
#define SUPERVISOR_UNPACK_LAYER_STREAM_H

#include <stdint.h>

#define LAYER_STREAM_MAGIC 0x414e4c31U /* "ANL1" */
#define LAYER_STREAM_TARGET_MAX 4095U

enum layer_stream_type {
	LAYER_STREAM_DIR = 1,
	LAYER_STREAM_FILE = 2,   /* size bytes of content follow */
	LAYER_STREAM_LINK = 3,   /* target: any text, never followed by us */
	LAYER_STREAM_HARD = 4,   /* target: a path of the same tree */
	LAYER_STREAM_REMOVE = 5, /* what lower layers have there goes */
	LAYER_STREAM_EMPTY = 6,  /* what lower layers have in there goes */
	LAYER_STREAM_END = 7,    /* a stream without it was cut */
};

struct layer_stream_header {
	uint32_t magic;
	uint32_t type;
	uint32_t mode; /* 0755 or less: nobody but the owner writes, no
			* set-id bit */
	uint32_t path_len, target_len;
	uint32_t reserved; /* 0 */
	uint64_t size;
	int64_t mtime; /* seconds: compiled files name their source's */
};

#endif
