/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The new root, built inside the new mount namespace. native_build.c places
 * the steps, native_kernel.c what the kernel shows (/proc, /dev),
 * native_own.c the files the sandbox has of its own (/etc/hosts, ...).
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_BUILD_H
#define SUPERVISOR_NATIVE_NATIVE_BUILD_H

#include <stdbool.h>

#include "supervisor/native/native_tree.h"

#define NATIVE_BUILD_OWN_MAX 64U

struct native_build {
	const struct native_launch *launch;
	struct native_trees *trees;
	int fd;    /* the root, where every target is looked up */
	int store; /* a tmpfs beside it: what files of ours are bound from */
	int empty_dir, empty_file; /* in the store, opened */
	bool stacked; /* the store is on the old root, not below it */
	/* File systems of ours: only there a missing target is made. */
	dev_t own[NATIVE_BUILD_OWN_MAX];
	unsigned own_count;
};

/* Place every step and enter it as the root, nothing of the old one left.
 * The process ends when a part cannot be done. */
void native_build_build(
    const struct native_launch *launch, struct native_trees *trees);

/* What is at path (absolute) in the new root, opened as a target; made when
 * it is missing in a file system of ours; -1: it is missing elsewhere. */
int native_build_target(
    struct native_build *build, const char *path, bool is_dir);
/* A mount of ours: targets may be made there. */
void native_build_note(struct native_build *build, int mount);
/* Cover target, whatever it is, with nothing. Takes target. */
void native_build_mask(
    struct native_build *build, int target, const char *name);

void native_kernel_proc(struct native_build *build, const char *target);
void native_kernel_dev(struct native_build *build, const char *target);
void native_own_place(struct native_build *build);

#endif
