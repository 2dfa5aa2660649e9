/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arithmetic of a policy that only narrows. Called by egress_live.c; it
 * must never put anything into allow, extra_ranges or ech that was not
 * there, nor take anything out of deny.
 */
#include "supervisor/engine/egress_narrow.h"

#include <string.h>

#include "common/ip_addr.h"
#include "egress-proxy/host_policy_json.h"
#include "supervisor/policy/config_narrow.h"

static bool
egress_narrow_has(const json_t *list, const json_t *item)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (json_equal(json_array_get(list, i), item))
			return true;
	}
	return false;
}

json_t *
egress_narrow_without(const json_t *a, const json_t *b)
{
	json_t *list = json_array();

	for (size_t i = 0; list != NULL && i < json_array_size(a); i++) {
		json_t *item = json_array_get(a, i);

		if (!egress_narrow_has(b, item) &&
		    json_array_append(list, item) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* True when one entry of the list lets all of entry through. */
static bool
egress_narrow_covered(const json_t *list, const char *entry)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *wide = json_string_value(json_array_get(list, i));

		if (wide != NULL && config_narrow_covers(wide, entry))
			return true;
	}
	return false;
}

static bool
egress_narrow_keeps_entry(const json_t *item, const json_t *configured,
    const struct egress_narrow_host *host)
{
	const char *entry = json_string_value(item);

	if (entry == NULL || !host->permits(host->context, entry))
		return false;
	return !egress_narrow_has(configured, item) ||
	       egress_narrow_covered(host->allow, entry);
}

static enum result
egress_narrow_allow(const json_t *old, const json_t *configured,
    const struct egress_narrow_host *host, json_t *into)
{
	for (size_t i = 0; i < json_array_size(old); i++) {
		json_t *item = json_array_get(old, i);

		if (egress_narrow_keeps_entry(item, configured, host) &&
		    json_array_append(into, item) != 0)
			return RESULT_NO_MEMORY;
	}
	return RESULT_OK;
}

/* Those of old that list has too. */
static enum result
egress_narrow_both(const json_t *old, const json_t *list, json_t *into)
{
	for (size_t i = 0; i < json_array_size(old); i++) {
		json_t *item = json_array_get(old, i);

		if (egress_narrow_has(list, item) &&
		    json_array_append(into, item) != 0)
			return RESULT_NO_MEMORY;
	}
	return RESULT_OK;
}

/* All of old, then what is new in list. */
static enum result
egress_narrow_either(const json_t *old, const json_t *list, json_t *into)
{
	json_t *more = egress_narrow_without(list, old);
	bool failed = more == NULL ||
		      json_array_extend(into, (json_t *)old) != 0 ||
		      json_array_extend(into, more) != 0;

	json_decref(more);
	return failed ? RESULT_NO_MEMORY : RESULT_OK;
}

static bool
egress_narrow_cidr(const json_t *item, struct ip_cidr *cidr_r)
{
	const char *text = json_string_value(item);

	return text != NULL &&
	       ip_addr_parse_cidr(text, strlen(text), cidr_r) == RESULT_OK;
}

/* True when the list has this range, or a network around it. A single
 * address is written down alone or not at all. */
static bool
egress_narrow_keeps_range(const json_t *item, const json_t *list)
{
	struct ip_cidr old, wide;

	if (egress_narrow_has(list, item))
		return true;
	if (!egress_narrow_cidr(item, &old) ||
	    old.prefix == (old.base.family == 4 ? 32 : 128))
		return false;
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (egress_narrow_cidr(json_array_get(list, i), &wide) &&
		    wide.prefix <= old.prefix &&
		    ip_addr_cidr_contains(&wide, &old.base))
			return true;
	}
	return false;
}

/* One {"name","cidrs"} of the policy against the configuration's object; a
 * name without a range left is left out. */
static enum result
egress_narrow_range(const json_t *one, const json_t *ranges, json_t *into)
{
	const char *name = json_string_value(json_object_get(one, "name"));
	const json_t *old = json_object_get(one, "cidrs");
	const json_t *list =
	    name != NULL ? json_object_get(ranges, name) : NULL;
	json_t *cidrs = json_array();
	int failed = cidrs == NULL ? -1 : 0;

	for (size_t i = 0; failed == 0 && i < json_array_size(old); i++) {
		json_t *item = json_array_get(old, i);

		if (egress_narrow_keeps_range(item, list))
			failed = json_array_append(cidrs, item);
	}
	if (failed == 0 && json_array_size(cidrs) > 0)
		failed = json_array_append_new(into,
		    json_pack("{s:s, s:O}", "name", name, "cidrs", cidrs));
	json_decref(cidrs);
	return failed != 0 ? RESULT_NO_MEMORY : RESULT_OK;
}

static enum result
egress_narrow_ranges(const json_t *old, const json_t *ranges, json_t *into)
{
	enum result result = RESULT_OK;

	for (size_t i = 0; i < json_array_size(old) && result == RESULT_OK; i++)
		result =
		    egress_narrow_range(json_array_get(old, i), ranges, into);
	return result;
}

/* Does the policy open addresses that are not global at all? */
static bool
egress_narrow_opens_special(const json_t *policy)
{
	const json_t *allow = json_object_get(policy, "allow");

	for (size_t i = 0; i < json_array_size(allow); i++) {
		const char *entry = json_string_value(json_array_get(allow, i));

		if (entry != NULL && strncmp(entry, "tcp://", 6) == 0)
			return true;
	}
	return json_array_size(json_object_get(policy, "extra_ranges")) > 0;
}

/* What is refused whoever's it is need not be in the list: bridges and
 * containers bring link-local addresses by the thousand. */
static bool
egress_narrow_counts(const json_t *item, bool special)
{
	static const struct ip_cidr link_local = {
	    .base = {.family = 6, .bytes = {0xfe, 0x80}}, .prefix = 10};
	const struct ip_cidr_list none = {NULL, 0};
	struct ip_cidr own;

	if (!egress_narrow_cidr(item, &own) ||
	    ip_addr_cidr_contains(&link_local, &own.base))
		return false;
	return special || ip_addr_judge(&own.base, &none, NULL) == IP_GLOBAL;
}

/* Each that counts, behind what there was. */
static enum result
egress_narrow_own(const json_t *policy, const json_t *own, json_t *into)
{
	const json_t *old = json_object_get(policy, "own");
	json_t *more = egress_narrow_without(own, old);
	bool special = egress_narrow_opens_special(policy);
	int failed = more == NULL ? -1 : json_array_extend(into, (json_t *)old);

	for (size_t i = 0; failed == 0 && i < json_array_size(more); i++) {
		json_t *item = json_array_get(more, i);

		if (egress_narrow_counts(item, special))
			failed = json_array_append(into, item);
	}
	json_decref(more);
	return failed != 0 ? RESULT_NO_MEMORY : RESULT_OK;
}

static enum result
egress_narrow_load(json_t *part, json_t *own, struct host_policy **policy_r)
{
	struct json_fault fault = {""};

	*policy_r = NULL;
	if (part == NULL || json_object_set(part, "own", own) != 0)
		return RESULT_NO_MEMORY;
	return host_policy_json_load(part, "policy", policy_r, &fault);
}

/* A policy of one entry or range alone: does it open no more when the host
 * has these addresses? What a network opens goes by what its base is, so it
 * may, where that becomes the host's. Takes part. */
static enum result
egress_narrow_stays(json_t *part, json_t *old, json_t *now, bool *stays_r)
{
	struct host_policy *before = NULL, *after = NULL;
	enum result result = egress_narrow_load(part, old, &before);

	if (result == RESULT_OK)
		result = egress_narrow_load(part, now, &after);
	if (result == RESULT_OK)
		*stays_r = host_policy_is_narrower(after, before);
	if (before != NULL)
		host_policy_free(&before);
	if (after != NULL)
		host_policy_free(&after);
	json_decref(part);
	return result;
}

static json_t *
egress_narrow_part(const char *name, json_t *item)
{
	return name == NULL ? json_pack("{s:[O]}", "allow", item)
			    : json_pack("{s:[], s:[{s:s, s:[O]}]}", "allow",
				  "extra_ranges", "name", name, "cidrs", item);
}

/* Take out of list (entries; with a name that name's ranges) what would open
 * more with the addresses of now. */
static enum result
egress_narrow_filter(const char *name, json_t *list, json_t *old, json_t *now)
{
	enum result result = RESULT_OK;

	for (size_t i = json_array_size(list); i > 0 && result == RESULT_OK;
	     i--) {
		json_t *item = json_array_get(list, i - 1);
		bool stays = true;

		result = egress_narrow_stays(
		    egress_narrow_part(name, item), old, now, &stays);
		if (result == RESULT_OK && !stays)
			(void)json_array_remove(list, i - 1);
	}
	return result;
}

/* next has the addresses of now: what of it would open more goes whole. */
static enum result
egress_narrow_bases(json_t *next, json_t *old)
{
	json_t *ranges = json_object_get(next, "extra_ranges");
	json_t *now = json_object_get(next, "own");
	enum result result;

	if (json_equal(now, old))
		return RESULT_OK;
	result = egress_narrow_filter(
	    NULL, json_object_get(next, "allow"), old, now);
	for (size_t i = json_array_size(ranges); i > 0 && result == RESULT_OK;
	     i--) {
		json_t *one = json_array_get(ranges, i - 1);
		json_t *cidrs = json_object_get(one, "cidrs");

		result = egress_narrow_filter(
		    json_string_value(json_object_get(one, "name")), cidrs, old,
		    now);
		if (result == RESULT_OK && json_array_size(cidrs) == 0)
			(void)json_array_remove(ranges, i - 1);
	}
	return result;
}

enum result
egress_narrow(const json_t *policy, const json_t *configured,
    const struct egress_narrow_host *host, json_t **next_r)
{
	json_t *next = json_pack("{s:[], s:[], s:[], s:[], s:[]}", "allow",
	    "deny", "extra_ranges", "own", "ech");
	enum result result;

	*next_r = NULL;
	if (next == NULL)
		return RESULT_NO_MEMORY;
	result = egress_narrow_allow(json_object_get(policy, "allow"),
	    configured, host, json_object_get(next, "allow"));
	if (result == RESULT_OK)
		result = egress_narrow_either(json_object_get(policy, "deny"),
		    host->deny, json_object_get(next, "deny"));
	if (result == RESULT_OK)
		result = egress_narrow_own(
		    policy, host->own, json_object_get(next, "own"));
	if (result == RESULT_OK)
		result = egress_narrow_ranges(
		    json_object_get(policy, "extra_ranges"), host->extra_ranges,
		    json_object_get(next, "extra_ranges"));
	if (result == RESULT_OK)
		result = egress_narrow_both(json_object_get(policy, "ech"),
		    host->ech, json_object_get(next, "ech"));
	if (result == RESULT_OK)
		result =
		    egress_narrow_bases(next, json_object_get(policy, "own"));
	if (result != RESULT_OK)
		json_decref(next);
	else
		*next_r = next;
	return result;
}
