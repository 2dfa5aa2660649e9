/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of its own for a proxy that runs under valgrind, whose own system
 * calls no table knows: nothing is confined. Linked into a test program in
 * place of egress-proxy/proxy_confine.c; never installed.
 */
#include "egress-proxy/proxy_confine.h"

#include <string.h>

enum result
proxy_confine_enter(uid_t uid, bool landlock, struct confine_layers *layers_r,
    char *detail_r, size_t detail_size)
{
	(void)uid;
	(void)landlock;
	(void)detail_r;
	(void)detail_size;
	memset(layers_r, 0, sizeof(*layers_r));
	layers_r->no_new_privs = layers_r->seccomp = layers_r->landlock = true;
	layers_r->unprivileged = layers_r->not_dumpable = true;
	layers_r->no_core = layers_r->no_capabilities = true;
	layers_r->one_thread = true;
	return RESULT_OK;
}
