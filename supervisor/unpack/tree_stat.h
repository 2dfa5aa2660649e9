/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fingerprint of a tree: a hash over what stat says of every entry, its
 * name and the target of its link, and over the mount it lies on. No content
 * is read, so that it costs milliseconds where the tree hash costs seconds.
 * Two equal fingerprints of one boot mean an unchanged tree under the
 * conditions of docs/sealed-volumes.md; two different ones mean nothing but
 * that the content has to be read. Used by tree_seal.c and the stat_tree job.
 */
#ifndef SUPERVISOR_UNPACK_TREE_STAT_H
#define SUPERVISOR_UNPACK_TREE_STAT_H

#include <stdint.h>

#include "common/result.h"
#include "supervisor/unpack/unpack_io.h"
#include "supervisor/unpack/unpack_jobs.h"

struct tree_stat_total {
	char stat[UNPACK_HASH_SIZE];
	uint64_t entries;
	int64_t newest_ns;    /* the latest ctime of all entries */
	const char *unsteady; /* NULL, or the word of docs/sealed-volumes.md
			       * that says why nothing may be concluded */
};

/* Walk below root_fd (borrowed): no link is followed, no mount crossed.
 * RESULT_BAD (with the fault in io) for a tree that cannot be walked. */
enum result tree_stat_read(struct unpack_io *io, int root_fd,
    uint64_t max_files, struct tree_stat_total *total_r);

#endif
