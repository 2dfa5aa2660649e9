/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sources of a view, opened and cloned before anything is placed: by
 * the launcher itself as root (it can read and map what the sandbox's uid
 * cannot), inside the new namespace for an ordinary user.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_TREE_H
#define SUPERVISOR_NATIVE_NATIVE_TREE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "supervisor/native/native_launch.h"

#define NATIVE_TREE_DEVICES 5U

struct native_tree {
	int fd; /* detached mount; -1: the step has no source */
	bool is_dir;
	dev_t dev;
	ino_t ino;
	uid_t uid;
	gid_t gid;
};

struct native_trees {
	struct native_tree steps[NATIVE_LAUNCH_STEPS_MAX];
	int devices[NATIVE_TREE_DEVICES];
};

struct native_tree_device {
	const char *name, *path;
	unsigned minor; /* of major 1 */
};

extern const struct native_tree_device native_tree_devices[NATIVE_TREE_DEVICES];

/* Everything, or the process ends. */
void native_tree_open(
    const struct native_launch *launch, struct native_trees *trees_r);

#endif
