/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dependencies of a package with a manifest: fetched by pip or npm in a
 * build sandbox that sees the list and nothing else of the package, and
 * put beside its files. Used by install_pack.c.
 */
#ifndef SUPERVISOR_PACKAGE_INSTALL_PACK_BUILD_H
#define SUPERVISOR_PACKAGE_INSTALL_PACK_BUILD_H

#include "supervisor/package/install_pack.h"

/* *tree is replaced by one with the dependencies in it; pack->dependencies
 * is what they are. Nothing changes when there are none. */
enum result install_pack_build(struct install *install,
    struct install_pack *pack, struct install_tree *tree);

/* One job with our descriptors and no root; options is taken. */
enum result install_pack_build_ask(struct install *install, const char *job,
    json_t *options, const int *fds, size_t fd_count, json_t **total_r);

#endif
