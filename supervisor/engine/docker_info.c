/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read `docker info`. Called by engine_host.c on the cold path, and for the
 * one look at the socket on each start; must never take a daemon that maps
 * users.
 */
#include "supervisor/engine/docker_info.h"

#include <stdio.h>
#include <string.h>

#include "common/fd.h"
#include "supervisor/engine/docker_attach.h"

static void
docker_info_text(const json_t *info, const char *key, char *text_r, size_t size,
    struct json_fault *fault)
{
	const char *text = NULL;

	json_field_string(info, "info", key, size - 1, &text, fault);
	if (text != NULL)
		(void)snprintf(text_r, size, "%s", text);
}

/* "name=rootless", "name=userns": the daemon's uid is not the host's. */
static const char *
docker_info_mapped(const json_t *info)
{
	json_t *list = json_object_get(info, "SecurityOptions"), *one;
	size_t index;

	json_array_foreach(list, index, one)
	{
		const char *text = json_string_value(one);

		if (text != NULL && strstr(text, "name=rootless") != NULL)
			return "rootless";
		if (text != NULL && strstr(text, "name=userns") != NULL)
			return "userns-remap";
	}
	return NULL;
}

/* A daemon that does not answer is told of by the client beside what it
 * knows itself. */
static enum result
docker_info_silent(const json_t *info, struct json_fault *fault)
{
	const char *error = json_string_value(
	    json_array_get(json_object_get(info, "ServerErrors"), 0));

	if (error == NULL)
		return RESULT_OK;
	json_field_fault(fault, "its daemon does not answer: %.200s", error);
	return RESULT_UNSUPPORTED;
}

enum result
docker_info_take(
    struct engine_memory *memory, const json_t *info, struct json_fault *fault)
{
	char version[8] = "";
	const char *mapped = docker_info_mapped(info);
	int len;

	if (docker_info_silent(info, fault) != RESULT_OK)
		return RESULT_UNSUPPORTED;
	docker_info_text(info, "ServerVersion", memory->version,
	    sizeof(memory->version), fault);
	docker_info_text(info, "DockerRootDir", memory->graph_root,
	    sizeof(memory->graph_root), fault);
	docker_info_text(info, "Driver", memory->graph_driver,
	    sizeof(memory->graph_driver), fault);
	docker_info_text(info, "DefaultRuntime", memory->runtime,
	    sizeof(memory->runtime), fault);
	docker_info_text(info, "CgroupDriver", memory->cgroup_manager,
	    sizeof(memory->cgroup_manager), fault);
	docker_info_text(
	    info, "CgroupVersion", version, sizeof(version), fault);
	if (fault->text[0] != '\0')
		return RESULT_BAD;
	len = snprintf(memory->volume_path, sizeof(memory->volume_path),
	    "%s/volumes", memory->graph_root);
	if (len < 0 || (size_t)len >= sizeof(memory->volume_path))
		return RESULT_TOO_LONG;
	memory->cgroup_v2 = strcmp(version, "2") == 0;
	memory->rootless = false;
	if (mapped != NULL)
		json_field_fault(fault,
		    "the daemon maps user ids (%s), so a sandbox would not "
		    "have a user id of its own",
		    mapped);
	return fault->text[0] == '\0' ? RESULT_OK : RESULT_UNSUPPORTED;
}

bool
docker_info_alive(const char *path)
{
	int fd FD_CLEANUP = -1;

	return docker_attach_connect(path, &fd) == RESULT_OK;
}
