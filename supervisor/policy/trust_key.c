/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Public keys as text; see trust_key.h. It must never take two spellings of
 * one key for two keys.
 */
#include "supervisor/policy/trust_key.h"

#include <stdint.h>
#include <string.h>

#define TRUST_KEY_BYTES 32U
#define TRUST_KEY_BASE64 44U

bool
trust_key_is_name(const char *text)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-");

	return len > 0 && len <= TRUST_KEY_NAME_MAX && text[len] == '\0' &&
	       text[0] != '-' && text[0] != '_';
}

static int
trust_key_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool
trust_key_from_hex(const char *text, uint8_t bytes_r[TRUST_KEY_BYTES])
{
	for (size_t i = 0; i < TRUST_KEY_BYTES; i++) {
		int high = trust_key_digit(text[2 * i]);
		int low = trust_key_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		bytes_r[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/* 43 letters and one "=", the bits behind the last byte zero. */
static bool
trust_key_from_base64(const char *text, uint8_t bytes_r[TRUST_KEY_BYTES])
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "abcdefghijklmnopqrstuvwxyz"
				      "0123456789+/";
	unsigned bits = 0, have = 0;
	size_t used = 0;

	if (text[TRUST_KEY_BASE64 - 1] != '=')
		return false;
	for (size_t i = 0; i < TRUST_KEY_BASE64 - 1; i++) {
		const char *at = strchr(letters, text[i]);

		if (at == NULL || text[i] == '\0')
			return false;
		bits = (bits << 6 | (unsigned)(at - letters)) & 0xffffU;
		have += 6;
		if (have < 8)
			continue;
		have -= 8;
		bytes_r[used++] = (uint8_t)(bits >> have);
	}
	return used == TRUST_KEY_BYTES && (bits & ((1U << have) - 1)) == 0;
}

/* 0 and 1 as y coordinate (with either sign), what an empty or cleared file
 * decodes to: points of small order, which fit signatures of anybody. */
static bool
trust_key_is_trivial(const uint8_t bytes[TRUST_KEY_BYTES])
{
	for (size_t i = 1; i + 1 < TRUST_KEY_BYTES; i++)
		if (bytes[i] != 0)
			return false;
	return bytes[0] <= 1 && (bytes[TRUST_KEY_BYTES - 1] & 0x7f) == 0;
}

bool
trust_key_parse(const char *text, char hex_r[TRUST_KEY_HEX + 1])
{
	static const char digits[] = "0123456789abcdef";
	size_t len = strnlen(text, TRUST_KEY_HEX + 1);
	uint8_t bytes[TRUST_KEY_BYTES];

	hex_r[0] = '\0';
	if (!(len == TRUST_KEY_HEX && trust_key_from_hex(text, bytes)) &&
	    !(len == TRUST_KEY_BASE64 && trust_key_from_base64(text, bytes)))
		return false;
	if (trust_key_is_trivial(bytes))
		return false;
	for (size_t i = 0; i < TRUST_KEY_BYTES; i++) {
		hex_r[2 * i] = digits[bytes[i] >> 4];
		hex_r[2 * i + 1] = digits[bytes[i] & 15];
	}
	hex_r[TRUST_KEY_HEX] = '\0';
	return true;
}

/* The name that has this key already, or NULL. */
static const char *
trust_key_owner(const json_t *object, const char *hex)
{
	const char *name;
	json_t *key;

	json_object_foreach((json_t *)(uintptr_t)object, name, key)
	{
		if (strcmp(json_string_value(key), hex) == 0)
			return name;
	}
	return NULL;
}

static enum result
trust_key_member(const char *name, const json_t *raw, const char *where,
    json_t *object, struct json_fault *fault)
{
	const char *text = json_string_value(raw), *owner;
	char hex[TRUST_KEY_HEX + 1];

	if (!trust_key_is_name(name)) {
		json_field_fault(fault, "%s: '%.64s': a name has %s", where,
		    name, TRUST_KEY_NAME_RULE);
		return RESULT_BAD;
	}
	if (text == NULL || !trust_key_parse(text, hex)) {
		json_field_fault(fault,
		    "%s: %s: must be an Ed25519 public key, 64 hex digits or "
		    "44 letters of base64",
		    where, name);
		return RESULT_BAD;
	}
	owner = trust_key_owner(object, hex);
	if (owner != NULL) {
		json_field_fault(fault, "%s: %s: is the same key as '%s'",
		    where, name, owner);
		return RESULT_BAD;
	}
	return json_object_set_new(object, name, json_string(hex)) == 0
		   ? RESULT_OK
		   : RESULT_NO_MEMORY;
}

enum result
trust_key_object(const json_t *raw, const char *where, json_t **value_r,
    struct json_fault *fault)
{
	json_t *object = json_object(), *key;
	enum result result = RESULT_OK;
	const char *name;

	*value_r = NULL;
	if (json_object_size(raw) > TRUST_KEY_COUNT_MAX) {
		json_field_fault(
		    fault, "%s: at most %u keys", where, TRUST_KEY_COUNT_MAX);
		result = RESULT_BAD;
	}
	json_object_foreach((json_t *)(uintptr_t)raw, name, key)
	{
		if (result == RESULT_OK)
			result =
			    trust_key_member(name, key, where, object, fault);
	}
	if (result != RESULT_OK)
		json_decref(object);
	else
		*value_r = object;
	return result;
}
