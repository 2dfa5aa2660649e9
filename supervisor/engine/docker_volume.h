/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker's volumes by way of its daemon: filled from a tar, and, where their
 * folders belong to root and the caller is not, asked for and read. A
 * container that is never started has the volume for as long as that takes;
 * it carries agentnode.tmp=<run>, so that gc finds what was killed halfway.
 * Used by volume.c, docker_program.c, docker_layout.c and `agentnode verify`;
 * waited for.
 */
#ifndef SUPERVISOR_ENGINE_DOCKER_VOLUME_H
#define SUPERVISOR_ENGINE_DOCKER_VOLUME_H

#include <stdbool.h>
#include <stddef.h>

#include "common/result.h"
#include "supervisor/engine/engine_host.h"

#define DOCKER_VOLUME_NAME_MAX 64U
#define DOCKER_VOLUME_PLACE "/pack" /* of the volume in that container */

/* A container that is never started, by which something is read or written;
 * all borrowed. */
struct docker_volume_still {
	const struct engine_files *files;
	const struct engine_memory *memory;
	const char *image, *run, *name;
	const char *mount; /* a word; NULL: none */
};
enum result docker_volume_still(const struct docker_volume_still *still,
    char *detail_r, size_t detail_size);
void docker_volume_end(const struct docker_volume_still *still);

/* Made with these labels ("NAME=VALUE") and the owner's; one that is there
 * already is left as it is, which Docker says nothing about. */
enum result docker_volume_make(const struct engine_host *host,
    const char *volume, const char *const *labels, char *detail_r,
    size_t detail_size);

/* Does the daemon know it? RESULT_NOT_FOUND: it says no; whatever else it
 * says, or nothing, is another failure. */
enum result docker_volume_find(const struct engine_host *host,
    const char *volume, char *detail_r, size_t detail_size);

/* tar_fd (borrowed) into the volume. image puts nothing there; run is the id
 * of a lock that is held. */
enum result docker_volume_fill(const struct engine_host *host,
    const char *volume, const char *image, const char *run, int tar_fd,
    char *detail_r, size_t detail_size);

/* The name of a container that has it read-only, until it is released. */
enum result docker_volume_hold(const struct engine_host *host,
    const char *volume, const char *image, const char *run,
    char name_r[DOCKER_VOLUME_NAME_MAX], char *detail_r, size_t detail_size);
void docker_volume_release(const struct engine_host *host, const char *name);

#endif
