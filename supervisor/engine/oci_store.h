/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pinned image in podman's store as the source of a root: what its
 * digests name, and its layers as plain tars. Nothing of the store is
 * believed that has not the digest it must have. Used by oci_root.c.
 */
#ifndef SUPERVISOR_ENGINE_OCI_STORE_H
#define SUPERVISOR_ENGINE_OCI_STORE_H

#include "supervisor/engine/engine_host.h"
#include "supervisor/engine/oci_image.h"

/* The layers of image (NAME@sha256:...): its manifest has that digest, its
 * configuration the one the manifest names. detail_r is a sentence. */
enum result oci_store_layers(const struct engine_host *host, const char *image,
    struct oci_image_layers *layers_r, char *detail_r, size_t detail_size);

/* Every layer as a file in the new directory path, named by the hex digits
 * that it should have; nobody has looked whether it has. */
enum result oci_store_save(const struct engine_host *host, const char *image,
    const char *path, char *detail_r, size_t detail_size);

#endif
