/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of a configuration file. What is accepted must print and read back
 * as the same values.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "supervisor/policy/config_tree.h"
#include "supervisor/policy/config_value.h"

#define FUZZ_CONFIG_TREE_KEYS 128

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
fuzz_config_tree_again(size_t row, json_t *value)
{
	const struct config_key *key = &config_table[row];
	struct json_fault fault = {""};
	char *text = config_value_print(key, value);
	json_t *again = NULL;

	if (text == NULL ||
	    config_value_parse(key, text, key->name, &again, &fault) !=
		RESULT_OK ||
	    !json_equal(value, again))
		abort();
	json_decref(again);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *values[FUZZ_CONFIG_TREE_KEYS];
	struct json_fault fault = {""};
	size_t i, count = config_tree_count();
	enum result result;

	if (count > FUZZ_CONFIG_TREE_KEYS)
		abort();
	result = config_tree_parse(
	    "F", (const char *)data, size, values, count, &fault);
	if ((result == RESULT_OK) != (fault.text[0] == '\0'))
		abort();
	for (i = 0; i < count; i++) {
		if (values[i] != NULL)
			fuzz_config_tree_again(i, values[i]);
		json_decref(values[i]);
	}
	return 0;
}
