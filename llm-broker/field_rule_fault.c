/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong with a field, as a path and a few words. Called by
 * field_rule_check.c. It must never show a value of the agent: names of
 * fields are printable and cut, all else is from the provider's file.
 */
#include "llm-broker/field_rule_node.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/log.h"

#define FIELD_RULE_FAULT_NAME_MAX 96U

/* "messages[0].content", from the top; what does not fit is cut. */
static void
field_rule_fault_path(
    const struct field_rule_place *place, char *text, size_t size)
{
	char name[FIELD_RULE_FAULT_NAME_MAX];
	size_t used;

	if (place == NULL) {
		(void)snprintf(text, size, "%s", "");
		return;
	}
	field_rule_fault_path(place->above, text, size);
	used = strlen(text);
	if (place->name == NULL) {
		(void)snprintf(text + used, size - used, "[%zu]", place->index);
		return;
	}
	log_clean(place->name, strlen(place->name), name, sizeof(name));
	(void)snprintf(
	    text + used, size - used, "%s%s", used == 0 ? "" : ".", name);
}

bool
field_rule_fault(struct field_rule_walk *walk,
    const struct field_rule_place *place, const char *why)
{
	struct field_rule_fault *fault = walk->fault;

	field_rule_fault_path(place, fault->path, sizeof(fault->path));
	if (fault->path[0] == '\0')
		(void)snprintf(
		    fault->path, sizeof(fault->path), "%s", "the body");
	(void)snprintf(fault->why, sizeof(fault->why), "%s", why);
	return false;
}

/* One more choice behind "must be one of"; "..." for those that do not fit. */
static void
field_rule_fault_choice(
    char why[FIELD_RULE_WHY_MAX], size_t count, const char *name)
{
	size_t used = strlen(why), room = FIELD_RULE_WHY_MAX - used;

	if (strlen(name) + sizeof(", , ...") > room)
		name = "...";
	if (used >= 3 && strcmp(why + used - 3, "...") == 0)
		return;
	(void)snprintf(why + used, room, "%s%s", count == 0 ? " " : ", ", name);
}

bool
field_rule_fault_values(struct field_rule_walk *walk,
    const struct field_rule *rule, const struct field_rule_place *place)
{
	char why[FIELD_RULE_WHY_MAX] = "must be one of";
	char text[FIELD_RULE_FAULT_NAME_MAX];
	const json_t *value;
	size_t i;

	for (i = 0; i < json_array_size(rule->values); i++) {
		value = json_array_get(rule->values, i);
		memset(text, 0, sizeof(text));
		if (json_is_string(value))
			(void)snprintf(
			    text, sizeof(text), "%s", json_string_value(value));
		else
			(void)json_dumpb(
			    value, text, sizeof(text) - 1, JSON_ENCODE_ANY);
		field_rule_fault_choice(why, i, text);
	}
	return field_rule_fault(walk, place, why);
}

bool
field_rule_fault_cases(struct field_rule_walk *walk,
    const struct field_rule *rule, const struct field_rule_place *place)
{
	char why[FIELD_RULE_WHY_MAX] = "must be one of";
	size_t i;

	for (i = 0; i < rule->member_count; i++)
		field_rule_fault_choice(why, i, rule->members[i].name);
	return field_rule_fault(walk, place, why);
}

bool
field_rule_fault_name(struct field_rule_walk *walk,
    const struct field_rule *rule, const struct field_rule_place *place)
{
	char why[FIELD_RULE_WHY_MAX];
	size_t i;

	for (i = 0; i < rule->member_count; i++) {
		if (strcasecmp(rule->members[i].name, place->name) != 0)
			continue;
		(void)snprintf(why, sizeof(why),
		    "is not allowed: it differs from %.48s only in case",
		    rule->members[i].name);
		return field_rule_fault(walk, place, why);
	}
	return field_rule_fault(walk, place, "is not allowed");
}
