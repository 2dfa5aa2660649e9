/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files a command was given, as the tree stream they went in by: what
 * comes back is compared with them byte by byte. Used by collect.c.
 */
#ifndef SUPERVISOR_UNPACK_COLLECT_HANDED_H
#define SUPERVISOR_UNPACK_COLLECT_HANDED_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisor/unpack/collect.h"

struct collect_handed_file {
	char name[256];
	uint64_t offset, size; /* of the content, in the stream */
};

struct collect_handed {
	int fd; /* borrowed; a regular file or memfd */
	struct collect_handed_file files[COLLECT_HANDED_MAX];
	size_t count;
};

/* Reads the headers. A stream that is not as exec writes it is a fault. */
enum result collect_handed_read(
    struct unpack_io *io, int fd, struct collect_handed *handed_r);
/* NULL: it was not given. */
const struct collect_handed_file *collect_handed_find(
    const struct collect_handed *handed, const char *name);
/* The bytes at offset of the file are these? */
bool collect_handed_same(const struct collect_handed *handed,
    const struct collect_handed_file *file, uint64_t offset,
    const uint8_t *bytes, size_t len);

#endif
