/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and shapes of credentials, as tables. Called for each variable;
 * must never print or keep a value.
 */
#include "supervisor/argv/argv_key.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define ARGV_KEY_UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define ARGV_KEY_DIGIT "0123456789"
#define ARGV_KEY_WORD \
	ARGV_KEY_UPPER "abcdefghijklmnopqrstuvwxyz" ARGV_KEY_DIGIT "_-"
#define ARGV_KEY_COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Anywhere in a name. */
static const char *const argv_key_inside[] = {"SECRET", "TOKEN", "PASSWORD",
    "PASSWD", "PASSPHRASE", "APIKEY", "API_KEY", "ACCESS_KEY", "PRIVATE_KEY",
    "CREDENTIAL"};

/* A whole part between underscores. */
static const char *const argv_key_parts[] = {
    "KEY", "PAT", "PWD", "AUTH", "DSN", "COOKIE"};

/* Names that have such a part and are no credential. */
static const char *const argv_key_harmless[] = {"PWD", "OLDPWD",
    "SSH_AUTH_SOCK", "PUBLIC_KEY", "TOKENIZERS_PARALLELISM", "GPG_KEY"};

struct argv_key_shape {
	const char *start;
	const char *alphabet; /* of what follows */
	size_t least;         /* how much of it */
};

static const struct argv_key_shape argv_key_shapes[] = {
    {"AKIA", ARGV_KEY_UPPER ARGV_KEY_DIGIT, 16},
    {"ASIA", ARGV_KEY_UPPER ARGV_KEY_DIGIT, 16},
    {"ghp_", ARGV_KEY_WORD, 20},
    {"gho_", ARGV_KEY_WORD, 20},
    {"ghu_", ARGV_KEY_WORD, 20},
    {"ghs_", ARGV_KEY_WORD, 20},
    {"ghr_", ARGV_KEY_WORD, 20},
    {"github_pat_", ARGV_KEY_WORD, 20},
    {"glpat-", ARGV_KEY_WORD, 16},
    {"sk-", ARGV_KEY_WORD, 20},
    {"sk_live_", ARGV_KEY_WORD, 16},
    {"sk_test_", ARGV_KEY_WORD, 16},
    {"rk_live_", ARGV_KEY_WORD, 16},
    {"xoxb-", ARGV_KEY_WORD, 10},
    {"xoxp-", ARGV_KEY_WORD, 10},
    {"xoxa-", ARGV_KEY_WORD, 10},
    {"xapp-", ARGV_KEY_WORD, 10},
    {"AIza", ARGV_KEY_WORD, 30},
    {"ya29.", ARGV_KEY_WORD ".", 20},
    {"npm_", ARGV_KEY_WORD, 30},
    {"pypi-AgE", ARGV_KEY_WORD, 20},
    {"hf_", ARGV_KEY_WORD, 30},
    {"gsk_", ARGV_KEY_WORD, 30},
    {"SG.", ARGV_KEY_WORD ".", 40},
    {"dop_v1_", ARGV_KEY_WORD, 40},
    {"hvs.", ARGV_KEY_WORD, 20},
    {"AGE-SECRET-KEY-", ARGV_KEY_WORD, 20},
    {"Bearer ", ARGV_KEY_WORD ".=+/~", 16},
    {"-----BEGIN ", ARGV_KEY_UPPER " ", 3},
};

static bool
argv_key_contains(const char *name, size_t len, const char *word)
{
	size_t part = strlen(word);

	for (size_t i = 0; i + part <= len; i++) {
		if (strncasecmp(name + i, word, part) == 0)
			return true;
	}
	return false;
}

static bool
argv_key_has_part(const char *name, size_t len, const char *word)
{
	size_t part = strlen(word);

	for (size_t i = 0; i + part <= len; i++) {
		if ((i == 0 || name[i - 1] == '_') &&
		    (i + part == len || name[i + part] == '_') &&
		    strncasecmp(name + i, word, part) == 0)
			return true;
	}
	return false;
}

bool
argv_key_is_name(const char *name, size_t len)
{
	for (size_t i = 0; i < ARGV_KEY_COUNT(argv_key_harmless); i++) {
		if (strlen(argv_key_harmless[i]) == len &&
		    strncasecmp(name, argv_key_harmless[i], len) == 0)
			return false;
	}
	for (size_t i = 0; i < ARGV_KEY_COUNT(argv_key_inside); i++) {
		if (argv_key_contains(name, len, argv_key_inside[i]))
			return true;
	}
	for (size_t i = 0; i < ARGV_KEY_COUNT(argv_key_parts); i++) {
		if (argv_key_has_part(name, len, argv_key_parts[i]))
			return true;
	}
	return false;
}

/* head.payload.signature, the head being JSON in base64. */
static bool
argv_key_is_signed_token(const char *value)
{
	size_t head = strspn(value, ARGV_KEY_WORD), payload;

	if (strncmp(value, "eyJ", 3) != 0 || head < 10 || value[head] != '.')
		return false;
	payload = strspn(value + head + 1, ARGV_KEY_WORD);
	return payload >= 10 && value[head + 1 + payload] == '.';
}

/* scheme://user:password@host */
static bool
argv_key_is_url(const char *value)
{
	const char *start = strstr(value, "://");
	const char *colon, *at;
	size_t len;

	if (start == NULL)
		return false;
	start += 3;
	len = strcspn(start, "/?# ");
	colon = memchr(start, ':', len);
	at = colon == NULL ? NULL
			   : memchr(colon, '@', len - (size_t)(colon - start));
	return at != NULL && at > colon + 1;
}

bool
argv_key_is_value(const char *value)
{
	for (size_t i = 0; i < ARGV_KEY_COUNT(argv_key_shapes); i++) {
		const struct argv_key_shape *shape = &argv_key_shapes[i];
		size_t len = strlen(shape->start);

		if (strncmp(value, shape->start, len) == 0 &&
		    strspn(value + len, shape->alphabet) >= shape->least)
			return true;
	}
	return argv_key_is_signed_token(value) || argv_key_is_url(value);
}

/* A switch, a small number, or nothing. */
static bool
argv_key_is_plain(const char *value)
{
	static const char *const words[] = {"true", "false", "yes", "no", "on",
	    "off", "none", "null", "auto", "default", "always", "never"};
	size_t len = strlen(value);

	for (size_t i = 0; i < ARGV_KEY_COUNT(words); i++) {
		if (strcasecmp(value, words[i]) == 0)
			return true;
	}
	return len == 0 || (len < 7 && strspn(value, ARGV_KEY_DIGIT) == len);
}

bool
argv_key_is_entry(const char *entry)
{
	const char *equals = strchr(entry, '=');
	size_t len;

	if (equals == NULL)
		return false;
	len = (size_t)(equals - entry);
	if (argv_key_is_value(equals + 1))
		return true;
	if (equals[1] == '/' || argv_key_is_plain(equals + 1))
		return false;
	return argv_key_is_name(entry, len);
}
