/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and rewrites consent.json. Called by commands that the user typed
 * to consent, and by mcp run to ask. It must never take a file that it
 * cannot read for a consent, nor write over it.
 */
#include "supervisor/policy/consent.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "supervisor/policy/state_dir.h"
#include "supervisor/policy/state_json.h"

#define CONSENT_BYTES_MAX (2U << 20)
#define CONSENT_VERSION 1

static void
consent_check_item(const json_t *item, struct json_fault *fault)
{
	static const char *const keys[] = {"hash", "package", "guard", NULL};
	const json_t *guard = json_object_get(item, "guard");
	const char *text = NULL, *slug = NULL;

	if (!json_is_object(item)) {
		json_field_fault(fault, "consents: must hold objects");
		return;
	}
	json_field_only(item, "consents", keys, fault);
	json_field_string(item, "consents", "hash", DIGEST_HEX, &text, fault);
	json_field_string(
	    item, "consents", "package", CONSENT_SLUG_MAX, &slug, fault);
	if (fault->text[0] == '\0' && !digest_is_hex(text))
		json_field_fault(fault, "consents.hash: must be 64 hex digits");
	if (guard != NULL && !json_is_object(guard))
		json_field_fault(fault, "consents.guard: must be an object");
}

/* The list in it, checked; borrowed from root. */
static json_t *
consent_check(const json_t *root, struct json_fault *fault)
{
	static const char *const keys[] = {"version", "consents", NULL};
	const json_t *list = NULL, *item;
	int64_t version;
	size_t i;

	if (!json_is_object(root)) {
		json_field_fault(fault, "must be one JSON object");
		return NULL;
	}
	json_field_only(root, "consent", keys, fault);
	json_field_int(root, "consent", "version", CONSENT_VERSION,
	    CONSENT_VERSION, &version, fault);
	json_field_array(
	    root, "consent", "consents", CONSENT_MAX, &list, fault);
	json_array_foreach(list, i, item)
	{
		if (fault->text[0] == '\0')
			consent_check_item(item, fault);
	}
	return fault->text[0] == '\0' ? (json_t *)list : NULL;
}

/* The list of the file, owned; an empty one when there is none. */
static enum result
consent_read(
    const struct state_dir *home, json_t **list_r, struct json_fault *fault)
{
	struct json_fault inner = {""};
	json_t *root = NULL;
	enum result result;
	char *bytes;
	size_t len;

	*list_r = NULL;
	result = state_dir_read(home, CONSENT_NAME, STATE_DIR_OURS,
	    CONSENT_BYTES_MAX, &bytes, &len, fault);
	if (result == RESULT_NOT_FOUND) {
		*list_r = json_array();
		return *list_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
	}
	if (result != RESULT_OK)
		return RESULT_BAD;
	if (json_field_parse(bytes, len, &root, &inner) == RESULT_OK)
		*list_r = json_incref(consent_check(root, &inner));
	free(bytes);
	json_decref(root);
	if (*list_r != NULL)
		return RESULT_OK;
	json_field_fault(fault, "%s/" CONSENT_NAME ": %s",
	    state_dir_shown(home->path), inner.text);
	return RESULT_BAD;
}

static enum result
consent_write(
    const struct state_dir *home, json_t *list, struct json_fault *fault)
{
	return state_json_write(home, CONSENT_NAME,
	    json_pack(
		"{s:i, s:O}", "version", CONSENT_VERSION, "consents", list),
	    fault);
}

static bool
consent_find(const json_t *list, const char *hash, size_t *at_r)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		*at_r = i;
		if (strcmp(json_string_value(json_object_get(item, "hash")),
			hash) == 0)
			return true;
	}
	return false;
}

/* At the end, as the newest; the oldest makes room. */
static enum result
consent_append(json_t *list, const struct consent_item *item)
{
	json_t *made = json_pack("{s:s, s:s, s:O*}", "hash", item->hash,
	    "package", item->slug, "guard", item->guard);
	size_t at;

	if (consent_find(list, item->hash, &at))
		json_array_remove(list, at);
	if (json_array_size(list) >= CONSENT_MAX)
		json_array_remove(list, 0);
	return json_array_append_new(list, made) == 0 ? RESULT_OK
						      : RESULT_NO_MEMORY;
}

/* Home and list, locked against other writers. */
static enum result
consent_begin(struct state_dir *home_r, int *lock_r, json_t **list_r,
    struct json_fault *fault)
{
	enum result result = state_json_begin(home_r, lock_r, fault);

	*list_r = NULL;
	if (result == RESULT_OK)
		result = consent_read(home_r, list_r, fault);
	return result;
}

enum result
consent_add(
    const struct consent_item *items, size_t count, struct json_fault *fault)
{
	FD_CLEANUP int lock = -1;
	struct state_dir home;
	json_t *list;
	enum result result = consent_begin(&home, &lock, &list, fault);

	for (size_t i = 0; result == RESULT_OK && i < count; i++)
		result = consent_append(list, &items[i]);
	if (result == RESULT_OK && count > 0)
		result = consent_write(&home, list, fault);
	json_decref(list);
	state_dir_close(&home);
	return result;
}

enum result
consent_drop(const char *hash, struct json_fault *fault)
{
	FD_CLEANUP int lock = -1;
	struct state_dir home;
	json_t *list;
	size_t at;
	enum result result = consent_begin(&home, &lock, &list, fault);

	if (result == RESULT_OK && consent_find(list, hash, &at)) {
		json_array_remove(list, at);
		result = consent_write(&home, list, fault);
	}
	json_decref(list);
	state_dir_close(&home);
	return result;
}

enum result
consent_load(json_t **list_r, struct json_fault *fault)
{
	struct state_dir home;
	enum result result = state_dir_home(false, &home, fault);

	*list_r = NULL;
	if (result == RESULT_NOT_FOUND) {
		*list_r = json_array();
		return *list_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
	}
	if (result == RESULT_OK)
		result = consent_read(&home, list_r, fault);
	state_dir_close(&home);
	return result;
}

bool
consent_holds(const json_t *list, const char *hash)
{
	size_t at;

	return consent_find(list, hash, &at);
}

const json_t *
consent_guard(const json_t *list, const char *hash)
{
	size_t at;

	return consent_find(list, hash, &at)
		   ? json_object_get(json_array_get(list, at), "guard")
		   : NULL;
}

enum result
consent_has(const char *hash, bool *there_r, struct json_fault *fault)
{
	json_t *list;
	enum result result = consent_load(&list, fault);

	*there_r = result == RESULT_OK && consent_holds(list, hash);
	json_decref(list);
	return result;
}
