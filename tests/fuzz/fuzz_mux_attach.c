/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A daemon's answer to the request to attach: what is taken for one has the
 * status and no byte behind it, and no shorter part of it is one.
 */
#include <stdint.h>
#include <stdlib.h>

#include "supervisor/gate/mux_attach.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	unsigned status, shorter;

	if (size > MUX_ATTACH_HEAD_MAX)
		return 0;
	if (mux_attach_read(bytes, size, &status) != MUX_ATTACH_DONE)
		return 0;
	if (status != 101 || bytes[size - 1] != '\n' ||
	    mux_attach_read(bytes, size - 1, &shorter) != MUX_ATTACH_MORE)
		abort();
	return 0;
}
