/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See oci_image.h. Works on parsed JSON whose bytes were compared with a
 * digest; must never take a text that is not exactly a digest.
 */
#include "supervisor/engine/oci_image.h"

#include <string.h>

#define OCI_IMAGE_PREFIX "sha256:"

static bool
oci_image_take(const json_t *value, struct oci_image_digest *digest_r)
{
	const char *text = json_string_value(value);
	size_t prefix = strlen(OCI_IMAGE_PREFIX);

	if (text == NULL || json_string_length(value) != strlen(text) ||
	    strlen(text) != prefix + OCI_IMAGE_HEX ||
	    strncmp(text, OCI_IMAGE_PREFIX, prefix) != 0 ||
	    strspn(text + prefix, "0123456789abcdef") != OCI_IMAGE_HEX)
		return false;
	memcpy(digest_r->hex, text + prefix, OCI_IMAGE_HEX + 1);
	return true;
}

enum result
oci_image_config(const json_t *manifest, struct oci_image_digest *config_r)
{
	const json_t *config = json_object_get(manifest, "config");

	return oci_image_take(json_object_get(config, "digest"), config_r)
		   ? RESULT_OK
		   : RESULT_BAD;
}

bool
oci_image_index_has(
    const json_t *index, const struct oci_image_digest *manifest)
{
	json_t *list = json_object_get(index, "manifests"), *one;
	struct oci_image_digest digest;
	size_t i;

	json_array_foreach(list, i, one)
	{
		if (oci_image_take(json_object_get(one, "digest"), &digest) &&
		    strcmp(digest.hex, manifest->hex) == 0)
			return true;
	}
	return false;
}

enum result
oci_image_layers(const json_t *config, struct oci_image_layers *layers_r)
{
	const json_t *rootfs = json_object_get(config, "rootfs");
	const char *type = json_string_value(json_object_get(rootfs, "type"));
	json_t *list = json_object_get(rootfs, "diff_ids"), *one;
	size_t i;

	layers_r->count = 0;
	if (type == NULL || strcmp(type, "layers") != 0 ||
	    !json_is_array(list) || json_array_size(list) == 0 ||
	    json_array_size(list) > OCI_IMAGE_LAYERS_MAX)
		return RESULT_BAD;
	json_array_foreach(list, i, one)
	{
		if (!oci_image_take(one, &layers_r->layers[i]))
			return RESULT_BAD;
	}
	layers_r->count = json_array_size(list);
	return RESULT_OK;
}

bool
oci_image_comes_again(const struct oci_image_layers *layers, size_t index)
{
	for (size_t i = index + 1; i < layers->count; i++) {
		if (strcmp(layers->layers[i].hex, layers->layers[index].hex) ==
		    0)
			return true;
	}
	return false;
}
