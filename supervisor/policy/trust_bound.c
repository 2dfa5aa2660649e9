/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and rewrites attested.json; see trust_bound.h. It must never take a
 * file that it cannot read for an answer, nor write over it.
 */
#include "supervisor/policy/trust_bound.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "supervisor/policy/digest.h"
#include "supervisor/policy/state_dir.h"
#include "supervisor/policy/state_json.h"

#define TRUST_BOUND_BYTES_MAX (2U << 20)
#define TRUST_BOUND_SLUG_MAX 60U
#define TRUST_BOUND_KIND "agentnode.attested"

/* Everything but what other commands may change in the entry later. */
enum result
trust_bound_hash(
    const char *slug, const json_t *entry, char hex_r[DIGEST_HEX + 1])
{
	static const char *const later[] = {"_integrity", "installed_at",
	    "last_trust_check", "trust_level", NULL};
	json_t *copy = json_copy((json_t *)(uintptr_t)entry), *whole;
	enum result result = RESULT_NO_MEMORY;

	for (size_t i = 0; copy != NULL && later[i] != NULL; i++)
		(void)json_object_del(copy, later[i]);
	whole = json_pack("[s, s, o]", TRUST_BOUND_KIND, slug, copy);
	if (whole != NULL)
		result = digest_json(whole, hex_r);
	json_decref(whole);
	return result;
}

static void
trust_bound_check(const json_t *root, struct json_fault *fault)
{
	static const char *const keys[] = {"version", "attested", NULL};
	const json_t *set = NULL, *slug;
	const char *hash;
	int64_t version;

	if (!json_is_object(root)) {
		json_field_fault(fault, "must be one JSON object");
		return;
	}
	json_field_only(root, "attested", keys, fault);
	json_field_int(root, "attested", "version", 1, 1, &version, fault);
	json_field_object(root, "attested", "attested", &set, fault);
	json_object_foreach((json_t *)(uintptr_t)set, hash, slug)
	{
		if (!digest_is_hex(hash) || !json_is_string(slug) ||
		    json_string_length(slug) > TRUST_BOUND_SLUG_MAX)
			json_field_fault(fault,
			    "attested: must hold pairs of 64 hex digits and "
			    "a slug");
	}
}

/* The set of the file, owned; an empty one when there is none. */
static enum result
trust_bound_read(
    const struct state_dir *home, json_t **set_r, struct json_fault *fault)
{
	struct json_fault inner = {""};
	json_t *root = NULL;
	enum result result;
	char *bytes;
	size_t len;

	*set_r = NULL;
	result = state_dir_read(home, TRUST_BOUND_NAME, STATE_DIR_OURS,
	    TRUST_BOUND_BYTES_MAX, &bytes, &len, fault);
	if (result == RESULT_NOT_FOUND) {
		*set_r = json_object();
		return *set_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
	}
	if (result != RESULT_OK)
		return RESULT_BAD;
	if (json_field_parse(bytes, len, &root, &inner) == RESULT_OK)
		trust_bound_check(root, &inner);
	if (inner.text[0] == '\0')
		*set_r = json_incref(json_object_get(root, "attested"));
	free(bytes);
	json_decref(root);
	if (*set_r != NULL)
		return RESULT_OK;
	json_field_fault(fault, "%s/" TRUST_BOUND_NAME ": %s",
	    state_dir_shown(home->path), inner.text);
	return RESULT_BAD;
}

/* At the end, as the newest; the oldest makes room. */
static enum result
trust_bound_put(json_t *set, const char *hash, const char *slug)
{
	(void)json_object_del(set, hash);
	if (json_object_size(set) >= TRUST_BOUND_MAX)
		(void)json_object_del(
		    set, json_object_iter_key(json_object_iter(set)));
	return json_object_set_new(set, hash, json_string(slug)) == 0
		   ? RESULT_OK
		   : RESULT_NO_MEMORY;
}

/* slug NULL: take it out. */
static enum result
trust_bound_change(const char *hash, const char *slug, struct json_fault *fault)
{
	FD_CLEANUP int lock = -1;
	struct state_dir home = {.fd = -1};
	json_t *set = NULL;
	bool changed = true;
	enum result result = state_json_begin(&home, &lock, fault);

	if (result == RESULT_OK)
		result = trust_bound_read(&home, &set, fault);
	if (result == RESULT_OK && slug != NULL)
		result = trust_bound_put(set, hash, slug);
	else if (result == RESULT_OK)
		changed = json_object_del(set, hash) == 0;
	if (result == RESULT_OK && changed)
		result = state_json_write(&home, TRUST_BOUND_NAME,
		    json_pack("{s:i, s:O}", "version", 1, "attested", set),
		    fault);
	json_decref(set);
	state_dir_close(&home);
	return result;
}

enum result
trust_bound_add(const char *slug, const json_t *entry, struct json_fault *fault)
{
	char hash[DIGEST_HEX + 1];
	enum result result = trust_bound_hash(slug, entry, hash);

	return result == RESULT_OK ? trust_bound_change(hash, slug, fault)
				   : result;
}

enum result
trust_bound_drop(const char *hash, struct json_fault *fault)
{
	return trust_bound_change(hash, NULL, fault);
}

enum result
trust_bound_has(const char *slug, const json_t *entry, bool *there_r,
    struct json_fault *fault)
{
	struct state_dir home = {.fd = -1};
	char hash[DIGEST_HEX + 1];
	json_t *set = NULL;
	enum result result = trust_bound_hash(slug, entry, hash);

	*there_r = false;
	if (result == RESULT_OK)
		result = state_dir_home(false, &home, fault);
	if (result == RESULT_NOT_FOUND)
		return RESULT_OK;
	if (result == RESULT_OK)
		result = trust_bound_read(&home, &set, fault);
	if (result == RESULT_OK)
		*there_r = json_object_get(set, hash) != NULL;
	json_decref(set);
	state_dir_close(&home);
	return result;
}
