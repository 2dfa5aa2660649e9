/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Happy eyeballs (RFC 8305) over addresses that were judged already: sorts
 * (IPv6 first, families interleaved), starts one attempt every 250 ms, the
 * first connection wins and the others are closed. Looks nothing up.
 * Used by egress-proxy and llm-key.
 */
#ifndef COMMON_DIAL_H
#define COMMON_DIAL_H

#include <event2/event.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ip_addr.h"
#include "common/result.h"

#define DIAL_ATTEMPT_DELAY_MS 250U /* RFC 8305 section 5 */
#define DIAL_ADDRESSES_MAX 32U

struct dial; /* opaque */

/* RESULT_OK: fd is a connected non-blocking socket the callee now owns and
 * address is the one used. Otherwise fd is -1 and error the last errno:
 * RESULT_TIMEOUT, RESULT_SYSTEM. */
typedef void dial_done(enum result result, int fd,
    const struct ip_addr *address, int error, void *context);

struct dial_options {
	unsigned timeout_ms;       /* for all attempts together */
	unsigned attempt_delay_ms; /* 0: DIAL_ATTEMPT_DELAY_MS */
	const char *congestion;    /* TCP_CONGESTION or NULL */
};

/* done is called exactly once, never before this returns, unless
 * dial_cancel comes first. When it is called the dial is gone: forget the
 * pointer. RESULT_TOO_LONG: no address, or more than DIAL_ADDRESSES_MAX.
 * Confined callers need socket, connect, getsockopt (and setsockopt with
 * congestion). */
enum result dial_start(struct event_base *base, const struct ip_addr *addresses,
    size_t count, uint16_t port, const struct dial_options *options,
    dial_done *done, void *context, struct dial **dial_r);
void dial_cancel(struct dial **dial);

/* The order attempts would be made in (pure; for tests). */
void dial_order(struct ip_addr *addresses, size_t count);

#endif
