/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts a request together in secret memory, a TLS record at a time. Called
 * once for each call. Must never leave a byte of a key behind, or put one
 * anywhere but into this memory.
 */
#include "llm-broker/key/key_inject.h"

#include <stdlib.h>
#include <string.h>

struct key_inject {
	struct secret *space; /* SECRET_MAX: what one record holds */
	uint8_t *bytes;
	size_t len;
	key_inject_write *write;
	void *context;
};

enum result
key_inject_new(struct key_inject **inject_r)
{
	struct key_inject *inject = calloc(1, sizeof(*inject));
	enum result result;

	*inject_r = NULL;
	if (inject == NULL)
		return RESULT_NO_MEMORY;
	result = secret_new(SECRET_MAX, &inject->space);
	if (result != RESULT_OK) {
		free(inject);
		return result;
	}
	inject->bytes = secret_resize(inject->space, SECRET_MAX);
	*inject_r = inject;
	return RESULT_OK;
}

void
key_inject_free(struct key_inject **inject)
{
	if (*inject == NULL)
		return;
	secret_free(&(*inject)->space);
	free(*inject);
	*inject = NULL;
}

static enum result
key_inject_flush(struct key_inject *inject)
{
	enum result result = RESULT_OK;

	if (inject->len > 0)
		result =
		    inject->write(inject->context, inject->bytes, inject->len);
	secret_wipe(inject->bytes, inject->len);
	inject->len = 0;
	return result;
}

static enum result
key_inject_add(struct key_inject *inject, const void *bytes, size_t len)
{
	const char *from = bytes;
	enum result result = RESULT_OK;
	size_t part;

	while (len > 0 && result == RESULT_OK) {
		if (inject->len == SECRET_MAX)
			result = key_inject_flush(inject);
		part = SECRET_MAX - inject->len;
		if (part > len)
			part = len;
		memcpy(inject->bytes + inject->len, from, part);
		inject->len += part;
		from += part;
		len -= part;
	}
	return result;
}

static enum result
key_inject_text(struct key_inject *inject, const char *text)
{
	return key_inject_add(inject, text, strlen(text));
}

/* HEADER: BEFORE key AFTER CRLF */
static enum result
key_inject_field(
    struct key_inject *inject, const struct key_inject_parts *parts)
{
	enum result result;

	if ((result = key_inject_text(inject, parts->header)) != RESULT_OK ||
	    (result = key_inject_text(inject, ": ")) != RESULT_OK ||
	    (result = key_inject_text(inject, parts->before)) != RESULT_OK ||
	    (result = key_inject_add(inject, secret_bytes_borrow(parts->key),
		 secret_len(parts->key))) != RESULT_OK ||
	    (result = key_inject_text(inject, parts->after)) != RESULT_OK)
		return result;
	return key_inject_text(inject, "\r\n");
}

enum result
key_inject_request(struct key_inject *inject,
    const struct key_inject_parts *parts, key_inject_write *write,
    void *context)
{
	enum result result;

	inject->write = write;
	inject->context = context;
	inject->len = 0;
	result = key_inject_add(inject, parts->head, parts->head_len);
	if (result == RESULT_OK && parts->key != NULL)
		result = key_inject_field(inject, parts);
	if (result == RESULT_OK)
		result = key_inject_text(inject, "\r\n");
	if (result == RESULT_OK)
		result = key_inject_add(inject, parts->body, parts->body_len);
	if (result == RESULT_OK)
		return key_inject_flush(inject);
	secret_wipe(inject->bytes, SECRET_MAX);
	inject->len = 0;
	return result;
}
