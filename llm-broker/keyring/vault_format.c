/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes the bytes of keys.enc (see the header). Called by
 * key_vault.c; must never read beyond len, nor accept two readings of one
 * file: what is read and written again has the same bytes.
 */
#include "llm-broker/keyring/vault_format.h"

#include <string.h>

#define VAULT_FORMAT_BEGIN 11U /* magic, version, scrypt; not the count */

/* How such a file begins; what is authenticated of it. */
static const uint8_t
    vault_format_begin[KEYRING_KIND_COUNT][VAULT_FORMAT_BEGIN] = {
	[KEYRING_KEY] = {'A', 'N', 'K', 'E', 'Y', 'S', '0', '1', VAULT_LOG2_N,
	    VAULT_R, VAULT_P},
	[KEYRING_SECRET] = {'A', 'N', 'S', 'E', 'C', 'R', '0', '1',
	    VAULT_LOG2_N, VAULT_R, VAULT_P},
};

/* What is left to read. */
struct vault_format_cursor {
	const uint8_t *next;
	size_t left;
};

/* The next count bytes, or NULL. */
static const uint8_t *
vault_format_take(struct vault_format_cursor *cursor, size_t count)
{
	const uint8_t *taken = cursor->next;

	if (cursor->left < count)
		return NULL;
	cursor->next += count;
	cursor->left -= count;
	return taken;
}

static enum vault_fault
vault_format_head(struct vault_format_cursor *cursor, struct vault *vault_r)
{
	const uint8_t *head = vault_format_take(cursor, VAULT_HEAD);
	const uint8_t *begin = vault_format_begin[vault_r->kind];

	if (head == NULL)
		return VAULT_CUT;
	if (memcmp(head, begin, 6) != 0)
		return VAULT_MAGIC;
	if (memcmp(head + 6, begin + 6, 2) != 0)
		return VAULT_VERSION;
	if (memcmp(head + 8, begin + 8, 3) != 0)
		return VAULT_SCRYPT;
	if (head[11] > VAULT_ENTRIES_MAX)
		return VAULT_COUNT;
	memcpy(vault_r->salt, head + 12, VAULT_SALT);
	memcpy(vault_r->check_nonce, head + 28, VAULT_NONCE);
	memcpy(vault_r->check_tag, head + 40, VAULT_TAG);
	vault_r->count = head[11];
	return VAULT_OK;
}

static enum vault_fault
vault_format_name(
    struct vault_format_cursor *cursor, enum keyring_kind kind, char *name_r)
{
	const uint8_t *len = vault_format_take(cursor, 1);
	const uint8_t *name;

	if (len == NULL)
		return VAULT_CUT;
	if (*len == 0 || *len > KEYRING_NAME_MAX)
		return VAULT_NAME;
	name = vault_format_take(cursor, *len);
	if (name == NULL)
		return VAULT_CUT;
	memcpy(name_r, name, *len);
	name_r[*len] = '\0';
	/* A NUL inside would make it another name. */
	return strlen(name_r) == *len && keyring_words_is_name(kind, name_r)
		   ? VAULT_OK
		   : VAULT_NAME;
}

static enum vault_fault
vault_format_entry(struct vault_format_cursor *cursor, enum keyring_kind kind,
    struct vault_entry *entry_r)
{
	enum vault_fault fault = vault_format_name(cursor, kind, entry_r->name);
	const uint8_t *head;

	if (fault != VAULT_OK)
		return fault;
	head = vault_format_take(cursor, 2 + VAULT_NONCE);
	if (head == NULL)
		return VAULT_CUT;
	entry_r->key_len = (size_t)head[0] << 8 | head[1];
	if (kind == KEYRING_KEY ? entry_r->key_len < KEY_RULE_MIN ||
				      entry_r->key_len > KEY_RULE_MAX
				: entry_r->key_len < 1 ||
				      entry_r->key_len > KEY_RULE_SECRET_MAX)
		return VAULT_LENGTH;
	memcpy(entry_r->nonce, head + 2, VAULT_NONCE);
	entry_r->sealed =
	    vault_format_take(cursor, entry_r->key_len + VAULT_TAG);
	return entry_r->sealed == NULL ? VAULT_CUT : VAULT_OK;
}

enum vault_fault
vault_format_read(enum keyring_kind kind, const uint8_t *bytes, size_t len,
    struct vault *vault_r)
{
	struct vault_format_cursor cursor = {bytes, len};
	enum vault_fault fault;
	size_t count;

	memset(vault_r, 0, sizeof(*vault_r));
	vault_r->kind = kind;
	fault = vault_format_head(&cursor, vault_r);
	count = vault_r->count;
	for (size_t i = 0; i < count && fault == VAULT_OK; i++) {
		vault_r->count = i; /* so that find sees those before it */
		fault = vault_format_entry(&cursor, kind, &vault_r->entries[i]);
		if (fault == VAULT_OK && vault_format_find(vault_r,
					     vault_r->entries[i].name) != NULL)
			fault = VAULT_NAME;
	}
	vault_r->count = count;
	if (fault == VAULT_OK && cursor.left > 0)
		fault = VAULT_REST;
	return fault;
}

static enum result
vault_format_put(const struct vault_entry *entry, struct buffer *out)
{
	uint8_t head[1 + KEYRING_NAME_MAX + 2 + VAULT_NONCE];
	size_t name_len = strlen(entry->name);
	enum result result;

	head[0] = (uint8_t)name_len;
	memcpy(head + 1, entry->name, name_len);
	head[1 + name_len] = (uint8_t)(entry->key_len >> 8);
	head[2 + name_len] = (uint8_t)entry->key_len;
	memcpy(head + 3 + name_len, entry->nonce, VAULT_NONCE);
	result = buffer_append(out, head, 3 + name_len + VAULT_NONCE);
	if (result == RESULT_OK)
		result = buffer_append(
		    out, entry->sealed, entry->key_len + VAULT_TAG);
	return result;
}

enum result
vault_format_write(const struct vault *vault, struct buffer *out)
{
	uint8_t head[VAULT_HEAD];
	enum result result;

	memcpy(head, vault_format_begin[vault->kind], VAULT_FORMAT_BEGIN);
	head[11] = (uint8_t)vault->count;
	memcpy(head + 12, vault->salt, VAULT_SALT);
	memcpy(head + 28, vault->check_nonce, VAULT_NONCE);
	memcpy(head + 40, vault->check_tag, VAULT_TAG);
	result = buffer_append(out, head, sizeof(head));
	for (size_t i = 0; i < vault->count && result == RESULT_OK; i++)
		result = vault_format_put(&vault->entries[i], out);
	return result;
}

struct vault_entry *
vault_format_find(struct vault *vault, const char *name)
{
	for (size_t i = 0; i < vault->count; i++) {
		if (strcmp(vault->entries[i].name, name) == 0)
			return &vault->entries[i];
	}
	return NULL;
}

size_t
vault_format_aad(
    const struct vault *vault, const char *name, uint8_t aad_r[VAULT_AAD_MAX])
{
	size_t len = VAULT_FORMAT_BEGIN + VAULT_SALT;
	size_t name_len = name == NULL ? 0 : strlen(name);

	memcpy(aad_r, vault_format_begin[vault->kind], VAULT_FORMAT_BEGIN);
	memcpy(aad_r + VAULT_FORMAT_BEGIN, vault->salt, VAULT_SALT);
	for (size_t i = 0; i < name_len; i++)
		aad_r[len + i] = (uint8_t)name[i];
	return len + name_len;
}

const char *
vault_format_text(enum vault_fault fault)
{
	switch (fault) {
	case VAULT_OK:
		return "it is whole";
	case VAULT_CUT:
		return "it ends too early";
	case VAULT_MAGIC:
		return "it is no such file";
	case VAULT_VERSION:
		return "it is of another version";
	case VAULT_SCRYPT:
		return "its scrypt parameters are not those of its version";
	case VAULT_COUNT:
		return "it has too many entries";
	case VAULT_NAME:
		return "an entry has a wrong name";
	case VAULT_LENGTH:
		return "an entry has a wrong length";
	case VAULT_REST:
		return "there are bytes behind its last entry";
	}
	return "";
}
