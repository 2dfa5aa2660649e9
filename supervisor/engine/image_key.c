/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See image_key.h. Called when an image is checked or unpacked; must never
 * open what it names.
 */
#include "supervisor/engine/image_key.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Base64 with its padding, and an end: 4 for each 3 begun, and 1. */
static void
image_key_code(const char *key, size_t len, char *coded_r)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "abcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t at = 0; at < len; at += 3) {
		size_t left = len - at;
		uint32_t bits = (uint32_t)(uint8_t)key[at] << 16;

		if (left > 1)
			bits |= (uint32_t)(uint8_t)key[at + 1] << 8;
		if (left > 2)
			bits |= (uint8_t)key[at + 2];
		*coded_r++ = letters[bits >> 18];
		*coded_r++ = letters[(bits >> 12) & 63];
		*coded_r++ = left > 1 ? letters[(bits >> 6) & 63] : '=';
		*coded_r++ = left > 2 ? letters[bits & 63] : '=';
	}
	*coded_r = '\0';
}

enum result
image_key_path(const char *store, const char *driver, const char *id,
    const char *key, char *path_r, size_t size)
{
	char coded[IMAGE_KEY_MAX / 3 * 4 + 5];
	size_t key_len = strlen(key);
	int len;

	if (key_len >= IMAGE_KEY_MAX)
		return RESULT_TOO_LONG;
	image_key_code(key, key_len, coded);
	len = snprintf(
	    path_r, size, "%s/%s-images/%s/=%s", store, driver, id, coded);
	return len > 0 && (size_t)len < size ? RESULT_OK : RESULT_TOO_LONG;
}
