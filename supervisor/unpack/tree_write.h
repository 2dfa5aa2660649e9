/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sink that writes a clean tree as a tree stream
 * (supervisor/init/tree_stream.h). Used by the jobs of agentnode-unpack.
 */
#ifndef SUPERVISOR_UNPACK_TREE_WRITE_H
#define SUPERVISOR_UNPACK_TREE_WRITE_H

#include "supervisor/unpack/tree_check.h"
#include "supervisor/unpack/unpack_out.h"

/* The sink writes to out (borrowed); end adds the end record and flushes. */
void tree_write_sink(struct tree_sink *sink_r, struct unpack_out *out);

#endif
