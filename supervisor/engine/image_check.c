/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One `image inspect`, a judgement, and a look at the layout. Called when an
 * image is pinned and on the cold path of a start; must never pass what it does
 * not know.
 */
#include "supervisor/engine/image_check.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_field.h"
#include "common/log.h"
#include "supervisor/engine/engine_call.h"
#include "supervisor/engine/image_config.h"
#include "supervisor/engine/image_layout.h"
#include "supervisor/engine/run_argv.h"

#define IMAGE_CHECK_PREFIX "org.opencontainers.image."
/* A container has its image's labels; ours say whose it is and whether it may
 * be removed. */
#define IMAGE_CHECK_OWN "agentnode."
#define IMAGE_CHECK_OUTPUT_MAX (1U << 20)
#define IMAGE_CHECK_TIMEOUT_MS 60000U

static enum result
image_check_refuse(char *detail_r, size_t size, const char *image,
    const char *what, const char *which)
{
	char shown[96];

	log_escape(which, strlen(which), shown, sizeof(shown));
	(void)snprintf(detail_r, size,
	    "image %s carries %s%s%s: use an image without", image, what,
	    which[0] != '\0' ? " " : "", shown);
	return RESULT_REFUSED;
}

static enum result
image_check_annotations(
    const json_t *inspect, const char *image, char *detail_r, size_t size)
{
	json_t *annotations = json_object_get(inspect, "Annotations");
	const char *key;
	json_t *value;

	if (annotations == NULL || json_is_null(annotations))
		return RESULT_OK;
	if (!json_is_object(annotations))
		return image_check_refuse(
		    detail_r, size, image, "annotations of no known form", "");
	json_object_foreach(annotations, key, value)
	{
		if (strncmp(key, IMAGE_CHECK_PREFIX,
			strlen(IMAGE_CHECK_PREFIX)) != 0)
			return image_check_refuse(
			    detail_r, size, image, "the annotation", key);
	}
	return RESULT_OK;
}

/* labels: of the configuration, or where podman repeats them. */
static enum result
image_check_labels(
    const json_t *labels, const char *image, char *detail_r, size_t size)
{
	json_t *all = json_incref((json_t *)labels), *value;
	enum result result = RESULT_OK;
	const char *key;

	if (all != NULL && !json_is_null(all) && !json_is_object(all))
		result = image_check_refuse(
		    detail_r, size, image, "labels of no known form", "");
	json_object_foreach(all, key, value)
	{
		if (strncmp(key, IMAGE_CHECK_OWN, strlen(IMAGE_CHECK_OWN)) == 0)
			result = image_check_refuse(
			    detail_r, size, image, "the label", key);
	}
	json_decref(all);
	return result;
}

/* True when object[key] is absent, null or empty. */
static bool
image_check_is_empty(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	if (value == NULL || json_is_null(value))
		return true;
	if (json_is_object(value))
		return json_object_size(value) == 0;
	if (json_is_array(value))
		return json_array_size(value) == 0;
	return json_is_string(value) && json_string_length(value) == 0;
}

static enum result
image_check_config(
    const json_t *inspect, const char *image, char *detail_r, size_t size)
{
	static const struct {
		const char *key, *what;
	} forbidden[] = {{"Volumes", "volumes"}, {"OnBuild", "build triggers"},
	    {"Healthcheck", "a health check"},
	    {"HealthCheck", "a health check"}};
	const json_t *config = json_object_get(inspect, "Config");

	if (!json_is_object(config))
		return image_check_refuse(
		    detail_r, size, image, "no configuration", "");
	for (size_t i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++) {
		if (!image_check_is_empty(config, forbidden[i].key) ||
		    !image_check_is_empty(inspect, forbidden[i].key))
			return image_check_refuse(
			    detail_r, size, image, forbidden[i].what, "");
	}
	return RESULT_OK;
}

static enum result
image_check_digest(
    const json_t *inspect, const char *image, char *detail_r, size_t size)
{
	const char *digest = strchr(image, '@');
	const char *own = json_string_value(json_object_get(inspect, "Digest"));
	json_t *names = json_object_get(inspect, "RepoDigests"), *name;
	const char *id = json_string_value(json_object_get(inspect, "Id"));
	size_t index;

	if (own != NULL && digest != NULL && strcmp(own, digest + 1) == 0)
		return RESULT_OK;
	if (run_argv_is_image_id(image) && id != NULL && strcmp(id, image) == 0)
		return RESULT_OK;
	/* An image of several platforms is known by its list's digest. */
	json_array_foreach(names, index, name)
	{
		const char *text = json_string_value(name);
		const char *at = text == NULL ? NULL : strchr(text, '@');

		if (at != NULL && digest != NULL && strcmp(at, digest) == 0)
			return RESULT_OK;
	}
	(void)snprintf(detail_r, size,
	    "the engine's image does not have the digest of %s", image);
	return RESULT_MISMATCH;
}

enum result
image_check_judge(const json_t *inspect, const char *image, char *detail_r,
    size_t detail_size)
{
	enum result result;

	if (!json_is_object(inspect)) {
		(void)snprintf(detail_r, detail_size,
		    "the engine describes image %s in an unknown form", image);
		return RESULT_BAD;
	}
	result = image_check_digest(inspect, image, detail_r, detail_size);
	if (result == RESULT_OK)
		result = image_check_annotations(
		    inspect, image, detail_r, detail_size);
	if (result == RESULT_OK)
		result =
		    image_check_config(inspect, image, detail_r, detail_size);
	if (result == RESULT_OK)
		result = image_check_labels(
		    json_object_get(
			json_object_get(inspect, "Config"), "Labels"),
		    image, detail_r, detail_size);
	if (result == RESULT_OK)
		result = image_check_labels(json_object_get(inspect, "Labels"),
		    image, detail_r, detail_size);
	return result;
}

enum result
image_check(const struct engine_files *files,
    const struct engine_memory *memory, const char *image, char *detail_r,
    size_t detail_size)
{
	bool docker = memory->kind == ENGINE_MEMORY_DOCKER;
	/* Docker's prints JSON when nothing else is asked for. */
	const char *argv[] = {
	    memory->client, "image", "inspect", "--", image, NULL};
	struct engine_call_spec call = {.files = files,
	    .argv = argv,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .output_max = IMAGE_CHECK_OUTPUT_MAX,
	    .timeout_ms = IMAGE_CHECK_TIMEOUT_MS};
	struct json_fault fault = {""};
	json_t *list = NULL;
	char *output = NULL;
	size_t len = 0;
	int exit_code = -1;
	enum result result;

	if (!run_argv_is_pinned(image) &&
	    !(docker && run_argv_is_image_id(image))) {
		(void)snprintf(detail_r, detail_size,
		    "image is not pinned: it must be NAME@sha256:<64 hex>%s",
		    docker ? " or sha256:<64 hex>" : "");
		return RESULT_BAD;
	}
	result = engine_call_wait(
	    &call, &output, &len, &exit_code, detail_r, detail_size);
	if (result == RESULT_REFUSED)
		return RESULT_NOT_FOUND;
	if (result == RESULT_OK)
		result = json_field_parse(output, len, &list, &fault);
	if (result == RESULT_OK)
		result = image_check_judge(
		    json_array_get(list, 0), image, detail_r, detail_size);
	else if (fault.text[0] != '\0')
		(void)snprintf(detail_r, detail_size,
		    "the engine's answer about image %s: %s", image,
		    fault.text);
	/* Docker says what is in the configuration; podman leaves some out. */
	if (result == RESULT_OK && !docker)
		result = image_config_check(
		    json_array_get(list, 0), image, detail_r, detail_size);
	if (result == RESULT_OK)
		result = image_layout_check(files, memory,
		    json_array_get(list, 0), image, detail_r, detail_size);
	json_decref(list);
	free(output);
	return result;
}
