/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The place a runtime is started in, made by the forked child before it
 * becomes the runtime: the sandbox's control groups, a mount namespace of
 * its own (for an ordinary user a user namespace too), and in it one small
 * tmpfs with the bundle, the runtime's state and the root file system. All
 * of it is gone with the last process: there is nothing to clean up. Used
 * by engine_oci.c.
 */
#ifndef SUPERVISOR_ENGINE_OCI_PLACE_H
#define SUPERVISOR_ENGINE_OCI_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/result.h"
#include "supervisor/engine/cgroup.h"
#include "supervisor/engine/oci_bundle.h"

#define OCI_PLACE_PATH_MAX 640U
#define OCI_PLACE_DIRS_MAX 96U
#define OCI_PLACE_DIR_MAX 160U

/* An ordinary user's namespace: two ids, itself as root and one
 * subordinate id as the sandbox. */
struct oci_place_map {
	char program[OCI_PLACE_PATH_MAX]; /* newuidmap, newgidmap */
	char own[16], inside[16], outside[16];
};

/* A directory that is open: its descriptor (borrowed), and the name of that
 * in /proc. */
struct oci_place_source {
	int fd;
	char name[32];
};

struct oci_place {
	char dir[OCI_PLACE_PATH_MAX]; /* an empty directory of ours */
	/* Files whose writer joins a group; count 0: none. */
	char joins[CGROUP_DIRS_MAX][CGROUP_PATH_MAX + 16];
	size_t join_count;
	bool rootless;
	struct oci_place_map maps[2]; /* rootless: uid, gid */
	struct oci_place_source root;
	char layers[96]; /* options of the root's overlay */
	struct oci_place_source volumes[RUN_ARGV_MOUNTS_MAX];
	size_t volume_count;
	/* Below dir; parents first. */
	struct {
		char path[OCI_PLACE_DIR_MAX];
		mode_t mode;
	} dirs[OCI_PLACE_DIRS_MAX];
	size_t dir_count;
	struct oci_bundle_text texts[OCI_BUNDLE_TEXTS];
	int program;  /* init, into the root; -1: it is passed */
	char *config; /* owned: config.json */
	size_t config_len;
};

/* Names below dir. */
#define OCI_PLACE_ROOT "root"
#define OCI_PLACE_STATE "state"
#define OCI_PLACE_BUNDLE "bundle"
#define OCI_PLACE_VOLUME "volume"
#define OCI_PLACE_OWN "own" /* the top layer of the root */

/* A directory inside (absolute), with its parents, in the top layer of the
 * root: what a runtime mounts on. One runtime gives a tmpfs the mode of the
 * directory below it. RESULT_TOO_LONG: there are too many. */
enum result oci_place_dir(
    struct oci_place *place, const char *path, mode_t mode);

/* In the child alone: makes no allocation, returns 0 or errno. */
int oci_place_enter(const void *place);

#endif
