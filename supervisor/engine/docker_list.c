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

#include "supervisor/engine/engine_call.h"

#define DOCKER_LIST_OUTPUT_MAX (4U << 20)
#define DOCKER_LIST_TIMEOUT_MS 60000U
#define DOCKER_LIST_NAME \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

/* One line of len bytes; NULL when it is of another form. */
static json_t *
docker_list_line(const char *line, size_t len, const char *label)
{
	size_t name = strspn(line, DOCKER_LIST_NAME);
	const char *owner;
	size_t value;

	if (name == 0 || line[0] == '-' || name >= len || line[name] != '\t')
		return NULL;
	value = strspn(line + name + 1, DOCKER_LIST_NAME);
	if (name + 1 + value >= len || line[name + 1 + value] != '\t')
		return NULL;
	owner = line + name + 1 + value + 1;
	if (owner + strspn(owner, DOCKER_LIST_NAME) != line + len)
		return NULL;
	return json_pack("{s:s%, s:[s%], s:{s:s%, s:s%}}", "Name", line, name,
	    "Names", line, name, "Labels", label, line + name + 1, value,
	    ENGINE_FILES_OWNER, owner, (size_t)(line + len - owner));
}

enum result
docker_list_parse(const char *text, const char *label, json_t **list_r)
{
	*list_r = json_array();
	while (*text != '\0') {
		size_t len = strcspn(text, "\n");
		json_t *one = docker_list_line(text, len, label);

		if (one == NULL || json_array_append_new(*list_r, one) != 0) {
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
	    "--format={{.%s}}\t{{.Label \"%s\"}}\t{{.Label "
	    "\"" ENGINE_FILES_OWNER "\"}}",
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
