/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules as things: finding a member, counting characters, freeing. Called
 * by the other field_rule files and by provider.c. It must never look at a
 * value's meaning; field_rule_check.c does.
 */
#include "llm-broker/field_rule_node.h"

#include <stdlib.h>
#include <string.h>

#define FIELD_RULE_EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

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
	uint64_t eight, inside = 0; /* bytes that continue a character */
	size_t i = 0;

	/* UTF-8 was checked by the parser. */
	for (; i + sizeof(eight) <= len; i += sizeof(eight)) {
		memcpy(&eight, bytes + i, sizeof(eight));
		eight &= ~(eight << 1) & FIELD_RULE_EACH(0x80);
		inside += (eight >> 7) * FIELD_RULE_EACH(1) >> 56;
	}
	for (; i < len; i++)
		inside += ((unsigned char)bytes[i] & 0xc0U) == 0x80U;
	return len - inside;
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
