/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grammar of one allow or deny entry. Called by host_policy.c and by the
 * configuration side of the supervisor. It must never widen an entry: what
 * it does not understand whole is refused with the reason.
 */
#include "egress-proxy/policy_entry.h"

#include <stdio.h>
#include <string.h>

#define POLICY_ENTRY_PORT_TLS 443U
#define POLICY_ENTRY_PORT_HTTP 80U

/* The part of an entry that is still to be read. */
struct policy_entry_text {
	const char *bytes;
	size_t len;
};

static bool
policy_entry_take(struct policy_entry_text *text, const char *prefix)
{
	size_t len = strlen(prefix);

	if (text->len < len || memcmp(text->bytes, prefix, len) != 0)
		return false;
	text->bytes += len;
	text->len -= len;
	return true;
}

static bool
policy_entry_has(const struct policy_entry_text *text, char c)
{
	return text->len > 0 && memchr(text->bytes, c, text->len) != NULL;
}

/* Bytes that stand in no entry of any kind. */
static enum policy_entry_fault
policy_entry_check_bytes(const struct policy_entry_text *text)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789-_.:/*[]@?#%+~=&";
	size_t i;

	if (text->len == 0)
		return POLICY_ENTRY_EMPTY;
	if (text->len >= POLICY_ENTRY_TEXT_MAX)
		return POLICY_ENTRY_TOO_LONG;
	for (i = 0; i < text->len; i++) {
		if ((unsigned char)text->bytes[i] >= 0x80)
			return POLICY_ENTRY_NOT_ASCII;
		if (text->bytes[i] == '\0' ||
		    strchr(good, text->bytes[i]) == NULL)
			return POLICY_ENTRY_BAD_BYTE;
	}
	return POLICY_ENTRY_OK;
}

/* "1".."65535" without leading zero. */
static enum policy_entry_fault
policy_entry_parse_port(const char *bytes, size_t len, uint16_t *port_r)
{
	unsigned long value = 0;
	size_t i;

	if (len == 0 || len > 5 || bytes[0] == '0')
		return POLICY_ENTRY_PORT;
	for (i = 0; i < len; i++) {
		if (bytes[i] < '0' || bytes[i] > '9')
			return POLICY_ENTRY_PORT;
		value = value * 10 + (unsigned long)(bytes[i] - '0');
	}
	if (value > 65535)
		return POLICY_ENTRY_PORT;
	*port_r = (uint16_t)value;
	return POLICY_ENTRY_OK;
}

/* Cut ":port" off the end of text; missing_r when there is none. */
static enum policy_entry_fault
policy_entry_cut_port(
    struct policy_entry_text *text, uint16_t *port_r, bool *missing_r)
{
	size_t at = text->len;

	*missing_r = true;
	while (
	    at > 0 && text->bytes[at - 1] != ':' && text->bytes[at - 1] != ']')
		at--;
	if (at == 0 || text->bytes[at - 1] == ']')
		return POLICY_ENTRY_OK;
	*missing_r = false;
	if (policy_entry_parse_port(text->bytes + at, text->len - at, port_r) !=
	    POLICY_ENTRY_OK)
		return POLICY_ENTRY_PORT;
	text->len = at - 1;
	return POLICY_ENTRY_OK;
}

/* A whole address, with or without brackets, where a name should be. */
static bool
policy_entry_is_address(const struct policy_entry_text *text)
{
	struct policy_entry_text inner = *text;
	struct ip_cidr ignored;

	if (policy_entry_take(&inner, "[")) {
		if (inner.len == 0 || inner.bytes[inner.len - 1] != ']')
			return false;
		inner.len--;
	}
	return ip_addr_parse_cidr(inner.bytes, inner.len, &ignored) ==
	       RESULT_OK;
}

static enum policy_entry_fault
policy_entry_from_domain(enum domain_fault fault)
{
	switch (fault) {
	case DOMAIN_OK:
		return POLICY_ENTRY_OK;
	case DOMAIN_EMPTY:
	case DOMAIN_TOO_LONG:
	case DOMAIN_LABEL_EMPTY:
	case DOMAIN_LABEL_TOO_LONG:
	case DOMAIN_LABEL_HYPHEN:
	case DOMAIN_BAD_BYTE:
	case DOMAIN_BAD_ALABEL:
		return POLICY_ENTRY_NAME;
	case DOMAIN_NOT_ASCII:
		return POLICY_ENTRY_NOT_ASCII;
	case DOMAIN_SINGLE_LABEL:
		return POLICY_ENTRY_SINGLE_LABEL;
	case DOMAIN_LOCALHOST:
		return POLICY_ENTRY_LOCALHOST;
	case DOMAIN_LOOKS_NUMERIC:
		return POLICY_ENTRY_LOOKS_NUMERIC;
	case DOMAIN_FAULT_COUNT:
		break;
	}
	return POLICY_ENTRY_NAME;
}

/* host[:port] of all kinds but raw. */
static enum policy_entry_fault
policy_entry_parse_host(struct policy_entry_text text, bool deny,
    uint16_t default_port, struct policy_entry *entry)
{
	enum policy_entry_fault fault;
	bool missing;

	if (policy_entry_has(&text, '@'))
		return POLICY_ENTRY_USERINFO;
	if (policy_entry_is_address(&text))
		return POLICY_ENTRY_IP_LITERAL;
	fault = policy_entry_cut_port(&text, &entry->port, &missing);
	if (policy_entry_is_address(&text))
		return POLICY_ENTRY_IP_LITERAL;
	if (policy_entry_has(&text, '/') || policy_entry_has(&text, '?') ||
	    policy_entry_has(&text, '#'))
		return POLICY_ENTRY_PATH;
	if (fault != POLICY_ENTRY_OK)
		return fault;
	if (missing)
		entry->port = deny ? 0 : default_port;
	if (policy_entry_has(&text, '*'))
		return POLICY_ENTRY_WILDCARD_PLACE;
	entry->name_fault =
	    deny ? domain_parse_any(text.bytes, text.len, &entry->name)
		 : domain_parse(text.bytes, text.len, &entry->name);
	return policy_entry_from_domain(entry->name_fault);
}

/* The base of a wildcard may be a single label only where it denies. */
static enum policy_entry_fault
policy_entry_parse_wildcard(struct policy_entry_text text,
    enum policy_entry_asker asker, struct policy_entry *entry)
{
	entry->kind = POLICY_ENTRY_WILDCARD;
	if (asker == POLICY_ENTRY_FROM_MANIFEST)
		return POLICY_ENTRY_WILDCARD_CONSENT;
	return policy_entry_parse_host(text, asker == POLICY_ENTRY_FROM_DENY,
	    POLICY_ENTRY_PORT_TLS, entry);
}

/* "10.1.2.0/24", "[2001:db8::]/32", without the port. */
static enum policy_entry_fault
policy_entry_parse_range(
    const struct policy_entry_text *text, struct ip_cidr *range_r)
{
	char plain[IP_ADDR_TEXT_MAX + 8];
	size_t i, len = 0;
	bool brackets = text->len > 0 && text->bytes[0] == '[';

	for (i = brackets ? 1 : 0; i < text->len; i++) {
		if (brackets && text->bytes[i] == ']') {
			brackets = false;
			continue;
		}
		if (len + 1 >= sizeof(plain))
			return POLICY_ENTRY_RAW_ADDRESS;
		plain[len++] = text->bytes[i];
	}
	if (brackets || ip_addr_parse_cidr(plain, len, range_r) != RESULT_OK ||
	    (range_r->base.family == 6) != (text->bytes[0] == '['))
		return POLICY_ENTRY_RAW_ADDRESS;
	return POLICY_ENTRY_OK;
}

static enum policy_entry_fault
policy_entry_check_range(const struct ip_cidr *range)
{
	unsigned bits = range->base.family == 4 ? 32 : 128;
	unsigned shortest = range->base.family == 4
				? POLICY_ENTRY_PREFIX_MIN_V4
				: POLICY_ENTRY_PREFIX_MIN_V6;

	if (range->prefix < shortest)
		return POLICY_ENTRY_RAW_WIDE;
	if (range->prefix == bits &&
	    ip_addr_judge(&range->base, NULL, NULL) == IP_METADATA)
		return POLICY_ENTRY_RAW_METADATA;
	return POLICY_ENTRY_OK;
}

static enum policy_entry_fault
policy_entry_parse_raw(
    struct policy_entry_text text, bool deny, struct policy_entry *entry)
{
	enum policy_entry_fault fault;
	bool missing;

	entry->kind = POLICY_ENTRY_RAW;
	if (policy_entry_has(&text, '@'))
		return POLICY_ENTRY_USERINFO;
	fault = policy_entry_cut_port(&text, &entry->port, &missing);
	if (fault != POLICY_ENTRY_OK)
		return fault;
	if (text.len == 0)
		return POLICY_ENTRY_RAW_ADDRESS;
	fault = policy_entry_parse_range(&text, &entry->range);
	if (fault != POLICY_ENTRY_OK)
		return fault;
	if (missing && !deny)
		return POLICY_ENTRY_RAW_PORT;
	/* A deny list may be as wide as it likes. */
	return deny ? POLICY_ENTRY_OK : policy_entry_check_range(&entry->range);
}

/* Canonical spelling of what was understood. */
static void
policy_entry_print(struct policy_entry *entry)
{
	static const char *const prefixes[] = {
	    [POLICY_ENTRY_TLS] = "",
	    [POLICY_ENTRY_WILDCARD] = "*.",
	    [POLICY_ENTRY_RAW] = "tcp://",
	    [POLICY_ENTRY_HTTP] = "http://",
	};
	char base[IP_ADDR_TEXT_MAX], host[DOMAIN_NAME_MAX + 1];
	char port[8] = "";
	const struct ip_cidr *range = &entry->range;
	bool v6 = range->base.family == 6;

	if (entry->port != 0)
		snprintf(port, sizeof(port), ":%u", entry->port);
	if (entry->kind == POLICY_ENTRY_RAW) {
		ip_addr_text(&range->base, base);
		if (range->prefix == (v6 ? 128 : 32))
			snprintf(host, sizeof(host), v6 ? "[%s]" : "%s", base);
		else
			snprintf(host, sizeof(host), v6 ? "[%s]/%u" : "%s/%u",
			    base, range->prefix);
	} else {
		memcpy(host, entry->name.name, sizeof(host));
	}
	snprintf(entry->text, sizeof(entry->text), "%s%s%s",
	    prefixes[entry->kind], host, port);
}

static enum policy_entry_fault
policy_entry_parse_kind(struct policy_entry_text text,
    enum policy_entry_asker asker, struct policy_entry *entry)
{
	bool deny = asker == POLICY_ENTRY_FROM_DENY;
	bool may_all = deny || asker == POLICY_ENTRY_FROM_HOST;

	if (policy_entry_take(&text, "tcp://"))
		return may_all ? policy_entry_parse_raw(text, deny, entry)
			       : POLICY_ENTRY_RAW_NOT_HERE;
	if (policy_entry_take(&text, "http://")) {
		entry->kind = POLICY_ENTRY_HTTP;
		return may_all ? policy_entry_parse_host(
				     text, deny, POLICY_ENTRY_PORT_HTTP, entry)
			       : POLICY_ENTRY_HTTP_NOT_HERE;
	}
	if (text.len >= 3 && memmem(text.bytes, text.len, "://", 3) != NULL)
		return POLICY_ENTRY_SCHEME;
	if (policy_entry_take(&text, "*."))
		return policy_entry_parse_wildcard(text, asker, entry);
	return policy_entry_parse_host(
	    text, deny, POLICY_ENTRY_PORT_TLS, entry);
}

enum policy_entry_fault
policy_entry_parse(const char *bytes, size_t len, enum policy_entry_asker asker,
    struct policy_entry *entry_r)
{
	struct policy_entry_text text = {bytes, len};
	enum policy_entry_fault fault;
	enum domain_fault name_fault;

	memset(entry_r, 0, sizeof(*entry_r));
	fault = policy_entry_check_bytes(&text);
	if (fault == POLICY_ENTRY_OK)
		fault = policy_entry_parse_kind(text, asker, entry_r);
	if (fault == POLICY_ENTRY_OK) {
		policy_entry_print(entry_r);
		return POLICY_ENTRY_OK;
	}
	name_fault = entry_r->name_fault;
	memset(entry_r, 0, sizeof(*entry_r));
	entry_r->name_fault = name_fault;
	return fault;
}

bool
policy_entry_covers_name(
    const struct policy_entry *entry, const struct domain *name)
{
	switch (entry->kind) {
	case POLICY_ENTRY_TLS:
	case POLICY_ENTRY_HTTP:
		return domain_equal(&entry->name, name);
	case POLICY_ENTRY_WILDCARD:
		return domain_is_below(name, &entry->name);
	case POLICY_ENTRY_RAW:
		break;
	}
	return false;
}

bool
policy_entry_covers_port(const struct policy_entry *entry, uint16_t port)
{
	return entry->port == 0 || entry->port == port;
}

bool
policy_entry_includes(
    const struct policy_entry *outer, const struct policy_entry *inner)
{
	if (outer->port != 0 && outer->port != inner->port)
		return false;
	if (outer->kind == POLICY_ENTRY_RAW || inner->kind == POLICY_ENTRY_RAW)
		return outer->kind == inner->kind &&
		       outer->range.prefix <= inner->range.prefix &&
		       ip_addr_cidr_contains(&outer->range, &inner->range.base);
	if ((outer->kind == POLICY_ENTRY_HTTP) !=
	    (inner->kind == POLICY_ENTRY_HTTP))
		return false;
	if (inner->kind == POLICY_ENTRY_WILDCARD)
		return outer->kind == POLICY_ENTRY_WILDCARD &&
		       (domain_equal(&outer->name, &inner->name) ||
			   domain_is_below(&inner->name, &outer->name));
	return policy_entry_covers_name(outer, &inner->name);
}

const char *
policy_entry_fault_text(
    enum policy_entry_fault fault, enum domain_fault name_fault)
{
	static const char *const texts[POLICY_ENTRY_FAULT_COUNT] = {
	    [POLICY_ENTRY_OK] = "is well formed",
	    [POLICY_ENTRY_EMPTY] = "is empty; write a host name",
	    [POLICY_ENTRY_TOO_LONG] = "is longer than a host name can be",
	    [POLICY_ENTRY_BAD_BYTE] =
		"holds a byte that stands in no host name",
	    [POLICY_ENTRY_NOT_ASCII] =
		"is not ASCII; write the xn-- form of the name",
	    [POLICY_ENTRY_SCHEME] = "has a scheme; write the host name "
				    "alone, or http:// or tcp://",
	    [POLICY_ENTRY_USERINFO] = "has a user part; write the host alone",
	    [POLICY_ENTRY_PATH] = "has a path; write the host alone, access "
				  "is per host and port",
	    [POLICY_ENTRY_PORT] = "has a port that is not 1 to 65535 without "
				  "leading zero",
	    [POLICY_ENTRY_IP_LITERAL] =
		"is an address; write a host name, or tcp://ADDRESS:PORT in "
		"the host configuration",
	    [POLICY_ENTRY_LOOKS_NUMERIC] =
		"could be read as an address by some program; write a host "
		"name",
	    [POLICY_ENTRY_LOCALHOST] =
		"is a localhost name; nothing of the host is reachable",
	    [POLICY_ENTRY_SINGLE_LABEL] =
		"has a single label; write the full name",
	    [POLICY_ENTRY_NAME] = NULL,
	    [POLICY_ENTRY_WILDCARD_PLACE] =
		"has a * that is not the whole first label; write *.example."
		"com or the full name",
	    [POLICY_ENTRY_WILDCARD_CONSENT] =
		"is a wildcard, which a manifest may have only when the user "
		"consents at install",
	    [POLICY_ENTRY_RAW_NOT_HERE] =
		"is raw TCP, which only the host configuration and the "
		"--allow of exec may grant",
	    [POLICY_ENTRY_HTTP_NOT_HERE] =
		"is plain HTTP, which only the host configuration and the "
		"--allow of exec may grant",
	    [POLICY_ENTRY_RAW_ADDRESS] =
		"needs an address or a CIDR with zero host bits after tcp://",
	    [POLICY_ENTRY_RAW_PORT] = "needs a port: tcp://ADDRESS:PORT",
	    [POLICY_ENTRY_RAW_WIDE] =
		"is wider than /8 (IPv6: /16); list the networks you mean",
	    [POLICY_ENTRY_RAW_METADATA] =
		"is a cloud metadata service, which nothing opens",
	};

	if ((unsigned)fault >= POLICY_ENTRY_FAULT_COUNT)
		return "has an unknown fault";
	if (fault == POLICY_ENTRY_NAME)
		return domain_fault_text(name_fault);
	return texts[fault];
}
