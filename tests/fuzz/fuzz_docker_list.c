/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Docker lists of containers and volumes, whose names and labels are
 * anybody's: a line is understood as a whole, or the list is not, and a
 * name that comes out cannot be read as anything but a name.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/engine/docker_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
fuzz_docker_list_name(const char *name)
{
	if (name == NULL || name[0] == '\0' || name[0] == '-' ||
	    strpbrk(name, " \t\n/,:") != NULL)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	json_t *list = NULL, *one;
	size_t index;

	if (text == NULL)
		abort();
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	if (docker_list_parse(text, "agentnode.run", &list) != RESULT_OK &&
	    list != NULL)
		abort();
	json_array_foreach(list, index, one)
	{
		fuzz_docker_list_name(
		    json_string_value(json_object_get(one, "Name")));
		if (!json_is_string(json_object_get(
			json_object_get(one, "Labels"), "agentnode.run")))
			abort();
	}
	json_decref(list);
	free(text);
	return 0;
}
