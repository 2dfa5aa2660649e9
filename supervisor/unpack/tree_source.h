/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a foreign tree stream (what came out of a container) into a check.
 * Used by the jobs of agentnode-unpack.
 */
#ifndef SUPERVISOR_UNPACK_TREE_SOURCE_H
#define SUPERVISOR_UNPACK_TREE_SOURCE_H

#include "supervisor/unpack/tree_check.h"

/* Until the end record; bytes behind it are a fault. */
enum result tree_source_read(
    struct unpack_io *io, int fd, struct tree_check *check);

#endif
