/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving files into and out of the container's tmpfs as a tree stream
 * (tree_stream.h), by a child of init that can reach one directory only.
 */
#ifndef SUPERVISOR_INIT_TREE_H
#define SUPERVISOR_INIT_TREE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisor/init/init_protocol.h"
#include "supervisor/init/tree_stream.h"

/* Starts the child for an INIT_IMPORT, INIT_EXPORT or INIT_RESULTS; does not
 * take the stream. Its exit status is 0 or an errno. */
pid_t init_tree_start(
    const struct init_tree *job, int stream_fd, int landlock_required);
/* The errno in a wait status. */
int init_tree_outcome(int status);

/* For the two children. */
struct init_tree_bound {
	uint64_t bytes, files; /* what may still come */
};
/* Takes size bytes and one entry from the bound; 0 or EFBIG. */
int init_tree_charge(struct init_tree_bound *bound, uint64_t size);
/* Exactly size bytes; 0 or errno (EPIPE: the stream ended early). */
int init_tree_read(int fd, void *bytes_r, size_t size);
int init_tree_write(int fd, const void *bytes, size_t size);
int init_tree_copy(int from, int to, uint64_t size);
/* A directory below root, by a path without links, ".." or mounts. */
int init_tree_open_folder(int root, const char *path);

int init_import_run(int root, int stream_fd, struct init_tree_bound bound);
int init_export_run(int root, int stream_fd, struct init_tree_bound bound);

#endif
