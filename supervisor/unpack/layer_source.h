/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one layer of an image, a plain tar, and writes it as a layer
 * stream (layer_stream.h). Used by job_table.c.
 */
#ifndef SUPERVISOR_UNPACK_LAYER_SOURCE_H
#define SUPERVISOR_UNPACK_LAYER_SOURCE_H

#include <stdint.h>

#include "supervisor/init/tree_stream.h"
#include "supervisor/unpack/unpack_jobs.h"
#include "supervisor/unpack/unpack_out.h"

struct layer_source_spec {
	uint64_t max_bytes, max_files;
};

struct layer_source_total {
	char diff_id[UNPACK_HASH_SIZE]; /* of every byte of the tar */
	uint64_t entries, bytes;
	uint64_t skipped; /* devices, FIFOs, sockets: never made */
};

/* Set-id bits and write permission for others are dropped, owners are not
 * kept, names and hard links are checked. */
enum result layer_source_read(struct unpack_io *io, int fd,
    const struct layer_source_spec *spec, struct unpack_out *out,
    struct layer_source_total *total_r);

#endif
