/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the block (see the header). It must never put a byte of a value
 * anywhere but into locked memory and the memfd.
 */
#include "supervisor/policy/secret_block.h"

#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "supervisor/init/init_go.h"

/* Header, room for all offsets, then the strings. */
#define SECRET_BLOCK_TEXTS \
	(sizeof(struct init_go) + SECRET_BLOCK_MAX * sizeof(uint32_t))

struct secret_block {
	struct secret *memory;
	size_t used;
	uint32_t count;
};

enum result
secret_block_new(struct secret_block **block_r)
{
	struct secret_block *block = calloc(1, sizeof(*block));
	enum result result = RESULT_NO_MEMORY;

	*block_r = NULL;
	if (block == NULL)
		return result;
	block->used = SECRET_BLOCK_TEXTS;
	result = secret_new(SECRET_MAX, &block->memory);
	if (result == RESULT_OK)
		*block_r = block;
	else
		free(block);
	return result;
}

void
secret_block_free(struct secret_block **block)
{
	if (*block == NULL)
		return;
	secret_free(&(*block)->memory);
	free(*block);
	*block = NULL;
}

static const char *
secret_block_text(const uint8_t *bytes, uint32_t index)
{
	uint32_t offset;

	memcpy(&offset, bytes + sizeof(struct init_go) + index * sizeof(offset),
	    sizeof(offset));
	return (const char *)bytes + offset;
}

static bool
secret_block_has(const struct secret_block *block, const char *name, size_t len)
{
	const uint8_t *bytes = secret_bytes_borrow(block->memory);

	for (uint32_t i = 0; i < block->count; i++) {
		const char *text = secret_block_text(bytes, i);

		if (strncmp(text, name, len) == 0 && text[len] == '=')
			return true;
	}
	return false;
}

/* NAME=VALUE with its NUL; value may be NULL when name is all of it. */
static enum result
secret_block_put(struct secret_block *block, const char *name, size_t name_len,
    const uint8_t *value, size_t value_len)
{
	size_t len = name_len + 1 + value_len + 1;
	uint32_t offset = (uint32_t)block->used;
	uint8_t *bytes;

	if (secret_block_has(block, name, name_len))
		return RESULT_BAD;
	if (block->count == SECRET_BLOCK_MAX || len > SECRET_MAX - block->used)
		return RESULT_TOO_LONG;
	bytes = secret_resize(block->memory, block->used + len);
	if (bytes == NULL)
		return RESULT_TOO_LONG;
	memcpy(bytes + sizeof(struct init_go) + block->count * sizeof(offset),
	    &offset, sizeof(offset));
	bytes += block->used;
	memcpy(bytes, name, name_len);
	bytes[name_len] = '=';
	memcpy(bytes + name_len + 1, value, value_len);
	bytes[len - 1] = '\0';
	block->used += len;
	block->count++;
	return RESULT_OK;
}

enum result
secret_block_add(
    struct secret_block *block, const char *name, const struct secret *value)
{
	return secret_block_put(block, name, strlen(name),
	    secret_bytes_borrow(value), secret_len(value));
}

enum result
secret_block_join(struct secret_block *block, int fd)
{
	const struct init_go *go = init_go_map(fd, INIT_GO_SECRET);
	enum result result = RESULT_OK;

	if (go == NULL)
		return RESULT_BAD;
	for (uint32_t i = 0; i < go->envc && result == RESULT_OK; i++) {
		const char *text, *value;
		uint32_t offset;

		memcpy(&offset,
		    (const char *)go + go->env_offset + i * sizeof(offset),
		    sizeof(offset));
		text = (const char *)go + offset;
		value = strchr(text, '=') + 1; /* init_go_map saw to it */
		result =
		    secret_block_put(block, text, (size_t)(value - text) - 1,
			(const uint8_t *)value, strlen(value));
	}
	init_go_unmap(go);
	return result;
}

enum result
secret_block_seal(struct secret_block *block, int *fd_r)
{
	struct init_go header = {.magic = INIT_MAGIC,
	    .version = INIT_PROTOCOL_VERSION,
	    .size = (uint32_t)block->used,
	    .envc = block->count,
	    .argv_offset = sizeof(header),
	    .env_offset = sizeof(header)};
	uint8_t *bytes = secret_resize(block->memory, block->used);

	*fd_r = -1;
	if (bytes == NULL)
		return RESULT_TOO_LONG;
	memcpy(bytes, &header, sizeof(header));
	return fd_sealed_memfd("agentnode-secret", bytes, block->used, fd_r);
}
