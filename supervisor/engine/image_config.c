/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Find and read STORE/DRIVER-images/ID/=BASE64("sha256:ID"). Called when
 * an image is checked; must never follow a name that is not plain hex.
 */
#include "supervisor/engine/image_config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/json_field.h"
#include "supervisor/engine/image_key.h"

#define IMAGE_CONFIG_MAX (4U << 20)
#define IMAGE_CONFIG_PATH_MAX 1024U
#define IMAGE_CONFIG_ID_LEN 64U

/* "STORE/overlay/ID/diff" without its last three parts. */
static enum result
image_config_store(const json_t *inspect, char *store_r, size_t size)
{
	const json_t *driver = json_object_get(inspect, "GraphDriver");
	const char *upper = json_string_value(
	    json_object_get(json_object_get(driver, "Data"), "UpperDir"));

	if (upper == NULL || strlen(upper) >= size)
		return RESULT_NOT_FOUND;
	(void)snprintf(store_r, size, "%s", upper);
	for (int part = 0; part < 3; part++) {
		char *slash = strrchr(store_r, '/');

		if (slash == NULL)
			return RESULT_NOT_FOUND;
		*slash = '\0';
	}
	return RESULT_OK;
}

static enum result
image_config_path(const json_t *inspect, char *path_r, size_t size)
{
	const char *id = json_string_value(json_object_get(inspect, "Id"));
	const char *name = json_string_value(
	    json_object_get(json_object_get(inspect, "GraphDriver"), "Name"));
	char store[IMAGE_CONFIG_PATH_MAX], key[8 + IMAGE_CONFIG_ID_LEN];

	if (id == NULL || name == NULL || strchr(name, '/') != NULL ||
	    strlen(id) != IMAGE_CONFIG_ID_LEN ||
	    strspn(id, "0123456789abcdef") != IMAGE_CONFIG_ID_LEN ||
	    image_config_store(inspect, store, sizeof(store)) != RESULT_OK)
		return RESULT_NOT_FOUND;
	(void)snprintf(key, sizeof(key), "sha256:%s", id);
	return image_key_path(store, name, id, key, path_r, size) == RESULT_OK
		   ? RESULT_OK
		   : RESULT_NOT_FOUND;
}

static json_t *
image_config_read(const char *path)
{
	struct json_fault fault = {""};
	json_t *config = NULL;
	char *bytes = NULL;
	size_t len = 0;
	int fd FD_CLEANUP = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 &&
	    fd_read_all(fd, IMAGE_CONFIG_MAX, &bytes, &len) == RESULT_OK)
		(void)json_field_parse(bytes, len, &config, &fault);
	free(bytes);
	return config;
}

enum result
image_config_check(const json_t *inspect, const char *image, char *detail_r,
    size_t detail_size)
{
	char path[IMAGE_CONFIG_PATH_MAX + 256];
	json_t *config;
	size_t triggers;

	if (image_config_path(inspect, path, sizeof(path)) != RESULT_OK)
		return RESULT_OK;
	config = image_config_read(path);
	triggers = json_array_size(
	    json_object_get(json_object_get(config, "config"), "OnBuild"));
	json_decref(config);
	if (triggers == 0)
		return RESULT_OK;
	(void)snprintf(detail_r, detail_size,
	    "image %s carries build triggers: use an image without", image);
	return RESULT_REFUSED;
}
