/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses and the judge of addresses. Parsing is strict: a dotted quad
 * without leading zeros or an RFC 4291 literal without zone id; inet_aton
 * is never used on foreign text. Judging follows the IANA IPv4 and IPv6
 * Special-Purpose Address Registries (table in ip_addr_special.inc, with
 * its source and date) and unwraps embedded IPv4 (mapped, compatible,
 * NAT64 64:ff9b::/96 and 64:ff9b:1::/48, 6to4, Teredo, ISATAP).
 * Pure; used by egress-proxy, supervisor, broker.
 */
#ifndef COMMON_IP_ADDR_H
#define COMMON_IP_ADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/result.h"

#define IP_ADDR_TEXT_MAX 46U /* INET6_ADDRSTRLEN */

struct ip_addr {
	uint8_t family;    /* 4 or 6; 0 = empty */
	uint8_t bytes[16]; /* network order; 4 or 16 used */
};

struct ip_cidr {
	struct ip_addr base; /* host bits are zero */
	uint8_t prefix;      /* 0..32 or 0..128 */
};

/* A set of ranges with a count, owned by the caller. */
struct ip_cidr_list {
	const struct ip_cidr *items;
	size_t count;
};

enum ip_verdict {
	IP_GLOBAL = 0, /* globally reachable unicast */
	IP_SPECIAL,    /* in a special-purpose range; see rule_r */
	IP_EMBEDDED,   /* carries an IPv4 address that is special */
	IP_OWN_HOST,   /* one of the ranges in the own list */
	IP_METADATA,   /* a cloud's metadata service, plain or embedded:
			* no policy opens it */
};

/* Strict parse; bytes need not be NUL-terminated. Brackets are not part of
 * an address. RESULT_BAD otherwise. */
enum result ip_addr_parse(
    const char *bytes, size_t len, struct ip_addr *addr_r);

/* "10.0.0.0/8"; a bare address is /32 or /128. Host bits set: RESULT_BAD. */
enum result ip_addr_parse_cidr(
    const char *bytes, size_t len, struct ip_cidr *cidr_r);

/* True for text that some parser somewhere would take for an IPv4 address:
 * last label all digits or starting with 0x ("127.1", "0x7f.1", "1e1.0.0.1",
 * "2130706433", "0x"). */
bool ip_addr_looks_numeric(const char *bytes, size_t len);

/* Canonical text (RFC 5952), always NUL-terminated. */
void ip_addr_text(const struct ip_addr *addr, char text_r[IP_ADDR_TEXT_MAX]);
void ip_addr_cidr_text(
    const struct ip_cidr *cidr, char text_r[IP_ADDR_TEXT_MAX + 4]);

bool ip_addr_equal(const struct ip_addr *a, const struct ip_addr *b);
bool ip_addr_cidr_contains(
    const struct ip_cidr *cidr, const struct ip_addr *addr);

/* Judge an address. own holds the host's own addresses and on-link
 * prefixes (may be empty). rule_r (may be NULL) gets a static text naming
 * the range, e.g. "10.0.0.0/8 private-use". Everything not known to be
 * global is refused. */
enum ip_verdict ip_addr_judge(const struct ip_addr *addr,
    const struct ip_cidr_list *own, const char **rule_r);

/* True when addr, or the IPv4 address it embeds, lies in one of ranges. */
bool ip_addr_in(const struct ip_addr *addr, const struct ip_cidr_list *ranges);

/* The IPv4 address that addr carries (mapped, compatible, NAT64, 6to4,
 * Teredo client, ISATAP). False when it carries none. */
bool ip_addr_embedded(const struct ip_addr *addr, struct ip_addr *inner_r);

/* To and from socket addresses; port in host order. */
socklen_t ip_addr_to_sockaddr(const struct ip_addr *addr, uint16_t port,
    struct sockaddr_storage *storage_r);
enum result ip_addr_from_sockaddr(const struct sockaddr *sa, socklen_t len,
    struct ip_addr *addr_r, uint16_t *port_r);

#endif
