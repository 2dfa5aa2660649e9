/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes tar headers; see tar_header.h. Must never put a time, an owner or
 * anything else of this machine into one.
 */
#include "supervisor/unpack/tar_header.h"

#include <stdio.h>
#include <string.h>

#define TAR_HEADER_SIZE_MAX 077777777777ULL

/* The fields of a ustar block, by offset. */
enum {
	TAR_HEADER_AT_NAME = 0,
	TAR_HEADER_AT_MODE = 100,
	TAR_HEADER_AT_UID = 108,
	TAR_HEADER_AT_GID = 116,
	TAR_HEADER_AT_SIZE = 124,
	TAR_HEADER_AT_MTIME = 136,
	TAR_HEADER_AT_SUM = 148,
	TAR_HEADER_AT_TYPE = 156,
	TAR_HEADER_AT_TARGET = 157,
	TAR_HEADER_AT_MAGIC = 257,
	TAR_HEADER_AT_DEVICES = 329,
};

static void
tar_header_octal(uint8_t *field, size_t width, uint64_t value)
{
	field[width - 1] = '\0';
	for (size_t i = width - 1; i-- > 0; value >>= 3)
		field[i] = (uint8_t)('0' + (value & 7));
}

static void
tar_header_text(uint8_t *field, size_t width, const char *text)
{
	size_t len = strlen(text);

	memcpy(field, text, len < width ? len : width);
}

static void
tar_header_sum(uint8_t *block)
{
	uint64_t sum = 0;

	memset(block + TAR_HEADER_AT_SUM, ' ', 8);
	for (size_t i = 0; i < TAR_HEADER_SIZE; i++)
		sum += block[i];
	tar_header_octal(block + TAR_HEADER_AT_SUM, 7, sum);
}

void
tar_header_fill(uint8_t block_r[TAR_HEADER_SIZE], enum tar_header_type type,
    const char *name, const char *target, uint32_t mode, uint64_t size)
{
	static const uint8_t magic[8] = {
	    'u', 's', 't', 'a', 'r', '\0', '0', '0'};

	memset(block_r, 0, TAR_HEADER_SIZE);
	tar_header_text(
	    block_r + TAR_HEADER_AT_NAME, TAR_HEADER_NAME_MAX, name);
	tar_header_octal(block_r + TAR_HEADER_AT_MODE, 8, mode & 07777);
	tar_header_octal(block_r + TAR_HEADER_AT_UID, 8, 0);
	tar_header_octal(block_r + TAR_HEADER_AT_GID, 8, 0);
	tar_header_octal(block_r + TAR_HEADER_AT_SIZE, 12,
	    size > TAR_HEADER_SIZE_MAX ? 0 : size);
	tar_header_octal(block_r + TAR_HEADER_AT_MTIME, 12, TAR_HEADER_MTIME);
	block_r[TAR_HEADER_AT_TYPE] = (uint8_t)type;
	if (target != NULL)
		tar_header_text(block_r + TAR_HEADER_AT_TARGET,
		    TAR_HEADER_NAME_MAX, target);
	memcpy(block_r + TAR_HEADER_AT_MAGIC, magic, sizeof(magic));
	tar_header_octal(block_r + TAR_HEADER_AT_DEVICES, 8, 0);
	tar_header_octal(block_r + TAR_HEADER_AT_DEVICES + 8, 8, 0);
	tar_header_sum(block_r);
}

/* "<length> <key>=<value>\n", where length counts itself too. */
static size_t
tar_header_record(char *text, size_t room, const char *key, const char *value)
{
	size_t rest = strlen(key) + strlen(value) + 3, total = rest + 1, digits;
	char number[24];

	for (;;) {
		digits = (size_t)snprintf(number, sizeof(number), "%zu", total);
		if (digits + rest == total)
			break;
		total = digits + rest;
	}
	if (total >= room)
		return 0;
	(void)snprintf(text, room, "%zu %s=%s\n", total, key, value);
	return total;
}

size_t
tar_header_pax(const char *name, const char *target, uint64_t size,
    char text_r[TAR_HEADER_PAX_MAX])
{
	char number[24];
	size_t len = 0;

	if (strlen(name) > TAR_HEADER_NAME_MAX)
		len += tar_header_record(
		    text_r + len, TAR_HEADER_PAX_MAX - len, "path", name);
	if (target != NULL && strlen(target) > TAR_HEADER_NAME_MAX)
		len += tar_header_record(
		    text_r + len, TAR_HEADER_PAX_MAX - len, "linkpath", target);
	if (size > TAR_HEADER_SIZE_MAX) {
		(void)snprintf(
		    number, sizeof(number), "%llu", (unsigned long long)size);
		len += tar_header_record(
		    text_r + len, TAR_HEADER_PAX_MAX - len, "size", number);
	}
	return len;
}

size_t
tar_header_padding(uint64_t size)
{
	return (size_t)((TAR_HEADER_SIZE - size % TAR_HEADER_SIZE) %
			TAR_HEADER_SIZE);
}
