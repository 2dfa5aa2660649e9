/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a container of an image would have at a few paths, asked of Docker's
 * daemon by a user who cannot look into its store. Used by image_layout.c,
 * once per image.
 */
#ifndef SUPERVISOR_ENGINE_DOCKER_LAYOUT_H
#define SUPERVISOR_ENGINE_DOCKER_LAYOUT_H

#include <stddef.h>
#include <sys/types.h>

#include "common/result.h"
#include "supervisor/engine/engine_files.h"
#include "supervisor/engine/engine_memory.h"

#define DOCKER_LAYOUT_BLOCK 512U

/* A container that is never started, and goes again. */
struct docker_layout {
	const struct engine_files *files;
	const struct engine_memory *memory;
	char name[64];
};

enum result docker_layout_begin(struct docker_layout *layout, const char *image,
    const char *run, char *detail_r, size_t detail_size);
/* The type (S_IFMT) of path, which is not resolved in its last part.
 * RESULT_NOT_FOUND: the daemon says that it is not there. */
enum result docker_layout_look(const struct docker_layout *layout,
    const char *path, mode_t *type_r, char *detail_r, size_t detail_size);
void docker_layout_end(const struct docker_layout *layout);

/* The type that a header of a tar names; 0: it is about the next one, and
 * *skip_r blocks follow. RESULT_BAD: no such header. Pure. */
enum result docker_layout_header(
    const char block[DOCKER_LAYOUT_BLOCK], mode_t *type_r, size_t *skip_r);

#endif
