/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one log line of a connection: who, where to, what decided, how much,
 * how long, why it ended. Called by session_io.c once per session.
 */
#ifndef EGRESS_PROXY_SESSION_REPORT_H
#define EGRESS_PROXY_SESSION_REPORT_H

#include <stdint.h>

#include "egress-proxy/session_data.h"

void session_report_write(const struct session *session, uint64_t now_ms);

/* "host:port", or "?" while neither is known. */
void session_report_target(
    const struct session *session, char *text_r, size_t size);

#endif
