/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which names and link targets a foreign tree may hold. Used by
 * agentnode-unpack for everything it reads. Pure: no I/O, fuzzed.
 */
#ifndef SUPERVISOR_UNPACK_TREE_NAME_H
#define SUPERVISOR_UNPACK_TREE_NAME_H

#include <stddef.h>

#define TREE_NAME_PART_MAX 255U /* NAME_MAX */

enum tree_name_verdict {
	TREE_NAME_OK,
	TREE_NAME_EMPTY,    /* no byte, or an empty component */
	TREE_NAME_ABSOLUTE, /* begins with '/' */
	TREE_NAME_DOTS,     /* a component "." or ".." */
	TREE_NAME_LONG,     /* path, component or depth over its bound */
	TREE_NAME_BYTES,    /* control byte or not UTF-8 */
	TREE_NAME_LEAVES,   /* a link target that leaves the tree */
};

/* A relative path without "." and "..", printable UTF-8, at most
 * TREE_STREAM_PATH_MAX bytes and TREE_STREAM_DEPTH_MAX components. */
enum tree_name_verdict tree_name_check(const char *path, size_t len);

/* The target of a link at path (already checked). ".." is allowed in front
 * only, where every step is a real folder, and not above the tree: behind
 * another component it could be applied to what a second link names. */
enum tree_name_verdict tree_name_check_link(
    const char *path, const char *target, size_t target_len);

/* The path as foreign tools spell it, cleaned of a leading "./" and one
 * trailing '/', still unchecked. "." becomes empty. Points into path. */
const char *tree_name_trim(const char *path, size_t *len);

/* "is absolute", "leaves the tree", ...; fits behind the name. */
const char *tree_name_text(enum tree_name_verdict verdict);

#endif
