/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An OCI image archive from finished layers, the same bytes for the same
 * layers every time: sorted JSON, fixed times, no annotation but the name
 * by which the engine files it. Used by image_build.c.
 */
#ifndef SUPERVISOR_PACKAGE_IMAGE_OCI_H
#define SUPERVISOR_PACKAGE_IMAGE_OCI_H

#include "supervisor/package/image_work.h"

#define IMAGE_OCI_DIGEST_SIZE 72U /* "sha256:" + 64 hex + NUL */

/* Write image.oci.tar from the folder's layers; digest_r is that of the
 * manifest, config_r of the configuration, which is Docker's id of it. */
enum result image_oci_write(struct image_work *work,
    char digest_r[IMAGE_OCI_DIGEST_SIZE], char config_r[IMAGE_OCI_DIGEST_SIZE]);

#endif
