/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows what a package with a manifest asks for, and asks once. Used by
 * `agentnode install`, from a folder, an archive or a registry.
 */
#ifndef SUPERVISOR_COMMAND_INSTALL_ASK_H
#define SUPERVISOR_COMMAND_INSTALL_ASK_H

#include <stdbool.h>

#include "supervisor/package/install.h"
#include "supervisor/package/registry.h"

/* On standard error. yes: agreed already. Without a terminal on standard
 * input nobody can agree: refused (consent_needed). Agents are not asked:
 * installing one is the consent, and running them is off by default. */
enum result install_ask(struct install *install, bool yes);

/* The same for an MCP server of a registry. */
enum result install_ask_server(
    struct install *install, const struct registry_item *item, bool yes);

#endif
