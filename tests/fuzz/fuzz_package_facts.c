/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts of packages from arbitrary JSON: every list that comes out is made
 * of plain words.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/unpack/package_facts.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void
fuzz_package_facts_list(json_t *list)
{
	const char *name;
	size_t index;
	json_t *item;

	json_array_foreach(list, index, item)
	{
		name = json_string_value(json_object_get(item, "name"));
		if (name == NULL || name[0] == '\0')
			abort();
		for (; *name != '\0'; name++)
			if (*name <= 0x20 || *name == 0x7f)
				abort();
	}
	json_decref(list);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct json_fault fault = {""};
	json_t *value = NULL, *list = NULL;
	const char *path;

	if (json_field_parse((const char *)bytes, len, &value, &fault) !=
	    RESULT_OK)
		return 0;
	if (package_facts_npm_lock(value, "top", "1.0.0", &list, &fault) ==
	    RESULT_OK)
		fuzz_package_facts_list(list);
	list = NULL;
	if (package_facts_pip_report(value, "top", "1.0.0", &list, &fault) ==
	    RESULT_OK)
		fuzz_package_facts_list(list);
	(void)package_facts_npm_entry(value, "top", 1, &path, &fault);
	json_decref(value);
	return 0;
}
