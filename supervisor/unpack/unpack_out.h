/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A buffered output descriptor of an unpack job. Used by the sinks that
 * write tars and tree streams.
 */
#ifndef SUPERVISOR_UNPACK_UNPACK_OUT_H
#define SUPERVISOR_UNPACK_UNPACK_OUT_H

#include "supervisor/unpack/unpack_io.h"

#define UNPACK_OUT_CHUNK 131072U

/* io and fd are borrowed. */
struct unpack_out {
	struct unpack_io *io;
	int fd;
	size_t used;
	uint8_t bytes[UNPACK_OUT_CHUNK];
};

void unpack_out_init(struct unpack_out *out, struct unpack_io *io, int fd);
enum result unpack_out_put(
    struct unpack_out *out, const void *bytes, size_t len);
enum result unpack_out_flush(struct unpack_out *out);

#endif
