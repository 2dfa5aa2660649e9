/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules on a key (see the header). Called by key_input.c and the
 * backends. No sentence made here may hold a byte of the key.
 */
#include "llm-broker/keyring/key_rule.h"

#include <stdio.h>
#include <string.h>

size_t
key_rule_trim(const uint8_t *bytes, size_t len)
{
	if (len > 0 && bytes[len - 1] == '\n')
		len--;
	else
		return len;
	if (len > 0 && bytes[len - 1] == '\r')
		len--;
	return len;
}

static bool
key_rule_is_good(enum keyring_kind kind, uint8_t byte)
{
	if (kind == KEYRING_SECRET)
		return byte != '\0';
	return byte > ' ' && byte <= '~' && byte != '%' && byte != '\\';
}

enum key_rule
key_rule_check(
    enum keyring_kind kind, const uint8_t *bytes, size_t len, size_t *at_r)
{
	bool is_key = kind == KEYRING_KEY;

	*at_r = 0;
	if (len == 0)
		return KEY_RULE_EMPTY;
	if (len > (is_key ? KEY_RULE_MAX : KEY_RULE_SECRET_MAX))
		return KEY_RULE_LONG;
	for (size_t i = 0; i < len; i++) {
		if (!key_rule_is_good(kind, bytes[i])) {
			*at_r = i;
			return KEY_RULE_BYTE;
		}
	}
	return is_key && len < KEY_RULE_MIN ? KEY_RULE_SHORT : KEY_RULE_OK;
}

void
key_rule_sentence(enum keyring_kind kind, enum key_rule rule, size_t len,
    size_t at, char *text_r, size_t size)
{
	bool is_key = kind == KEYRING_KEY;
	const char *what = keyring_words_kind(kind);

	text_r[0] = '\0';
	switch (rule) {
	case KEY_RULE_OK:
		break;
	case KEY_RULE_EMPTY:
		(void)snprintf(text_r, size, "the %s is empty", what);
		break;
	case KEY_RULE_SHORT:
		(void)snprintf(text_r, size,
		    "the key is %zu bytes long, it must be at least %u", len,
		    KEY_RULE_MIN);
		break;
	case KEY_RULE_LONG:
		(void)snprintf(text_r, size, "the %s is longer than %u bytes",
		    what, is_key ? KEY_RULE_MAX : KEY_RULE_SECRET_MAX);
		break;
	case KEY_RULE_BYTE:
		(void)snprintf(text_r, size,
		    is_key ? "byte %zu of the key is a space, a control "
			     "character, '%%', '\\' or not ASCII; a key is "
			     "one word of other printable ASCII"
			   : "byte %zu of the secret is NUL, which no "
			     "variable can hold",
		    at + 1);
		break;
	}
}

void
key_rule_last4(const uint8_t *bytes, size_t len, char last4_r[5])
{
	memset(last4_r, 0, 5);
	if (len >= KEY_RULE_LAST4_MIN)
		memcpy(last4_r, bytes + len - 4, 4);
}
