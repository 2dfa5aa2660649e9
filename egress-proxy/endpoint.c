/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads HOST:PORT of the host's configuration. Called while options are
 * read. Must never accept a second spelling of a number.
 */
#include "egress-proxy/endpoint.h"

#include <string.h>

/* 1..65535 in plain digits, no leading zero. */
static bool
endpoint_parse_port(const char *text, uint16_t *port_r)
{
	unsigned port = 0;
	size_t len = strlen(text);

	if (len == 0 || len > 5 || text[0] == '0')
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		port = port * 10 + (unsigned)(text[i] - '0');
	}
	*port_r = (uint16_t)port;
	return port <= 65535;
}

bool
endpoint_parse_host(const char *host, size_t len, struct endpoint *endpoint_r)
{
	struct ip_addr *address = &endpoint_r->address;

	if (len >= 2 && host[0] == '[' && host[len - 1] == ']')
		return ip_addr_parse(host + 1, len - 2, address) == RESULT_OK &&
		       address->family == 6;
	if (ip_addr_parse(host, len, address) == RESULT_OK)
		return address->family == 4;
	memset(address, 0, sizeof(*address));
	return domain_parse_any(host, len, &endpoint_r->name) == DOMAIN_OK;
}

bool
endpoint_parse(const char *text, struct endpoint *endpoint_r)
{
	const char *colon = strrchr(text, ':');

	memset(endpoint_r, 0, sizeof(*endpoint_r));
	if (colon != NULL &&
	    endpoint_parse_host(text, (size_t)(colon - text), endpoint_r) &&
	    endpoint_parse_port(colon + 1, &endpoint_r->port))
		return true;
	memset(endpoint_r, 0, sizeof(*endpoint_r));
	return false;
}
