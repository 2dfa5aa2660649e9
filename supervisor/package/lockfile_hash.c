/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes and compares the seals. Called by lockfile.c and the lock
 * commands. It must never take "no seal" for "a right seal".
 */
#include <stdlib.h>
#include <string.h>

#include "supervisor/package/lockfile_field.h"
#include "supervisor/package/lockfile_hash.h"
#include "supervisor/policy/digest.h"

#define LOCKFILE_HASH_KIND "agentnode.lock.structure"
#define LOCKFILE_HASH_STRUCTURE_VERSION 1
#define LOCKFILE_HASH_CONSENT "agentnode.consent"

const char *
lockfile_hash_status_text(enum lockfile_hash_status status)
{
	switch (status) {
	case LOCKFILE_HASH_VERIFIED:
		return "verified";
	case LOCKFILE_HASH_MISSING:
		return "missing";
	case LOCKFILE_HASH_MISMATCH:
		return "mismatch";
	case LOCKFILE_HASH_UNSUPPORTED:
		return "unsupported";
	case LOCKFILE_HASH_INVALID:
		return "invalid";
	}
	return "";
}

/* The present fields that the version covers. */
static enum result
lockfile_hash_compute(
    const json_t *entry, int version, char hex_r[DIGEST_HEX + 1])
{
	const struct lockfile_field *field;
	json_t *canonical = json_object(), *value;
	enum result result = RESULT_OK;

	for (field = lockfile_field_table; field->name != NULL; field++) {
		value = json_object_get(entry, field->name);
		if (field->version == LOCKFILE_FIELD_MUTABLE ||
		    field->version > version || value == NULL ||
		    json_is_null(value))
			continue;
		if (json_object_set(canonical, field->name, value) != 0)
			result = RESULT_NO_MEMORY;
	}
	if (result == RESULT_OK)
		result = digest_json(canonical, hex_r);
	json_decref(canonical);
	return result;
}

/* Null, blank texts and empty objects say nothing: other writers seal such
 * an entry as if the field were not there. */
static bool
lockfile_hash_is_blank(const json_t *value)
{
	const char *text = json_string_value(value);

	return value == NULL || json_is_null(value) ||
	       (json_is_object(value) && json_object_size(value) == 0) ||
	       (text != NULL && text[strspn(text, " \t\r\n")] == '\0');
}

/* The lowest version that covers every field the entry has. */
static int
lockfile_hash_version(const json_t *entry)
{
	const struct lockfile_field *field;
	const json_t *value;
	int version = 1;

	for (field = lockfile_field_table; field->name != NULL; field++) {
		value = json_object_get(entry, field->name);
		if (field->version > version && !lockfile_hash_is_blank(value))
			version = field->version;
	}
	return version;
}

/* algorithm, a version under its key, and 64 hex digits; nothing else. */
static enum lockfile_hash_status
lockfile_hash_read(const json_t *seal, const char *version_key, int newest,
    int *version_r, const char **hash_r)
{
	const char *algorithm, *hash;
	const json_t *version;

	if (seal == NULL)
		return LOCKFILE_HASH_MISSING;
	algorithm = json_string_value(json_object_get(seal, "algorithm"));
	hash = json_string_value(json_object_get(seal, "hash"));
	version = json_object_get(seal, version_key);
	if (!json_is_object(seal) || json_object_size(seal) != 3 ||
	    algorithm == NULL || hash == NULL || !json_is_integer(version) ||
	    !digest_is_hex(hash))
		return LOCKFILE_HASH_INVALID;
	if (strcmp(algorithm, "sha256") != 0 ||
	    json_integer_value(version) < 1 ||
	    json_integer_value(version) > newest)
		return LOCKFILE_HASH_UNSUPPORTED;
	*version_r = (int)json_integer_value(version);
	*hash_r = hash;
	return LOCKFILE_HASH_VERIFIED;
}

enum lockfile_hash_status
lockfile_hash_entry(const json_t *entry)
{
	enum lockfile_hash_status status;
	char computed[DIGEST_HEX + 1];
	const char *hash = NULL;
	int version = 0;

	status = lockfile_hash_read(json_object_get(entry, "_integrity"),
	    "canonical_version", LOCKFILE_FIELD_VERSION_OURS, &version, &hash);
	if (status != LOCKFILE_HASH_VERIFIED)
		return status;
	/* A seal of a lower version would leave some field uncovered. */
	if (version < lockfile_hash_version(entry))
		return LOCKFILE_HASH_MISMATCH;
	if (lockfile_hash_compute(entry, version, computed) != RESULT_OK)
		return LOCKFILE_HASH_INVALID;
	return strcmp(computed, hash) == 0 ? LOCKFILE_HASH_VERIFIED
					   : LOCKFILE_HASH_MISMATCH;
}

static json_t *
lockfile_hash_make(const char *version_key, int version, const char *hash)
{
	return json_pack("{s:s, s:i, s:s}", "algorithm", "sha256", version_key,
	    version, "hash", hash);
}

enum result
lockfile_hash_seal_entry(json_t *entry)
{
	char hash[DIGEST_HEX + 1];
	enum result result;
	int version;

	version = lockfile_hash_version(entry);
	result = lockfile_hash_compute(entry, version, hash);
	if (result != RESULT_OK)
		return result;
	return json_object_set_new(entry, "_integrity",
		   lockfile_hash_make("canonical_version", version, hash)) == 0
		   ? RESULT_OK
		   : RESULT_NO_MEMORY;
}

enum result
lockfile_hash_consent(
    const char *slug, const json_t *entry, char hex_r[DIGEST_HEX + 1])
{
	char fields[DIGEST_HEX + 1];
	enum result result =
	    lockfile_hash_compute(entry, LOCKFILE_FIELD_VERSION_OURS, fields);
	json_t *whole;

	if (result != RESULT_OK)
		return result;
	whole = json_pack("[s, s, s]", LOCKFILE_HASH_CONSENT, slug, fields);
	if (whole == NULL)
		return RESULT_NO_MEMORY;
	result = digest_json(whole, hex_r);
	json_decref(whole);
	return result;
}

static int
lockfile_hash_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* [[slug, seal], ...] sorted by slug; NULL when an entry has no seal. */
static json_t *
lockfile_hash_pairs(const json_t *packages)
{
	size_t count = json_object_size(packages), used = 0, i;
	const char **slugs = calloc(count + 1, sizeof(*slugs));
	json_t *pairs = json_array(), *entry, *seal;
	const char *slug;

	if (slugs == NULL || pairs == NULL)
		count = 0;
	json_object_foreach((json_t *)packages, slug, entry) if (used < count)
	    slugs[used++] = slug;
	if (used > 1)
		qsort(slugs, used, sizeof(*slugs), lockfile_hash_compare);
	for (i = 0; i < used; i++) {
		entry = json_object_get(packages, slugs[i]);
		seal = json_object_get(entry, "_integrity");
		if (seal == NULL)
			break;
		json_array_append_new(
		    pairs, json_pack("[s, O]", slugs[i], seal));
	}
	free(slugs);
	if (json_array_size(pairs) != json_object_size(packages)) {
		json_decref(pairs);
		return NULL;
	}
	return pairs;
}

static enum result
lockfile_hash_structure_compute(const json_t *root, char hex_r[DIGEST_HEX + 1])
{
	json_t *pairs = lockfile_hash_pairs(json_object_get(root, "packages"));
	json_t *canonical;
	enum result result;

	if (pairs == NULL)
		return RESULT_NOT_FOUND;
	canonical =
	    json_pack("{s:s, s:O, s:i, s:o}", "kind", LOCKFILE_HASH_KIND,
		"lockfile_version", json_object_get(root, "lockfile_version"),
		"canonicalization_version", LOCKFILE_HASH_STRUCTURE_VERSION,
		"entries", pairs);
	if (canonical == NULL)
		return RESULT_NO_MEMORY;
	result = digest_json(canonical, hex_r);
	json_decref(canonical);
	return result;
}

enum lockfile_hash_status
lockfile_hash_structure(const json_t *root)
{
	enum lockfile_hash_status status;
	char computed[DIGEST_HEX + 1];
	const char *hash = NULL;
	int version = 0;

	status = lockfile_hash_read(json_object_get(root, "structure_digest"),
	    "canonicalization_version", LOCKFILE_HASH_STRUCTURE_VERSION,
	    &version, &hash);
	if (status != LOCKFILE_HASH_VERIFIED)
		return status;
	if (lockfile_hash_structure_compute(root, computed) != RESULT_OK)
		return LOCKFILE_HASH_INVALID;
	return strcmp(computed, hash) == 0 ? LOCKFILE_HASH_VERIFIED
					   : LOCKFILE_HASH_MISMATCH;
}

enum result
lockfile_hash_seal_structure(json_t *root)
{
	char hash[DIGEST_HEX + 1];
	enum result result;

	result = lockfile_hash_structure_compute(root, hash);
	if (result != RESULT_OK)
		return result;
	return json_object_set_new(root, "structure_digest",
		   lockfile_hash_make("canonicalization_version",
		       LOCKFILE_HASH_STRUCTURE_VERSION, hash)) == 0
		   ? RESULT_OK
		   : RESULT_NO_MEMORY;
}
