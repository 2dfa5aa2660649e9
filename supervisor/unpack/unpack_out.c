/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects small writes; see unpack_out.h. Must never lose bytes silently:
 * every result is handed up.
 */
#include "supervisor/unpack/unpack_out.h"

#include <string.h>

void
unpack_out_init(struct unpack_out *out, struct unpack_io *io, int fd)
{
	out->io = io;
	out->fd = fd;
	out->used = 0;
}

enum result
unpack_out_flush(struct unpack_out *out)
{
	size_t used = out->used;

	out->used = 0;
	return unpack_io_write(out->io, out->fd, out->bytes, used);
}

enum result
unpack_out_put(struct unpack_out *out, const void *bytes, size_t len)
{
	enum result result;

	if (len > sizeof(out->bytes) - out->used) {
		result = unpack_out_flush(out);
		if (result != RESULT_OK)
			return result;
	}
	if (len >= sizeof(out->bytes))
		return unpack_io_write(out->io, out->fd, bytes, len);
	memcpy(out->bytes + out->used, bytes, len);
	out->used += len;
	return RESULT_OK;
}
