/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a tunnel that looks for a second ClientHello behind the judged
 * one (hello_watch.h says what there can be). It costs no call to the
 * kernel: bytes are looked at where they lie between read and write. Used by
 * tunnel.c alone.
 */
#ifndef EGRESS_PROXY_TUNNEL_HELLO_H
#define EGRESS_PROXY_TUNNEL_HELLO_H

#include "common/result.h"
#include "egress-proxy/tunnel.h"

/* Keep bytes (copied) behind those that are held; there were none. And
 * forget them. */
enum result tunnel_hello_keep(
    struct tunnel_end *from, const void *bytes, size_t count);
void tunnel_hello_drop(struct tunnel_end *from);

/* from read count bytes: how many may pass now. Sets stopped, retry and
 * refused. */
size_t tunnel_hello_look(struct tunnel *tunnel, const struct tunnel_end *from,
    const uint8_t *bytes, size_t count);

/* A server that ended without an answer: nothing waits for one. */
void tunnel_hello_ended(struct tunnel *tunnel);

/* True once for each retry: the client stopped before its second hello, and
 * all before it has gone. */
bool tunnel_hello_due(struct tunnel *tunnel);

#endif
