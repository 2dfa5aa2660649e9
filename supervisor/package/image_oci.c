/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes OCI archives; see image_oci.h. Must never put a time, a name or
 * anything else of this machine into one.
 */
#include "supervisor/package/image_oci.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/package/image_recipe.h"
#include "supervisor/policy/digest.h"
#include "supervisor/unpack/tar_header.h"

#define IMAGE_OCI_TYPE(name) "application/vnd.oci.image." name
#define IMAGE_OCI_PATH \
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct image_oci_text {
	char *bytes; /* owned */
	size_t len;
	char digest[IMAGE_OCI_DIGEST_SIZE];
};

/* The canonical text of value (taken) and its digest. */
static enum result
image_oci_text(json_t *value, struct image_oci_text *text_r)
{
	enum result result = RESULT_NO_MEMORY;

	if (value != NULL)
		result = digest_canonical(value, &text_r->bytes, &text_r->len);
	json_decref(value);
	if (result != RESULT_OK)
		return result;
	memcpy(text_r->digest, "sha256:", 7);
	return digest_sha256(text_r->bytes, text_r->len, text_r->digest + 7);
}

static json_t *
image_oci_descriptor(const char *type, const char *digest, uint64_t size)
{
	return json_pack("{s:s,s:s,s:I}", "mediaType", type, "digest", digest,
	    "size", (json_int_t)size);
}

static enum result
image_oci_config(struct image_work *work, struct image_oci_text *text_r)
{
	const char *architecture = image_recipe_architecture();
	json_t *ids = json_array();
	char digest[IMAGE_OCI_DIGEST_SIZE];

	for (size_t i = 0; i < work->layer_count; i++) {
		(void)snprintf(digest, sizeof(digest), "sha256:%s",
		    work->layers[i].sha256);
		(void)json_array_append_new(ids, json_string(digest));
	}
	return image_oci_text(
	    json_pack("{s:s,s:s,s:s,s:{s:[s],s:s},s:{s:s,s:o}}", "architecture",
		architecture, "os", "linux", "created", IMAGE_RECIPE_CREATED,
		"config", "Env", IMAGE_OCI_PATH, "WorkingDir", "/", "rootfs",
		"type", "layers", "diff_ids", ids),
	    text_r);
}

static enum result
image_oci_manifest(struct image_work *work, const struct image_oci_text *config,
    struct image_oci_text *text_r)
{
	json_t *layers = json_array();
	char digest[IMAGE_OCI_DIGEST_SIZE];

	for (size_t i = 0; i < work->layer_count; i++) {
		(void)snprintf(digest, sizeof(digest), "sha256:%s",
		    work->layers[i].sha256);
		(void)json_array_append_new(
		    layers, image_oci_descriptor(IMAGE_OCI_TYPE("layer.v1.tar"),
				digest, work->layers[i].size));
	}
	return image_oci_text(
	    json_pack("{s:i,s:s,s:o,s:o}", "schemaVersion", 2, "mediaType",
		IMAGE_OCI_TYPE("manifest.v1+json"), "config",
		image_oci_descriptor(IMAGE_OCI_TYPE("config.v1+json"),
		    config->digest, config->len),
		"layers", layers),
	    text_r);
}

static enum result
image_oci_index(const struct image_oci_text *manifest, const char *tag,
    struct image_oci_text *text_r)
{
	json_t *descriptor =
	    image_oci_descriptor(IMAGE_OCI_TYPE("manifest.v1+json"),
		manifest->digest, manifest->len);

	(void)json_object_set_new(descriptor, "annotations",
	    json_pack("{s:s}", "org.opencontainers.image.ref.name", tag));
	return image_oci_text(json_pack("{s:i,s:[o]}", "schemaVersion", 2,
				  "manifests", descriptor),
	    text_r);
}

/* What Docker's `load` looks for; an OCI archive with it is both. */
static enum result
image_oci_docker(struct image_work *work, const struct image_oci_text *config,
    const char *tag, struct image_oci_text *text_r)
{
	json_t *layers = json_array();
	char name[128];

	for (size_t i = 0; i < work->layer_count; i++) {
		(void)snprintf(name, sizeof(name), "blobs/sha256/%s",
		    work->layers[i].sha256);
		(void)json_array_append_new(layers, json_string(name));
	}
	(void)snprintf(
	    name, sizeof(name), "blobs/sha256/%s", config->digest + 7);
	return image_oci_text(json_pack("[{s:s,s:[s],s:o}]", "Config", name,
				  "RepoTags", tag, "Layers", layers),
	    text_r);
}

/* Zeros up to the next block. */
static enum result
image_oci_pad(int out, uint64_t size)
{
	static const uint8_t zeros[TAR_HEADER_SIZE];

	return fd_write_all(out, zeros, tar_header_padding(size));
}

static enum result
image_oci_header(int out, const char *name, uint64_t size)
{
	uint8_t block[TAR_HEADER_SIZE];

	tar_header_fill(block, TAR_HEADER_FILE, name, NULL, 0644, size);
	return fd_write_all(out, block, sizeof(block));
}

static enum result
image_oci_put(int out, const char *name, const void *bytes, size_t len)
{
	enum result result = image_oci_header(out, name, len);

	if (result == RESULT_OK)
		result = fd_write_all(out, bytes, len);
	if (result == RESULT_OK)
		result = image_oci_pad(out, len);
	return result;
}

static enum result
image_oci_put_text(int out, const struct image_oci_text *text)
{
	char name[128];

	(void)snprintf(name, sizeof(name), "blobs/sha256/%s", text->digest + 7);
	return image_oci_put(out, name, text->bytes, text->len);
}

static enum result
image_oci_put_layer(
    struct image_work *work, int out, const struct image_work_layer *layer)
{
	uint64_t left = layer->size;
	int in FD_CLEANUP = -1;
	char name[128];
	enum result result = image_work_read(work, layer->name, &in);
	ssize_t sent;

	(void)snprintf(name, sizeof(name), "blobs/sha256/%s", layer->sha256);
	if (result == RESULT_OK)
		result = image_oci_header(out, name, layer->size);
	while (result == RESULT_OK && left > 0) {
		sent = sendfile(
		    out, in, NULL, left > (1U << 30) ? 1U << 30 : left);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return RESULT_SYSTEM;
		left -= (uint64_t)sent;
	}
	return result == RESULT_OK ? image_oci_pad(out, layer->size) : result;
}

struct image_oci {
	struct image_oci_text config, manifest, index, docker;
};

static enum result
image_oci_archive(
    struct image_work *work, int out, const struct image_oci *image)
{
	static const char layout[] = "{\"imageLayoutVersion\":\"1.0.0\"}";
	static const uint8_t end[2 * TAR_HEADER_SIZE];
	enum result result =
	    image_oci_put(out, "oci-layout", layout, sizeof(layout) - 1);

	if (result == RESULT_OK)
		result = image_oci_put(
		    out, "index.json", image->index.bytes, image->index.len);
	if (result == RESULT_OK)
		result = image_oci_put(out, "manifest.json",
		    image->docker.bytes, image->docker.len);
	if (result == RESULT_OK)
		result = image_oci_put_text(out, &image->manifest);
	if (result == RESULT_OK)
		result = image_oci_put_text(out, &image->config);
	for (size_t i = 0; result == RESULT_OK && i < work->layer_count; i++)
		result = image_oci_put_layer(work, out, &work->layers[i]);
	if (result == RESULT_OK)
		result = fd_write_all(out, end, sizeof(end));
	return result;
}

enum result
image_oci_write(struct image_work *work, char digest_r[IMAGE_OCI_DIGEST_SIZE],
    char config_r[IMAGE_OCI_DIGEST_SIZE])
{
	struct image_oci image = {.config = {.bytes = NULL}};
	int out FD_CLEANUP = -1;
	char tag[128];
	enum result result;

	if ((result = image_oci_config(work, &image.config)) != RESULT_OK ||
	    (result = image_oci_manifest(
		 work, &image.config, &image.manifest)) != RESULT_OK)
		goto out;
	memcpy(digest_r, image.manifest.digest, IMAGE_OCI_DIGEST_SIZE);
	memcpy(config_r, image.config.digest, IMAGE_OCI_DIGEST_SIZE);
	(void)snprintf(
	    tag, sizeof(tag), "%s:%.12s", IMAGE_RECIPE_NAME, digest_r + 7);
	result = image_oci_index(&image.manifest, tag, &image.index);
	if (result == RESULT_OK)
		result =
		    image_oci_docker(work, &image.config, tag, &image.docker);
	if (result == RESULT_OK)
		result = image_work_create(work, "image.oci.tar", &out);
	if (result != RESULT_OK)
		goto out;
	result = image_oci_archive(work, out, &image);
	if (result != RESULT_OK)
		(void)image_work_fail(work, result, "%s/image.oci.tar: %s",
		    work->dir.path, strerror(errno));
out:
	free(image.config.bytes);
	free(image.manifest.bytes);
	free(image.index.bytes);
	free(image.docker.bytes);
	return result;
}
