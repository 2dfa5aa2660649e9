/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds of a pinned package in a sandbox of its own: egress to the
 * registry only, no lifecycle scripts, sized tmpfs, its own limits. What
 * comes out goes through agentnode-unpack and is a clean tar. Used by
 * install.c.
 */
#ifndef SUPERVISOR_PACKAGE_INSTALL_BUILD_H
#define SUPERVISOR_PACKAGE_INSTALL_BUILD_H

#include "supervisor/package/install.h"

#define INSTALL_BUILD_FOLDER "/build"
#define INSTALL_BUILD_ARGV_MAX 32U

#define INSTALL_BUILD_INPUTS_MAX 2U

struct install_build_input {
	const char *path;
	int fd;
};

/* The words of one package manager; the texts live as long as this. */
struct install_build_plan {
	const char *argv[INSTALL_BUILD_ARGV_MAX];
	size_t argc;
	const char *label; /* in front of progress lines */
	/* Tree streams that go into a tmpfs of theirs, or into the build
	 * folder, before it starts; borrowed. path NULL or fd -1: none. */
	struct install_build_input inputs[INSTALL_BUILD_INPUTS_MAX];
	json_t *egress;      /* owned */
	char words[6][1200]; /* storage of made-up words */
};

enum result install_npm_plan(
    struct install *install, struct install_build_plan *plan_r);
enum result install_pypi_plan(
    struct install *install, struct install_build_plan *plan_r);
void install_build_plan_clear(struct install_build_plan *plan);

/* Run the plan; the result is in *tree_r. */
enum result install_build_run(struct install *install,
    const struct install_build_plan *plan, struct install_tree *tree_r);

/* A local folder, read as it is (install_dir.c). */
enum result install_dir_read(
    struct install *install, struct install_tree *tree_r);

/* An unnamed file of AGENTNODE_HOME for a tree on its way. */
enum result install_build_spool(struct install *install, int *fd_r);
/* Take over what tree_to_tar answered; tar_fd is rewound. */
enum result install_build_take(struct install *install, const json_t *total,
    int tar_fd, struct install_tree *tree_r);

#endif
