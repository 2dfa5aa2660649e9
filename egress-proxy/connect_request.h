/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request a client sends to the proxy: CONNECT host:port, or a plain
 * HTTP request in absolute form. Strict in everything that decides where
 * bytes go: one spelling, one authority, no decoding. Pure: bytes in, enum
 * out. Used by egress-proxy's session.
 */
#ifndef EGRESS_PROXY_CONNECT_REQUEST_H
#define EGRESS_PROXY_CONNECT_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "common/domain.h"
#include "common/http_head.h"
#include "common/ip_addr.h"
#include "egress-proxy/deny.h"

enum connect_request_status {
	CONNECT_REQUEST_OK = 0,
	CONNECT_REQUEST_NEED_MORE,
	CONNECT_REQUEST_REFUSED /* code, http_status and detail say why */
};

/* Where a request wants to go: a canonical name or an address, never both.
 * Single labels and localhost come through; no policy can list them. */
struct connect_request_target {
	bool is_address;
	struct domain name;
	struct ip_addr address;
	uint16_t port;
};

struct connect_request {
	bool plain_http; /* otherwise CONNECT */
	struct connect_request_target target;
	struct http_text path; /* plain HTTP: origin form as sent; an empty
				* one is "/" when rewritten */
	struct http_head head; /* points into the caller's bytes */

	/* Only when refused. */
	enum deny_code code;
	unsigned http_status; /* for deny_reply; 0: the code's own */
	const char *detail;   /* static sentence for the log */
};

/* Parse the request at the start of bytes. On OK head.head_len bytes belong
 * to the head; what follows is body or tunnel. A CONNECT has no body. */
enum connect_request_status connect_request_parse(
    const char *bytes, size_t len, struct connect_request *request_r);

/* "host:port" with a required port, as in CONNECT; also what `egress check`
 * takes. RESULT_BAD for everything else. */
enum result connect_request_parse_authority(
    const char *bytes, size_t len, struct connect_request_target *target_r);

/* The name or the address without brackets, for logs and decisions. */
void connect_request_host_text(const struct connect_request_target *target,
    char text_r[DOMAIN_NAME_MAX + 1]);

/* Append the head that goes upstream for a plain HTTP request: origin form,
 * Host from the target, hop-by-hop and proxy headers and those that
 * Connection names dropped, Connection: close. Nothing is decoded. */
enum result connect_request_rewrite(
    const struct connect_request *request, struct buffer *head);

#endif
