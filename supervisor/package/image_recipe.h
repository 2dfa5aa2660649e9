/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sandbox image is made of: Debian packages and npm packages with
 * their versions and integrities, as data. A change of this file is a
 * change of the image. Used by image_build.c.
 */
#ifndef SUPERVISOR_PACKAGE_IMAGE_RECIPE_H
#define SUPERVISOR_PACKAGE_IMAGE_RECIPE_H

#include <stdbool.h>
#include <stddef.h>

#define IMAGE_RECIPE_FORMAT 2           /* raised when the build changes */
#define IMAGE_RECIPE_EPOCH "1735689600" /* TAR_HEADER_MTIME */
#define IMAGE_RECIPE_CREATED "2025-01-01T00:00:00Z"
#define IMAGE_RECIPE_NAME "localhost/agentnode-sandbox"
#define IMAGE_RECIPE_LINKS_MAX 4U

struct image_recipe_link {
	const char *path, *target;
};

/* One npm package that becomes one layer. */
struct image_recipe_npm {
	const char *package, *version, *integrity; /* "sha512-<base64>" */
	const char *prefix;  /* where its files go in the image */
	const char *only[4]; /* paths taken, NULL-terminated; none: all */
	struct image_recipe_link links[IMAGE_RECIPE_LINKS_MAX];
};

/* Debian packages, joined by ','. */
extern const char image_recipe_debian[];

/* The rows for this processor, NULL-terminated; NULL when it has none. */
const struct image_recipe_npm *const *image_recipe_npm_rows(void);

/* The OCI name of this processor ("amd64"), NULL when it has none. */
const char *image_recipe_architecture(void);

/* 128 hex digits of an integrity of the form "sha512-<base64>". */
bool image_recipe_sum(const char *integrity, char hex_r[129]);

#endif
