/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Are the places that engine and runtime write to, before anything of ours
 * runs, what they must be? A runtime that meets an image whose /dev is a
 * link makes its devices at the link's end on the host; a FIFO as
 * /etc/passwd stops the engine for ever. Looked at in the engine's store,
 * layer by layer, without following a link. Called by image_check.c.
 */
#ifndef SUPERVISOR_ENGINE_IMAGE_LAYOUT_H
#define SUPERVISOR_ENGINE_IMAGE_LAYOUT_H

#include <jansson.h>
#include <stddef.h>

#include "common/result.h"
#include "supervisor/engine/engine_files.h"
#include "supervisor/engine/engine_memory.h"

#define IMAGE_LAYOUT_LAYERS_MAX 512U

/* inspect: one element of `image inspect`. RESULT_REFUSED: a place is
 * something else; RESULT_UNSUPPORTED: the storage cannot be looked at;
 * detail_r is one sentence. */
enum result image_layout_check(const struct engine_files *files,
    const struct engine_memory *memory, const json_t *inspect,
    const char *image, char *detail_r, size_t detail_size);

/* The judgement alone: layer directories, top first. RESULT_REFUSED names
 * the place in detail_r. */
enum result image_layout_judge(const char *const *layers, size_t count,
    const char *image, char *detail_r, size_t detail_size);

#endif
