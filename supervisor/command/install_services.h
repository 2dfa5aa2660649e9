/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an installation needs beside its request: configuration, engine and
 * ledger, opened in this order and closed together. Used by `mcp install`
 * and `install`.
 */
#ifndef SUPERVISOR_COMMAND_INSTALL_SERVICES_H
#define SUPERVISOR_COMMAND_INSTALL_SERVICES_H

#include <stdbool.h>

#include "supervisor/command/command_ledger.h"
#include "supervisor/package/install.h"

struct install_services {
	struct config *config; /* owned */
	struct engine_host host;
	bool has_host;
	struct command_ledger ledger;
};

/* Exit code after its sentence, or COMMAND_DONE with install's config,
 * host, base, audit and progress set. install_services_close in any case. */
int install_services_open(
    struct install_services *services, struct install *install);
void install_services_close(struct install_services *services);

/* A lockfile that cannot be read is found out before minutes of work. */
int install_services_lockfile(const char *path);

/* What a failed installation prints; the exit code. */
int install_services_failed(
    const struct install *install, const char *slug, bool json);

/* The answer of --json; the exit code. */
int install_services_answer(
    const struct install_request *request, json_t *entry);

#endif
