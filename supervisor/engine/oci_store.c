/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See oci_store.h. Manifest and configuration are read from the store's own
 * copies, as an engine that writes an image out again makes another
 * manifest. Called on the cold path; must never use bytes before their
 * digest was compared.
 */
#include "supervisor/engine/oci_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/json_field.h"
#include "supervisor/engine/engine_call.h"
#include "supervisor/engine/image_key.h"
#include "supervisor/policy/digest.h"

#define OCI_STORE_TEXT_MAX (4U << 20)
#define OCI_STORE_INSPECT_MS 60000U
#define OCI_STORE_SAVE_MS 600000U
#define OCI_STORE_PATH_MAX (ENGINE_MEMORY_PATH_MAX + 384)

static enum result
oci_store_call(const struct engine_host *host, const char *const *argv,
    unsigned timeout_ms, char **output_r, char *detail_r, size_t detail_size)
{
	struct engine_call_spec call = {.files = &host->files,
	    .argv = argv,
	    .stdin_fd = -1,
	    .stdout_fd = -1,
	    .output_max = 65536,
	    .timeout_ms = timeout_ms};
	size_t len = 0;

	return engine_call_wait(
	    &call, output_r, &len, NULL, detail_r, detail_size);
}

/* The engine's id of the image: a name in its store, nothing more. */
static enum result
oci_store_id(const struct engine_host *host, const char *image,
    struct oci_image_digest *id_r, char *detail_r, size_t detail_size)
{
	const char *argv[] = {host->memory.client, "image", "inspect",
	    "--format={{.Id}}", "--", image, NULL};
	char *output = NULL;
	enum result result = oci_store_call(
	    host, argv, OCI_STORE_INSPECT_MS, &output, detail_r, detail_size);

	if (result == RESULT_OK) {
		output[strcspn(output, "\n")] = '\0';
		if (digest_is_hex(output)) {
			memcpy(id_r->hex, output, sizeof(id_r->hex));
		} else {
			(void)snprintf(detail_r, detail_size,
			    "the engine's id of image %s is no digest", image);
			result = RESULT_BAD;
		}
	}
	free(output);
	return result;
}

/* A file of the store whose bytes have this digest, as JSON. */
static enum result
oci_store_read(const char *path, const struct oci_image_digest *digest,
    json_t **value_r, char *detail_r, size_t detail_size)
{
	struct json_fault fault = {""};
	char hex[DIGEST_HEX + 1], *bytes = NULL;
	size_t len = 0;
	enum result result = RESULT_NOT_FOUND;
	int fd FD_CLEANUP = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	*value_r = NULL;
	if (fd >= 0)
		result = fd_read_all(fd, OCI_STORE_TEXT_MAX, &bytes, &len);
	if (result == RESULT_OK)
		result = digest_sha256(bytes, len, hex);
	if (result == RESULT_OK && strcmp(hex, digest->hex) != 0)
		result = RESULT_MISMATCH;
	if (result == RESULT_OK)
		result = json_field_parse(bytes, len, value_r, &fault);
	free(bytes);
	if (result != RESULT_OK)
		(void)snprintf(detail_r, detail_size,
		    "the image store's copy of sha256:%s %s", digest->hex,
		    result == RESULT_MISMATCH ? "has another digest"
		    : result == RESULT_BAD    ? fault.text
					      : "cannot be read");
	return result;
}

/* STORE/DRIVER-images/ID/=BASE64(key) */
static enum result
oci_store_path(const struct engine_host *host,
    const struct oci_image_digest *id, const char *prefix,
    const struct oci_image_digest *digest, char *path_r, size_t size)
{
	const struct engine_memory *memory = &host->memory;
	char key[32 + OCI_IMAGE_HEX];

	(void)snprintf(key, sizeof(key), "%ssha256:%s", prefix, digest->hex);
	return image_key_path(memory->graph_root, memory->graph_driver, id->hex,
	    key, path_r, size);
}

/* A manifest that is an index names the one of this platform, which the
 * store keeps under a fixed name. */
static enum result
oci_store_platform(const struct engine_host *host,
    const struct oci_image_digest *id, json_t **manifest, char *detail_r,
    size_t detail_size)
{
	char path[OCI_STORE_PATH_MAX], *bytes = NULL;
	struct oci_image_digest digest;
	json_t *index = *manifest;
	enum result result = RESULT_NOT_FOUND;
	size_t len = 0;
	int fd FD_CLEANUP = -1;

	if (json_object_get(index, "manifests") == NULL)
		return RESULT_OK;
	*manifest = NULL;
	(void)snprintf(path, sizeof(path), "%s/%s-images/%s/manifest",
	    host->memory.graph_root, host->memory.graph_driver, id->hex);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		result = fd_read_all(fd, OCI_STORE_TEXT_MAX, &bytes, &len);
	if (result == RESULT_OK)
		result = digest_sha256(bytes, len, digest.hex);
	free(bytes);
	if (result == RESULT_OK && !oci_image_index_has(index, &digest))
		result = RESULT_MISMATCH;
	if (result != RESULT_OK)
		(void)snprintf(detail_r, detail_size,
		    "the image store has no manifest that the pinned list of "
		    "platforms names");
	else
		result = oci_store_read(
		    path, &digest, manifest, detail_r, detail_size);
	json_decref(index);
	return result;
}

enum result
oci_store_layers(const struct engine_host *host, const char *image,
    struct oci_image_layers *layers_r, char *detail_r, size_t detail_size)
{
	const char *at = strstr(image, "@sha256:");
	char path[OCI_STORE_PATH_MAX];
	struct oci_image_digest id, pinned, digest;
	json_t *manifest = NULL, *config = NULL;
	enum result result;

	if (at == NULL || !digest_is_hex(at + strlen("@sha256:")))
		return RESULT_BAD;
	memcpy(pinned.hex, at + strlen("@sha256:"), sizeof(pinned.hex));
	result = oci_store_id(host, image, &id, detail_r, detail_size);
	if (result == RESULT_OK)
		result = oci_store_path(
		    host, &id, "manifest-", &pinned, path, sizeof(path));
	if (result == RESULT_OK)
		result = oci_store_read(
		    path, &pinned, &manifest, detail_r, detail_size);
	if (result == RESULT_OK)
		result = oci_store_platform(
		    host, &id, &manifest, detail_r, detail_size);
	if (result == RESULT_OK)
		result = oci_image_config(manifest, &digest);
	if (result == RESULT_OK)
		result =
		    oci_store_path(host, &id, "", &digest, path, sizeof(path));
	if (result == RESULT_OK)
		result = oci_store_read(
		    path, &digest, &config, detail_r, detail_size);
	if (result == RESULT_OK)
		result = oci_image_layers(config, layers_r);
	json_decref(manifest);
	json_decref(config);
	if (result != RESULT_OK && detail_r[0] == '\0')
		(void)snprintf(detail_r, detail_size,
		    "image %s does not name its layers by digest", image);
	return result;
}

enum result
oci_store_save(const struct engine_host *host, const char *image,
    const char *path, char *detail_r, size_t detail_size)
{
	const char *argv[] = {host->memory.client, "save", "--quiet",
	    "--format=docker-dir", "--output", path, "--", image, NULL};
	char *output = NULL;
	enum result result = oci_store_call(
	    host, argv, OCI_STORE_SAVE_MS, &output, detail_r, detail_size);

	free(output);
	return result;
}
