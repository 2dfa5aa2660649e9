/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and rewrites credentials.json and secrets.json. Called by `auth`,
 * doctor and the readers of keys. It must never hold a key, nor write over a
 * file that it cannot read.
 */
#include "supervisor/policy/credential.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/fd.h"
#include "supervisor/policy/digest.h"
#include "supervisor/policy/state_dir.h"
#include "supervisor/policy/state_json.h"

#define CREDENTIAL_BYTES_MAX 65536U
#define CREDENTIAL_VERSION 1

/* Of each kind: its file, and the object in it. */
struct credential_place {
	const char *file, *list;
};

static const struct credential_place credential_places[KEYRING_KIND_COUNT] = {
    [KEYRING_KEY] = {CREDENTIAL_FILE, "providers"},
    [KEYRING_SECRET] = {CREDENTIAL_SECRETS, "secrets"},
};
#define CREDENTIAL_STAMP "0000-00-00T00:00:00.000Z"

/* Digits where the stamp has digits, else the same character. */
static bool
credential_is_stamp(const char *text)
{
	const char *form = CREDENTIAL_STAMP;

	if (strlen(text) != strlen(form))
		return false;
	for (; *form != '\0'; form++, text++) {
		if (*form == '0' ? *text < '0' || *text > '9' : *text != *form)
			return false;
	}
	return true;
}

static bool
credential_is_last4(const char *text)
{
	if (strlen(text) != 4)
		return false;
	for (; *text != '\0'; text++) {
		if (*text <= ' ' || *text > '~')
			return false;
	}
	return true;
}

static void
credential_check_entry(enum keyring_kind kind, const json_t *entry,
    const char *name, const char *path, struct json_fault *fault)
{
	static const char *const keys[] = {
	    "backend", "last4", "stored_at", NULL};
	const char *backend = NULL, *last4 = NULL, *stored_at = NULL;
	enum keyring_backend found;

	if (!keyring_words_is_name(kind, name))
		json_field_fault(fault,
		    kind == KEYRING_KEY
			? "%s: a provider's name has 1 to %u lower-case "
			  "letters, digits and hyphens"
			: "%s: a secret's name has 1 to %u letters, digits "
			  "and _, and no digit first",
		    path,
		    kind == KEYRING_KEY ? KEYRING_PROVIDER_MAX
					: KEYRING_NAME_MAX);
	if (!json_is_object(entry))
		json_field_fault(fault, "%s.%s: must be an object", path, name);
	if (fault->text[0] != '\0')
		return;
	json_field_only(entry, name, keys, fault);
	json_field_string(entry, name, "backend", 32, &backend, fault);
	json_field_string_opt(entry, name, "last4", 4, &last4, fault);
	json_field_string(entry, name, "stored_at", 31, &stored_at, fault);
	if (fault->text[0] != '\0')
		return;
	if (!keyring_words_find_backend(backend, &found))
		json_field_fault(
		    fault, "%s.backend: '%s' is none", name, backend);
	if (last4 != NULL && !credential_is_last4(last4))
		json_field_fault(
		    fault, "%s.last4: must be four printable characters", name);
	if (!credential_is_stamp(stored_at))
		json_field_fault(fault,
		    "%s.stored_at: must look like " CREDENTIAL_STAMP, name);
}

static void
credential_check(
    enum keyring_kind kind, const json_t *root, struct json_fault *fault)
{
	const char *list = credential_places[kind].list;
	const char *const keys[] = {"version", list, NULL};
	char path[32];
	const json_t *providers = NULL;
	const char *name;
	json_t *entry;
	int64_t version;

	if (!json_is_object(root)) {
		json_field_fault(fault, "must be one JSON object");
		return;
	}
	json_field_only(root, "credentials", keys, fault);
	json_field_int(root, "credentials", "version", CREDENTIAL_VERSION,
	    CREDENTIAL_VERSION, &version, fault);
	json_field_object(root, "credentials", list, &providers, fault);
	if (fault->text[0] != '\0')
		return;
	if (json_object_size(providers) > CREDENTIAL_MAX)
		json_field_fault(fault, "credentials.%s: more than %u", list,
		    CREDENTIAL_MAX);
	(void)snprintf(path, sizeof(path), "credentials.%s", list);
	json_object_foreach((json_t *)(uintptr_t)providers, name, entry)
	    credential_check_entry(kind, entry, name, path, fault);
}

enum result
credential_parse(enum keyring_kind kind, const char *bytes, size_t len,
    const char *name, json_t **root_r, struct json_fault *fault)
{
	struct json_fault inner = {""};

	*root_r = NULL;
	if (json_field_parse(bytes, len, root_r, &inner) == RESULT_OK)
		credential_check(kind, *root_r, &inner);
	if (inner.text[0] == '\0' && *root_r != NULL)
		return RESULT_OK;
	json_decref(*root_r);
	*root_r = NULL;
	json_field_fault(fault, "%.120s: %s", name,
	    inner.text[0] != '\0' ? inner.text : "cannot be parsed");
	return RESULT_BAD;
}

/* The providers of the file, owned; an empty object when there is none. */
static enum result
credential_read(enum keyring_kind kind, const struct state_dir *home,
    json_t **providers_r, struct json_fault *fault)
{
	const struct credential_place *place = &credential_places[kind];
	char name[STATE_DIR_PATH_MAX + 32U], *bytes;
	json_t *root = NULL;
	enum result result;
	size_t len;

	*providers_r = NULL;
	result = state_dir_read(home, place->file, STATE_DIR_OURS,
	    CREDENTIAL_BYTES_MAX, &bytes, &len, fault);
	if (result == RESULT_NOT_FOUND) {
		*providers_r = json_object();
		return *providers_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
	}
	if (result != RESULT_OK)
		return RESULT_BAD;
	(void)snprintf(name, sizeof(name), "%s/%s", home->path, place->file);
	result = credential_parse(
	    kind, bytes, len, state_dir_shown(name), &root, fault);
	free(bytes);
	if (result == RESULT_OK)
		*providers_r = json_incref(json_object_get(root, place->list));
	json_decref(root);
	return result;
}

static enum result
credential_write(enum keyring_kind kind, const struct state_dir *home,
    json_t *providers, struct json_fault *fault)
{
	return state_json_write(home, credential_places[kind].file,
	    json_pack("{s:i, s:O}", "version", CREDENTIAL_VERSION,
		credential_places[kind].list, providers),
	    fault);
}

enum result
credential_load(
    enum keyring_kind kind, json_t **providers_r, struct json_fault *fault)
{
	struct state_dir home;
	enum result result = state_dir_home(false, &home, fault);

	*providers_r = NULL;
	if (result == RESULT_NOT_FOUND) {
		*providers_r = json_object();
		return *providers_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
	}
	if (result == RESULT_OK)
		result = credential_read(kind, &home, providers_r, fault);
	state_dir_close(&home);
	return result;
}

enum result
credential_find(enum keyring_kind kind, const char *provider,
    struct credential *credential_r, struct json_fault *fault)
{
	json_t *providers = NULL;
	enum result result = credential_load(kind, &providers, fault);
	const json_t *entry = json_object_get(providers, provider), *last4;

	memset(credential_r, 0, sizeof(*credential_r));
	if (result == RESULT_OK && entry == NULL)
		result = RESULT_NOT_FOUND;
	if (result == RESULT_OK) {
		last4 = json_object_get(entry, "last4");
		(void)keyring_words_find_backend(
		    json_string_value(json_object_get(entry, "backend")),
		    &credential_r->backend);
		(void)snprintf(credential_r->last4, sizeof(credential_r->last4),
		    "%s", last4 != NULL ? json_string_value(last4) : "");
		(void)snprintf(credential_r->stored_at,
		    sizeof(credential_r->stored_at), "%s",
		    json_string_value(json_object_get(entry, "stored_at")));
	}
	json_decref(providers);
	return result;
}

static void
credential_now(char *text_r, size_t size)
{
	struct timespec now;
	struct tm utc;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &utc);
	(void)snprintf(text_r, size, "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ",
	    utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour,
	    utc.tm_min, utc.tm_sec, now.tv_nsec / 1000000);
}

/* Home and providers, locked against other writers. */
static enum result
credential_begin(enum keyring_kind kind, struct state_dir *home_r, int *lock_r,
    json_t **providers_r, struct json_fault *fault)
{
	enum result result = state_json_begin(home_r, lock_r, fault);

	*providers_r = NULL;
	if (result == RESULT_OK)
		result = credential_read(kind, home_r, providers_r, fault);
	return result;
}

enum result
credential_put(enum keyring_kind kind, const char *provider,
    enum keyring_backend backend, const char *last4, struct json_fault *fault)
{
	FD_CLEANUP int lock = -1;
	struct state_dir home;
	json_t *providers, *entry;
	char now[64];
	enum result result =
	    credential_begin(kind, &home, &lock, &providers, fault);

	credential_now(now, sizeof(now));
	entry = json_pack("{s:s, s:s}", "backend",
	    keyring_words_backend(backend), "stored_at", now);
	if (last4 != NULL && credential_is_last4(last4))
		(void)json_object_set_new(entry, "last4", json_string(last4));
	if (result == RESULT_OK &&
	    json_object_set(providers, provider, entry) != 0)
		result = RESULT_NO_MEMORY;
	if (result == RESULT_OK)
		result = credential_write(kind, &home, providers, fault);
	json_decref(entry);
	json_decref(providers);
	state_dir_close(&home);
	return result;
}

enum result
credential_drop(
    enum keyring_kind kind, const char *provider, struct json_fault *fault)
{
	FD_CLEANUP int lock = -1;
	struct state_dir home;
	json_t *providers;
	enum result result =
	    credential_begin(kind, &home, &lock, &providers, fault);

	if (result == RESULT_OK && json_object_del(providers, provider) != 0)
		result = RESULT_NOT_FOUND;
	else if (result == RESULT_OK)
		result = credential_write(kind, &home, providers, fault);
	json_decref(providers);
	state_dir_close(&home);
	return result;
}

enum result
credential_home_id(char id_r[CREDENTIAL_HOME_ID + 1], struct json_fault *fault)
{
	char hex[DIGEST_HEX + 1], *real;
	struct state_dir home;
	enum result result = state_dir_home(true, &home, fault);

	if (result != RESULT_OK)
		return result;
	real = realpath(home.path, NULL);
	result = real == NULL ? RESULT_SYSTEM
			      : digest_sha256(real, strlen(real), hex);
	if (result == RESULT_OK)
		(void)snprintf(id_r, CREDENTIAL_HOME_ID + 1, "%.*s",
		    (int)CREDENTIAL_HOME_ID, hex);
	free(real);
	state_dir_close(&home);
	return result;
}
