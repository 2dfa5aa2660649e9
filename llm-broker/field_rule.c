/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules as things: finding a member, counting characters, freeing. Called
 * by the other field_rule files and by provider.c. It must never look at a
 * value's meaning; field_rule_check.c does.
 */
#include "llm-broker/field_rule_node.h"

#include <stdlib.h>
#include <string.h>

void
field_rule_free(struct field_rule **rule)
{
	size_t i;

	if (*rule == NULL)
		return;
	for (i = 0; i < (*rule)->member_count; i++)
		field_rule_free(&(*rule)->members[i].rule);
	for (i = 0; i < (*rule)->rule_count; i++)
		field_rule_free(&(*rule)->rules[i]);
	free((*rule)->members);
	free((*rule)->rules);
	json_decref((*rule)->json);
	free(*rule);
	*rule = NULL;
}

const struct field_rule_member *
field_rule_member_find(const struct field_rule *rule, const char *name)
{
	size_t low = 0, high = rule->member_count, middle;
	int order;

	while (low < high) {
		middle = low + (high - low) / 2;
		order = strcmp(name, rule->members[middle].name);
		if (order == 0)
			return &rule->members[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

uint64_t
field_rule_text_length(const char *bytes, size_t len)
{
	uint64_t count = 0;
	size_t i;

	/* UTF-8 was checked by the parser. */
	for (i = 0; i < len; i++)
		count += ((unsigned char)bytes[i] & 0xc0U) != 0x80U;
	return count;
}

uint64_t
field_rule_characters(const json_t *value)
{
	uint64_t count = 0;
	const char *name;
	json_t *below;
	size_t i;

	if (json_is_string(value))
		return field_rule_text_length(
		    json_string_value(value), json_string_length(value));
	json_array_foreach(value, i, below) count +=
	    field_rule_characters(below);
	json_object_foreach((json_t *)(uintptr_t)value, name, below) count +=
	    field_rule_text_length(name, strlen(name)) +
	    field_rule_characters(below);
	return count;
}
