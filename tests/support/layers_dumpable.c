/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init's layers with dumpable 1 and Landlock as shipped: Landlock alone
 * must stop the memory attack. Never installed.
 */
#include "supervisor/init/init_filter.h"
#include "supervisor/init/init_landlock.h"
#include "supervisor/init/init_layers.h"

const struct init_layers init_layers = {
    .dumpable = 1,
    .filters = {&init_filter_base, &init_filter_guard},
    .owner = &init_filter_owner,
    .landlock_fs = INIT_LANDLOCK_FS_ALL,
    .landlock_scopes = INIT_LANDLOCK_SCOPES_ALL,
    .pass_rights = 1, /* and the relay can be sent descriptors */
};
