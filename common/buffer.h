/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growable byte buffer with a hard bound, given once at start. Used by
 * every process for heads, frames and messages. Pure: no I/O.
 *
 * Readable bytes are data[start .. start+len). Consuming moves start;
 * appending compacts when needed. All sizes are bytes.
 */
#ifndef COMMON_BUFFER_H
#define COMMON_BUFFER_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "common/result.h"

struct buffer {
	uint8_t *data;   /* owned; NULL while empty and never grown */
	size_t start;    /* first readable byte */
	size_t len;      /* readable bytes */
	size_t capacity; /* allocated bytes */
	size_t max;      /* len never exceeds this */
};

/* From now on every buffer of this process overwrites what it lets go of:
 * for a process through which a secret may pass. */
void buffer_wipe(void);

/* Prepare an empty buffer; allocates nothing. */
void buffer_init(struct buffer *buffer, size_t max);

/* Free the memory and leave an empty buffer with the same max. */
void buffer_free(struct buffer *buffer);

/* First readable byte; valid until the next change. Caller does not free. */
const uint8_t *buffer_bytes_borrow(const struct buffer *buffer);

/* Room for up to want more bytes (want is clipped to max - len).
 * space_r gets the pointer, room_r how much may be written there;
 * then call buffer_commit. RESULT_TOO_LONG when the buffer is full. */
enum result buffer_reserve(
    struct buffer *buffer, size_t want, uint8_t **space_r, size_t *room_r);
void buffer_commit(struct buffer *buffer, size_t count);

/* Append; RESULT_TOO_LONG (and nothing appended) when over max. */
enum result buffer_append(
    struct buffer *buffer, const void *bytes, size_t count);
enum result buffer_append_text(struct buffer *buffer, const char *text);
enum result buffer_append_number(struct buffer *buffer, uint64_t number);
enum result buffer_printf(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Drop count bytes from the front; count must be <= len. */
void buffer_consume(struct buffer *buffer, size_t count);

/* Drop everything, keep the memory. */
void buffer_clear(struct buffer *buffer);

#endif
