/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses and their judge. Called by the proxy for literals and for every
 * address of an answer, by the supervisor for policy entries. It must never
 * accept a second spelling of an address, and never call an address global
 * that no table says is.
 */
#include "common/ip_addr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

enum ip_addr_reach {
	NOT_GLOBAL,
	GLOBAL
};

struct ip_addr_range {
	struct ip_cidr cidr;
	enum ip_addr_reach reach;
	const char *text;
};

#define IP_ADDR_PAIR(g) (uint8_t)((g) >> 8), (uint8_t)((g)&0xff)
#define IP_SPECIAL_V4(a, b, c, d, prefix, reach, text) \
	{{{4, {a, b, c, d}}, prefix}, reach, text},
#define IP_SPECIAL_V6(a, b, c, d, e, f, g, h, prefix, reach, text)   \
	{{{6, {IP_ADDR_PAIR(a), IP_ADDR_PAIR(b), IP_ADDR_PAIR(c),    \
		  IP_ADDR_PAIR(d), IP_ADDR_PAIR(e), IP_ADDR_PAIR(f), \
		  IP_ADDR_PAIR(g), IP_ADDR_PAIR(h)}},                \
	     prefix},                                                \
	    reach, text},

static const struct ip_addr_range ip_addr_special[] = {
#include "common/ip_addr_special.inc"
};
static const struct ip_addr_range ip_addr_metadata[] = {
#include "common/ip_addr_metadata.inc"
};

#define IP_ADDR_COUNT(table) (sizeof(table) / sizeof((table)[0]))

static size_t
ip_addr_size(const struct ip_addr *addr)
{
	return addr->family == 4 ? 4 : 16;
}

enum result
ip_addr_parse(const char *bytes, size_t len, struct ip_addr *addr_r)
{
	char text[IP_ADDR_TEXT_MAX];
	size_t i;
	int family = AF_INET;

	memset(addr_r, 0, sizeof(*addr_r));
	if (len == 0 || len >= sizeof(text))
		return RESULT_BAD;
	for (i = 0; i < len; i++) {
		/* inet_pton stops at a NUL; nothing else slips past it. */
		if (bytes[i] == '\0')
			return RESULT_BAD;
		if (bytes[i] == ':')
			family = AF_INET6;
	}
	memcpy(text, bytes, len);
	text[len] = '\0';
	if (inet_pton(family, text, addr_r->bytes) != 1) {
		memset(addr_r, 0, sizeof(*addr_r));
		return RESULT_BAD;
	}
	addr_r->family = family == AF_INET ? 4 : 6;
	return RESULT_OK;
}

/* True when the bits behind prefix are all zero. */
static bool
ip_addr_host_bits_zero(const struct ip_addr *addr, unsigned prefix)
{
	unsigned bit, bits = (unsigned)ip_addr_size(addr) * 8;

	for (bit = prefix; bit < bits; bit++)
		if ((addr->bytes[bit / 8] & (0x80U >> (bit % 8))) != 0)
			return false;
	return true;
}

/* "0".."128", no leading zero, no sign. */
static enum result
ip_addr_parse_prefix(
    const char *bytes, size_t len, unsigned max, uint8_t *prefix_r)
{
	unsigned value = 0;
	size_t i;

	if (len == 0 || len > 3 || (len > 1 && bytes[0] == '0'))
		return RESULT_BAD;
	for (i = 0; i < len; i++) {
		if (bytes[i] < '0' || bytes[i] > '9')
			return RESULT_BAD;
		value = value * 10 + (unsigned)(bytes[i] - '0');
	}
	if (value > max)
		return RESULT_BAD;
	*prefix_r = (uint8_t)value;
	return RESULT_OK;
}

enum result
ip_addr_parse_cidr(const char *bytes, size_t len, struct ip_cidr *cidr_r)
{
	const char *slash = len == 0 ? NULL : memchr(bytes, '/', len);
	size_t addr_len = slash == NULL ? len : (size_t)(slash - bytes);
	unsigned bits;

	memset(cidr_r, 0, sizeof(*cidr_r));
	if (ip_addr_parse(bytes, addr_len, &cidr_r->base) != RESULT_OK)
		return RESULT_BAD;
	bits = (unsigned)ip_addr_size(&cidr_r->base) * 8;
	cidr_r->prefix = (uint8_t)bits;
	if (slash != NULL &&
	    (ip_addr_parse_prefix(slash + 1, len - addr_len - 1, bits,
		 &cidr_r->prefix) != RESULT_OK ||
		!ip_addr_host_bits_zero(&cidr_r->base, cidr_r->prefix))) {
		memset(cidr_r, 0, sizeof(*cidr_r));
		return RESULT_BAD;
	}
	return RESULT_OK;
}

bool
ip_addr_looks_numeric(const char *bytes, size_t len)
{
	size_t start, i;

	if (len > 0 && bytes[len - 1] == '.')
		len--;
	for (start = len; start > 0 && bytes[start - 1] != '.'; start--)
		;
	if (start == len)
		return false;
	if (len - start >= 2 && bytes[start] == '0' &&
	    (bytes[start + 1] == 'x' || bytes[start + 1] == 'X'))
		return true;
	for (i = start; i < len; i++)
		if (bytes[i] < '0' || bytes[i] > '9')
			return false;
	return true;
}

void
ip_addr_text(const struct ip_addr *addr, char text_r[IP_ADDR_TEXT_MAX])
{
	int family = addr->family == 4 ? AF_INET : AF_INET6;

	if ((addr->family != 4 && addr->family != 6) ||
	    inet_ntop(family, addr->bytes, text_r, IP_ADDR_TEXT_MAX) == NULL)
		memcpy(text_r, "?", 2);
}

void
ip_addr_cidr_text(const struct ip_cidr *cidr, char text_r[IP_ADDR_TEXT_MAX + 4])
{
	char base[IP_ADDR_TEXT_MAX];

	ip_addr_text(&cidr->base, base);
	snprintf(
	    text_r, IP_ADDR_TEXT_MAX + 4, "%s/%u", base, cidr->prefix % 1000U);
}

bool
ip_addr_equal(const struct ip_addr *a, const struct ip_addr *b)
{
	return a->family == b->family && a->family != 0 &&
	       memcmp(a->bytes, b->bytes, ip_addr_size(a)) == 0;
}

bool
ip_addr_cidr_contains(const struct ip_cidr *cidr, const struct ip_addr *addr)
{
	unsigned whole = cidr->prefix / 8, rest = cidr->prefix % 8;
	unsigned mask = 0xff00U >> rest & 0xffU;

	if (cidr->base.family != addr->family || addr->family == 0 ||
	    whole > ip_addr_size(addr))
		return false;
	if (memcmp(cidr->base.bytes, addr->bytes, whole) != 0)
		return false;
	return rest == 0 ||
	       ((cidr->base.bytes[whole] ^ addr->bytes[whole]) & mask) == 0;
}

static void
ip_addr_take_v4(const uint8_t *bytes, uint8_t flip, struct ip_addr *inner_r)
{
	unsigned i;

	memset(inner_r, 0, sizeof(*inner_r));
	inner_r->family = 4;
	for (i = 0; i < 4; i++)
		inner_r->bytes[i] = bytes[i] ^ flip;
}

static bool
ip_addr_starts(const uint8_t *bytes, const char *prefix, size_t len)
{
	return memcmp(bytes, prefix, len) == 0;
}

/* 64:ff9b:1::/48 (RFC 8215): the translator's own prefix lies below it and
 * may be a /96 (IPv4 last) or the /48 itself (IPv4 around the u octet). */
static void
ip_addr_take_local_nat64(const uint8_t *b, struct ip_addr *inner_r)
{
	static const uint8_t zero[4];
	uint8_t spread[4] = {b[6], b[7], b[9], b[10]};

	ip_addr_take_v4(
	    memcmp(b + 12, zero, 4) != 0 ? b + 12 : spread, 0, inner_r);
}

bool
ip_addr_embedded(const struct ip_addr *addr, struct ip_addr *inner_r)
{
	const uint8_t *b = addr->bytes;
	bool found = true;

	memset(inner_r, 0, sizeof(*inner_r));
	if (addr->family != 6)
		return false;
	if (ip_addr_starts(b, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12) ||
	    ip_addr_starts(b, "\0\0\0\0\0\0\0\0\0\0\0\0", 12) ||
	    ip_addr_starts(b, "\0\0\0\0\0\0\0\0\xff\xff\0\0", 12) ||
	    ip_addr_starts(b, "\0\x64\xff\x9b\0\0\0\0\0\0\0\0", 12))
		/* In order of prefixes: the last does the same.
		 * NOLINTNEXTLINE(bugprone-branch-clone) */
		ip_addr_take_v4(b + 12, 0, inner_r);
	else if (ip_addr_starts(b, "\0\x64\xff\x9b\0\x01", 6))
		ip_addr_take_local_nat64(b, inner_r);
	else if (ip_addr_starts(b, "\x20\x02", 2))
		ip_addr_take_v4(b + 2, 0, inner_r);
	else if (ip_addr_starts(b, "\x20\x01\0\0", 4))
		ip_addr_take_v4(b + 12, 0xff, inner_r);
	else if ((b[8] & 0xfcU) == 0 && ip_addr_starts(b + 9, "\0\x5e\xfe", 3))
		ip_addr_take_v4(b + 12, 0, inner_r);
	else
		found = false;
	return found;
}

/* The longest range of the table that holds addr, or NULL. */
static const struct ip_addr_range *
ip_addr_find(
    const struct ip_addr_range *table, size_t count, const struct ip_addr *addr)
{
	const struct ip_addr_range *best = NULL;
	size_t i;

	for (i = 0; i < count; i++)
		if (ip_addr_cidr_contains(&table[i].cidr, addr) &&
		    (best == NULL || table[i].cidr.prefix > best->cidr.prefix))
			best = &table[i];
	return best;
}

static bool
ip_addr_in_plain(const struct ip_addr *addr, const struct ip_cidr_list *ranges)
{
	size_t i;

	if (ranges == NULL)
		return false;
	for (i = 0; i < ranges->count; i++)
		if (ip_addr_cidr_contains(&ranges->items[i], addr))
			return true;
	return false;
}

/* An address as it stands, without looking inside it. */
static enum ip_verdict
ip_addr_judge_plain(const struct ip_addr *addr, const struct ip_cidr_list *own,
    const char **rule_r)
{
	const struct ip_addr_range *range;

	range = ip_addr_find(
	    ip_addr_metadata, IP_ADDR_COUNT(ip_addr_metadata), addr);
	if (range != NULL) {
		*rule_r = range->text;
		return IP_METADATA;
	}
	range =
	    ip_addr_find(ip_addr_special, IP_ADDR_COUNT(ip_addr_special), addr);
	if (range != NULL && range->reach == NOT_GLOBAL) {
		*rule_r = range->text;
		return IP_SPECIAL;
	}
	if (ip_addr_in_plain(addr, own)) {
		*rule_r = "an address or network of this host";
		return IP_OWN_HOST;
	}
	*rule_r = "globally reachable unicast";
	return IP_GLOBAL;
}

enum ip_verdict
ip_addr_judge(const struct ip_addr *addr, const struct ip_cidr_list *own,
    const char **rule_r)
{
	const char *ignored, *inner_rule;
	enum ip_verdict verdict, inner_verdict;
	struct ip_addr inner;

	if (rule_r == NULL)
		rule_r = &ignored;
	*rule_r = "no address";
	if (addr->family != 4 && addr->family != 6)
		return IP_SPECIAL;
	verdict = ip_addr_judge_plain(addr, own, rule_r);
	if (!ip_addr_embedded(addr, &inner) || verdict == IP_METADATA)
		return verdict;
	inner_verdict = ip_addr_judge_plain(&inner, own, &inner_rule);
	if (inner_verdict == IP_GLOBAL)
		return verdict;
	/* ::1 and :: are no embedded 0.0.0.1: their own range says more. */
	if (verdict == IP_SPECIAL && inner.bytes[0] == 0)
		return verdict;
	*rule_r = inner_rule;
	return inner_verdict == IP_SPECIAL ? IP_EMBEDDED : inner_verdict;
}

bool
ip_addr_in(const struct ip_addr *addr, const struct ip_cidr_list *ranges)
{
	struct ip_addr inner;

	return ip_addr_in_plain(addr, ranges) ||
	       (ip_addr_embedded(addr, &inner) &&
		   ip_addr_in_plain(&inner, ranges));
}

socklen_t
ip_addr_to_sockaddr(const struct ip_addr *addr, uint16_t port,
    struct sockaddr_storage *storage_r)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

	memset(storage_r, 0, sizeof(*storage_r));
	if (addr->family == 4) {
		v4.sin_port = htons(port);
		memcpy(&v4.sin_addr, addr->bytes, 4);
		memcpy(storage_r, &v4, sizeof(v4));
		return sizeof(v4);
	}
	if (addr->family != 6)
		return 0;
	v6.sin6_port = htons(port);
	memcpy(&v6.sin6_addr, addr->bytes, 16);
	memcpy(storage_r, &v6, sizeof(v6));
	return sizeof(v6);
}

enum result
ip_addr_from_sockaddr(const struct sockaddr *sa, socklen_t len,
    struct ip_addr *addr_r, uint16_t *port_r)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	memset(addr_r, 0, sizeof(*addr_r));
	*port_r = 0;
	if (len >= sizeof(v4) && sa->sa_family == AF_INET) {
		memcpy(&v4, sa, sizeof(v4));
		addr_r->family = 4;
		memcpy(addr_r->bytes, &v4.sin_addr, 4);
		*port_r = ntohs(v4.sin_port);
		return RESULT_OK;
	}
	if (len >= sizeof(v6) && sa->sa_family == AF_INET6) {
		memcpy(&v6, sa, sizeof(v6));
		addr_r->family = 6;
		memcpy(addr_r->bytes, &v6.sin6_addr, 16);
		*port_r = ntohs(v6.sin6_port);
		return RESULT_OK;
	}
	return RESULT_BAD;
}
