/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode install SLUG[@VERSION]` where the registry's entry is an MCP
 * server: the same installation as `mcp install`, with everything that the
 * registry's file pins. Called by command_install.c.
 */
#ifndef SUPERVISOR_COMMAND_INSTALL_SERVER_H
#define SUPERVISOR_COMMAND_INSTALL_SERVER_H

#include "supervisor/package/install.h"
#include "supervisor/package/registry.h"

/* item: resolved, with a server. request has slug, lockfile and args. What
 * was fetched must be what item says, package by package, or nothing stays.
 * yes: agreed already. As install_run otherwise. */
enum result install_server_run(struct install *install,
    struct install_request *request, const struct registry_item *item, bool yes,
    json_t **entry_r);

#endif
