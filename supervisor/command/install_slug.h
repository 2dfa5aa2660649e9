/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode install SLUG[@VERSION]`: a package of the registry that
 * registry.path names, as a source for install_pack. Called by
 * command_install.c.
 */
#ifndef SUPERVISOR_COMMAND_INSTALL_SLUG_H
#define SUPERVISOR_COMMAND_INSTALL_SLUG_H

#include "supervisor/package/install_pack.h"
#include "supervisor/package/registry.h"

struct install_slug {
	struct registry_item item; /* owned */
};

/* Index, attestation, signatures and bytes are judged; then request says
 * which package must come out, and source has the sealed copy, its hash and
 * what the registry says. They borrow from slug. The fault is install's.
 * install_slug_close in any case, after install_pack_run. */
enum result install_slug_open(struct install_slug *slug, const char *name,
    struct install *install, struct install_request *request,
    struct install_pack_source *source);
void install_slug_close(struct install_slug *slug);

#endif
