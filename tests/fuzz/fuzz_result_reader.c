/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Result streams: in one piece and byte by byte they say the same; names
 * are plain and in order, content is what was announced; every text of it
 * is one that JSON takes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/unpack/result_reader.h"
#include "supervisor/unpack/result_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

struct seen {
	uint64_t sum, left;
	char last[RESULT_STREAM_NAME_MAX + 1];
};

static void
fuzz_on_entry(
    const struct result_stream_header *header, const char *name, void *context)
{
	struct seen *seen = context;
	json_t *shown;

	if (seen->left != 0 || header->kind >= RESULT_STREAM_END)
		abort();
	seen->sum = seen->sum * 31 + header->kind + header->size;
	if (header->kind == RESULT_STREAM_MORE)
		return;
	if (name[0] == '\0' || strchr(name, '/') != NULL ||
	    strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    strcmp(seen->last, name) >= 0)
		abort();
	memcpy(seen->last, name, strlen(name) + 1);
	shown = result_text_name(name);
	if (shown == NULL)
		abort();
	json_decref(shown);
	if (header->sent > header->size)
		abort();
	seen->left = header->sent;
}

static void
fuzz_on_data(const uint8_t *bytes, size_t len, void *context)
{
	struct seen *seen = context;

	if (len == 0 || len > seen->left)
		abort();
	seen->left -= len;
	for (size_t i = 0; i < len; i++)
		seen->sum = seen->sum * 31 + bytes[i];
}

static void
fuzz_on_done(void *context)
{
	struct seen *seen = context;

	if (seen->left != 0)
		abort();
	seen->sum++;
}

static void
fuzz_text(const uint8_t *bytes, size_t len)
{
	struct result_text text;
	json_t *json;

	result_text_init(&text, len > 0 ? bytes[0] : 0);
	if (result_text_put(&text, bytes, len) != RESULT_OK)
		abort();
	json = result_text_json(&text, text.total);
	if (json == NULL || json_object_get(json, "text") == NULL)
		abort();
	json_decref(json);
	result_text_free(&text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct seen first = {0}, second = {0};
	struct result_reader_sink sink = {
	    fuzz_on_entry, fuzz_on_data, fuzz_on_done, &first};
	struct result_reader reader;
	enum result_reader_verdict verdict;

	result_reader_init(&reader, &sink);
	verdict = result_reader_feed(&reader, bytes, len);
	sink.context = &second;
	result_reader_init(&reader, &sink);
	for (size_t i = 0; i < len; i++)
		(void)result_reader_feed(&reader, bytes + i, 1);
	if (reader.verdict != verdict || first.sum != second.sum)
		abort();
	fuzz_text(bytes, len);
	return 0;
}
