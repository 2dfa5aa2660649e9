/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads: every part lies inside the bytes and the head, and what was refused
 * or accepted for a prefix stays so (more bytes may give another reason).
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/http_head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
fuzz_http_head_inside(
    const char *bytes, size_t len, const struct http_text *text)
{
	if (text->bytes < bytes || text->bytes + text->len > bytes + len ||
	    memchr(text->bytes, '\r', text->len) != NULL ||
	    memchr(text->bytes, '\n', text->len) != NULL ||
	    memchr(text->bytes, '\0', text->len) != NULL)
		abort();
}

static void
fuzz_http_head_check(const char *bytes, const struct http_head *head)
{
	size_t i;

	if (head->chunked && head->has_length)
		abort();
	for (i = 0; i < head->field_count; i++) {
		fuzz_http_head_inside(
		    bytes, head->head_len, &head->fields[i].name);
		fuzz_http_head_inside(
		    bytes, head->head_len, &head->fields[i].value);
	}
	if (memcmp(bytes + head->head_len - 4, "\r\n\r\n", 4) != 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	enum http_head_status whole, prefix;
	struct http_head head;

	whole = http_head_parse_request(bytes, size, &head);
	if (whole == HTTP_HEAD_OK) {
		fuzz_http_head_check(bytes, &head);
		fuzz_http_head_inside(bytes, head.head_len, &head.target);
		if (http_head_parse_request(bytes, head.head_len, &head) !=
		    HTTP_HEAD_OK)
			abort();
	}
	prefix = http_head_parse_request(bytes, size / 2, &head);
	if (prefix != HTTP_HEAD_NEED_MORE &&
	    (whole == HTTP_HEAD_NEED_MORE ||
		(prefix == HTTP_HEAD_OK) != (whole == HTTP_HEAD_OK)))
		abort();
	if (http_head_parse_response(bytes, size, &head) == HTTP_HEAD_OK) {
		fuzz_http_head_check(bytes, &head);
		if (head.status < 100 || head.status > 999)
			abort();
	}
	return 0;
}
