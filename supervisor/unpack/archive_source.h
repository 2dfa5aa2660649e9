/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a foreign archive (tar, gzipped tar, zip) into a check, by
 * libarchive. Used by the jobs of agentnode-unpack.
 */
#ifndef SUPERVISOR_UNPACK_ARCHIVE_SOURCE_H
#define SUPERVISOR_UNPACK_ARCHIVE_SOURCE_H

#include <jansson.h>

#include "supervisor/unpack/tree_check.h"

/* What of the archive is taken, and where it goes. */
struct archive_source_spec {
	unsigned strip;     /* leading components dropped from every name */
	const char *prefix; /* put in front, "" for none */
	/* Paths (after strip, before prefix) that are taken, with what lies
	 * below them; NULL: all. */
	const json_t *only;
	/* [{"path","target"}]: links added at the end; they are judged like
	 * those of the archive. NULL: none. */
	const json_t *links;
};

/* Warm what libarchive reads lazily; before confinement. */
void archive_source_load(void);

enum result archive_source_read(struct unpack_io *io, int fd,
    const struct archive_source_spec *spec, struct tree_check *check);

#endif
