/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shipped table of layers: all of them.
 */
#include "supervisor/init/init_layers.h"

#include "supervisor/init/init_filter.h"
#include "supervisor/init/init_landlock.h"

const struct init_layers init_layers = {
    .dumpable = 0,
    .filters = {&init_filter_base, &init_filter_guard},
    .owner = &init_filter_owner,
    .landlock_fs = INIT_LANDLOCK_FS_ALL,
    .landlock_scopes = INIT_LANDLOCK_SCOPES_ALL,
    .pass_rights = 0,
};
