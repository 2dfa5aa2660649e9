/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an image says of its parts: manifest -> configuration -> layers,
 * each named by the digest of its bytes. Whoever checks each digest on the
 * way has what was pinned. Pure; used by oci_store.c.
 */
#ifndef SUPERVISOR_ENGINE_OCI_IMAGE_H
#define SUPERVISOR_ENGINE_OCI_IMAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/result.h"

#define OCI_IMAGE_LAYERS_MAX 128U
#define OCI_IMAGE_HEX 64U

struct oci_image_digest {
	char hex[OCI_IMAGE_HEX + 1]; /* of "sha256:<hex>" */
};

struct oci_image_layers {
	size_t count;
	struct oci_image_digest layers[OCI_IMAGE_LAYERS_MAX]; /* bottom first */
};

/* The configuration that a manifest names. */
enum result oci_image_config(
    const json_t *manifest, struct oci_image_digest *config_r);
/* Does an index (an image of several platforms) name this manifest? */
bool oci_image_index_has(
    const json_t *index, const struct oci_image_digest *manifest);
/* Is a layer named again further up? An image may have one twice. */
bool oci_image_comes_again(const struct oci_image_layers *layers, size_t index);
/* The layers of a configuration, by the digest of the unpacked tar. */
enum result oci_image_layers(
    const json_t *config, struct oci_image_layers *layers_r);

#endif
