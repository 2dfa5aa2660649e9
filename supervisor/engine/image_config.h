/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the engine does not show of an image: build triggers of Docker's
 * format, which wait for a `build` on top of it. Read from the engine's
 * own copy of the image's configuration. Called by image_check.c.
 */
#ifndef SUPERVISOR_ENGINE_IMAGE_CONFIG_H
#define SUPERVISOR_ENGINE_IMAGE_CONFIG_H

#include <jansson.h>
#include <stddef.h>

#include "common/result.h"

/* inspect: one element of `image inspect`. RESULT_REFUSED: it has triggers.
 * A store that keeps its images elsewhere is RESULT_OK: nothing obeys a
 * trigger at a start. */
enum result image_config_check(const json_t *inspect, const char *image,
    char *detail_r, size_t detail_size);

#endif
