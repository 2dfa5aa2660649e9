/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks agentnode-unpack what an installed tree says of itself, and checks
 * that the volume on disk holds what was judged. Used by install.c.
 */
#ifndef SUPERVISOR_PACKAGE_INSTALL_FACTS_H
#define SUPERVISOR_PACKAGE_INSTALL_FACTS_H

#include "supervisor/package/install.h"

/* The tree below root_fd (a volume's mountpoint) must have this hash. */
enum result install_facts_verify(
    struct install *install, int root_fd, const char *hash);

/* One question to agentnode-unpack; options is taken, list_fd may be -1. */
enum result install_facts_ask(struct install *install, const char *job,
    json_t *options, int root_fd, int list_fd, json_t **result_r);

/* A dependency list that agentnode-unpack wrote to a memfd. */
enum result install_facts_list(
    struct install *install, int list_fd, json_t **list_r);

/* Fill facts_r; free with install_facts_clear. */
enum result install_facts_read(struct install *install, int root_fd,
    const char *hash, struct install_facts *facts_r);
void install_facts_clear(struct install_facts *facts);

#endif
