/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode info SLUG --registry`: what the registry of registry.path has
 * of a package. Called by command_package.c.
 */
#ifndef SUPERVISOR_COMMAND_REGISTRY_INFO_H
#define SUPERVISOR_COMMAND_REGISTRY_INFO_H

#include <stdbool.h>

/* Exit code. */
int registry_info_print(const char *slug, bool json);

#endif
