/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the engines' image store keeps what belongs to an image: the file
 * STORE/DRIVER-images/ID/=BASE64(key). Used by image_config and oci_store.
 */
#ifndef SUPERVISOR_ENGINE_IMAGE_KEY_H
#define SUPERVISOR_ENGINE_IMAGE_KEY_H

#include <stddef.h>

#include "common/result.h"

#define IMAGE_KEY_MAX 128U /* a key, with its end */

/* RESULT_TOO_LONG: it does not fit, or the key is longer than any. store,
 * driver and id are the caller's to check: no part of them is looked at. */
enum result image_key_path(const char *store, const char *driver,
    const char *id, const char *key, char *path_r, size_t size);

#endif
