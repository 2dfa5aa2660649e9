/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder in which an image is built: AGENTNODE_HOME/image, ours alone,
 * one build at a time. Holds the record of what was built, and intermediate
 * files, which are gone when a build ends. Used by image_build.c and its
 * steps.
 */
#ifndef SUPERVISOR_PACKAGE_IMAGE_WORK_H
#define SUPERVISOR_PACKAGE_IMAGE_WORK_H

#include <stdint.h>

#include "supervisor/policy/config.h"
#include "supervisor/policy/state_dir.h"

#define IMAGE_WORK_LAYERS_MAX 4U
#define IMAGE_WORK_DETAIL_MAX 512U

/* A finished layer: a tar without compression. */
struct image_work_layer {
	char name[64];   /* file in the folder */
	char sha256[65]; /* of the file: digest and diff id in one */
	uint64_t size;
};

struct image_work {
	const struct config *config; /* borrowed */
	struct state_dir dir;
	int lock; /* held while open */
	struct image_work_layer layers[IMAGE_WORK_LAYERS_MAX];
	size_t layer_count;
	/* Progress: one printable line without newline; may be NULL. */
	void (*progress)(const char *line);
	char detail[IMAGE_WORK_DETAIL_MAX]; /* the sentence of a failure */
};

/* RESULT_TIMEOUT when another build runs; detail says so. */
enum result image_work_open(struct image_work *work,
    const struct config *config, void (*progress)(const char *line));
/* Removes intermediate files, releases the lock. */
void image_work_close(struct image_work *work);

/* Set detail and return result, for one-line failures. */
enum result image_work_fail(struct image_work *work, enum result result,
    const char *format, ...) __attribute__((format(printf, 3, 4)));
void image_work_say(struct image_work *work, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A new empty file of the folder, for writing and reading. */
enum result image_work_create(
    struct image_work *work, const char *name, int *fd_r);
/* One of its files for reading. */
enum result image_work_read(
    struct image_work *work, const char *name, int *fd_r);
/* Absolute path of one of its files, for tools. */
enum result image_work_path(
    struct image_work *work, const char *name, char *path_r, size_t size);

/* Sum a file of the folder (by agentnode-unpack); hex without prefix. */
enum result image_work_sums(struct image_work *work, const char *name,
    char sha256_r[65], char sha512_r[129], uint64_t *size_r);
/* Sum it and add it as a layer: below all others, or on top. */
enum result image_work_add_layer(
    struct image_work *work, const char *name, bool is_base);

#endif
