/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the policy object of a message. Called by egress-proxy for every
 * sandbox and by the supervisor before it sends one. It must never build
 * half a policy: one bad entry refuses the whole object.
 */
#include "egress-proxy/host_policy_json.h"

#include <stdio.h>

/* Adds one text of a list; false: the fault is set. */
typedef bool host_policy_json_adder(struct host_policy *policy,
    const char *text, const char *where, struct json_fault *fault);

static bool
host_policy_json_entry(enum policy_entry_fault entry_fault,
    enum domain_fault name_fault, const char *text, const char *where,
    struct json_fault *fault)
{
	if (entry_fault == POLICY_ENTRY_OK)
		return true;
	json_field_fault(fault, "%s: entry \"%.80s\" %s", where, text,
	    policy_entry_fault_text(entry_fault, name_fault));
	return false;
}

static bool
host_policy_json_allow(struct host_policy *policy, const char *text,
    const char *where, struct json_fault *fault)
{
	enum domain_fault name_fault;
	enum policy_entry_fault entry_fault;

	entry_fault = host_policy_add_allow(policy, text, &name_fault);
	return host_policy_json_entry(
	    entry_fault, name_fault, text, where, fault);
}

static bool
host_policy_json_deny(struct host_policy *policy, const char *text,
    const char *where, struct json_fault *fault)
{
	enum domain_fault name_fault;
	enum policy_entry_fault entry_fault;

	entry_fault = host_policy_add_deny(policy, text, &name_fault);
	return host_policy_json_entry(
	    entry_fault, name_fault, text, where, fault);
}

static bool
host_policy_json_own(struct host_policy *policy, const char *text,
    const char *where, struct json_fault *fault)
{
	if (host_policy_add_own(policy, text) == RESULT_OK)
		return true;
	json_field_fault(
	    fault, "%s: \"%.80s\" is no address or CIDR", where, text);
	return false;
}

static bool
host_policy_json_ech(struct host_policy *policy, const char *text,
    const char *where, struct json_fault *fault)
{
	if (host_policy_add_ech(policy, text) == RESULT_OK)
		return true;
	json_field_fault(fault, "%s: \"%.80s\" is no host name", where, text);
	return false;
}

/* Every text of object[key], which may be missing unless required. */
static void
host_policy_json_list(const json_t *object, const char *path, const char *key,
    size_t max, host_policy_json_adder *add, struct host_policy *policy,
    struct json_fault *fault)
{
	const json_t *list = NULL, *item;
	char where[128];
	size_t i;

	if (json_object_get(object, key) == NULL)
		return;
	json_field_array(object, path, key, max, &list, fault);
	for (i = 0; fault->text[0] == '\0' && i < json_array_size(list); i++) {
		item = json_array_get(list, i);
		snprintf(where, sizeof(where), "%s.%s[%zu]", path, key, i);
		if (!json_is_string(item))
			json_field_fault(fault, "%s is no text", where);
		else
			add(policy, json_string_value(item), where, fault);
	}
}

/* {"name":name,"cidrs":[cidr...]} */
static void
host_policy_json_extra(const json_t *item, const char *where,
    struct host_policy *policy, struct json_fault *fault)
{
	static const char *const keys[] = {"name", "cidrs", NULL};
	const char *name = NULL, *cidr;
	const json_t *cidrs = NULL;
	size_t i;

	if (!json_is_object(item)) {
		json_field_fault(fault, "%s is no object", where);
		return;
	}
	json_field_only(item, where, keys, fault);
	json_field_string(item, where, "name", 256, &name, fault);
	json_field_array(
	    item, where, "cidrs", HOST_POLICY_RANGES_MAX, &cidrs, fault);
	for (i = 0; fault->text[0] == '\0' && i < json_array_size(cidrs); i++) {
		cidr = json_string_value(json_array_get(cidrs, i));
		if (cidr == NULL || host_policy_add_extra_range(
					policy, name, cidr) != RESULT_OK)
			json_field_fault(fault,
			    "%s: \"%.80s\" for \"%.80s\" is no range that may "
			    "be listed; use a host name and CIDRs with zero "
			    "host bits, not wider than /8 (IPv6: /7)",
			    where, cidr == NULL ? "" : cidr, name);
	}
}

static void
host_policy_json_extras(const json_t *object, const char *path,
    struct host_policy *policy, struct json_fault *fault)
{
	const json_t *list = NULL;
	char where[128];
	size_t i;

	if (json_object_get(object, "extra_ranges") == NULL)
		return;
	json_field_array(
	    object, path, "extra_ranges", HOST_POLICY_RANGES_MAX, &list, fault);
	for (i = 0; fault->text[0] == '\0' && i < json_array_size(list); i++) {
		snprintf(where, sizeof(where), "%s.extra_ranges[%zu]", path, i);
		host_policy_json_extra(
		    json_array_get(list, i), where, policy, fault);
	}
}

enum result
host_policy_json_load(const json_t *object, const char *path,
    struct host_policy **policy_r, struct json_fault *fault)
{
	static const char *const keys[] = {
	    "allow", "deny", "extra_ranges", "own", "ech", NULL};

	*policy_r = NULL;
	if (!json_is_object(object) ||
	    json_object_get(object, "allow") == NULL) {
		json_field_fault(fault, "%s has no list \"allow\"", path);
		return RESULT_BAD;
	}
	if (host_policy_new(policy_r) != RESULT_OK)
		return RESULT_NO_MEMORY;
	json_field_only(object, path, keys, fault);
	host_policy_json_list(object, path, "allow", HOST_POLICY_ENTRIES_MAX,
	    host_policy_json_allow, *policy_r, fault);
	host_policy_json_list(object, path, "deny", HOST_POLICY_ENTRIES_MAX,
	    host_policy_json_deny, *policy_r, fault);
	host_policy_json_list(object, path, "own", HOST_POLICY_RANGES_MAX,
	    host_policy_json_own, *policy_r, fault);
	host_policy_json_list(object, path, "ech", HOST_POLICY_ENTRIES_MAX,
	    host_policy_json_ech, *policy_r, fault);
	host_policy_json_extras(object, path, *policy_r, fault);
	if (fault->text[0] == '\0')
		return RESULT_OK;
	host_policy_free(policy_r);
	return RESULT_BAD;
}
