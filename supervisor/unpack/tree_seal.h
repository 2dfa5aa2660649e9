/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Around the hash of a tree: may its fingerprint (tree_stat.h) stand for its
 * content from now on? Only when every later change must give another one.
 * Asked by the hash_tree job; docs/sealed-volumes.md has the reasons.
 */
#ifndef SUPERVISOR_UNPACK_TREE_SEAL_H
#define SUPERVISOR_UNPACK_TREE_SEAL_H

#include "supervisor/unpack/tree_stat.h"

struct tree_seal {
	struct unpack_io *io;
	int root_fd; /* borrowed */
	uint64_t max_files;
	int64_t begin_ns; /* wall clock before the first look */
	struct tree_stat_total before;
	const char *unsealed; /* NULL, or the word that says why not */
};

/* The first look, before any content is read. */
enum result tree_seal_begin(struct tree_seal *seal, struct unpack_io *io,
    int root_fd, uint64_t max_files);

/* Before the content of a file is read: what is dirty is written back, so
 * that the next write through an old mapping faults and moves the ctime;
 * and is it open for writing anywhere (where the kernel tells us)? */
void tree_seal_settle(struct tree_seal *seal, int fd);

/* The second look. stat_r is "" when seal->unsealed says why. */
enum result tree_seal_end(
    struct tree_seal *seal, char stat_r[UNPACK_HASH_SIZE]);

#endif
