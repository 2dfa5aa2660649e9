/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker's headers between a container's bytes (see the header). Called by
 * mux_in.c; must never keep a byte of a header, lose one behind it, or look
 * at what a chunk has.
 */
#include "supervisor/mux/docker_stream.h"

#include <string.h>

#define DOCKER_STREAM_STDOUT 1U

static enum docker_stream_result
docker_stream_begin(struct docker_stream *stream)
{
	const uint8_t *head = stream->head;
	uint32_t len = (uint32_t)head[4] << 24 | (uint32_t)head[5] << 16 |
		       (uint32_t)head[6] << 8 | (uint32_t)head[7];

	if (head[0] != DOCKER_STREAM_STDOUT)
		return DOCKER_STREAM_BAD_KIND;
	if (head[1] != 0 || head[2] != 0 || head[3] != 0)
		return DOCKER_STREAM_BAD_HEADER;
	if (len == 0 || len > DOCKER_STREAM_CHUNK_MAX)
		return DOCKER_STREAM_BAD_LENGTH;
	stream->left = len;
	stream->head_len = 0;
	return DOCKER_STREAM_OK;
}

enum docker_stream_result
docker_stream_strip(
    struct docker_stream *stream, uint8_t *bytes, size_t len, size_t *kept_r)
{
	enum docker_stream_result result = DOCKER_STREAM_OK;
	size_t at = 0, kept = 0, part;

	while (at < len && result == DOCKER_STREAM_OK) {
		if (stream->left > 0) {
			part =
			    stream->left < len - at ? stream->left : len - at;
			if (kept != at)
				memmove(bytes + kept, bytes + at, part);
			stream->left -= (uint32_t)part;
			kept += part;
			at += part;
			continue;
		}
		part = DOCKER_STREAM_HEADER - stream->head_len;
		if (part > len - at)
			part = len - at;
		memcpy(stream->head + stream->head_len, bytes + at, part);
		stream->head_len += (uint32_t)part;
		at += part;
		if (stream->head_len == DOCKER_STREAM_HEADER)
			result = docker_stream_begin(stream);
	}
	*kept_r = kept;
	return result;
}

bool
docker_stream_is_within(const struct docker_stream *stream)
{
	return stream->left > 0 || stream->head_len > 0;
}

const char *
docker_stream_text(enum docker_stream_result result)
{
	static const char *const texts[] = {
	    [DOCKER_STREAM_OK] = "nothing",
	    [DOCKER_STREAM_BAD_KIND] =
		"a stream of docker's that was not asked for",
	    [DOCKER_STREAM_BAD_HEADER] = "a header of docker's that is none",
	    [DOCKER_STREAM_BAD_LENGTH] =
		"a chunk of docker's of a length that none has",
	};

	return texts[result];
}
