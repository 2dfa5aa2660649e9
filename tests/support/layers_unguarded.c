/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init's layers without the guard filter: with it the scheduling attack
 * must succeed. Never installed.
 */
#include "supervisor/init/init_filter.h"
#include "supervisor/init/init_landlock.h"
#include "supervisor/init/init_layers.h"

const struct init_layers init_layers = {
    .dumpable = 0,
    .filters = {&init_filter_base},
    .landlock_fs = INIT_LANDLOCK_FS_ALL,
    .landlock_scopes = INIT_LANDLOCK_SCOPES_ALL,
};
