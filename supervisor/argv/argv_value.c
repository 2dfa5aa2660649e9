/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers about single values. Called by the judges; must never take a
 * value that it cannot read for a good one.
 */
#include "supervisor/argv/argv_value.h"

#include <string.h>
#include <strings.h>

#define ARGV_VALUE_DIGIT "0123456789"
#define ARGV_VALUE_HEX ARGV_VALUE_DIGIT "abcdef"

bool
argv_value_is_root(const char *user)
{
	size_t len = strcspn(user, ":");
	size_t sign = len > 0 && strchr("+-", user[0]) != NULL ? 1 : 0;
	size_t zeros = strspn(user + sign, "0");

	if (len == 0 || (len == 4 && strncmp(user, "root", 4) == 0))
		return true;
	return zeros > 0 && sign + zeros == len;
}

/* uid=, gid= or size= with a number; a uid above 0. */
static bool
argv_value_is_id_option(const char *option, size_t len)
{
	static const char *const keys[] = {"uid=", "gid=", "size="};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t key = strlen(keys[i]);
		size_t digits, zeros;

		if (len <= key || strncmp(option, keys[i], key) != 0)
			continue;
		digits = strspn(option + key, ARGV_VALUE_DIGIT);
		zeros = strspn(option + key, "0");
		return digits == len - key && (i > 0 || zeros < digits);
	}
	return false;
}

bool
argv_value_keeps_id(const char *userns)
{
	const char *at = userns + strlen("keep-id");

	if (strncmp(userns, "keep-id", strlen("keep-id")) != 0)
		return false;
	if (*at == '\0')
		return true;
	if (*at != ':')
		return false;
	do {
		size_t len = strcspn(++at, ",");

		if (!argv_value_is_id_option(at, len))
			return false;
		at += len;
	} while (*at == ',');
	return true;
}

static bool
argv_value_has_unit(const char *unit)
{
	static const char *const units[] = {"", "b", "k", "kb", "kib", "m",
	    "mb", "mib", "g", "gb", "gib", "t", "tb", "tib", "p", "pb", "pib",
	    NULL};

	return argv_value_is_one_of(unit, units);
}

bool
argv_value_is_size(const char *text)
{
	size_t len = strspn(text, ARGV_VALUE_DIGIT ".");
	const char *unit = text + len;

	if (len == 0 || text[0] == '.' || strcspn(text, "123456789") >= len)
		return false;
	unit += *unit == ' ' ? 1 : 0;
	return argv_value_has_unit(unit);
}

bool
argv_value_is_count(const char *text)
{
	size_t len = strspn(text, ARGV_VALUE_DIGIT);

	return len > 0 && len < 10 && text[len] == '\0' &&
	       strspn(text, "0") < len;
}

bool
argv_value_is_pinned(const char *image)
{
	const char *at = strstr(image, "@sha256:");
	const char *hex = image;

	if (at != NULL && at > image)
		hex = at + strlen("@sha256:");
	else if (strncmp(image, "sha256:", 7) == 0)
		hex = image + 7;
	return strspn(hex, ARGV_VALUE_HEX) == 64 && hex[64] == '\0';
}

bool
argv_value_is_own_sysctl(const char *setting)
{
	static const char *const own[] = {"net.", "net/", "fs.mqueue.",
	    "fs/mqueue/", "kernel.msgmax", "kernel.msgmnb", "kernel.msgmni",
	    "kernel.sem", "kernel.shmall", "kernel.shmmax", "kernel.shmmni",
	    "kernel.shm_rmid_forced", "kernel.domainname", "user."};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		if (strncmp(setting, own[i], strlen(own[i])) == 0)
			return true;
	}
	return false;
}

const char *
argv_value_behind(const char *text, const char *key)
{
	size_t len = strlen(key);

	if (strncasecmp(text, key, len) != 0)
		return NULL;
	if (text[len] == '\0')
		return text + len;
	return text[len] == '=' || text[len] == ':' ? text + len + 1 : NULL;
}

bool
argv_value_is_one_of(const char *text, const char *const *words)
{
	for (size_t i = 0; words[i] != NULL; i++) {
		if (strcasecmp(text, words[i]) == 0)
			return true;
	}
	return false;
}
