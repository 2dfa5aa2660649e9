/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree on our own disk for as long as its facts are read, where the volume
 * that holds it cannot be opened. Used by install.c.
 */
#ifndef SUPERVISOR_PACKAGE_INSTALL_SCRATCH_H
#define SUPERVISOR_PACKAGE_INSTALL_SCRATCH_H

#include "supervisor/package/install.h"
#include "supervisor/package/volume.h"

/* Beside the list of the volume's users. The fault is set. */
enum result install_scratch_make(struct install *install,
    const struct install_tree *tree, const struct volume *volume, int *root_r);
/* Harmless when there is none. */
void install_scratch_remove(const struct volume *volume);

#endif
