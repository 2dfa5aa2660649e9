/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `docker container ls` and `docker volume ls`, three columns of ours. Called
 * by engine_gc_run.c; must never take a line it does not understand for one
 * that names something to remove.
 */
#include "supervisor/engine/docker_list.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_field.h"
#include "supervisor/engine/engine_call.h"

#define DOCKER_LIST_OUTPUT_MAX (4U << 20)
#define DOCKER_LIST_TIMEOUT_MS 60000U
#define DOCKER_LIST_NAME \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

/* A label as JSON: whoever chose its text, it is one word of one line. Not
 * a text that C can hold: false. */
static bool
docker_list_label(
    json_t *labels, const char *label, const char *text, size_t len)
{
	struct json_fault unused = {""};
	json_t *value = NULL;

	if (json_field_parse(text, len, &value, &unused) != RESULT_OK)
		return false;
	if (!json_is_string(value)) {
		json_decref(value);
		return false;
	}
	return json_object_set_new(labels, label, value) == 0;
}

/* One line of len bytes; RESULT_BAD when it is of another form,
 * RESULT_REFUSED when a label of it is not to be understood. */
static enum result
docker_list_line(const char *line, size_t len, const char *label, json_t *list)
{
	size_t name = strspn(line, DOCKER_LIST_NAME);
	const char *end = line + len, *value, *owner;
	json_t *one, *labels;
	bool known;

	if (name == 0 || line[0] == '-' || name >= len || line[name] != '\t')
		return RESULT_BAD;
	value = line + name + 1;
	owner = memchr(value, '\t', (size_t)(end - value));
	if (owner == NULL ||
	    memchr(owner + 1, '\t', (size_t)(end - owner - 1)) != NULL)
		return RESULT_BAD;
	one = json_pack("{s:s%, s:[s%], s:{}}", "Name", line, name, "Names",
	    line, name, "Labels");
	labels = json_object_get(one, "Labels");
	known =
	    docker_list_label(labels, label, value, (size_t)(owner - value)) &&
	    docker_list_label(labels, ENGINE_FILES_OWNER, owner + 1,
		(size_t)(end - owner - 1));
	if (!known) {
		json_decref(one);
		return RESULT_REFUSED;
	}
	return json_array_append_new(list, one) == 0 ? RESULT_OK : RESULT_BAD;
}

enum result
docker_list_parse(const char *text, const char *label, json_t **list_r)
{
	*list_r = json_array();
	while (*text != '\0') {
		size_t len = strcspn(text, "\n");

		/* What is refused is somebody else's, and left alone. */
		if (docker_list_line(text, len, label, *list_r) == RESULT_BAD) {
			json_decref(*list_r);
			*list_r = NULL;
			return RESULT_BAD;
		}
		text += len + (text[len] == '\n' ? 1 : 0);
	}
	return RESULT_OK;
}

enum result
docker_list(const struct engine_files *files, const char *client,
    const char *kind, const char *label, json_t **list_r, char *detail_r,
    size_t detail_size)
{
	bool container = strcmp(kind, "container") == 0;
	char filter[96], format[128];
	const char *argv[] = {client, kind, "ls", filter, format,
	    container ? "--all" : NULL, NULL};
	struct engine_call_spec call = {.files = files,
	    .argv = argv,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .output_max = DOCKER_LIST_OUTPUT_MAX,
	    .timeout_ms = DOCKER_LIST_TIMEOUT_MS};
	char *output = NULL;
	size_t len = 0;
	enum result result;

	*list_r = NULL;
	(void)snprintf(filter, sizeof(filter), "--filter=label=%s", label);
	(void)snprintf(format, sizeof(format),
	    "--format={{.%s}}\t{{json (.Label \"%s\")}}\t{{json (.Label "
	    "\"" ENGINE_FILES_OWNER "\")}}",
	    container ? "Names" : "Name", label);
	result =
	    engine_call_wait(&call, &output, &len, NULL, detail_r, detail_size);
	if (result == RESULT_OK)
		result = docker_list_parse(output, label, list_r);
	if (result == RESULT_BAD)
		(void)snprintf(detail_r, detail_size,
		    "docker's list of %ss is not understood", kind);
	free(output);
	return result;
}
