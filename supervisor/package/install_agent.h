/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is different when a folder is an agent: its manifest says who it is,
 * and the lockfile entry is made from it. Used by install.c and the
 * command, which shows the manifest before anything is installed.
 */
#ifndef SUPERVISOR_PACKAGE_INSTALL_AGENT_H
#define SUPERVISOR_PACKAGE_INSTALL_AGENT_H

#include "supervisor/package/install.h"
#include "supervisor/package/volume.h"

/* The checked manifest of a folder the user names; caller owns it. The
 * folder is read as its owner. */
enum result install_agent_manifest(
    struct install *install, const char *folder, json_t **manifest_r);

/* Facts of the sealed tree: its own manifest, which must be of the package
 * that was asked for, with the files its start needs. */
enum result install_agent_facts(struct install *install, int root_fd,
    const char *hash, struct install_facts *facts_r);

/* The lockfile entry; caller owns it, NULL without memory. */
json_t *install_agent_entry(const struct install_tree *tree,
    const struct install_facts *facts, const struct volume *volume);

#endif
