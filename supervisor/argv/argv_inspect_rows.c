/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of a container that mean something, one row each. Called by
 * argv_inspect alone; a field that is there with a type the engines never
 * give it is a fault, one that is absent or null is absent.
 */
#include <stdio.h>
#include <string.h>

#include "common/buffer.h"
#include "supervisor/argv/argv_inspect.h"

#define ARGV_INSPECT_ROWS_PATH 192U
#define ARGV_INSPECT_ROWS_RECORD 20000U

enum argv_inspect_form {
	ARGV_FORM_TEXT,
	ARGV_FORM_NUMBER,
	ARGV_FORM_SWITCH,
	ARGV_FORM_TEXTS,   /* a list of texts */
	ARGV_FORM_MAP,     /* an object of texts: KEY=VALUE each */
	ARGV_FORM_KEYS,    /* an object: keys with a list that has something */
	ARGV_FORM_ANY,     /* a list: present when it is not empty */
	ARGV_FORM_EMPTY,   /* a list: present when it is empty */
	ARGV_FORM_DEVICES, /* a list of objects: their PathOnHost */
	ARGV_FORM_MOUNTS,  /* a list of objects: those of type bind */
	ARGV_FORM_NO_CAPS, /* podman: all but added ones are dropped */
};

static const struct argv_inspect_row {
	const char *object, *key, *inner; /* inner: a member of it, or NULL */
	enum argv_inspect_form form;
	enum argv_meaning meaning;
} argv_inspect_rows[] = {
    {"Config", "Env", NULL, ARGV_FORM_TEXTS, ARGV_ENV},
    {"HostConfig", "NetworkMode", NULL, ARGV_FORM_TEXT, ARGV_NETWORK},
    {"HostConfig", "Links", NULL, ARGV_FORM_TEXTS, ARGV_LINK},
    {"HostConfig", "ExtraHosts", NULL, ARGV_FORM_TEXTS, ARGV_ADD_HOST},
    {"HostConfig", "PortBindings", NULL, ARGV_FORM_KEYS, ARGV_PUBLISH},
    {"HostConfig", "PublishAllPorts", NULL, ARGV_FORM_SWITCH, ARGV_PUBLISH_ALL},
    {"HostConfig", "Binds", NULL, ARGV_FORM_TEXTS, ARGV_VOLUME},
    {NULL, "Mounts", NULL, ARGV_FORM_MOUNTS, ARGV_MOUNT},
    {"HostConfig", "VolumesFrom", NULL, ARGV_FORM_TEXTS, ARGV_VOLUMES_FROM},
    {"HostConfig", "Devices", NULL, ARGV_FORM_DEVICES, ARGV_DEVICE},
    {"HostConfig", "DeviceCgroupRules", NULL, ARGV_FORM_TEXTS,
	ARGV_DEVICE_RULE},
    {"HostConfig", "DeviceRequests", NULL, ARGV_FORM_ANY, ARGV_GPUS},
    {"Config", "User", NULL, ARGV_FORM_TEXT, ARGV_USER},
    {"HostConfig", "GroupAdd", NULL, ARGV_FORM_TEXTS, ARGV_GROUP_ADD},
    {"HostConfig", "ReadonlyRootfs", NULL, ARGV_FORM_SWITCH, ARGV_READ_ONLY},
    {"HostConfig", "Privileged", NULL, ARGV_FORM_SWITCH, ARGV_PRIVILEGED},
    {"HostConfig", "CapAdd", NULL, ARGV_FORM_TEXTS, ARGV_CAP_ADD},
    {"HostConfig", "CapDrop", NULL, ARGV_FORM_TEXTS, ARGV_CAP_DROP},
    {NULL, "BoundingCaps", NULL, ARGV_FORM_NO_CAPS, ARGV_CAP_DROP},
    {"HostConfig", "SecurityOpt", NULL, ARGV_FORM_TEXTS, ARGV_SECURITY_OPT},
    {"HostConfig", "MaskedPaths", NULL, ARGV_FORM_EMPTY, ARGV_PATHS_SHOWN},
    {"HostConfig", "PidMode", NULL, ARGV_FORM_TEXT, ARGV_PID},
    {"HostConfig", "IpcMode", NULL, ARGV_FORM_TEXT, ARGV_IPC},
    {"HostConfig", "UTSMode", NULL, ARGV_FORM_TEXT, ARGV_UTS},
    {"HostConfig", "UsernsMode", NULL, ARGV_FORM_TEXT, ARGV_USERNS},
    {"HostConfig", "CgroupnsMode", NULL, ARGV_FORM_TEXT, ARGV_CGROUPNS},
    {"HostConfig", "CgroupMode", NULL, ARGV_FORM_TEXT, ARGV_CGROUPNS},
    {"HostConfig", "Cgroups", NULL, ARGV_FORM_TEXT, ARGV_CGROUPS},
    {"HostConfig", "CgroupParent", NULL, ARGV_FORM_TEXT, ARGV_CGROUP_PARENT},
    {"HostConfig", "Memory", NULL, ARGV_FORM_NUMBER, ARGV_MEMORY},
    {"HostConfig", "MemorySwap", NULL, ARGV_FORM_NUMBER, ARGV_MEMORY_SWAP},
    {"HostConfig", "PidsLimit", NULL, ARGV_FORM_NUMBER, ARGV_PIDS_LIMIT},
    {"HostConfig", "OomKillDisable", NULL, ARGV_FORM_SWITCH,
	ARGV_OOM_KILL_DISABLE},
    {"HostConfig", "OomScoreAdj", NULL, ARGV_FORM_NUMBER, ARGV_OOM_SCORE},
    {"HostConfig", "Sysctls", NULL, ARGV_FORM_MAP, ARGV_SYSCTL},
    {"HostConfig", "Annotations", NULL, ARGV_FORM_MAP, ARGV_ANNOTATION},
    {"Config", "Annotations", NULL, ARGV_FORM_MAP, ARGV_ANNOTATION},
    {"HostConfig", "Runtime", NULL, ARGV_FORM_TEXT, ARGV_RUNTIME},
    {NULL, "OCIRuntime", NULL, ARGV_FORM_TEXT, ARGV_RUNTIME},
    {"HostConfig", "LogConfig", "Type", ARGV_FORM_TEXT, ARGV_LOG_DRIVER},
    {"HostConfig", "LogConfig", "Config", ARGV_FORM_MAP, ARGV_LOG_OPT},
    {"Config", "HealthLogDestination", NULL, ARGV_FORM_TEXT, ARGV_HEALTH_LOG},
    {"HostConfig", "RestartPolicy", "Name", ARGV_FORM_TEXT, ARGV_RESTART},
    {"Config", "Image", NULL, ARGV_FORM_TEXT, ARGV_IMAGE},
};

struct argv_inspect_reader {
	struct argv_items *items;
	const struct argv_inspect_row *row;
	char path[ARGV_INSPECT_ROWS_PATH];
	struct argv_fault *fault;
};

static enum result
argv_inspect_rows_bad(struct argv_inspect_reader *reader, const char *want)
{
	(void)snprintf(reader->fault->text, sizeof(reader->fault->text),
	    "%.180s must be %s", reader->path, want);
	return RESULT_BAD;
}

/* One item; value is copied, the place is the row's path. */
static enum result
argv_inspect_rows_item(
    struct argv_inspect_reader *reader, const char *value, size_t len)
{
	struct argv_item item = {.meaning = reader->row->meaning};
	enum result result =
	    argv_items_copy(reader->items, value, len, &item.value);

	if (result == RESULT_OK)
		result = argv_items_copy(reader->items, reader->path,
		    strlen(reader->path), &item.path);
	item.words[0] = item.value;
	if (result == RESULT_OK)
		result = argv_items_add(reader->items, &item);
	if (result == RESULT_TOO_LONG)
		return argv_inspect_rows_bad(
		    reader, "shorter: there are too many values");
	return result;
}

static enum result
argv_inspect_rows_text(struct argv_inspect_reader *reader, const json_t *value)
{
	if (!json_is_string(value))
		return argv_inspect_rows_bad(reader, "a text");
	return argv_inspect_rows_item(
	    reader, json_string_value(value), json_string_length(value));
}

static enum result
argv_inspect_rows_number(
    struct argv_inspect_reader *reader, const json_t *value)
{
	char text[32];
	int len;

	if (!json_is_integer(value))
		return argv_inspect_rows_bad(reader, "a whole number");
	len = snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT,
	    json_integer_value(value));
	return argv_inspect_rows_item(reader, text, (size_t)len);
}

static enum result
argv_inspect_rows_switch(
    struct argv_inspect_reader *reader, const json_t *value)
{
	const char *text = json_is_true(value) ? "true" : "false";

	if (!json_is_boolean(value))
		return argv_inspect_rows_bad(reader, "true or false");
	return argv_inspect_rows_item(reader, text, strlen(text));
}

static enum result
argv_inspect_rows_texts(struct argv_inspect_reader *reader, const json_t *list)
{
	enum result result = RESULT_OK;

	if (!json_is_array(list))
		return argv_inspect_rows_bad(reader, "a list of texts");
	for (size_t i = 0; i < json_array_size(list) && result == RESULT_OK;
	     i++)
		result =
		    argv_inspect_rows_text(reader, json_array_get(list, i));
	return result;
}

/* KEY=VALUE of an object of texts. */
static enum result
argv_inspect_rows_map(struct argv_inspect_reader *reader, const json_t *map)
{
	void *at = json_object_iter((json_t *)map);
	enum result result = RESULT_OK;
	struct buffer text;

	if (!json_is_object(map))
		return argv_inspect_rows_bad(reader, "an object of texts");
	buffer_init(&text, ARGV_INSPECT_ROWS_RECORD);
	for (; at != NULL && result == RESULT_OK;
	     at = json_object_iter_next((json_t *)map, at)) {
		const char *value =
		    json_string_value(json_object_iter_value(at));

		buffer_clear(&text);
		if (value == NULL)
			result =
			    argv_inspect_rows_bad(reader, "an object of texts");
		else
			result = buffer_printf(
			    &text, "%s=%s", json_object_iter_key(at), value);
		if (result == RESULT_OK)
			result = argv_inspect_rows_item(reader,
			    (const char *)buffer_bytes_borrow(&text), text.len);
	}
	buffer_free(&text);
	return result == RESULT_TOO_LONG
		   ? argv_inspect_rows_bad(reader, "shorter")
		   : result;
}

static enum result
argv_inspect_rows_keys(struct argv_inspect_reader *reader, const json_t *map)
{
	void *at = json_object_iter((json_t *)map);
	enum result result = RESULT_OK;

	if (!json_is_object(map))
		return argv_inspect_rows_bad(reader, "an object");
	for (; at != NULL && result == RESULT_OK;
	     at = json_object_iter_next((json_t *)map, at)) {
		const char *key = json_object_iter_key(at);

		if (json_array_size(json_object_iter_value(at)) > 0)
			result =
			    argv_inspect_rows_item(reader, key, strlen(key));
	}
	return result;
}

static enum result
argv_inspect_rows_list(
    struct argv_inspect_reader *reader, const json_t *list, bool when_empty)
{
	if (!json_is_array(list))
		return argv_inspect_rows_bad(reader, "a list");
	if ((json_array_size(list) == 0) != when_empty)
		return RESULT_OK;
	return argv_inspect_rows_item(reader, "", 0);
}

static enum result
argv_inspect_rows_devices(
    struct argv_inspect_reader *reader, const json_t *list)
{
	enum result result = RESULT_OK;

	if (!json_is_array(list))
		return argv_inspect_rows_bad(reader, "a list of devices");
	for (size_t i = 0; i < json_array_size(list) && result == RESULT_OK;
	     i++)
		result = argv_inspect_rows_text(reader,
		    json_object_get(json_array_get(list, i), "PathOnHost"));
	return result;
}

/* One field of a record, quoted. */
static enum result
argv_inspect_rows_field(
    struct buffer *record, const char *key, const char *value)
{
	enum result result = buffer_printf(record, ",\"%s=", key);

	while (*value != '\0' && result == RESULT_OK) {
		size_t len = strcspn(value, "\"");

		result = buffer_append(record, value, len);
		value += len;
		if (result == RESULT_OK && *value == '"') {
			result = buffer_append_text(record, "\"\"");
			value++;
		}
	}
	return result == RESULT_OK ? buffer_append_text(record, "\"") : result;
}

static enum result
argv_inspect_rows_mount(struct argv_inspect_reader *reader,
    struct buffer *record, const json_t *one)
{
	const char *type = json_string_value(json_object_get(one, "Type"));
	const char *source = json_string_value(json_object_get(one, "Source"));
	const char *target =
	    json_string_value(json_object_get(one, "Destination"));
	const char *propagation =
	    json_string_value(json_object_get(one, "Propagation"));
	enum result result;

	if (type == NULL)
		return argv_inspect_rows_bad(
		    reader, "a list of mounts with their Type");
	if (strcmp(type, "bind") != 0)
		return RESULT_OK;
	if (source == NULL || source[0] == '\0' || target == NULL)
		return argv_inspect_rows_bad(
		    reader, "a list of mounts with Source and Destination");
	buffer_clear(record);
	result = buffer_append_text(record, "type=bind");
	if (result == RESULT_OK)
		result = argv_inspect_rows_field(record, "source", source);
	if (result == RESULT_OK)
		result = argv_inspect_rows_field(record, "target", target);
	if (result == RESULT_OK)
		result = argv_inspect_rows_field(record, "bind-propagation",
		    propagation != NULL ? propagation : "");
	if (result == RESULT_OK && json_is_false(json_object_get(one, "RW")))
		result = buffer_append_text(record, ",ro");
	if (result != RESULT_OK)
		return argv_inspect_rows_bad(reader, "shorter");
	return argv_inspect_rows_item(
	    reader, (const char *)buffer_bytes_borrow(record), record->len);
}

static enum result
argv_inspect_rows_mounts(struct argv_inspect_reader *reader, const json_t *list)
{
	enum result result = RESULT_OK;
	struct buffer record;

	if (!json_is_array(list))
		return argv_inspect_rows_bad(reader, "a list of mounts");
	buffer_init(&record, ARGV_INSPECT_ROWS_RECORD);
	for (size_t i = 0; i < json_array_size(list) && result == RESULT_OK;
	     i++)
		result = argv_inspect_rows_mount(
		    reader, &record, json_array_get(list, i));
	buffer_free(&record);
	return result;
}

static enum result
argv_inspect_rows_value(struct argv_inspect_reader *reader, const json_t *value)
{
	switch (reader->row->form) {
	case ARGV_FORM_TEXT:
		return argv_inspect_rows_text(reader, value);
	case ARGV_FORM_NUMBER:
		return argv_inspect_rows_number(reader, value);
	case ARGV_FORM_SWITCH:
		return argv_inspect_rows_switch(reader, value);
	case ARGV_FORM_TEXTS:
		return argv_inspect_rows_texts(reader, value);
	case ARGV_FORM_MAP:
		return argv_inspect_rows_map(reader, value);
	case ARGV_FORM_KEYS:
		return argv_inspect_rows_keys(reader, value);
	case ARGV_FORM_ANY:
		return argv_inspect_rows_list(reader, value, false);
	case ARGV_FORM_EMPTY:
		return argv_inspect_rows_list(reader, value, true);
	case ARGV_FORM_DEVICES:
		return argv_inspect_rows_devices(reader, value);
	case ARGV_FORM_MOUNTS:
		return argv_inspect_rows_mounts(reader, value);
	case ARGV_FORM_NO_CAPS:
		break;
	}
	return RESULT_INTERNAL;
}

static bool
argv_inspect_rows_has(const json_t *list, const char *text)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *one = json_string_value(json_array_get(list, i));

		if (one != NULL && strcmp(one, text) == 0)
			return true;
	}
	return false;
}

/* Podman tells what is left (null for nothing), and names those it dropped
 * one by one: all are dropped when none is left that was not added. */
static enum result
argv_inspect_rows_caps(struct argv_inspect_reader *reader,
    const json_t *container, const json_t *left)
{
	const json_t *added =
	    json_object_get(json_object_get(container, "HostConfig"), "CapAdd");

	if (left == NULL)
		return RESULT_OK;
	for (size_t i = 0; i < json_array_size(left); i++) {
		const char *one = json_string_value(json_array_get(left, i));

		if (one == NULL || !argv_inspect_rows_has(added, one))
			return RESULT_OK;
	}
	return argv_inspect_rows_item(reader, "ALL", 3);
}

static enum result
argv_inspect_rows_one(
    struct argv_inspect_reader *reader, const json_t *container)
{
	const struct argv_inspect_row *row = reader->row;
	const json_t *object = row->object == NULL
				   ? container
				   : json_object_get(container, row->object);
	const json_t *value = json_object_get(object, row->key);

	if (row->form == ARGV_FORM_NO_CAPS)
		return argv_inspect_rows_caps(reader, container, value);
	if (row->inner != NULL)
		value = json_object_get(value, row->inner);
	/* Podman's Runtime is a fixed word; OCIRuntime is the answer. */
	if (row->meaning == ARGV_RUNTIME && row->object != NULL &&
	    reader->items->engine == ARGV_PODMAN)
		return RESULT_OK;
	if (value == NULL || json_is_null(value))
		return RESULT_OK;
	return argv_inspect_rows_value(reader, value);
}

enum result
argv_inspect_rows_read(const json_t *container, size_t index,
    struct argv_items *items, struct argv_fault *fault_r)
{
	struct argv_inspect_reader reader = {.items = items, .fault = fault_r};
	enum result result = RESULT_OK;

	for (size_t i = 0;
	     i < sizeof(argv_inspect_rows) / sizeof(argv_inspect_rows[0]) &&
	     result == RESULT_OK;
	     i++) {
		const struct argv_inspect_row *row = &argv_inspect_rows[i];

		reader.row = row;
		(void)snprintf(reader.path, sizeof(reader.path),
		    "[%zu]%s%s.%s%s%s", index, row->object != NULL ? "." : "",
		    row->object != NULL ? row->object : "", row->key,
		    row->inner != NULL ? "." : "",
		    row->inner != NULL ? row->inner : "");
		result = argv_inspect_rows_one(&reader, container);
	}
	return result;
}
