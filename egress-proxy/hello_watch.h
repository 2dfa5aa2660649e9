/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What two TLS ends say in the clear behind a ClientHello that was judged,
 * as far as it can bring another one. A server may ask for a second hello
 * (HelloRetryRequest, RFC 8446 section 4.1.4); a client may send one unasked,
 * before the answer in the hope of a HelloRetryRequest, or behind it, which
 * old servers take (server gated cryptography). Only record and message
 * headers are followed, bytes in any segmentation, a byte at most once.
 * Pure. Used by tunnel.c for the first bytes of a tunnel.
 */
#ifndef EGRESS_PROXY_HELLO_WATCH_H
#define EGRESS_PROXY_HELLO_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One direction's place in its records; zero-initialise, no cleanup. */
struct hello_watch {
	uint32_t message_left; /* server: of the message, behind its start */
	uint16_t record_left;  /* of the record, behind its header */
	uint8_t header[5];     /* of the record, as far as it came */
	uint8_t header_len;
	uint8_t start[4];  /* server: handshake header of the message */
	uint8_t gathered;  /* server: bytes of its start looked at */
	bool differs : 1;  /* server: not the random of a retry */
	bool answered : 1; /* client: the server has said its ServerHello */
	bool some : 1;     /* the record's first byte was looked at */
};

enum hello_watch_verdict {
	HELLO_WATCH_MORE,  /* all may pass, what follows must be shown, too */
	HELLO_WATCH_OPEN,  /* no second hello can be meant any more */
	HELLO_WATCH_RETRY, /* server: it asked for a second hello */
	HELLO_WATCH_STOP,  /* client: a handshake record begins at *pass_r */
	HELLO_WATCH_HELLO  /* client: a second hello, and none was asked for */
};

/* The server's next bytes; all of them may pass. Until its ServerHello:
 * alerts and other messages are skipped. OPEN for a ServerHello that is not
 * a retry, a fatal alert, and for what is not TLS. A retry that is followed
 * by more in the same bytes is RETRY. *open_r: OPEN, too. */
enum hello_watch_verdict hello_watch_server(
    struct hello_watch *watch, const uint8_t *bytes, size_t len, bool *open_r);

/* The client's next bytes, of which the first *pass_r may pass. Before the
 * answer records without handshake (early data) pass, a handshake record
 * stops: show it again, from its first byte, when answered was set, or
 * judge it. After the answer the first handshake message decides. OPEN for
 * what is not TLS: no TLS server goes on behind it. */
enum hello_watch_verdict hello_watch_client(struct hello_watch *watch,
    const uint8_t *bytes, size_t len, size_t *pass_r);

#endif
