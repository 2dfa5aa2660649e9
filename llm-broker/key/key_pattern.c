/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes redaction patterns of a key. Called by key_store.c once per key.
 * Must never put a byte of the key beyond the allowed prefix anywhere but
 * into secret memory, nor a digest without a salt of its own.
 */
#include "llm-broker/key/key_pattern.h"

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdbool.h>
#include <string.h>

#include "llm-broker/redact.h"

#define KEY_PATTERN_PREFIX_MAX 4U /* bytes of a key that are told */
#define KEY_PATTERN_SHARE 6U      /* at most one part in so many */
#define KEY_PATTERN_FORM_MAX (KEY_PATTERN_LENGTH_MAX * 2)
#define KEY_PATTERN_ALIGNMENTS 3U

static const char key_pattern_digits[] = "0123456789abcdef";
static const char key_pattern_base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "abcdefghijklmnopqrstuvwxyz"
					 "0123456789+/";

/* Bytes of the key that any prefix may tell. */
static size_t
key_pattern_told(size_t key_len)
{
	size_t told = key_len / KEY_PATTERN_SHARE;

	return told < KEY_PATTERN_PREFIX_MAX ? told : KEY_PATTERN_PREFIX_MAX;
}

static void
key_pattern_hex(const uint8_t *bytes, size_t len, char *text_r)
{
	for (size_t i = 0; i < len; i++) {
		text_r[2 * i] = key_pattern_digits[bytes[i] >> 4];
		text_r[2 * i + 1] = key_pattern_digits[bytes[i] & 15];
	}
	text_r[2 * len] = '\0';
}

/* One pattern of the form's whole text, of which prefix_len may be told. */
static enum result
key_pattern_add(json_t *patterns, const char *form, const uint8_t *text,
    size_t len, size_t prefix_len)
{
	uint8_t salt[REDACT_SALT_LEN], digest[REDACT_DIGEST_LEN];
	char prefix_hex[2 * REDACT_PREFIX_MAX + 1];
	char salt_hex[2 * REDACT_SALT_LEN + 1];
	char digest_hex[2 * REDACT_DIGEST_LEN + 1];
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	bool ok;

	ok = md != NULL && RAND_bytes(salt, sizeof(salt)) == 1 &&
	     EVP_DigestInit_ex(md, EVP_sha256(), NULL) == 1 &&
	     EVP_DigestUpdate(md, salt, sizeof(salt)) == 1 &&
	     EVP_DigestUpdate(md, text, len) == 1 &&
	     EVP_DigestFinal_ex(md, digest, NULL) == 1;
	EVP_MD_CTX_free(md); /* wipes what it held */
	if (!ok)
		return RESULT_INTERNAL;
	key_pattern_hex(text, prefix_len, prefix_hex);
	key_pattern_hex(salt, sizeof(salt), salt_hex);
	key_pattern_hex(digest, sizeof(digest), digest_hex);
	return json_array_append_new(
		   patterns, json_pack("{s:s,s:s,s:i,s:s,s:s}", "form", form,
				 "prefix", prefix_hex, "length", (int)len,
				 "salt", salt_hex, "digest", digest_hex)) == 0
		   ? RESULT_OK
		   : RESULT_NO_MEMORY;
}

static enum result
key_pattern_add_hex(
    json_t *patterns, const uint8_t *key, size_t len, struct secret *space)
{
	uint8_t *text = secret_resize(space, 2 * len + 1);
	enum result result;

	if (text == NULL)
		return RESULT_INTERNAL;
	key_pattern_hex(key, len, (char *)text);
	result = key_pattern_add(
	    patterns, "hex", text, 2 * len, 2 * key_pattern_told(len));
	secret_wipe(text, 2 * len + 1);
	return result;
}

/* The digits of base64 that the key alone decides, when `before` bytes of
 * something else stand in its first group. */
static size_t
key_pattern_digits_of(
    const uint8_t *key, size_t len, size_t before, uint8_t *text)
{
	size_t first = (8 * before + 5) / 6, end = 8 * (before + len) / 6;
	size_t count = 0, bit, at;
	unsigned pair;

	for (size_t digit = first; digit < end; digit++) {
		bit = 6 * digit - 8 * before;
		at = bit / 8;
		pair = (unsigned)key[at] << 8;
		if (at + 1 < len)
			pair |= key[at + 1];
		text[count++] =
		    (uint8_t)key_pattern_base64[(pair >> (10 - bit % 8)) & 63];
	}
	return count;
}

static enum result
key_pattern_add_base64(json_t *patterns, const uint8_t *key, size_t len,
    size_t before, struct secret *space)
{
	/* The first digit begins this many bits into the key. */
	size_t skipped = (8 * before + 5) / 6 * 6 - 8 * before;
	size_t told = (8 * key_pattern_told(len) - skipped) / 6;
	size_t room = 4 * (len + 2) / 3 + 1, count;
	uint8_t *text = secret_resize(space, room);
	enum result result;

	if (text == NULL)
		return RESULT_INTERNAL;
	if (told > KEY_PATTERN_PREFIX_MAX)
		told = KEY_PATTERN_PREFIX_MAX;
	count = key_pattern_digits_of(key, len, before, text);
	result = key_pattern_add(patterns, "base64", text, count, told);
	secret_wipe(text, room);
	return result;
}

static enum result
key_pattern_fill(
    json_t *patterns, const struct secret *secret, struct secret *space)
{
	const uint8_t *key = secret_bytes_borrow(secret);
	size_t len = secret_len(secret);
	enum result result;

	result =
	    key_pattern_add(patterns, "raw", key, len, key_pattern_told(len));
	for (size_t before = 0;
	     before < KEY_PATTERN_ALIGNMENTS && result == RESULT_OK; before++)
		result =
		    key_pattern_add_base64(patterns, key, len, before, space);
	if (result == RESULT_OK)
		result = key_pattern_add_hex(patterns, key, len, space);
	return result;
}

enum result
key_pattern_build(const struct secret *key, json_t **patterns_r)
{
	struct secret *space = NULL;
	enum result result;

	*patterns_r = NULL;
	if (secret_len(key) < KEY_PATTERN_LENGTH_MIN ||
	    secret_len(key) > KEY_PATTERN_LENGTH_MAX)
		return RESULT_TOO_LONG;
	result = secret_new(KEY_PATTERN_FORM_MAX + 1, &space);
	if (result != RESULT_OK)
		return result;
	*patterns_r = json_array();
	if (*patterns_r == NULL)
		result = RESULT_NO_MEMORY;
	else
		result = key_pattern_fill(*patterns_r, key, space);
	secret_free(&space);
	if (result != RESULT_OK) {
		json_decref(*patterns_r);
		*patterns_r = NULL;
	}
	return result;
}

const char *
key_pattern_refusal(const struct secret *key)
{
	const uint8_t *bytes = secret_bytes_borrow(key);
	uint8_t wrong = 0;

	if (secret_len(key) < KEY_PATTERN_LENGTH_MIN)
		return "the key is shorter than 16 bytes";
	if (secret_len(key) > KEY_PATTERN_LENGTH_MAX)
		return "the key is longer than 2048 bytes";
	for (size_t i = 0; i < secret_len(key); i++)
		wrong |= bytes[i] <= 0x20 || bytes[i] >= 0x7f ||
			 bytes[i] == '%' || bytes[i] == '\\';
	return wrong != 0 ? "the key has a byte that is no printable ASCII, a "
			    "space, '%' or '\\'"
			  : NULL;
}
