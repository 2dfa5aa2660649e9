/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and rewrites secret_grants.json; see secret_grant.h. It must never
 * take a file that it cannot read for a grant, nor write over it.
 */
#include "supervisor/policy/secret_grant.h"

#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "supervisor/policy/state_dir.h"
#include "supervisor/policy/state_json.h"

#define SECRET_GRANT_BYTES_MAX (4U << 20)
#define SECRET_GRANT_VERSION 1
#define SECRET_GRANT_TEXT_MAX 256U
#define SECRET_GRANT_LIST_MAX 1024U
#define SECRET_GRANT_TIME_MAX INT64_C(253402300799) /* year 9999 */
#define SECRET_GRANT_SKEW 300 /* seconds that clocks may differ */
#define SECRET_GRANT_DAY 86400

/* ---- strict reading ---- */

static void
secret_grant_check_texts(
    const json_t *item, const char *key, struct json_fault *fault)
{
	const json_t *list = NULL, *text;
	size_t i;

	json_field_array(
	    item, "grants", key, SECRET_GRANT_LIST_MAX, &list, fault);
	json_array_foreach(list, i, text)
	{
		if (!json_is_string(text))
			json_field_fault(
			    fault, "grants.%s[%zu]: must be a text", key, i);
	}
}

static void
secret_grant_check_item(const json_t *item, struct json_fault *fault)
{
	static const char *const keys[] = {"key", "package", "version",
	    "artifact_hash", "names", "domains", "granted", "expires",
	    "revoked", NULL};
	const char *key = NULL, *text = NULL;
	bool revoked;
	int64_t time;

	if (!json_is_object(item)) {
		json_field_fault(fault, "grants: must hold objects");
		return;
	}
	json_field_only(item, "grants", keys, fault);
	json_field_string(item, "grants", "key", DIGEST_HEX, &key, fault);
	for (size_t i = 1; i < 4; i++)
		json_field_string(item, "grants", keys[i],
		    SECRET_GRANT_TEXT_MAX, &text, fault);
	secret_grant_check_texts(item, "names", fault);
	secret_grant_check_texts(item, "domains", fault);
	json_field_int(
	    item, "grants", "granted", 0, SECRET_GRANT_TIME_MAX, &time, fault);
	json_field_int(
	    item, "grants", "expires", 0, SECRET_GRANT_TIME_MAX, &time, fault);
	json_field_bool(item, "grants", "revoked", &revoked, fault);
	if (fault->text[0] == '\0' && !digest_is_hex(key))
		json_field_fault(fault, "grants.key: must be 64 hex digits");
}

/* The list in it, checked; borrowed from root. */
static json_t *
secret_grant_check(const json_t *root, struct json_fault *fault)
{
	static const char *const keys[] = {"version", "grants", NULL};
	const json_t *list = NULL, *item;
	int64_t version;
	size_t i;

	if (!json_is_object(root)) {
		json_field_fault(fault, "must be one JSON object");
		return NULL;
	}
	json_field_only(root, "secrets", keys, fault);
	json_field_int(root, "secrets", "version", SECRET_GRANT_VERSION,
	    SECRET_GRANT_VERSION, &version, fault);
	json_field_array(
	    root, "secrets", "grants", SECRET_GRANT_MAX, &list, fault);
	json_array_foreach(list, i, item)
	{
		if (fault->text[0] == '\0')
			secret_grant_check_item(item, fault);
	}
	return fault->text[0] == '\0' ? (json_t *)list : NULL;
}

/* The list of the file, owned; an empty one when there is none. */
static enum result
secret_grant_read(
    const struct state_dir *home, json_t **list_r, struct json_fault *fault)
{
	struct json_fault inner = {""};
	json_t *root = NULL;
	enum result result;
	char *bytes;
	size_t len;

	*list_r = NULL;
	result = state_dir_read(home, SECRET_GRANT_NAME, STATE_DIR_OURS,
	    SECRET_GRANT_BYTES_MAX, &bytes, &len, fault);
	if (result == RESULT_NOT_FOUND) {
		*list_r = json_array();
		return *list_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
	}
	if (result != RESULT_OK)
		return RESULT_BAD;
	if (json_field_parse(bytes, len, &root, &inner) == RESULT_OK)
		*list_r = json_incref(secret_grant_check(root, &inner));
	free(bytes);
	json_decref(root);
	if (*list_r != NULL)
		return RESULT_OK;
	json_field_fault(fault, "%s/" SECRET_GRANT_NAME ": %s",
	    state_dir_shown(home->path), inner.text);
	return RESULT_BAD;
}

enum result
secret_grant_load(json_t **list_r, struct json_fault *fault)
{
	struct state_dir home;
	enum result result = state_dir_home(false, &home, fault);

	*list_r = NULL;
	if (result == RESULT_NOT_FOUND) {
		*list_r = json_array();
		return *list_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
	}
	if (result == RESULT_OK)
		result = secret_grant_read(&home, list_r, fault);
	state_dir_close(&home);
	return result;
}

/* ---- what a grant says now ---- */

enum secret_grant_state
secret_grant_state_of(const json_t *grant, time_t now)
{
	json_int_t granted =
	    json_integer_value(json_object_get(grant, "granted"));
	json_int_t expires =
	    json_integer_value(json_object_get(grant, "expires"));

	if (!json_is_false(json_object_get(grant, "revoked")))
		return SECRET_GRANT_REVOKED;
	if ((expires != 0 && (json_int_t)now >= expires) ||
	    granted > (json_int_t)now + SECRET_GRANT_SKEW)
		return SECRET_GRANT_EXPIRED;
	return SECRET_GRANT_GOOD;
}

const char *
secret_grant_state_text(enum secret_grant_state state)
{
	switch (state) {
	case SECRET_GRANT_NONE:
		return "none";
	case SECRET_GRANT_GOOD:
		return "good";
	case SECRET_GRANT_EXPIRED:
		return "expired";
	case SECRET_GRANT_REVOKED:
		return "revoked";
	}
	return "none";
}

static const json_t *
secret_grant_at(const json_t *list, const char *key, size_t *at_r)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		*at_r = i;
		if (strcmp(json_string_value(json_object_get(item, "key")),
			key) == 0)
			return item;
	}
	return NULL;
}

enum result
secret_grant_find(const char *key, time_t now, enum secret_grant_state *state_r,
    time_t *expires_r, struct json_fault *fault)
{
	const json_t *grant;
	json_t *list;
	enum result result = secret_grant_load(&list, fault);
	size_t at;

	*state_r = SECRET_GRANT_NONE;
	*expires_r = 0;
	grant = result == RESULT_OK ? secret_grant_at(list, key, &at) : NULL;
	if (grant != NULL) {
		*state_r = secret_grant_state_of(grant, now);
		*expires_r = (time_t)json_integer_value(
		    json_object_get(grant, "expires"));
	}
	json_decref(list);
	return result;
}

/* ---- writing ---- */

static enum result
secret_grant_begin(struct state_dir *home_r, int *lock_r, json_t **list_r,
    struct json_fault *fault)
{
	enum result result = state_json_begin(home_r, lock_r, fault);

	*list_r = NULL;
	if (result == RESULT_OK)
		result = secret_grant_read(home_r, list_r, fault);
	return result;
}

static enum result
secret_grant_write(
    const struct state_dir *home, json_t *list, struct json_fault *fault)
{
	return state_json_write(home, SECRET_GRANT_NAME,
	    json_pack(
		"{s:i, s:O}", "version", SECRET_GRANT_VERSION, "grants", list),
	    fault);
}

/* One that has ended makes room; what still holds never does. */
static bool
secret_grant_room(json_t *list, time_t now)
{
	const json_t *item;
	size_t i;

	if (json_array_size(list) < SECRET_GRANT_MAX)
		return true;
	json_array_foreach(list, i, item)
	{
		if (secret_grant_state_of(item, now) != SECRET_GRANT_GOOD)
			return json_array_remove(list, i) == 0;
	}
	return false;
}

static enum result
secret_grant_append(
    json_t *list, const struct secret_grant *grant, struct json_fault *fault)
{
	size_t at;

	if (secret_grant_at(list, grant->key, &at) != NULL)
		json_array_remove(list, at);
	if (!secret_grant_room(list, grant->granted)) {
		json_field_fault(fault,
		    SECRET_GRANT_NAME " holds %u consents that are all in "
				      "force: revoke some first",
		    SECRET_GRANT_MAX);
		return RESULT_TOO_LONG;
	}
	return json_array_append_new(list,
		   json_pack("{s:s, s:s, s:s, s:s, s:O, s:O, s:I, s:I, s:b}",
		       "key", grant->key, "package", grant->package, "version",
		       grant->version, "artifact_hash", grant->artifact_hash,
		       "names", grant->names, "domains", grant->domains,
		       "granted", (json_int_t)grant->granted, "expires",
		       (json_int_t)grant->expires, "revoked", 0)) == 0
		   ? RESULT_OK
		   : RESULT_NO_MEMORY;
}

enum result
secret_grant_add(const struct secret_grant *grant, struct json_fault *fault)
{
	FD_CLEANUP int lock = -1;
	struct state_dir home;
	json_t *list;
	enum result result = secret_grant_begin(&home, &lock, &list, fault);

	if (result == RESULT_OK)
		result = secret_grant_append(list, grant, fault);
	if (result == RESULT_OK)
		result = secret_grant_write(&home, list, fault);
	json_decref(list);
	state_dir_close(&home);
	return result;
}

static size_t
secret_grant_mark(json_t *list, const char *package)
{
	size_t count = 0, i;
	json_t *item;

	json_array_foreach(list, i, item)
	{
		if (strcmp(json_string_value(json_object_get(item, "package")),
			package) != 0 ||
		    !json_is_false(json_object_get(item, "revoked")))
			continue;
		if (json_object_set_new(item, "revoked", json_true()) == 0)
			count++;
	}
	return count;
}

enum result
secret_grant_revoke(
    const char *package, size_t *count_r, struct json_fault *fault)
{
	FD_CLEANUP int lock = -1;
	struct state_dir home;
	json_t *list;
	enum result result = secret_grant_begin(&home, &lock, &list, fault);

	*count_r = 0;
	if (result == RESULT_OK)
		*count_r = secret_grant_mark(list, package);
	if (result == RESULT_OK && *count_r > 0)
		result = secret_grant_write(&home, list, fault);
	json_decref(list);
	state_dir_close(&home);
	return result;
}

bool
secret_grant_lifetime(const char *text, time_t now, time_t *expires_r)
{
	static const struct {
		const char *text;
		int days;
	} rows[] = {{"7d", 7}, {"30d", 30}, {"90d", 90}, {"forever", 0}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].text, text != NULL ? text : "90d") != 0)
			continue;
		*expires_r = rows[i].days == 0 ? 0
					       : now + (time_t)rows[i].days *
							   SECRET_GRANT_DAY;
		return true;
	}
	return false;
}
