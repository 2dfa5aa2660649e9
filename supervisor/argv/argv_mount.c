/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers of the two ways to write a mount. Called for each such option;
 * must never take an unknown field for a known one.
 */
#include "supervisor/argv/argv_mount.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "supervisor/argv/argv_csv.h"
#include "supervisor/argv/argv_words.h"

static bool
argv_mount_copy(char *text_r, const char *text, size_t len)
{
	if (len >= ARGV_MOUNT_TEXT_MAX)
		return false;
	memcpy(text_r, text, len);
	text_r[len] = '\0';
	return true;
}

/* A path of the host, or the name of a volume. */
static bool
argv_mount_is_path(const char *source)
{
	return strchr("/.~$", source[0]) != NULL || strchr(source, '/') != NULL;
}

static void
argv_mount_propagation(struct argv_mount *mount, const char *word)
{
	if (strcmp(word, "shared") == 0 || strcmp(word, "rshared") == 0)
		mount->shared = true;
}

/* Words between commas behind the second colon; the last of ro, rw counts. */
static void
argv_mount_words(struct argv_mount *mount, const char *text)
{
	char word[16];

	while (*text != '\0') {
		size_t len = strcspn(text, ",");

		if (len < sizeof(word)) {
			memcpy(word, text, len);
			word[len] = '\0';
			if (strcmp(word, "ro") == 0 ||
			    strcmp(word, "readonly") == 0)
				mount->read_only = true;
			else if (strcmp(word, "rw") == 0)
				mount->read_only = false;
			else if (strcmp(word, "O") == 0)
				mount->overlay = true;
			else
				argv_mount_propagation(mount, word);
		}
		text += len;
		text += *text == ',' ? 1 : 0;
	}
}

enum result
argv_mount_volume(const char *text, struct argv_mount *mount_r)
{
	size_t first = strcspn(text, ":");
	const char *second = text[first] == ':' ? text + first + 1 : NULL;
	size_t second_len = second != NULL ? strcspn(second, ":") : 0;
	const char *options = NULL;

	memset(mount_r, 0, sizeof(*mount_r));
	if (second != NULL && second[second_len] == ':')
		options = second + second_len + 1;
	if (options != NULL && strchr(options, ':') != NULL)
		return RESULT_BAD;
	mount_r->kind = ARGV_MOUNT_VOLUME;
	if (second == NULL)
		return first > 0 &&
			       argv_mount_copy(mount_r->target, text, first)
			   ? RESULT_OK
			   : RESULT_BAD;
	if (first == 0 || second_len == 0 ||
	    !argv_mount_copy(mount_r->source, text, first) ||
	    !argv_mount_copy(mount_r->target, second, second_len))
		return RESULT_BAD;
	if (argv_mount_is_path(mount_r->source))
		mount_r->kind = ARGV_MOUNT_BIND;
	if (options != NULL)
		argv_mount_words(mount_r, options);
	return RESULT_OK;
}

/* --- records ------------------------------------------------------------- */

enum argv_mount_field {
	ARGV_MOUNT_TYPE,
	ARGV_MOUNT_SOURCE,
	ARGV_MOUNT_TARGET,
	ARGV_MOUNT_READ_ONLY,
	ARGV_MOUNT_WRITABLE,
	ARGV_MOUNT_PROPAGATION,
	ARGV_MOUNT_OPTION, /* of a volume's driver */
	ARGV_MOUNT_PLAIN,  /* changes nothing about the host */
};

static const struct {
	const char *name;
	enum argv_mount_field field;
} argv_mount_fields[] = {
    {"type", ARGV_MOUNT_TYPE},
    {"source", ARGV_MOUNT_SOURCE},
    {"src", ARGV_MOUNT_SOURCE},
    {"target", ARGV_MOUNT_TARGET},
    {"dst", ARGV_MOUNT_TARGET},
    {"destination", ARGV_MOUNT_TARGET},
    {"readonly", ARGV_MOUNT_READ_ONLY},
    {"ro", ARGV_MOUNT_READ_ONLY},
    {"rw", ARGV_MOUNT_WRITABLE},
    {"readwrite", ARGV_MOUNT_WRITABLE},
    {"bind-propagation", ARGV_MOUNT_PROPAGATION},
    {"volume-opt", ARGV_MOUNT_OPTION},
    {"bind-create-src", ARGV_MOUNT_PLAIN},
    {"bind-nonrecursive", ARGV_MOUNT_PLAIN},
    {"bind-recursive", ARGV_MOUNT_PLAIN},
    {"chown", ARGV_MOUNT_PLAIN},
    {"consistency", ARGV_MOUNT_PLAIN},
    {"dev", ARGV_MOUNT_PLAIN},
    {"exec", ARGV_MOUNT_PLAIN},
    {"gid", ARGV_MOUNT_PLAIN},
    {"idmap", ARGV_MOUNT_PLAIN},
    {"image-subpath", ARGV_MOUNT_PLAIN},
    {"max", ARGV_MOUNT_PLAIN},
    {"mode", ARGV_MOUNT_PLAIN},
    {"nocopy", ARGV_MOUNT_PLAIN},
    {"nodev", ARGV_MOUNT_PLAIN},
    {"noexec", ARGV_MOUNT_PLAIN},
    {"nosuid", ARGV_MOUNT_PLAIN},
    {"notmpcopyup", ARGV_MOUNT_PLAIN},
    {"relabel", ARGV_MOUNT_PLAIN},
    {"size", ARGV_MOUNT_PLAIN},
    {"subpath", ARGV_MOUNT_PLAIN},
    {"suid", ARGV_MOUNT_PLAIN},
    {"tmpcopyup", ARGV_MOUNT_PLAIN},
    {"tmpfs-mode", ARGV_MOUNT_PLAIN},
    {"tmpfs-options", ARGV_MOUNT_PLAIN},
    {"tmpfs-size", ARGV_MOUNT_PLAIN},
    {"u", ARGV_MOUNT_PLAIN},
    {"uid", ARGV_MOUNT_PLAIN},
    {"volume-driver", ARGV_MOUNT_PLAIN},
    {"volume-label", ARGV_MOUNT_PLAIN},
    {"volume-nocopy", ARGV_MOUNT_PLAIN},
    {"volume-subpath", ARGV_MOUNT_PLAIN},
    {"z", ARGV_MOUNT_PLAIN},
};

static bool
argv_mount_type(struct argv_mount *mount, const char *type)
{
	static const struct {
		const char *name;
		enum argv_mount_kind kind;
	} types[] = {{"bind", ARGV_MOUNT_BIND}, {"npipe", ARGV_MOUNT_BIND},
	    {"glob", ARGV_MOUNT_BIND}, {"volume", ARGV_MOUNT_VOLUME},
	    {"cluster", ARGV_MOUNT_VOLUME}, {"tmpfs", ARGV_MOUNT_MEMORY},
	    {"ramfs", ARGV_MOUNT_MEMORY}, {"devpts", ARGV_MOUNT_MEMORY},
	    {"image", ARGV_MOUNT_IMAGE}, {"artifact", ARGV_MOUNT_IMAGE}};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strcasecmp(type, types[i].name) == 0) {
			mount->kind = types[i].kind;
			return true;
		}
	}
	return false;
}

/* volume-opt=device=/path with o=bind is a bind mount by another name. */
static bool
argv_mount_option(char *device_r, const char *option)
{
	if (strncmp(option, "device=", 7) != 0)
		return true;
	return argv_mount_copy(device_r, option + 7, strlen(option + 7));
}

static bool
argv_mount_switch(const char *value, bool yes, struct argv_mount *mount)
{
	bool given = true;

	if (value != NULL && !argv_words_bool(value, &given))
		return false;
	mount->read_only = given == yes;
	return true;
}

/* value is NULL for a word without "=". */
static bool
argv_mount_take(struct argv_mount *mount, char *device_r,
    enum argv_mount_field field, const char *value)
{
	if (field == ARGV_MOUNT_PLAIN)
		return true;
	if (field == ARGV_MOUNT_READ_ONLY || field == ARGV_MOUNT_WRITABLE)
		return argv_mount_switch(
		    value, field == ARGV_MOUNT_READ_ONLY, mount);
	if (value == NULL)
		return false;
	if (field == ARGV_MOUNT_TYPE)
		return argv_mount_type(mount, value);
	if (field == ARGV_MOUNT_SOURCE)
		return argv_mount_copy(mount->source, value, strlen(value));
	if (field == ARGV_MOUNT_TARGET)
		return argv_mount_copy(mount->target, value, strlen(value));
	if (field == ARGV_MOUNT_OPTION)
		return argv_mount_option(device_r, value);
	argv_mount_propagation(mount, value);
	return true;
}

static bool
argv_mount_one(struct argv_mount *mount, char *device_r, const char *text)
{
	size_t len = strcspn(text, "=");
	const char *value = text[len] == '=' ? text + len + 1 : NULL;

	for (size_t i = 0;
	     i < sizeof(argv_mount_fields) / sizeof(argv_mount_fields[0]);
	     i++) {
		if (strlen(argv_mount_fields[i].name) == len &&
		    strncasecmp(argv_mount_fields[i].name, text, len) == 0)
			return argv_mount_take(
			    mount, device_r, argv_mount_fields[i].field, value);
	}
	return false;
}

enum result
argv_mount_record(const char *text, struct argv_mount *mount_r, char what_r[64])
{
	char device[ARGV_MOUNT_TEXT_MAX] = "";
	struct argv_csv *csv = NULL;
	enum result result = argv_csv_new(text, &csv);

	memset(mount_r, 0, sizeof(*mount_r));
	mount_r->kind = ARGV_MOUNT_VOLUME;
	if (what_r != NULL)
		(void)snprintf(what_r, 64, "%.63s", text);
	if (result != RESULT_OK)
		return result == RESULT_NO_MEMORY ? result : RESULT_BAD;
	for (size_t i = 0; i < argv_csv_count(csv) && result == RESULT_OK;
	     i++) {
		const char *field = argv_csv_field_borrow(csv, i);

		if (argv_mount_one(mount_r, device, field))
			continue;
		if (what_r != NULL)
			(void)snprintf(what_r, 64, "%.63s", field);
		result = RESULT_BAD;
	}
	argv_csv_free(&csv);
	if (result == RESULT_OK && mount_r->kind == ARGV_MOUNT_VOLUME &&
	    device[0] == '/') {
		mount_r->kind = ARGV_MOUNT_BIND;
		memcpy(mount_r->source, device, sizeof(device));
	}
	if (result == RESULT_OK && mount_r->kind == ARGV_MOUNT_BIND &&
	    mount_r->source[0] == '\0')
		result = RESULT_BAD;
	return result;
}
