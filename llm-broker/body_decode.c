/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip and zstd bodies of requests. Called by call_request.c. It must never
 * put out a byte more than the caller's buffer may hold, nor take bytes
 * behind the end of what it decodes.
 */
#include "llm-broker/body_decode.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#define BODY_DECODE_STEP 65536U  /* bytes of room asked for at a time */
#define BODY_DECODE_GZIP_BITS 31 /* 32 KiB window, gzip wrapper alone */

struct body_decode {
	enum body_decode_coding coding;
	bool ended; /* the member or frame is complete */
	uint64_t taken, given;
	z_stream zlib;
	bool zlib_open;
	ZSTD_DCtx *zstd;
	unsigned char magic[4]; /* zstd: the first bytes, held back */
	size_t magic_len;
};

enum body_decode_coding
body_decode_coding(struct http_text value)
{
	if (http_head_text_is_nocase(value, "identity"))
		return BODY_DECODE_IDENTITY;
	if (http_head_text_is_nocase(value, "gzip"))
		return BODY_DECODE_GZIP;
	if (http_head_text_is_nocase(value, "zstd"))
		return BODY_DECODE_ZSTD;
	return BODY_DECODE_UNKNOWN;
}

void
body_decode_free(struct body_decode **decode)
{
	if (*decode == NULL)
		return;
	if ((*decode)->zlib_open)
		(void)inflateEnd(&(*decode)->zlib);
	(void)ZSTD_freeDCtx((*decode)->zstd);
	free(*decode);
	*decode = NULL;
}

static bool
body_decode_open(struct body_decode *decode)
{
	switch (decode->coding) {
	case BODY_DECODE_IDENTITY:
		return true;
	case BODY_DECODE_GZIP:
		decode->zlib_open =
		    inflateInit2(&decode->zlib, BODY_DECODE_GZIP_BITS) == Z_OK;
		return decode->zlib_open;
	case BODY_DECODE_ZSTD:
		decode->zstd = ZSTD_createDCtx();
		return decode->zstd != NULL &&
		       !ZSTD_isError(ZSTD_DCtx_setParameter(decode->zstd,
			   ZSTD_d_windowLogMax, BODY_DECODE_WINDOW_LOG));
	case BODY_DECODE_UNKNOWN:
		break;
	}
	return false;
}

enum body_decode_status
body_decode_new(enum body_decode_coding coding, struct body_decode **decode_r)
{
	struct body_decode *decode = calloc(1, sizeof(*decode));

	*decode_r = NULL;
	if (decode == NULL)
		return BODY_DECODE_MEMORY;
	decode->coding = coding;
	if (!body_decode_open(decode)) {
		body_decode_free(&decode);
		return BODY_DECODE_MEMORY;
	}
	*decode_r = decode;
	return BODY_DECODE_OK;
}

/* Room for the next piece. One byte more than the cap is not there: a
 * decoder that has more to say at the cap is over it. */
static enum body_decode_status
body_decode_room(struct buffer *out, uint8_t **space_r, size_t *room_r)
{
	enum result result =
	    buffer_reserve(out, BODY_DECODE_STEP, space_r, room_r);

	if (result == RESULT_OK)
		return BODY_DECODE_OK;
	return result == RESULT_TOO_LONG ? BODY_DECODE_LARGE
					 : BODY_DECODE_MEMORY;
}

/* One step of zlib: how much it took and gave, and whether it ended. */
static enum body_decode_status
body_decode_gzip(struct body_decode *decode, const char *bytes, size_t len,
    uint8_t *space, size_t room, size_t *used_r, size_t *made_r)
{
	z_stream *zlib = &decode->zlib;
	int status;

	/* len and room are at most a feed's and a step's, far below 2^32. */
	zlib->next_in = (z_const Bytef *)(uintptr_t)bytes;
	zlib->avail_in = (uInt)len;
	zlib->next_out = space;
	zlib->avail_out = (uInt)room;
	status = inflate(zlib, Z_NO_FLUSH);
	*used_r = len - zlib->avail_in;
	*made_r = room - zlib->avail_out;
	if (status == Z_MEM_ERROR)
		return BODY_DECODE_MEMORY;
	if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
		return BODY_DECODE_BAD;
	decode->ended = status == Z_STREAM_END;
	return BODY_DECODE_OK;
}

static enum body_decode_status
body_decode_zstd(struct body_decode *decode, const char *bytes, size_t len,
    uint8_t *space, size_t room, size_t *used_r, size_t *made_r)
{
	ZSTD_inBuffer in = {bytes, len, 0};
	ZSTD_outBuffer out = {space, room, 0};
	size_t status = ZSTD_decompressStream(decode->zstd, &out, &in);

	*used_r = in.pos;
	*made_r = out.pos;
	if (ZSTD_isError(status))
		return BODY_DECODE_BAD;
	decode->ended = status == 0;
	return BODY_DECODE_OK;
}

static enum body_decode_status
body_decode_step(struct body_decode *decode, const char *bytes, size_t len,
    struct buffer *out, size_t *used_r, size_t *made_r)
{
	enum body_decode_status status;
	uint8_t *space, spare;
	size_t room;

	/* At the cap one byte of room shows whether there is more. */
	status = body_decode_room(out, &space, &room);
	if (status == BODY_DECODE_LARGE) {
		space = &spare;
		room = 1;
	} else if (status != BODY_DECODE_OK) {
		return status;
	}
	status = decode->coding == BODY_DECODE_GZIP
		     ? body_decode_gzip(
			   decode, bytes, len, space, room, used_r, made_r)
		     : body_decode_zstd(
			   decode, bytes, len, space, room, used_r, made_r);
	if (status != BODY_DECODE_OK)
		return status;
	if (space == &spare && *made_r > 0)
		return BODY_DECODE_LARGE;
	if (space != &spare)
		buffer_commit(out, *made_r);
	return BODY_DECODE_OK;
}

static bool
body_decode_is_bomb(const struct body_decode *decode)
{
	return decode->given > BODY_DECODE_RATIO_FROM &&
	       decode->given / BODY_DECODE_RATIO > decode->taken;
}

static enum body_decode_status
body_decode_run(struct body_decode *decode, const char *bytes, size_t len,
    struct buffer *out)
{
	enum body_decode_status status;
	size_t used = 0, made = 0;

	for (;;) {
		if (decode->ended)
			return len == 0 ? BODY_DECODE_OK : BODY_DECODE_BAD;
		status =
		    body_decode_step(decode, bytes, len, out, &used, &made);
		if (status != BODY_DECODE_OK)
			return status;
		decode->taken += used;
		decode->given += made;
		if (body_decode_is_bomb(decode))
			return BODY_DECODE_BOMB;
		bytes += used;
		len -= used;
		if (used == 0 && made == 0)
			return len == 0 || decode->ended ? BODY_DECODE_OK
							 : BODY_DECODE_BAD;
	}
}

/* libzstd skips skippable frames in silence, so the first four bytes are
 * looked at here: only a frame that holds content may begin. */
static enum body_decode_status
body_decode_magic(struct body_decode *decode, const char **bytes, size_t *len,
    struct buffer *out)
{
	static const unsigned char magic[4] = {0x28, 0xb5, 0x2f, 0xfd};

	while (decode->magic_len < sizeof(magic) && *len > 0) {
		if ((unsigned char)**bytes != magic[decode->magic_len])
			return BODY_DECODE_BAD;
		decode->magic[decode->magic_len++] = (unsigned char)**bytes;
		(*bytes)++;
		(*len)--;
		if (decode->magic_len == sizeof(magic))
			return body_decode_run(decode,
			    (const char *)decode->magic, sizeof(magic), out);
	}
	return BODY_DECODE_OK;
}

static enum body_decode_status
body_decode_copy(const char *bytes, size_t len, struct buffer *out)
{
	enum result result = buffer_append(out, bytes, len);

	if (result == RESULT_OK)
		return BODY_DECODE_OK;
	return result == RESULT_TOO_LONG ? BODY_DECODE_LARGE
					 : BODY_DECODE_MEMORY;
}

enum body_decode_status
body_decode_feed(struct body_decode *decode, const char *bytes, size_t len,
    struct buffer *out)
{
	enum body_decode_status status = BODY_DECODE_OK;

	if (decode->coding == BODY_DECODE_IDENTITY)
		return body_decode_copy(bytes, len, out);
	if (decode->coding == BODY_DECODE_ZSTD)
		status = body_decode_magic(decode, &bytes, &len, out);
	if (status != BODY_DECODE_OK || len == 0)
		return status;
	return body_decode_run(decode, bytes, len, out);
}

enum body_decode_status
body_decode_finish(const struct body_decode *decode)
{
	return decode->ended || decode->coding == BODY_DECODE_IDENTITY
		   ? BODY_DECODE_OK
		   : BODY_DECODE_BAD;
}
