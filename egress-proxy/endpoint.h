/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HOST:PORT as the host's own configuration writes it: a name (single labels
 * too) or a literal address, IPv6 in brackets. For the corporate proxy of
 * egress-proxy and llm-key. Pure.
 */
#ifndef EGRESS_PROXY_ENDPOINT_H
#define EGRESS_PROXY_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/domain.h"
#include "common/ip_addr.h"

struct endpoint {
	uint16_t port;          /* 0: there is none */
	struct ip_addr address; /* family 0: it is a name */
	struct domain name;
};

/* A name or a literal without a port. */
bool endpoint_parse_host(
    const char *host, size_t len, struct endpoint *endpoint_r);

/* HOST:PORT; the port in plain digits, 1 to 65535. On false *endpoint_r is
 * emptied. */
bool endpoint_parse(const char *text, struct endpoint *endpoint_r);

#endif
