/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init's layers without Landlock: what is left must stop the memory attack
 * and signals must still not end pid 1. Never installed.
 */
#include "supervisor/init/init_filter.h"
#include "supervisor/init/init_layers.h"

const struct init_layers init_layers = {
    .dumpable = 0,
    .filters = {&init_filter_base, &init_filter_guard},
    .owner = &init_filter_owner,
};
