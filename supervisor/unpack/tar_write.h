/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sink that writes a clean tree as a tar, the same bytes for the same
 * tree every time. Used by the jobs of agentnode-unpack.
 */
#ifndef SUPERVISOR_UNPACK_TAR_WRITE_H
#define SUPERVISOR_UNPACK_TAR_WRITE_H

#include "supervisor/unpack/tree_check.h"
#include "supervisor/unpack/unpack_out.h"

struct tar_write {
	struct unpack_out *out; /* borrowed */
	uint64_t left;          /* of the current file's content */
	uint64_t size;
};

/* The sink writes through writer (borrowed, set up here) to out; end adds
 * the two empty blocks and flushes. */
void tar_write_sink(
    struct tree_sink *sink_r, struct tar_write *writer, struct unpack_out *out);

#endif
