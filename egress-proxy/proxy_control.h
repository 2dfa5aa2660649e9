/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's messages to the proxy: sandbox_open, listen,
 * policy_replace, sandbox_close, resolver_replace, log_replace, stats. A
 * request that cannot be done is answered with `failed`; one that must not
 * be sent ends the process (common/peer.h).
 */
#ifndef EGRESS_PROXY_PROXY_CONTROL_H
#define EGRESS_PROXY_PROXY_CONTROL_H

#include "common/confine.h"
#include "common/peer.h"
#include "egress-proxy/proxy.h"

struct proxy_control {
	struct proxy *proxy;
	struct peer *peer;
	int exit_code; /* valid once the loop was stopped */
};

/* Start to serve the control socket; proxy is running. */
enum result proxy_control_init(
    struct proxy_control *control, struct proxy *proxy);
void proxy_control_close(struct proxy_control *control);

/* Say what is in force and that requests may come. */
enum result proxy_control_ready(
    struct proxy_control *control, const struct confine_layers *layers);

#endif
