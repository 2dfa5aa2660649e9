/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HMAC (RFC 2104) of a head; see audit_seal.h. Called by audit_chain and
 * audit_verify. Must never leave a byte of the key behind.
 */
#include "supervisor/ledger/audit_seal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define AUDIT_SEAL_BLOCK 64U /* of SHA-256 */
#define AUDIT_SEAL_TEXT_MAX 192U

bool
audit_seal_is_key(const struct secret *key)
{
	const uint8_t *text = secret_bytes_borrow(key);

	if (secret_len(key) != AUDIT_SEAL_KEY_TEXT || text[DIGEST_HEX] != '\n')
		return false;
	for (size_t i = 0; i < DIGEST_HEX; i++)
		if (strchr("0123456789abcdef", text[i]) == NULL ||
		    text[i] == '\0')
			return false;
	return true;
}

static uint8_t
audit_seal_digit(char digit)
{
	return (uint8_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

/* One of the two hashes: the padded key, then the text. The key is used as
 * its 64 hex digits, exactly one block. */
static enum result
audit_seal_half(const struct secret *key, uint8_t pad, const void *text,
    size_t len, char hex_r[DIGEST_HEX + 1])
{
	uint8_t bytes[AUDIT_SEAL_BLOCK + AUDIT_SEAL_TEXT_MAX];
	const uint8_t *digits = secret_bytes_borrow(key);
	enum result result;

	for (size_t i = 0; i < AUDIT_SEAL_BLOCK; i++)
		bytes[i] = digits[i] ^ pad;
	memcpy(bytes + AUDIT_SEAL_BLOCK, text, len);
	result = digest_sha256(bytes, AUDIT_SEAL_BLOCK + len, hex_r);
	secret_wipe(bytes, sizeof(bytes));
	return result;
}

static enum result
audit_seal_make(const struct secret *key, const struct audit_head *head,
    char hex_r[DIGEST_HEX + 1])
{
	char text[AUDIT_SEAL_TEXT_MAX], inner[DIGEST_HEX + 1];
	uint8_t sum[DIGEST_HEX / 2];
	int len = snprintf(text, sizeof(text),
	    "agentnode.audit.head %" PRIu64 " %" PRIu64 " %" PRIu64 " %s",
	    head->file, head->link.seq, head->size, head->link.hash);
	enum result result;

	if (len < 0 || (size_t)len >= sizeof(text))
		return RESULT_INTERNAL;
	result = audit_seal_half(key, 0x36, text, (size_t)len, inner);
	if (result != RESULT_OK)
		return result;
	for (size_t i = 0; i < sizeof(sum); i++)
		sum[i] = (uint8_t)(audit_seal_digit(inner[2 * i]) << 4 |
				   audit_seal_digit(inner[2 * i + 1]));
	return audit_seal_half(key, 0x5c, sum, sizeof(sum), hex_r);
}

enum result
audit_seal_put(const struct secret *key, struct audit_head *head)
{
	head->mac[0] = '\0';
	return key == NULL ? RESULT_OK : audit_seal_make(key, head, head->mac);
}

enum result
audit_seal_check(const struct secret *key, const struct audit_head *head,
    struct json_fault *fault)
{
	char wanted[DIGEST_HEX + 1];
	enum result result;

	if (head->mac[0] == '\0')
		return key == NULL ? RESULT_OK : RESULT_NOT_FOUND;
	if (key == NULL) {
		json_field_fault(fault,
		    "%s is sealed, and this host has no " AUDIT_SEAL_KEY_FILE,
		    AUDIT_HEAD_FILE);
		return RESULT_MISMATCH;
	}
	result = audit_seal_make(key, head, wanted);
	if (result != RESULT_OK)
		return result;
	if (strcmp(wanted, head->mac) == 0)
		return RESULT_OK;
	json_field_fault(fault,
	    "%s is not sealed with this host's key: the end of the chain was "
	    "written by somebody else, or the key was exchanged",
	    AUDIT_HEAD_FILE);
	return RESULT_MISMATCH;
}

enum result
audit_seal_missing(struct json_fault *fault)
{
	json_field_fault(fault,
	    "%s has no seal, although this host has a key: the end of the "
	    "chain was written by somebody else",
	    AUDIT_HEAD_FILE);
	return RESULT_MISMATCH;
}
