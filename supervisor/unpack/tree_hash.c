/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree hash; see tree_hash.h. Called by tree_check.c at the end of a
 * tree. Must never depend on the order in which entries came.
 */
#include "supervisor/unpack/tree_hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
tree_hash_order(const void *a, const void *b)
{
	const struct tree_hash_record *left = a, *right = b;

	return strcmp(left->path, right->path);
}

/* Names hold no control byte and are UTF-8: only '"' and '\' are escaped. */
static size_t
tree_hash_quote(char *text, const char *name)
{
	size_t len = 0;

	text[len++] = '"';
	for (; *name != '\0'; name++) {
		if (*name == '"' || *name == '\\')
			text[len++] = '\\';
		text[len++] = *name;
	}
	text[len++] = '"';
	return len;
}

static size_t
tree_hash_text(char *text, const char *literal)
{
	size_t len = strlen(literal);

	memcpy(text, literal, len); /* NOLINT: bytes, not a text */
	return len;
}

/* The canonical JSON of one record; returns its length. */
static size_t
tree_hash_format(const struct tree_hash_record *record, char *text)
{
	char hex[2 * TREE_DIGEST_SHA256 + 1], mode[32];
	size_t len = tree_hash_text(text, "{");

	if (record->type == TREE_STREAM_LINK) {
		len += tree_hash_text(text + len, "\"link\":");
		len += tree_hash_quote(text + len, record->target);
		len += tree_hash_text(text + len, ",");
	}
	(void)snprintf(
	    mode, sizeof(mode), "\"mode\":\"%04o\",\"path\":", record->mode);
	len += tree_hash_text(text + len, mode);
	len += tree_hash_quote(text + len, record->path);
	if (record->type == TREE_STREAM_FILE) {
		tree_digest_hex(record->sha256, TREE_DIGEST_SHA256, hex);
		len += tree_hash_text(text + len, ",\"sha256\":\"");
		len += tree_hash_text(text + len, hex);
		len += tree_hash_text(text + len, "\"");
	}
	len += tree_hash_text(text + len, ",\"type\":\"");
	text[len++] = record->type == TREE_STREAM_DIR    ? 'd'
		      : record->type == TREE_STREAM_FILE ? 'f'
							 : 'l';
	len += tree_hash_text(text + len, "\"}");
	return len;
}

static enum result
tree_hash_feed(
    struct tree_digest *digest, const struct tree_hash_record *record)
{
	/* Twice a path and a target, each byte escaped, and the rest. */
	char text[4 * TREE_STREAM_PATH_MAX + 512];
	size_t len = tree_hash_format(record, text);
	uint8_t prefix[8] = {0};
	enum result result;

	for (unsigned i = 0; i < sizeof(prefix); i++)
		prefix[7 - i] = (uint8_t)((uint64_t)len >> (8 * i));
	result = tree_digest_put(digest, prefix, sizeof(prefix));
	if (result != RESULT_OK)
		return result;
	return tree_digest_put(digest, text, len);
}

enum result
tree_hash_records(struct tree_hash_record *records, size_t count,
    char hash_r[UNPACK_HASH_SIZE])
{
	struct tree_digest *digest = NULL;
	uint8_t sum[TREE_DIGEST_SHA256];
	enum result result;

	if (count > 0)
		qsort(records, count, sizeof(*records), tree_hash_order);
	result = tree_digest_new(&digest);
	if (result == RESULT_OK)
		result = tree_digest_start(digest, TREE_DIGEST_SHA256);
	for (size_t i = 0; result == RESULT_OK && i < count; i++)
		result = tree_hash_feed(digest, &records[i]);
	if (result == RESULT_OK)
		result = tree_digest_end(digest, sum);
	tree_digest_free(&digest);
	if (result != RESULT_OK)
		return result;
	memcpy(hash_r, "sha256:", 7); /* NOLINT: the rest follows */
	tree_digest_hex(sum, sizeof(sum), hash_r + 7);
	return RESULT_OK;
}
