/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Docker daemon sends of a container that has no terminal, once it
 * is attached to: chunks of standard output, each behind eight bytes (which
 * stream; three zeros; the chunk's length, big-endian). The headers are
 * taken out where they are; what is left is what the container wrote.
 *
 * Pure: bytes in, enum out. Used by mux_bridge on the host; fuzzed.
 */
#ifndef SUPERVISOR_MUX_DOCKER_STREAM_H
#define SUPERVISOR_MUX_DOCKER_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DOCKER_STREAM_HEADER 8U
#define DOCKER_STREAM_CHUNK_MAX (16U << 20) /* the daemon has 32 KiB */

enum docker_stream_result {
	DOCKER_STREAM_OK,
	DOCKER_STREAM_BAD_KIND,   /* not standard output, all we asked for */
	DOCKER_STREAM_BAD_HEADER, /* bytes that must be zero are not */
	DOCKER_STREAM_BAD_LENGTH, /* none, or beyond any buffer */
};

/* Where in a chunk we are; all zero at first. */
struct docker_stream {
	uint8_t head[DOCKER_STREAM_HEADER];
	uint32_t head_len; /* of them came */
	uint32_t left;     /* of the chunk */
};

/* bytes[0..len) followed what came before; the first *kept_r of them are
 * then what the container wrote. After a fault nothing may follow. */
enum docker_stream_result docker_stream_strip(
    struct docker_stream *stream, uint8_t *bytes, size_t len, size_t *kept_r);

/* Within a chunk or a header: an end here is none of the container's. */
bool docker_stream_is_within(const struct docker_stream *stream);

const char *docker_stream_text(enum docker_stream_result result);

#endif
