/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init's layers without protection of its memory: dumpable, and no
 * Landlock. With it the memory attack must succeed. Never installed.
 */
#include "supervisor/init/init_filter.h"
#include "supervisor/init/init_layers.h"

const struct init_layers init_layers = {
    .dumpable = 1,
    .filters = {&init_filter_base, &init_filter_guard},
    .owner = &init_filter_owner,
    .pass_rights = 1,
};
