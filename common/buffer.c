/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bounded byte buffer. Called by every process for heads, frames and
 * messages. It must never hold more than max bytes. A secret of ours does
 * not belong here; a process through which one may pass wipes.
 */
#include "common/buffer.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_FIRST_CAPACITY 512U

/* Texts up to here are formatted once. */
#define BUFFER_SMALL 256U

static enum result buffer_vprintf_large(
    struct buffer *buffer, size_t need, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

static bool buffer_wipes;

void
buffer_wipe(void)
{
	buffer_wipes = true;
}

/* Bytes that nobody may read any more. */
static void
buffer_forget(uint8_t *bytes, size_t count)
{
	if (buffer_wipes && count > 0)
		explicit_bzero(bytes, count);
}

void
buffer_init(struct buffer *buffer, size_t max)
{
	memset(buffer, 0, sizeof(*buffer));
	buffer->max = max;
}

void
buffer_free(struct buffer *buffer)
{
	if (buffer->data != NULL)
		buffer_forget(buffer->data, buffer->capacity);
	free(buffer->data);
	buffer_init(buffer, buffer->max);
}

const uint8_t *
buffer_bytes_borrow(const struct buffer *buffer)
{
	static const uint8_t nothing[1];

	return buffer->data == NULL ? nothing : buffer->data + buffer->start;
}

/* Move the readable bytes to the front of the memory. */
static void
buffer_compact(struct buffer *buffer)
{
	if (buffer->start == 0)
		return;
	memmove(buffer->data, buffer->data + buffer->start, buffer->len);
	buffer_forget(buffer->data + buffer->len, buffer->start);
	buffer->start = 0;
}

/* As realloc, without a copy that stays behind. */
static uint8_t *
buffer_grow(const struct buffer *buffer, size_t next)
{
	uint8_t *data;

	if (!buffer_wipes || buffer->data == NULL)
		return realloc(buffer->data, next);
	data = malloc(next);
	if (data == NULL)
		return NULL;
	memcpy(data, buffer->data, buffer->len); /* it is compact */
	explicit_bzero(buffer->data, buffer->capacity);
	free(buffer->data);
	return data;
}

/* Capacity that holds need bytes: doubled, never above max. */
static size_t
buffer_next_capacity(const struct buffer *buffer, size_t need)
{
	size_t next = buffer->capacity;

	if (next < BUFFER_FIRST_CAPACITY)
		next = BUFFER_FIRST_CAPACITY;
	while (next < need && next <= buffer->max / 2)
		next *= 2;
	if (next < need || next > buffer->max)
		next = buffer->max;
	return next;
}

/* Make room for extra bytes behind the readable ones; extra is known to fit
 * under max. */
static enum result
buffer_make_room(struct buffer *buffer, size_t extra)
{
	size_t next, need = buffer->len + extra;
	uint8_t *data;

	if (extra <= buffer->capacity - buffer->start - buffer->len)
		return RESULT_OK;
	if (buffer->data != NULL)
		buffer_compact(buffer);
	if (need <= buffer->capacity)
		return RESULT_OK;
	next = buffer_next_capacity(buffer, need);
	data = buffer_grow(buffer, next);
	if (data == NULL)
		return RESULT_NO_MEMORY;
	buffer->data = data;
	buffer->capacity = next;
	return RESULT_OK;
}

enum result
buffer_reserve(
    struct buffer *buffer, size_t want, uint8_t **space_r, size_t *room_r)
{
	enum result result;

	*space_r = NULL;
	*room_r = 0;
	if (buffer->len >= buffer->max)
		return RESULT_TOO_LONG;
	if (want > buffer->max - buffer->len)
		want = buffer->max - buffer->len;
	result = buffer_make_room(buffer, want);
	if (result != RESULT_OK)
		return result;
	if (want == 0)
		return RESULT_OK;
	*space_r = buffer->data + buffer->start + buffer->len;
	*room_r = want;
	return RESULT_OK;
}

void
buffer_commit(struct buffer *buffer, size_t count)
{
	if (count > buffer->capacity - buffer->start - buffer->len)
		abort(); /* the caller wrote past what it was given */
	buffer->len += count;
}

enum result
buffer_append(struct buffer *buffer, const void *bytes, size_t count)
{
	enum result result;

	if (count > buffer->max - buffer->len)
		return RESULT_TOO_LONG;
	if (count == 0)
		return RESULT_OK;
	result = buffer_make_room(buffer, count);
	if (result != RESULT_OK)
		return result;
	memcpy(buffer->data + buffer->start + buffer->len, bytes, count);
	buffer->len += count;
	return RESULT_OK;
}

enum result
buffer_append_text(struct buffer *buffer, const char *text)
{
	return buffer_append(buffer, text, strlen(text));
}

enum result
buffer_append_number(struct buffer *buffer, uint64_t number)
{
	char text[20]; /* digits of the largest */
	size_t at = sizeof(text);

	do {
		text[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	return buffer_append(buffer, text + at, sizeof(text) - at);
}

/* need is the length without the NUL, as measured before. */
static enum result
buffer_vprintf_large(
    struct buffer *buffer, size_t need, const char *format, va_list arguments)
{
	char *text = malloc(need + 1);
	enum result result;

	if (text == NULL)
		return RESULT_NO_MEMORY;
	vsnprintf(text, need + 1, format, arguments);
	result = buffer_append(buffer, text, need);
	free(text);
	return result;
}

enum result
buffer_printf(struct buffer *buffer, const char *format, ...)
{
	char small[BUFFER_SMALL];
	va_list arguments;
	enum result result;
	int need;

	va_start(arguments, format);
	need = vsnprintf(small, sizeof(small), format, arguments);
	va_end(arguments);
	if (need < 0)
		return RESULT_BAD;
	if ((size_t)need > buffer->max - buffer->len)
		return RESULT_TOO_LONG;
	if ((size_t)need < sizeof(small))
		return buffer_append(buffer, small, (size_t)need);
	va_start(arguments, format);
	result = buffer_vprintf_large(buffer, (size_t)need, format, arguments);
	va_end(arguments);
	return result;
}

void
buffer_consume(struct buffer *buffer, size_t count)
{
	if (count > buffer->len)
		abort(); /* a broken invariant: nobody can consume the future */
	if (count > 0)
		buffer_forget(buffer->data + buffer->start, count);
	buffer->start += count;
	buffer->len -= count;
	if (buffer->len == 0)
		buffer->start = 0;
}

void
buffer_clear(struct buffer *buffer)
{
	if (buffer->data != NULL)
		buffer_forget(buffer->data, buffer->start + buffer->len);
	buffer->start = 0;
	buffer->len = 0;
}
