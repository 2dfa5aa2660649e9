/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Happy eyeballs (RFC 8305) through a corporate proxy. An attempt connects
 * to the proxy, asks it for one judged address by CONNECT and waits for its
 * answer; one attempt is started every 250 ms, or as soon as one fails, in
 * the order of common/dial.h. The first 2xx wins and the others are closed.
 * The proxy never hears a name: it would look it up again.
 * Used by session_net.c and llm-key's upstream.c.
 */
#ifndef EGRESS_PROXY_PARENT_DIAL_H
#define EGRESS_PROXY_PARENT_DIAL_H

#include "common/buffer.h"
#include "common/dial.h"

struct parent_dial; /* opaque */

/* Where to go and by whom. */
struct parent_dial_plan {
	const struct ip_addr *proxies; /* of the corporate proxy, not judged:
					* the host's configuration names it */
	size_t proxy_count;
	uint16_t proxy_port;
	const struct ip_addr *targets; /* judged, every one of them */
	size_t target_count;
	uint16_t target_port;
	struct dial_options options; /* timeout_ms: of each connection to the
				      * proxy; congestion must outlive it */
};

/* RESULT_OK: fd is a non-blocking socket that now leads to target, and the
 * callee owns it; rest are the bytes behind the proxy's answer, to be copied.
 * Otherwise fd is -1: RESULT_TIMEOUT (no connection to the proxy),
 * RESULT_REFUSED (it said no, or nothing that is HTTP), RESULT_CLOSED,
 * RESULT_SYSTEM: what the last attempt ended with. */
typedef void parent_dial_done(enum result result, int fd,
    const struct ip_addr *target, const struct buffer *rest, void *context);

/* done is called exactly once, never before this returns, unless
 * parent_dial_cancel comes first. When it is called the parent_dial is gone.
 * How long a proxy may think is the caller's deadline: nothing here ends an
 * attempt that was asked. RESULT_TOO_LONG: no address, or more than
 * DIAL_ADDRESSES_MAX. */
enum result parent_dial_start(struct event_base *base,
    const struct parent_dial_plan *plan, parent_dial_done *done, void *context,
    struct parent_dial **parent_r);
void parent_dial_cancel(struct parent_dial **parent);

#endif
