/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be a key: it becomes part of an HTTP header, so it is printable
 * ASCII without spaces, 16 to 2048 bytes. What can be a secret: it becomes
 * a variable, so it is 1 to 8192 bytes without a NUL. Pure. Used by the
 * helper when one is taken and again when one is read.
 */
#ifndef LLM_BROKER_KEYRING_KEY_RULE_H
#define LLM_BROKER_KEYRING_KEY_RULE_H

#include <stddef.h>
#include <stdint.h>

#include "llm-broker/keyring/keyring_words.h"

#define KEY_RULE_MIN 16U
#define KEY_RULE_MAX 2048U /* a longer one fits no redaction pattern */
#define KEY_RULE_SECRET_MAX 8192U
/* Four characters of a shorter key would be too much of it. */
#define KEY_RULE_LAST4_MIN 20U

enum key_rule {
	KEY_RULE_OK,
	KEY_RULE_EMPTY,
	KEY_RULE_SHORT,
	KEY_RULE_LONG,
	KEY_RULE_BYTE /* at *at_r: space, control character, not ASCII; NUL */
};

/* The length without one newline (or CR and newline) at the end. */
size_t key_rule_trim(const uint8_t *bytes, size_t len);

enum key_rule key_rule_check(
    enum keyring_kind kind, const uint8_t *bytes, size_t len, size_t *at_r);

/* One sentence that says nothing of the key itself. */
void key_rule_sentence(enum keyring_kind kind, enum key_rule rule, size_t len,
    size_t at, char *text_r, size_t size);

/* The last four characters, or "" for a short one. */
void key_rule_last4(const uint8_t *bytes, size_t len, char last4_r[5]);

#endif
