/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rule, a line end, a value: the rule loads or says why not; a value fits
 * or the fault names a place; what is counted is never more than what is
 * there.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "llm-broker/field_rule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
fuzz_field_rule_check(const struct field_rule *rule, const json_t *value)
{
	struct field_rule_call call = {0, "model", 5};
	struct field_rule_fault why;
	uint64_t characters;

	for (call.opt_ins = 0; call.opt_ins < 8; call.opt_ins += 7)
		if (field_rule_check(rule, value, &call, &characters, &why) !=
		    RESULT_OK) {
			if (why.path[0] == '\0' || why.why[0] == '\0' ||
			    characters != 0)
				abort();
		} else if (characters > 4096 + field_rule_characters(value) +
					    4 * json_array_size(value) +
					    1000000) {
			abort();
		}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size == 0 ? NULL : memchr(data, '\n', size);
	struct json_fault fault = {""};
	struct field_rule_book *book;
	struct field_rule *rule;
	json_t *json, *rules;
	size_t len;

	if (end == NULL)
		return 0;
	len = (size_t)(end - data);
	json = json_loadb((const char *)data, len,
	    JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
	if (json == NULL)
		return 0;
	/* A rule may name itself, which must be noticed. */
	rules = json_pack("{s:O,s:s}", "rule", json, "text", "string");
	if (field_rule_book_load(rules, "rules", &book, &fault) == RESULT_OK) {
		if (field_rule_load(json, "rule", book, &rule, &fault) !=
		    RESULT_OK)
			abort();
		json_decref(json);
		json = json_loadb((const char *)end + 1, size - len - 1,
		    JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
		if (json != NULL)
			fuzz_field_rule_check(rule, json);
		field_rule_free(&rule);
		field_rule_book_free(&book);
	} else if (fault.text[0] == '\0' || book != NULL) {
		abort();
	}
	json_decref(rules);
	json_decref(json);
	return 0;
}
