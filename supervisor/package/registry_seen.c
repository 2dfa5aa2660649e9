/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and rewrites registry.json; see registry_seen.h. It must never take
 * a file that it cannot read for an empty one.
 */
#include "supervisor/package/registry_seen.h"

#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "supervisor/policy/digest.h"
#include "supervisor/policy/state_dir.h"
#include "supervisor/policy/state_json.h"

#define REGISTRY_SEEN_BYTES_MAX 131072U

static void
registry_seen_check_one(
    const char *key, const json_t *row, struct json_fault *fault)
{
	static const char *const keys[] = {"serial", "index", NULL};
	const char *hash = NULL;
	int64_t serial;

	if (!digest_is_hex(key) || !json_is_object(row)) {
		json_field_fault(fault, "seen: must hold keys and objects");
		return;
	}
	json_field_only(row, "seen", keys, fault);
	json_field_int(row, "seen", "serial", 1, REGISTRY_INDEX_SERIAL_MAX,
	    &serial, fault);
	json_field_string(row, "seen", "index", DIGEST_HEX, &hash, fault);
	if (fault->text[0] == '\0' && !digest_is_hex(hash))
		json_field_fault(fault, "seen.index: must be 64 hex digits");
}

static void
registry_seen_check(const json_t *root, struct json_fault *fault)
{
	static const char *const keys[] = {"version", "seen", NULL};
	const json_t *seen = NULL;
	const char *key;
	json_t *row;
	int64_t version;

	if (!json_is_object(root)) {
		json_field_fault(fault, "must be one JSON object");
		return;
	}
	json_field_only(root, "registry", keys, fault);
	json_field_int(root, "registry", "version", 1, 1, &version, fault);
	json_field_object(root, "registry", "seen", &seen, fault);
	json_object_foreach((json_t *)(uintptr_t)seen, key, row)
	    registry_seen_check_one(key, row, fault);
}

/* The object of the file, owned; an empty one when there is none. */
static enum result
registry_seen_read(
    const struct state_dir *home, json_t **seen_r, struct json_fault *fault)
{
	struct json_fault inner = {""};
	json_t *root = NULL;
	enum result result;
	char *bytes;
	size_t len;

	*seen_r = NULL;
	result = state_dir_read(home, REGISTRY_SEEN_NAME, STATE_DIR_OURS,
	    REGISTRY_SEEN_BYTES_MAX, &bytes, &len, fault);
	if (result == RESULT_NOT_FOUND) {
		*seen_r = json_object();
		return *seen_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
	}
	if (result != RESULT_OK)
		return result;
	if (json_field_parse(bytes, len, &root, &inner) == RESULT_OK)
		registry_seen_check(root, &inner);
	if (inner.text[0] == '\0')
		*seen_r = json_incref(json_object_get(root, "seen"));
	free(bytes);
	json_decref(root);
	if (*seen_r != NULL)
		return RESULT_OK;
	json_field_fault(fault, "%s/" REGISTRY_SEEN_NAME ": %s",
	    state_dir_shown(home->path), inner.text);
	return RESULT_BAD;
}

static enum registry_code
registry_seen_compare(const json_t *row, int64_t serial, const char *hash,
    struct json_fault *fault)
{
	int64_t seen = json_integer_value(json_object_get(row, "serial"));

	if (row == NULL || serial > seen)
		return REGISTRY_OK;
	if (serial < seen) {
		json_field_fault(fault,
		    "index.serial: it is %lld, and %lld was seen already: an "
		    "older index is not taken",
		    (long long)serial, (long long)seen);
		return REGISTRY_ROLLBACK;
	}
	if (strcmp(json_string_value(json_object_get(row, "index")), hash) == 0)
		return REGISTRY_OK;
	json_field_fault(fault,
	    "index.serial: another index with serial %lld was seen already",
	    (long long)serial);
	return REGISTRY_FORK;
}

/* Set what is new; *changed_r: there is something to write. */
static enum registry_code
registry_seen_update(json_t *seen, const char *const *keys, size_t count,
    int64_t serial, const char *hash, bool *changed_r)
{
	*changed_r = false;
	for (size_t i = 0; i < count; i++) {
		const json_t *row = json_object_get(seen, keys[i]);

		if (json_integer_value(json_object_get(row, "serial")) ==
		    serial)
			continue;
		*changed_r = true;
		if (json_object_set_new(seen, keys[i],
			json_pack("{s:I, s:s}", "serial", (json_int_t)serial,
			    "index", hash)) != 0 ||
		    json_object_size(seen) > REGISTRY_SEEN_MAX)
			return REGISTRY_STATE;
	}
	return REGISTRY_OK;
}

static enum registry_code
registry_seen_locked(const struct state_dir *home, const char *const *keys,
    size_t count, int64_t serial, const char *hash, struct json_fault *fault)
{
	enum registry_code code = REGISTRY_STATE;
	bool changed = false;
	json_t *seen = NULL;

	if (registry_seen_read(home, &seen, fault) == RESULT_OK)
		code = REGISTRY_OK;
	for (size_t i = 0; code == REGISTRY_OK && i < count; i++)
		code = registry_seen_compare(
		    json_object_get(seen, keys[i]), serial, hash, fault);
	if (code == REGISTRY_OK)
		code = registry_seen_update(
		    seen, keys, count, serial, hash, &changed);
	if (code == REGISTRY_OK && changed &&
	    state_json_write(home, REGISTRY_SEEN_NAME,
		json_pack("{s:i, s:O}", "version", 1, "seen", seen),
		fault) != RESULT_OK)
		code = REGISTRY_STATE;
	json_decref(seen);
	return code;
}

enum registry_code
registry_seen_note(const char *const *keys, size_t count, int64_t serial,
    const char *hash, struct json_fault *fault)
{
	enum registry_code code = REGISTRY_STATE;
	struct state_dir home = {.fd = -1};
	FD_CLEANUP int lock = -1;

	if (state_json_begin(&home, &lock, fault) == RESULT_OK)
		code = registry_seen_locked(
		    &home, keys, count, serial, hash, fault);
	state_dir_close(&home);
	if (code == REGISTRY_STATE)
		json_field_fault(fault, REGISTRY_SEEN_NAME
		    ": what was seen of this registry cannot be kept");
	return code;
}
