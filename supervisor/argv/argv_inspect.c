/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of containers from the text of an inspect file. Called by
 * audit-argv; must never take an image, a volume or a network for one.
 */
#include "supervisor/argv/argv_inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_field.h"

#define ARGV_INSPECT_NAME_MAX 128U

struct argv_inspect_one {
	char name[ARGV_INSPECT_NAME_MAX];
	struct argv_items items;
};

struct argv_inspect {
	json_t *json; /* owned */
	size_t count;
	struct argv_inspect_one list[ARGV_INSPECT_CONTAINERS_MAX];
};

static void
argv_inspect_name(const json_t *container, char *name_r)
{
	const char *name =
	    json_string_value(json_object_get(container, "Name"));

	if (name == NULL)
		name = json_string_value(json_object_get(container, "Id"));
	if (name == NULL)
		name = "";
	name += name[0] == '/' ? 1 : 0;
	(void)snprintf(name_r, ARGV_INSPECT_NAME_MAX, "%.127s", name);
}

static enum result
argv_inspect_one(struct argv_inspect *inspect, const json_t *container,
    struct argv_fault *fault)
{
	struct argv_inspect_one *one = &inspect->list[inspect->count];
	size_t index = inspect->count;

	if (!json_is_object(json_object_get(container, "HostConfig")) ||
	    !json_is_object(json_object_get(container, "Config"))) {
		(void)snprintf(fault->text, sizeof(fault->text),
		    "[%zu] is no container: HostConfig and Config must be "
		    "objects",
		    index);
		return RESULT_BAD;
	}
	argv_inspect_name(container, one->name);
	one->items.engine = json_object_get(container, "OCIRuntime") != NULL
				? ARGV_PODMAN
				: ARGV_DOCKER;
	inspect->count++;
	return argv_inspect_rows_read(container, index, &one->items, fault);
}

static enum result
argv_inspect_list(struct argv_inspect *inspect, struct argv_fault *fault)
{
	size_t count = json_array_size(inspect->json);
	enum result result = RESULT_OK;

	if (!json_is_array(inspect->json) || count == 0 ||
	    count > ARGV_INSPECT_CONTAINERS_MAX) {
		(void)snprintf(fault->text, sizeof(fault->text),
		    "it must be a list of 1 to %u containers, as inspect "
		    "prints it",
		    ARGV_INSPECT_CONTAINERS_MAX);
		return RESULT_BAD;
	}
	for (size_t i = 0; i < count && result == RESULT_OK; i++)
		result = argv_inspect_one(
		    inspect, json_array_get(inspect->json, i), fault);
	return result;
}

enum result
argv_inspect_parse(const char *bytes, size_t len,
    struct argv_inspect **inspect_r, struct argv_fault *fault_r)
{
	struct argv_inspect *inspect = NULL;
	struct json_fault json_fault = {""};
	enum result result;

	*inspect_r = NULL;
	fault_r->text[0] = '\0';
	if (len > ARGV_INSPECT_BYTES_MAX) {
		(void)snprintf(fault_r->text, sizeof(fault_r->text),
		    "it is longer than %u bytes", ARGV_INSPECT_BYTES_MAX);
		return RESULT_BAD;
	}
	inspect = calloc(1, sizeof(*inspect));
	if (inspect == NULL)
		return RESULT_NO_MEMORY;
	result = json_field_parse(bytes, len, &inspect->json, &json_fault);
	if (result != RESULT_OK)
		(void)snprintf(fault_r->text, sizeof(fault_r->text), "%s",
		    json_fault.text);
	else
		result = argv_inspect_list(inspect, fault_r);
	if (result == RESULT_OK)
		*inspect_r = inspect;
	else
		argv_inspect_free(&inspect);
	return result;
}

void
argv_inspect_free(struct argv_inspect **inspect)
{
	if (*inspect == NULL)
		return;
	for (size_t i = 0; i < (*inspect)->count; i++)
		argv_items_clear(&(*inspect)->list[i].items);
	json_decref((*inspect)->json);
	free(*inspect);
	*inspect = NULL;
}

size_t
argv_inspect_count(const struct argv_inspect *inspect)
{
	return inspect->count;
}

const char *
argv_inspect_name_borrow(const struct argv_inspect *inspect, size_t index)
{
	return inspect->list[index].name;
}

const struct argv_items *
argv_inspect_items_borrow(const struct argv_inspect *inspect, size_t index)
{
	return &inspect->list[index].items;
}
