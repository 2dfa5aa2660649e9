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

static bool
trust_bound_is_slug(const json_t *value)
{
	return json_is_string(value) &&
	       json_string_length(value) <= TRUST_BOUND_SLUG_MAX;
}

static bool
trust_bound_is_place(const json_t *value)
{
	return json_object_size(value) == 2 &&
	       trust_bound_is_slug(json_object_get(value, "slug")) &&
	       json_is_boolean(json_object_get(value, "host"));
}

static void
trust_bound_check(const json_t *root, struct json_fault *fault)
{
	static const char *const keys[] = {"version", "attested", NULL};
	const json_t *set = NULL, *value;
	const char *hash;
	int64_t version = 0;

	if (!json_is_object(root)) {
		json_field_fault(fault, "must be one JSON object");
		return;
	}
	json_field_only(root, "attested", keys, fault);
	json_field_int(root, "attested", "version", 1, 2, &version, fault);
	json_field_object(root, "attested", "attested", &set, fault);
	json_object_foreach((json_t *)(uintptr_t)set, hash, value)
	{
		if (!digest_is_hex(hash) ||
		    !(version == 1 ? trust_bound_is_slug(value)
				   : trust_bound_is_place(value)))
			json_field_fault(fault,
			    "attested: must hold pairs of 64 hex digits and "
			    "{slug, host}");
	}
}

/* Of version 1, which did not know: every one may be for the host. */
static json_t *
trust_bound_renew(const json_t *root)
{
	json_t *set = json_object_get(root, "attested"), *new, *slug;
	const char *hash;

	if (json_integer_value(json_object_get(root, "version")) != 1)
		return json_incref(set);
	new = json_object();
	json_object_foreach(set, hash, slug)
	{
		(void)json_object_set_new(new, hash,
		    json_pack("{s:O, s:b}", "slug", slug, "host", 1));
	}
	return new;
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
		*set_r = trust_bound_renew(root);
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
trust_bound_put(json_t *set, const char *hash, const char *slug, bool is_host)
{
	(void)json_object_del(set, hash);
	if (json_object_size(set) >= TRUST_BOUND_MAX)
		(void)json_object_del(
		    set, json_object_iter_key(json_object_iter(set)));
	return json_object_set_new(set, hash,
		   json_pack("{s:s, s:b}", "slug", slug, "host", is_host)) == 0
		   ? RESULT_OK
		   : RESULT_NO_MEMORY;
}

/* Every one of slug that is for the host. */
static void
trust_bound_no_host(json_t *set, const char *slug)
{
	const char *hash, *of;
	json_t *value;
	void *next;
	int is_host;

	json_object_foreach_safe(set, next, hash, value)
	{
		if (json_unpack(value, "{s:s, s:b}", "slug", &of, "host",
			&is_host) == 0 &&
		    is_host && strcmp(of, slug) == 0)
			(void)json_object_del(set, hash);
	}
}

struct trust_bound_change {
	const char *slug;
	const char *add, *drop; /* hashes; NULL: none */
	bool is_host;           /* of add */
};

static enum result
trust_bound_change(
    const struct trust_bound_change *change, struct json_fault *fault)
{
	FD_CLEANUP int lock = -1;
	struct state_dir home = {.fd = -1};
	json_t *set = NULL;
	size_t before;
	enum result result = state_json_begin(&home, &lock, fault);

	if (result == RESULT_OK)
		result = trust_bound_read(&home, &set, fault);
	before = json_object_size(set);
	if (result == RESULT_OK && !change->is_host)
		trust_bound_no_host(set, change->slug);
	if (result == RESULT_OK && change->drop != NULL)
		(void)json_object_del(set, change->drop);
	if (result == RESULT_OK && change->add != NULL)
		result = trust_bound_put(
		    set, change->add, change->slug, change->is_host);
	if (result == RESULT_OK &&
	    (change->add != NULL || json_object_size(set) != before))
		result = state_json_write(&home, TRUST_BOUND_NAME,
		    json_pack("{s:i, s:O}", "version", 2, "attested", set),
		    fault);
	json_decref(set);
	state_dir_close(&home);
	return result;
}

enum result
trust_bound_add(const char *slug, const json_t *entry, struct json_fault *fault)
{
	char hash[DIGEST_HEX + 1];
	const struct trust_bound_change change = {.slug = slug,
	    .add = hash,
	    .is_host = json_object_get(entry, "host_path") != NULL};
	enum result result = trust_bound_hash(slug, entry, hash);

	return result == RESULT_OK ? trust_bound_change(&change, fault)
				   : result;
}

enum result
trust_bound_drop(const char *slug, const char *hash, struct json_fault *fault)
{
	const struct trust_bound_change change = {.slug = slug, .drop = hash};

	return trust_bound_change(&change, fault);
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
