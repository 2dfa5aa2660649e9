/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Docker daemon sends of an attached container, in reads of any size:
 * never more is kept than came, and how it was cut changes nothing. The
 * first byte says how.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/mux/docker_stream.h"

#define FUZZ_DOCKER_STREAM_MOST 65536U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t whole[FUZZ_DOCKER_STREAM_MOST];
	static uint8_t cut[FUZZ_DOCKER_STREAM_MOST];
	struct docker_stream first = {.left = 0}, second = {.left = 0};
	enum docker_stream_result want, got = DOCKER_STREAM_OK;
	size_t step, kept, one, count = 0;

	if (size < 2 || size > FUZZ_DOCKER_STREAM_MOST)
		return 0;
	step = (size_t)data[0] + 1;
	data++;
	size--;
	memcpy(whole, data, size);
	want = docker_stream_strip(&first, whole, size, &kept);
	if (kept > size)
		abort();
	for (size_t at = 0; at < size && got == DOCKER_STREAM_OK; at += step) {
		size_t part = step < size - at ? step : size - at;

		memcpy(cut + count, data + at, part);
		got = docker_stream_strip(&second, cut + count, part, &one);
		count += one;
	}
	if (got != want || count != kept || memcmp(whole, cut, kept) != 0 ||
	    (got == DOCKER_STREAM_OK && docker_stream_is_within(&first) !=
					    docker_stream_is_within(&second)))
		abort();
	return 0;
}
