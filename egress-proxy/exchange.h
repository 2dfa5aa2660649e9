/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One plain HTTP request and its response between two connected sockets.
 * The request head was judged and is written anew, the body is framed anew,
 * nothing behind it is passed on; the response head loses its hop-by-hop
 * fields, its body is passed until it ends as its head said, or until the
 * upstream ends. A client of HTTP/1.0 gets no chunks: their content, and the
 * end of the connection ends it. Like tunnel.h it has no events of its own.
 */
#ifndef EGRESS_PROXY_EXCHANGE_H
#define EGRESS_PROXY_EXCHANGE_H

#include "common/buffer.h"
#include "common/result.h"
#include "egress-proxy/connect_request.h"
#include "egress-proxy/egress_quota.h"
#include "common/http_body.h"

#define EXCHANGE_BUFFER 65536U

struct exchange; /* opaque; freed with exchange_free */

enum exchange_status {
	EXCHANGE_WAIT,        /* nothing to do until the next event */
	EXCHANGE_AGAIN,       /* its turn is over, but there is more */
	EXCHANGE_THROTTLED,   /* waits for the quota */
	EXCHANGE_DONE,        /* the response was delivered */
	EXCHANGE_BROKEN,      /* reset, or ended in the middle */
	EXCHANGE_BAD_REQUEST, /* the body's framing */
	EXCHANGE_BAD_RESPONSE /* the head; nothing was sent to the client */
};

/* request was parsed from the client's bytes and judged; rest are the bytes
 * behind its head. Answers "100 Continue" itself when the client waits for
 * it. */
enum result exchange_new(int client_fd, int upstream_fd,
    const struct connect_request *request, const void *rest, size_t rest_len,
    struct exchange **exchange_r);
void exchange_free(struct exchange **exchange);

/* Note what an end can do: 0 is the client, 1 the upstream; can as
 * TUNNEL_CAN_... Then move what can be moved. */
void exchange_note(struct exchange *exchange, unsigned end, unsigned can);
enum exchange_status exchange_continue(
    struct exchange *exchange, struct egress_quota *quota);

/* Bytes written to the upstream and to the client so far. */
uint64_t exchange_up_bytes(const struct exchange *exchange);
uint64_t exchange_down_bytes(const struct exchange *exchange);

#endif
