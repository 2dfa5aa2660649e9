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

enum key_rule
key_rule_check(const uint8_t *bytes, size_t len, size_t *at_r)
{
	*at_r = 0;
	if (len == 0)
		return KEY_RULE_EMPTY;
	if (len > KEY_RULE_MAX)
		return KEY_RULE_LONG;
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] <= ' ' || bytes[i] > '~' || bytes[i] == '%' ||
		    bytes[i] == '\\') {
			*at_r = i;
			return KEY_RULE_BYTE;
		}
	}
	return len < KEY_RULE_MIN ? KEY_RULE_SHORT : KEY_RULE_OK;
}

void
key_rule_sentence(
    enum key_rule rule, size_t len, size_t at, char *text_r, size_t size)
{
	text_r[0] = '\0';
	switch (rule) {
	case KEY_RULE_OK:
		break;
	case KEY_RULE_EMPTY:
		(void)snprintf(text_r, size, "the key is empty");
		break;
	case KEY_RULE_SHORT:
		(void)snprintf(text_r, size,
		    "the key is %zu bytes long, it must be at least %u", len,
		    KEY_RULE_MIN);
		break;
	case KEY_RULE_LONG:
		(void)snprintf(text_r, size, "the key is longer than %u bytes",
		    KEY_RULE_MAX);
		break;
	case KEY_RULE_BYTE:
		(void)snprintf(text_r, size,
		    "byte %zu of the key is a space, a control character, "
		    "'%%', "
		    "'\\' or not ASCII; a key is one word of other printable "
		    "ASCII",
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
