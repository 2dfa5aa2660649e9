/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session needs only while its fate is open: made when it is
 * accepted and again when a server asks for a second hello, given up when
 * bytes flow. Used by session.c, session_io.c and tests/machine.
 */
#ifndef EGRESS_PROXY_SESSION_WORK_H
#define EGRESS_PROXY_SESSION_WORK_H

#include "egress-proxy/session_data.h"

/* name is the canonical target when it is known, or NULL. */
enum result session_work_new(
    const struct domain *name, struct session_work **work_r);
void session_work_free(struct session_work **work);

#endif
