/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lockfile entry of an installed MCP server (docs/lockfile.md has the
 * fields). Used by install.c.
 */
#ifndef SUPERVISOR_PACKAGE_INSTALL_ENTRY_H
#define SUPERVISOR_PACKAGE_INSTALL_ENTRY_H

#include "supervisor/package/install.h"
#include "supervisor/package/volume.h"

#define INSTALL_ENTRY_MOUNT "/pack"  /* where the volume is seen inside */
#define INSTALL_ENTRY_FILES "/files" /* where --files is seen inside */

/* Caller owns the object; NULL without memory. */
json_t *install_entry_make(const struct install_request *request,
    const struct install_tree *tree, const struct install_facts *facts,
    const struct volume *volume);

/* Now, as the lockfile writes it. */
void install_entry_time(char *text_r, size_t size);

#endif
