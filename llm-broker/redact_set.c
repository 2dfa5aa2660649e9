/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the patterns of a `key_pattern` message. Called by key_table.c; the
 * bytes come from llm-key. Must never accept a pattern that would find
 * nothing, or everything.
 */
#include <stdio.h>
#include <string.h>

#include "llm-broker/redact_match.h"

static const char *const redact_set_keys[] = {
    "form", "prefix", "length", "salt", "digest", NULL};
static const char *const redact_set_forms[] = {"raw", "base64", "hex", NULL};

static int
redact_set_nibble(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* Lower-case hex; *len_r bytes, from min to max of them. */
static void
redact_set_bytes(const json_t *object, const char *path, const char *key,
    uint8_t *bytes_r, size_t min, size_t max, size_t *len_r,
    struct json_fault *fault)
{
	const char *text = "";
	size_t len;
	bool good;

	json_field_string(object, path, key, 2 * max, &text, fault);
	len = strlen(text);
	good = len % 2 == 0 && len >= 2 * min;
	for (size_t i = 0; good && i < len / 2; i++) {
		int high = redact_set_nibble(text[2 * i]);
		int low = redact_set_nibble(text[2 * i + 1]);

		good = high >= 0 && low >= 0;
		bytes_r[i] = (uint8_t)(high * 16 + low);
	}
	if (!good)
		json_field_fault(fault,
		    "%s.%s must be %zu to %zu bytes in lower-case hex", path,
		    key, min, max);
	*len_r = len / 2;
}

static void
redact_set_form(const json_t *object, const char *path,
    enum redact_form *form_r, struct json_fault *fault)
{
	const char *text = "";

	json_field_string(object, path, "form", 8, &text, fault);
	for (int i = 0; redact_set_forms[i] != NULL; i++) {
		if (strcmp(text, redact_set_forms[i]) == 0) {
			*form_r = (enum redact_form)i;
			return;
		}
	}
	json_field_fault(fault, "%s.form must be raw, base64 or hex", path);
}

static void
redact_set_pattern(const json_t *object, const char *path,
    struct redact_pattern *pattern, struct json_fault *fault)
{
	int64_t length = 0;
	size_t len;

	json_field_only(object, path, redact_set_keys, fault);
	redact_set_form(object, path, &pattern->form, fault);
	redact_set_bytes(object, path, "prefix", pattern->prefix, 1,
	    REDACT_PREFIX_MAX, &pattern->prefix_len, fault);
	json_field_int(object, path, "length", REDACT_LENGTH_MIN,
	    REDACT_LENGTH_MAX, &length, fault);
	pattern->length = (size_t)length;
	redact_set_bytes(object, path, "salt", pattern->salt, REDACT_SALT_LEN,
	    REDACT_SALT_LEN, &len, fault);
	redact_set_bytes(object, path, "digest", pattern->digest,
	    REDACT_DIGEST_LEN, REDACT_DIGEST_LEN, &len, fault);
}

static bool
redact_set_has(
    const struct redact_set *set, const struct redact_pattern *pattern)
{
	for (size_t i = 0; i < set->count; i++)
		if (memcmp(set->patterns[i].digest, pattern->digest,
			sizeof(pattern->digest)) == 0)
			return true;
	return false;
}

enum result
redact_set_add(struct redact_set *set, const struct redact_pattern *pattern)
{
	if (redact_set_has(set, pattern))
		return RESULT_OK;
	if (set->count == REDACT_SET_MAX)
		return RESULT_TOO_LONG;
	set->patterns[set->count] = *pattern;
	redact_match_prepare(set, set->count++);
	return RESULT_OK;
}

/* All of them or none. */
static void
redact_set_add_all(struct redact_set *set,
    const struct redact_pattern *patterns, size_t count,
    struct json_fault *fault)
{
	size_t more = 0;

	for (size_t i = 0; i < count; i++)
		more += !redact_set_has(set, &patterns[i]);
	if (more > REDACT_SET_MAX - set->count) {
		json_field_fault(fault,
		    "no room is left to look for one more key: a run remembers "
		    "%u patterns of those it had",
		    REDACT_SET_MAX);
		return;
	}
	for (size_t i = 0; i < count; i++)
		(void)redact_set_add(set, &patterns[i]);
}

void
redact_set_read(const json_t *patterns, const char *path,
    struct redact_set *set, struct json_fault *fault)
{
	struct redact_pattern found[REDACT_PATTERNS_MAX];
	size_t count = json_array_size(patterns);

	if (!json_is_array(patterns) || count > REDACT_PATTERNS_MAX) {
		json_field_fault(fault, "%s must be a list of at most %u", path,
		    REDACT_PATTERNS_MAX);
		return;
	}
	memset(found, 0, sizeof(found));
	for (size_t i = 0; i < count; i++) {
		char place[64];

		(void)snprintf(place, sizeof(place), "%s[%zu]", path, i);
		redact_set_pattern(
		    json_array_get(patterns, i), place, &found[i], fault);
	}
	if (fault->text[0] == '\0')
		redact_set_add_all(set, found, count, fault);
}
