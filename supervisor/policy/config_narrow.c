/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The team policy's arithmetic. Called by config.c. It must never return
 * more than the value it was given allowed.
 */
#include <string.h>

#include "egress-proxy/policy_entry.h"
#include "supervisor/policy/config_llm.h"
#include "supervisor/policy/config_narrow.h"

bool
config_narrow_covers(const char *wide, const char *entry)
{
	struct policy_entry outer, inner;

	return policy_entry_parse(wide, strlen(wide), POLICY_ENTRY_FROM_HOST,
		   &outer) == POLICY_ENTRY_OK &&
	       policy_entry_parse(entry, strlen(entry), POLICY_ENTRY_FROM_HOST,
		   &inner) == POLICY_ENTRY_OK &&
	       policy_entry_includes(&outer, &inner);
}

static bool
config_narrow_listed(
    const struct config_key *key, const json_t *list, const json_t *item)
{
	const json_t *other;
	size_t i;

	json_array_foreach(list, i, other)
	{
		if (json_equal(other, item))
			return true;
		if (key->shape == CONFIG_ENTRY &&
		    config_narrow_covers(
			json_string_value(other), json_string_value(item)))
			return true;
	}
	return false;
}

static json_t *
config_narrow_both_lists(
    const struct config_key *key, const json_t *value, const json_t *policy)
{
	json_t *list = json_array(), *item;
	size_t i;

	json_array_foreach((json_t *)value, i,
	    item) if (config_narrow_listed(key, policy, item))
	    json_array_append(list, item);
	return list;
}

/* Unset allows everything: then the policy's list is what is left. */
static json_t *
config_narrow_within(
    const struct config_key *key, const json_t *value, const json_t *policy)
{
	if (value == NULL)
		return json_deep_copy(policy);
	return key->shape == CONFIG_MODEL
		   ? config_llm_meet_lists(value, policy)
		   : config_narrow_both_lists(key, value, policy);
}

/* Names that both have, each with the ranges that both list. Anything but a
 * list has to be the same. */
static json_t *
config_narrow_both_objects(
    const struct config_key *key, const json_t *value, const json_t *policy)
{
	json_t *object = json_object(), *list, *other;
	const char *name;

	json_object_foreach((json_t *)value, name, list)
	{
		other = json_object_get(policy, name);
		if (other != NULL && !json_is_array(list)) {
			if (json_equal(list, other))
				json_object_set(object, name, list);
		} else if (other != NULL)
			json_object_set_new(object, name,
			    config_narrow_both_lists(key, list, other));
	}
	return object;
}

static json_t *
config_narrow_either(const json_t *value, const json_t *policy)
{
	json_t *list = value != NULL ? json_deep_copy(value) : json_array();
	json_t *item, *other;
	size_t i, j;

	json_array_foreach((json_t *)policy, i, item)
	{
		bool have = false;

		json_array_foreach(list, j, other) have =
		    have || json_equal(other, item);
		if (!have)
			json_array_append(list, item);
	}
	return list;
}

static json_t *
config_narrow_least(
    const json_t *value, const json_t *policy, bool zero_is_no_limit)
{
	json_int_t mine, theirs = json_integer_value(policy);

	if (value == NULL)
		return json_integer(theirs);
	mine = json_integer_value(value);
	if (zero_is_no_limit && (mine == 0 || theirs == 0))
		return json_integer(mine == 0 ? theirs : mine);
	return json_integer(mine < theirs ? mine : theirs);
}

static json_t *
config_narrow_later(
    const struct config_key *key, const json_t *value, const json_t *policy)
{
	size_t i;

	for (i = 0; value != NULL && key->choices[i] != NULL; i++) {
		if (strcmp(key->choices[i], json_string_value(policy)) == 0)
			return json_deep_copy(value); /* ours is as late */
		if (strcmp(key->choices[i], json_string_value(value)) == 0)
			break;
	}
	return json_deep_copy(policy);
}

enum result
config_narrow_value(const struct config_key *key, const json_t *value,
    const json_t *policy, json_t **value_r)
{
	*value_r = NULL;
	switch (key->narrow) {
	case CONFIG_FIX:
		*value_r = json_deep_copy(policy);
		break;
	case CONFIG_LEAST:
	case CONFIG_LEAST_NONZERO:
		*value_r = config_narrow_least(
		    value, policy, key->narrow == CONFIG_LEAST_NONZERO);
		break;
	case CONFIG_LATER:
		*value_r = config_narrow_later(key, value, policy);
		break;
	case CONFIG_FALSE:
		*value_r =
		    json_boolean(json_is_true(value) && json_is_true(policy));
		break;
	case CONFIG_TRUE:
		*value_r =
		    json_boolean(json_is_true(value) || json_is_true(policy));
		break;
	case CONFIG_BOTH:
		*value_r = key->type == CONFIG_OBJECT
			       ? config_narrow_both_objects(key, value, policy)
			       : config_narrow_both_lists(key, value, policy);
		break;
	case CONFIG_WITHIN:
		*value_r = config_narrow_within(key, value, policy);
		break;
	case CONFIG_EITHER:
		*value_r = config_narrow_either(value, policy);
		break;
	case CONFIG_HELD:
		*value_r =
		    value != NULL ? json_deep_copy(value) : json_object();
		break;
	}
	return *value_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
}
