/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes patterns the plain way. Never part of an installed program.
 */
#include "tests/support/redact_key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llm-broker/key_digest.h"

#define REDACT_KEY_MAX 8192U

void
redact_key_base64(const char *bytes, size_t len, char *out_r)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "abcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t at = 0; at < len; at += 3) {
		unsigned left = len - at < 3 ? (unsigned)(len - at) : 3;
		unsigned value = 0;

		for (unsigned i = 0; i < 3; i++)
			value = value << 8 |
				(i < left ? (unsigned char)bytes[at + i] : 0);
		for (unsigned i = 0; i < 4; i++)
			*out_r++ = i <= left
				       ? alphabet[value >> (18 - 6 * i) & 63]
				       : '=';
	}
	*out_r = '\0';
}

static void
redact_key_add(
    struct redact_set *set, enum redact_form form, const char *text, size_t len)
{
	struct redact_pattern pattern = {
	    .form = form, .prefix_len = 4, .length = len};

	memcpy(pattern.prefix, text, 4);
	for (size_t i = 0; i < sizeof(pattern.salt); i++)
		pattern.salt[i] = (uint8_t)(set->count * 31 + i);
	if (key_digest_make(pattern.salt, text, len, pattern.digest) !=
		RESULT_OK ||
	    redact_set_add(set, &pattern) != RESULT_OK)
		abort();
}

void
redact_key_set(const char *key, struct redact_set *set_r)
{
	memset(set_r, 0, sizeof(*set_r));
	redact_key_more(key, set_r);
}

void
redact_key_more(const char *key, struct redact_set *set)
{
	static char bytes[REDACT_KEY_MAX], text[2 * REDACT_KEY_MAX];
	size_t len = strlen(key);

	redact_key_add(set, REDACT_RAW, key, len);
	for (size_t i = 0; i < len; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", (unsigned char)key[i]);
	redact_key_add(set, REDACT_HEX, text, 2 * len);
	for (size_t skip = 0; skip < 3; skip++) {
		size_t first = (8 * skip + 5) / 6, last = 8 * (skip + len) / 6;

		memset(bytes, 'x', skip);
		memcpy(bytes + skip, key, len);
		redact_key_base64(bytes, skip + len, text);
		redact_key_add(set, REDACT_BASE64, text + first, last - first);
	}
}
