/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds a JSON value against a rule and counts what the model would read.
 * Called by call_policy.c for every body. It must never let a field through
 * that no rule names, nor put a value of the agent into a fault.
 */
#include "llm-broker/field_rule_node.h"

#include <stdio.h>
#include <string.h>

#define FIELD_RULE_CHECK_TOKEN 4U /* characters of a whole number as text */

static bool field_rule_check_node(struct field_rule_walk *walk,
    const struct field_rule *rule, const json_t *value,
    const struct field_rule_place *place);

/* Does text begin with one of the prefixes? *len_r gets how long it is. */
static bool
field_rule_check_prefix(
    const struct field_rule *rule, const json_t *text, size_t *len_r)
{
	const json_t *prefix;
	size_t i;

	*len_r = 0;
	for (i = 0; i < json_array_size(rule->values); i++) {
		prefix = json_array_get(rule->values, i);
		*len_r = json_string_length(prefix);
		if (json_string_length(text) >= *len_r &&
		    memcmp(json_string_value(text), json_string_value(prefix),
			*len_r) == 0)
			return true;
	}
	*len_r = 0;
	return rule->values == NULL;
}

static bool
field_rule_check_string(struct field_rule_walk *walk,
    const struct field_rule *rule, const json_t *value,
    const struct field_rule_place *place)
{
	char why[FIELD_RULE_WHY_MAX];
	uint64_t count;
	size_t prefix;

	if (!json_is_string(value))
		return field_rule_fault(walk, place, "must be a text");
	if ((uint64_t)json_string_length(value) > (uint64_t)rule->max)
		return field_rule_fault(walk, place, "is too long");
	if (!field_rule_check_prefix(rule, value, &prefix)) {
		(void)snprintf(why, sizeof(why), "must begin with %.64s%s",
		    json_string_value(json_array_get(rule->values, 0)),
		    json_array_size(rule->values) > 1 ? " or the like" : "");
		return field_rule_fault(walk, place, why);
	}
	count = field_rule_characters(value);
	if (!rule->text && count > FIELD_RULE_ATTACHMENT)
		count = FIELD_RULE_ATTACHMENT;
	walk->characters += count;
	return true;
}

static bool
field_rule_check_number(struct field_rule_walk *walk,
    const struct field_rule *rule, const json_t *value,
    const struct field_rule_place *place)
{
	bool whole = rule->kind == FIELD_RULE_INTEGER;
	char why[FIELD_RULE_WHY_MAX];

	if (whole ? !json_is_integer(value) : !json_is_number(value))
		return field_rule_fault(walk, place,
		    whole ? "must be a whole number" : "must be a number");
	if (json_is_integer(value)
		? json_integer_value(value) < rule->min ||
		      json_integer_value(value) > rule->max
		: json_real_value(value) < (double)rule->min ||
		      json_real_value(value) > (double)rule->max) {
		(void)snprintf(why, sizeof(why), "must be %lld to %lld",
		    (long long)rule->min, (long long)rule->max);
		return field_rule_fault(walk, place, why);
	}
	if (rule->text)
		walk->characters += FIELD_RULE_CHECK_TOKEN;
	return true;
}

static bool
field_rule_check_model(struct field_rule_walk *walk,
    const struct field_rule *rule, const json_t *value,
    const struct field_rule_place *place)
{
	const struct field_rule_call *call = walk->call;
	size_t prefix, i;

	for (i = 0; i < json_array_size(rule->without); i++)
		if (json_is_string(value) &&
		    strstr(json_string_value(value),
			json_string_value(json_array_get(rule->without, i))) !=
			NULL)
			return field_rule_fault(
			    walk, place, "has a variant that is closed here");
	if (json_is_string(value) && call->model != NULL &&
	    field_rule_check_prefix(rule, value, &prefix) &&
	    json_string_length(value) - prefix == call->model_len &&
	    memcmp(json_string_value(value) + prefix, call->model,
		call->model_len) == 0)
		return true;
	return field_rule_fault(walk, place, "must be the model of the call");
}

static bool
field_rule_check_values(struct field_rule_walk *walk,
    const struct field_rule *rule, const json_t *value,
    const struct field_rule_place *place)
{
	size_t i;

	for (i = 0; i < json_array_size(rule->values); i++)
		if (json_equal(json_array_get(rule->values, i), value))
			return true;
	return field_rule_fault_values(walk, rule, place);
}

static bool
field_rule_check_object(struct field_rule_walk *walk,
    const struct field_rule *rule, const json_t *value,
    const struct field_rule_place *place)
{
	struct field_rule_place below = {place, NULL, 0};
	const struct field_rule_member *member;
	json_t *part;
	size_t i;

	if (!json_is_object(value))
		return field_rule_fault(walk, place, "must be an object");
	json_object_foreach((json_t *)(uintptr_t)value, below.name, part)
	{
		member = field_rule_member_find(rule, below.name);
		if (member == NULL)
			return field_rule_fault_name(walk, rule, &below);
		if (!field_rule_check_node(walk, member->rule, part, &below))
			return false;
	}
	for (i = 0; i < rule->member_count; i++) {
		below.name = rule->members[i].name;
		if (rule->members[i].required &&
		    json_object_get(value, below.name) == NULL)
			return field_rule_fault(walk, &below, "is missing");
	}
	return true;
}

static bool
field_rule_check_map(struct field_rule_walk *walk,
    const struct field_rule *rule, const json_t *value,
    const struct field_rule_place *place)
{
	struct field_rule_place below = {place, NULL, 0};
	json_t *part;

	if (!json_is_object(value))
		return field_rule_fault(walk, place, "must be an object");
	if ((uint64_t)json_object_size(value) > (uint64_t)rule->max)
		return field_rule_fault(walk, place, "has too many fields");
	json_object_foreach((json_t *)(uintptr_t)value, below.name, part)
	{
		walk->characters +=
		    field_rule_text_length(below.name, strlen(below.name));
		if (!field_rule_check_node(walk, rule->rules[0], part, &below))
			return false;
	}
	return true;
}

static bool
field_rule_check_array(struct field_rule_walk *walk,
    const struct field_rule *rule, const json_t *value,
    const struct field_rule_place *place)
{
	struct field_rule_place below = {place, NULL, 0};
	json_t *part;

	if (!json_is_array(value))
		return field_rule_fault(walk, place, "must be a list");
	if ((uint64_t)json_array_size(value) > (uint64_t)rule->max)
		return field_rule_fault(walk, place, "has too many items");
	json_array_foreach(value, below.index, part)
	{
		if (!field_rule_check_node(walk, rule->rules[0], part, &below))
			return false;
	}
	return true;
}

/* Could this kind of value fit at all? Cheap, and it picks the fault that
 * means something. */
static bool
field_rule_check_possible(const struct field_rule *rule, const json_t *value)
{
	if (json_is_null(value) && rule->nullable)
		return true;
	switch (rule->kind) {
	case FIELD_RULE_STRING:
	case FIELD_RULE_MODEL:
		return json_is_string(value);
	case FIELD_RULE_NUMBER:
	case FIELD_RULE_INTEGER:
		return json_is_number(value);
	case FIELD_RULE_BOOLEAN:
		return json_is_boolean(value);
	case FIELD_RULE_NULL:
		return json_is_null(value);
	case FIELD_RULE_OBJECT:
	case FIELD_RULE_MAP:
	case FIELD_RULE_BY:
		return json_is_object(value);
	case FIELD_RULE_ARRAY:
		return json_is_array(value);
	case FIELD_RULE_REFERENCE:
		return field_rule_check_possible(rule->target, value);
	case FIELD_RULE_JSON:
	case FIELD_RULE_VALUES:
	case FIELD_RULE_ANY:
	case FIELD_RULE_OPT_IN:
	case FIELD_RULE_KIND_COUNT:
		break;
	}
	return true;
}

/* The first that fits; else the fault that was found deepest. */
static bool
field_rule_check_any(struct field_rule_walk *walk,
    const struct field_rule *rule, const json_t *value,
    const struct field_rule_place *place)
{
	struct field_rule_fault fault = {"", ""};
	struct field_rule_walk attempt = {walk->call, 0, &fault};
	bool tried = false;
	size_t i;

	for (i = 0; i < rule->rule_count; i++) {
		if (!field_rule_check_possible(rule->rules[i], value))
			continue;
		attempt.characters = walk->characters;
		if (field_rule_check_node(
			&attempt, rule->rules[i], value, place)) {
			walk->characters = attempt.characters;
			return true;
		}
		if (!tried || strlen(fault.path) > strlen(walk->fault->path))
			*walk->fault = fault;
		tried = true;
	}
	if (!tried)
		(void)field_rule_fault(
		    walk, place, "has a type that is not allowed");
	return false;
}

static bool
field_rule_check_by(struct field_rule_walk *walk, const struct field_rule *rule,
    const json_t *value, const struct field_rule_place *place)
{
	struct field_rule_place below = {place, rule->field, 0};
	const struct field_rule_member *member = NULL;
	const json_t *field;

	if (!json_is_object(value))
		return field_rule_fault(walk, place, "must be an object");
	field = json_object_get(value, rule->field);
	if ((field == NULL || json_is_null(field)) && rule->rule_count > 0)
		return field_rule_check_node(
		    walk, rule->rules[0], value, place);
	if (json_is_string(field))
		member = field_rule_member_find(rule, json_string_value(field));
	if (member == NULL)
		return field_rule_fault_cases(walk, rule, &below);
	return field_rule_check_node(walk, member->rule, value, place);
}

static bool
field_rule_check_opt_in(struct field_rule_walk *walk,
    const struct field_rule *rule, const json_t *value,
    const struct field_rule_place *place)
{
	char why[FIELD_RULE_WHY_MAX];

	if ((walk->call->opt_ins & rule->opt_in) != 0)
		return field_rule_check_node(
		    walk, rule->rules[0], value, place);
	if (rule->rule_count > 1)
		return field_rule_check_node(
		    walk, rule->rules[1], value, place);
	(void)snprintf(why, sizeof(why),
	    "is closed: the host has not opted in to %.32s", rule->field);
	return field_rule_fault(walk, place, why);
}

static bool
field_rule_check_json(struct field_rule_walk *walk, const json_t *value)
{
	walk->characters += field_rule_characters(value);
	return true;
}

static bool
field_rule_check_node(struct field_rule_walk *walk,
    const struct field_rule *rule, const json_t *value,
    const struct field_rule_place *place)
{
	if (json_is_null(value) && rule->nullable)
		return true;
	switch (rule->kind) {
	case FIELD_RULE_STRING:
		return field_rule_check_string(walk, rule, value, place);
	case FIELD_RULE_NUMBER:
	case FIELD_RULE_INTEGER:
		return field_rule_check_number(walk, rule, value, place);
	case FIELD_RULE_BOOLEAN:
		return json_is_boolean(value) ||
		       field_rule_fault(walk, place, "must be true or false");
	case FIELD_RULE_NULL:
		return json_is_null(value) ||
		       field_rule_fault(walk, place, "must be null");
	case FIELD_RULE_JSON:
		return field_rule_check_json(walk, value);
	case FIELD_RULE_MODEL:
		return field_rule_check_model(walk, rule, value, place);
	case FIELD_RULE_VALUES:
		return field_rule_check_values(walk, rule, value, place);
	case FIELD_RULE_OBJECT:
		return field_rule_check_object(walk, rule, value, place);
	case FIELD_RULE_MAP:
		return field_rule_check_map(walk, rule, value, place);
	case FIELD_RULE_ARRAY:
		return field_rule_check_array(walk, rule, value, place);
	case FIELD_RULE_ANY:
		return field_rule_check_any(walk, rule, value, place);
	case FIELD_RULE_BY:
		return field_rule_check_by(walk, rule, value, place);
	case FIELD_RULE_OPT_IN:
		return field_rule_check_opt_in(walk, rule, value, place);
	case FIELD_RULE_REFERENCE:
		return field_rule_check_node(walk, rule->target, value, place);
	case FIELD_RULE_KIND_COUNT:
		break;
	}
	return field_rule_fault(walk, place, "is not allowed");
}

enum result
field_rule_check(const struct field_rule *rule, const json_t *value,
    const struct field_rule_call *call, uint64_t *characters_r,
    struct field_rule_fault *fault_r)
{
	struct field_rule_walk walk = {call, 0, fault_r};

	fault_r->path[0] = '\0';
	fault_r->why[0] = '\0';
	*characters_r = 0;
	if (!field_rule_check_node(&walk, rule, value, NULL))
		return RESULT_REFUSED;
	*characters_r = walk.characters;
	return RESULT_OK;
}
