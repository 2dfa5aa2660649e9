/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's own addresses and the networks it is directly attached to, so
 * that the proxy refuses them; link-local ones of IPv6 need no list. Called by
 * egress_plan.c and egress_live.c; must never leave an interface out because it
 * is odd.
 */
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>

#include "common/ip_addr.h"
#include "supervisor/engine/egress_plan.h"

#define EGRESS_PLAN_OWN_MAX 1024U

static enum result
egress_plan_own_add(json_t *list, const struct ip_cidr *cidr)
{
	char text[IP_ADDR_TEXT_MAX + 4];

	if (json_array_size(list) >= EGRESS_PLAN_OWN_MAX)
		return RESULT_TOO_LONG;
	ip_addr_cidr_text(cidr, text);
	return json_array_append_new(list, json_string(text)) == 0
		   ? RESULT_OK
		   : RESULT_NO_MEMORY;
}

/* Leading one bits of a netmask. */
static uint8_t
egress_plan_own_prefix(const struct sockaddr *mask, size_t bytes)
{
	struct ip_addr address = {0};
	uint16_t port;
	uint8_t prefix = 0;
	socklen_t len = bytes == 4 ? sizeof(struct sockaddr_in)
				   : sizeof(struct sockaddr_in6);

	if (mask == NULL ||
	    ip_addr_from_sockaddr(mask, len, &address, &port) != RESULT_OK)
		return (uint8_t)(bytes * 8);
	while (prefix < bytes * 8 &&
	       (address.bytes[prefix / 8] & (0x80U >> (prefix % 8))) != 0)
		prefix++;
	return prefix;
}

static enum result
egress_plan_own_interface(json_t *list, const struct ifaddrs *one)
{
	bool v4 = one->ifa_addr->sa_family == AF_INET;
	size_t bytes = v4 ? 4 : 16;
	struct ip_cidr cidr = {.prefix = (uint8_t)(bytes * 8)};
	uint16_t port;
	enum result result;

	if (ip_addr_from_sockaddr(one->ifa_addr,
		v4 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6),
		&cidr.base, &port) != RESULT_OK)
		return RESULT_INTERNAL;
	/* Refused whoever's they are, and bridges have them by the hundred. */
	if (!v4 && cidr.base.bytes[0] == 0xfe &&
	    (cidr.base.bytes[1] & 0xc0U) == 0x80)
		return RESULT_OK;
	result = egress_plan_own_add(list, &cidr);
	cidr.prefix = egress_plan_own_prefix(one->ifa_netmask, bytes);
	/* A prefix of 0 would be every address: not a network. */
	if (result != RESULT_OK || cidr.prefix == 0 || cidr.prefix == bytes * 8)
		return result;
	for (unsigned bit = cidr.prefix; bit < bytes * 8; bit++)
		cidr.base.bytes[bit / 8] &= (uint8_t) ~(0x80U >> (bit % 8));
	return egress_plan_own_add(list, &cidr);
}

enum result
egress_plan_own(json_t *list)
{
	struct ifaddrs *all = NULL;
	enum result result = RESULT_OK;

	if (getifaddrs(&all) != 0)
		return RESULT_SYSTEM;
	for (const struct ifaddrs *one = all;
	     one != NULL && result == RESULT_OK; one = one->ifa_next) {
		if (one->ifa_addr != NULL &&
		    (one->ifa_addr->sa_family == AF_INET ||
			one->ifa_addr->sa_family == AF_INET6))
			result = egress_plan_own_interface(list, one);
	}
	freeifaddrs(all);
	return result;
}
