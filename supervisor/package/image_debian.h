/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first layer of the sandbox image: Debian packages by mmdebstrap, from
 * the package sources of this host. Used by image_build.c.
 */
#ifndef SUPERVISOR_PACKAGE_IMAGE_DEBIAN_H
#define SUPERVISOR_PACKAGE_IMAGE_DEBIAN_H

#include "supervisor/package/image_work.h"

struct image_debian {
	char suite[32];      /* this host's release ("bookworm") */
	char sources[4096];  /* file with the package sources */
	char packages[1024]; /* joined by ',' */
};

/* Find suite and sources (option may be NULL); extra packages, checked by
 * name, come behind the recipe's. */
enum result image_debian_plan(struct image_work *work, const char *sources,
    const char *const *extra, size_t extra_count,
    struct image_debian *debian_r);

/* Make debian.tar and add it as a layer. */
enum result image_debian_make(
    struct image_work *work, const struct image_debian *debian);

#endif
