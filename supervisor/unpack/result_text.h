/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreign bytes as text: what is UTF-8 without a zero byte stays as it is;
 * anything else is escaped so that it can be undone. The first bytes are
 * kept, all are counted. Used by collect.c. Pure.
 */
#ifndef SUPERVISOR_UNPACK_RESULT_TEXT_H
#define SUPERVISOR_UNPACK_RESULT_TEXT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "common/result.h"

struct result_text {
	uint8_t *bytes; /* owned */
	size_t len, max;
	uint64_t total; /* bytes that came */
};

void result_text_init(struct result_text *text, size_t max);
void result_text_free(struct result_text *text);
/* Keeps what fits. RESULT_NO_MEMORY alone. */
enum result result_text_put(
    struct result_text *text, const uint8_t *bytes, size_t len);

/* {"text","bytes","truncated","escaped"}: bytes is size (all there were);
 * truncated when not all of them are in text, which never ends inside of a
 * character; escaped when bytes that are no UTF-8, and zero bytes, stand as
 * \xNN and a backslash as \\. NULL: no memory. */
json_t *result_text_json(const struct result_text *text, uint64_t size);

/* A name, escaped the same way; caller decrefs. */
json_t *result_text_name(const char *name);

#endif
