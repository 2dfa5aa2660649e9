/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The image is hostile input: what it may say about itself. Annotations
 * outside org.opencontainers.image.* (a runtime takes settings from them),
 * volumes, health checks and build triggers are refused, and so are links
 * where the runtime writes (image_layout.h). Used when an image is pinned and
 * before its first start; a digest pins content, so a checked digest stays
 * checked.
 */
#ifndef SUPERVISOR_ENGINE_IMAGE_CHECK_H
#define SUPERVISOR_ENGINE_IMAGE_CHECK_H

#include <jansson.h>
#include <stddef.h>

#include "common/result.h"
#include "supervisor/engine/engine_files.h"
#include "supervisor/engine/engine_memory.h"

/* Ask the engine about image (NAME@sha256:..., or Docker's id of one) and
 * judge. RESULT_NOT_FOUND:
 * the engine does not have it; RESULT_REFUSED: detail_r says what it
 * carries; RESULT_MISMATCH: it is another one than the digest says. */
enum result image_check(const struct engine_files *files,
    const struct engine_memory *memory, const char *image, char *detail_r,
    size_t detail_size);

/* The judgement alone, on one element of `image inspect`. Pure. */
enum result image_check_judge(const json_t *inspect, const char *image,
    char *detail_r, size_t detail_size);

#endif
