/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a directory of the file system into a check, from a descriptor
 * down, never through a link and never above it. Also opens single files
 * below it. Used by the jobs of agentnode-unpack.
 */
#ifndef SUPERVISOR_UNPACK_TREE_WALK_H
#define SUPERVISOR_UNPACK_TREE_WALK_H

#include "supervisor/unpack/tree_check.h"
#include "supervisor/unpack/tree_seal.h"

/* Parents first, sorted by name within a folder. max_files bounds what is
 * listed before it is judged. seal: NULL, or settled before each file. */
enum result tree_walk_read(struct unpack_io *io, int root_fd,
    struct tree_check *check, uint64_t max_files, struct tree_seal *seal);

/* Open below dir_fd: no link, no other mount on the way; -1 with errno. */
int tree_walk_openat2(int dir_fd, const char *path, uint64_t flags);

/* Open a regular file at path below root; no link on the way, at most max
 * bytes long. The caller closes. RESULT_NOT_FOUND when there is none. */
enum result tree_walk_open(struct unpack_io *io, int root_fd, const char *path,
    uint64_t max, int *fd_r);

#endif
