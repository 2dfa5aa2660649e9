/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See docker_look.h. Called before go; must never pass a field that is not
 * there, or one of another type, for the expected one.
 */
#include "supervisor/engine/docker_look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_field.h"
#include "supervisor/engine/engine_call.h"
#include "supervisor/engine/engine_words.h"

#define DOCKER_LOOK_OUTPUT_MAX (1U << 20)
#define DOCKER_LOOK_TIMEOUT_MS 20000U

struct docker_look {
	struct engine_call *call;
	struct docker_look_expected expected;
	docker_look_done *done;
	void *context;
};

static enum result
docker_look_fault(char *detail_r, size_t size, const char *what)
{
	(void)snprintf(detail_r, size,
	    "docker says of the container that %s is not what was asked for",
	    what);
	return RESULT_MISMATCH;
}

static bool
docker_look_is(const json_t *object, const char *key, const char *text)
{
	const char *is = json_string_value(json_object_get(object, key));

	return is != NULL && strcmp(is, text) == 0;
}

/* There, and null or without an element. */
static bool
docker_look_none(const json_t *object, const char *key)
{
	const json_t *list = json_object_get(object, key);

	return json_is_null(list) ||
	       (json_is_array(list) && json_array_size(list) == 0) ||
	       (json_is_object(list) && json_object_size(list) == 0);
}

/* Its own namespaces, no device, no place of the host. */
static const char *
docker_look_host(const json_t *host)
{
	static const struct {
		const char *key, *text;
	} texts[] = {{"NetworkMode", "none"}, {"IpcMode", "private"},
	    {"PidMode", ""}, {"UTSMode", ""}, {"UsernsMode", ""},
	    {"CgroupnsMode", "private"}};
	static const char *const none[] = {"CapAdd", "GroupAdd", "Devices",
	    "DeviceRequests", "DeviceCgroupRules", "Binds", "VolumesFrom",
	    "Links", "PortBindings"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (!docker_look_is(host, texts[i].key, texts[i].text))
			return texts[i].key;
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		if (!docker_look_none(host, none[i]))
			return none[i];
	}
	if (!json_is_false(json_object_get(host, "Privileged")))
		return "Privileged";
	return json_is_true(json_object_get(host, "ReadonlyRootfs"))
		   ? NULL
		   : "ReadonlyRootfs";
}

/* "no-new-privileges" and a profile; nothing else was asked for. */
static bool
docker_look_security(const json_t *host)
{
	const json_t *list = json_object_get(host, "SecurityOpt");
	const json_t *drop = json_object_get(host, "CapDrop");
	bool privileges = false, filter = false;
	size_t count = json_array_size(list);

	for (size_t i = 0; i < count; i++) {
		const char *one = json_string_value(json_array_get(list, i));

		if (one == NULL)
			return false;
		privileges |= strcmp(one, "no-new-privileges") == 0;
		filter |= strncmp(one, "seccomp={", 9) == 0;
	}
	return count == 2 && privileges && filter &&
	       json_array_size(drop) == 1 &&
	       json_is_string(json_array_get(drop, 0)) &&
	       strcmp(json_string_value(json_array_get(drop, 0)), "ALL") == 0;
}

/* "VOLUMES/NAME/_data" */
static bool
docker_look_folder(const json_t *object, const char *key,
    const struct docker_look_expected *expected, const char *volume)
{
	const char *is = json_string_value(json_object_get(object, key));
	size_t before = strlen(expected->volume_path), name = strlen(volume);

	return is != NULL && strncmp(is, expected->volume_path, before) == 0 &&
	       is[before] == '/' &&
	       strncmp(is + before + 1, volume, name) == 0 &&
	       strcmp(is + before + 1 + name, "/_data") == 0;
}

/* One of those that were asked for, by its target. */
static bool
docker_look_mount(
    const json_t *mount, const struct docker_look_expected *expected)
{
	for (size_t i = 0; i < expected->mount_count; i++) {
		const struct run_argv_mount *one = &expected->mounts[i];

		if (docker_look_is(mount, "Destination", one->target))
			return docker_look_is(mount, "Type", "volume") &&
			       docker_look_is(mount, "Name", one->volume) &&
			       docker_look_is(mount, "Driver", "local") &&
			       json_is_false(json_object_get(mount, "RW")) &&
			       docker_look_folder(
				   mount, "Source", expected, one->volume);
	}
	return false;
}

static bool
docker_look_mounts(
    const json_t *container, const struct docker_look_expected *expected)
{
	const json_t *list = json_object_get(container, "Mounts");

	if (!json_is_array(list) ||
	    json_array_size(list) != expected->mount_count)
		return false;
	for (size_t i = 0; i < expected->mount_count; i++) {
		if (!docker_look_mount(json_array_get(list, i), expected))
			return false;
	}
	return true;
}

/* A plain folder of the daemon's: a volume with options is something else
 * that is mounted there. */
static bool
docker_look_volume(const json_t *volume, const char *name,
    const struct docker_look_expected *expected)
{
	return docker_look_is(volume, "Name", name) &&
	       docker_look_is(volume, "Driver", "local") &&
	       docker_look_none(volume, "Options") &&
	       docker_look_folder(volume, "Mountpoint", expected, name);
}

static bool
docker_look_identity(
    const json_t *container, const struct docker_look_expected *expected)
{
	const json_t *state = json_object_get(container, "State");
	const char *name =
	    json_string_value(json_object_get(container, "Name"));
	char user[32];

	(void)snprintf(
	    user, sizeof(user), "%u:%u", expected->uid, expected->uid);
	return docker_look_is(container, "Id", expected->id) && name != NULL &&
	       name[0] == '/' && strcmp(name + 1, expected->name) == 0 &&
	       json_is_true(json_object_get(state, "Running")) &&
	       json_integer_value(json_object_get(state, "Pid")) ==
		   expected->pid &&
	       docker_look_is(
		   json_object_get(container, "Config"), "User", user);
}

enum result
docker_look_judge(const json_t *list,
    const struct docker_look_expected *expected, char *detail_r,
    size_t detail_size)
{
	const json_t *container = json_array_get(list, 0), *host;
	const char *wrong;

	if (!json_is_array(list) ||
	    json_array_size(list) != 1 + expected->mount_count)
		return docker_look_fault(
		    detail_r, detail_size, "the number of its volumes");
	if (!docker_look_identity(container, expected))
		return docker_look_fault(
		    detail_r, detail_size, "its identity, process or user");
	host = json_object_get(container, "HostConfig");
	wrong = docker_look_host(host);
	if (wrong != NULL)
		return docker_look_fault(detail_r, detail_size, wrong);
	if (!docker_look_security(host))
		return docker_look_fault(
		    detail_r, detail_size, "SecurityOpt or CapDrop");
	if (!docker_look_mounts(container, expected))
		return docker_look_fault(detail_r, detail_size, "a mount");
	for (size_t i = 0; i < expected->mount_count; i++) {
		if (!docker_look_volume(json_array_get(list, 1 + i),
			expected->mounts[i].volume, expected))
			return docker_look_fault(detail_r, detail_size,
			    "a volume (one with options?)");
	}
	return RESULT_OK;
}

static void
docker_look_on_call(const struct engine_call_end *end, void *context)
{
	struct docker_look *look = context;
	struct json_fault fault = {""};
	json_t *list = NULL;
	char detail[400] = "";
	enum result result = RESULT_REFUSED;

	if (end->exit_code == 0)
		result = json_field_parse(
		    end->output, end->output_len, &list, &fault);
	if (result == RESULT_OK)
		result = docker_look_judge(
		    list, &look->expected, detail, sizeof(detail));
	else
		(void)snprintf(detail, sizeof(detail),
		    "docker does not say what it made: %s",
		    fault.text[0] != '\0' ? fault.text : end->error);
	json_decref(list);
	look->done(result, detail, look->context);
}

enum result
docker_look_start(struct event_base *base, const struct engine_host *host,
    const struct docker_look_expected *expected, docker_look_done *done,
    void *context, struct docker_look **look_r)
{
	struct docker_look *look = calloc(1, sizeof(*look));
	struct engine_words words;
	struct engine_call_spec spec = {.files = &host->files,
	    .argv = words.argv,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .output_max = DOCKER_LOOK_OUTPUT_MAX,
	    .timeout_ms = DOCKER_LOOK_TIMEOUT_MS};
	enum result result;

	*look_r = NULL;
	if (look == NULL)
		return RESULT_NO_MEMORY;
	*look = (struct docker_look){
	    .expected = *expected, .done = done, .context = context};
	engine_words_begin(&host->memory, &words);
	engine_words_add(&words, "inspect");
	engine_words_add(&words, "--");
	engine_words_add(&words, expected->id);
	for (size_t i = 0; i < expected->mount_count; i++)
		engine_words_add(&words, expected->mounts[i].volume);
	result = engine_call_start(
	    base, &spec, docker_look_on_call, look, &look->call);
	if (result != RESULT_OK)
		free(look);
	else
		*look_r = look;
	return result;
}

void
docker_look_free(struct docker_look **look)
{
	struct docker_look *gone = *look;

	if (gone == NULL)
		return;
	*look = NULL;
	engine_call_free(&gone->call);
	free(gone);
}
