/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of `agentnode sandbox build`: Debian layer, npm layers, OCI
 * archive, load, judge. A result is remembered by its inputs and reused.
 * Used by command_image.c.
 */
#ifndef SUPERVISOR_PACKAGE_IMAGE_BUILD_H
#define SUPERVISOR_PACKAGE_IMAGE_BUILD_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/package/image_engine.h"
#include "supervisor/package/image_work.h"

#define IMAGE_BUILD_PACKAGES_MAX 16U

struct image_build_options {
	const char *sources; /* apt sources; NULL: the host's */
	const char *output;  /* keep the archive there; NULL: do not */
	const char *packages[IMAGE_BUILD_PACKAGES_MAX];
	size_t package_count;
	bool force; /* build although a result is remembered */
};

struct image_build_result {
	char reference[IMAGE_ENGINE_REF_MAX]; /* name@sha256:... */
	char suite[32];
	bool reused;
};

/* On failure work->detail is the sentence. */
enum result image_build(struct image_work *work, const struct engine_host *host,
    const struct image_build_options *options,
    struct image_build_result *result_r);

#endif
