/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layers of the sandbox image that come from npm packages: fetched from
 * the configured registry, compared with the pinned integrity, and only
 * then unpacked, by agentnode-unpack. Used by image_build.c.
 */
#ifndef SUPERVISOR_PACKAGE_IMAGE_FETCH_H
#define SUPERVISOR_PACKAGE_IMAGE_FETCH_H

#include "supervisor/package/image_recipe.h"
#include "supervisor/package/image_work.h"

/* Make npm-INDEX.tar and add it as a layer. RESULT_MISMATCH: the registry
 * served something else than what is pinned. RESULT_UNSUPPORTED: it could
 * not be fetched. */
enum result image_fetch_layer(struct image_work *work,
    const struct image_recipe_npm *row, unsigned index);

#endif
