/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One entry of an allow or deny list: its grammar, its typed form and its
 * canonical spelling. Pure; used by egress-proxy, by the supervisor for
 * manifests, lockfile and configuration, and by the command line.
 *
 *   api.example.com             TLS to exactly this name, port 443
 *   api.example.com:8443        TLS, that port
 *   *.example.com[:port]        TLS to strict subdomains
 *   tcp://10.1.2.0/24:5432      raw TCP to an address or CIDR; port needed
 *   tcp://[2001:db8::]/32:22    the same in IPv6
 *   http://host[:port]          plain HTTP, port 80 if none
 *
 * In a deny list a missing port means every port and both kinds of traffic.
 * Public suffixes are checked apart (supervisor/policy/suffix_check.h): that
 * needs a list, and this does not.
 */
#ifndef EGRESS_PROXY_POLICY_ENTRY_H
#define EGRESS_PROXY_POLICY_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/domain.h"
#include "common/ip_addr.h"

/* "http://" or "*.", name, ":65535", NUL. */
#define POLICY_ENTRY_TEXT_MAX 272U
/* Shortest prefix of a range: a wider one is no list of hosts any more. */
#define POLICY_ENTRY_PREFIX_MIN_V4 8U
#define POLICY_ENTRY_PREFIX_MIN_V6 16U

enum policy_entry_kind {
	POLICY_ENTRY_TLS,
	POLICY_ENTRY_WILDCARD, /* TLS to strict subdomains */
	POLICY_ENTRY_RAW,
	POLICY_ENTRY_HTTP
};

/* Who brings the entry decides which kinds it may have. */
enum policy_entry_asker {
	POLICY_ENTRY_FROM_MANIFEST,  /* exact names only */
	POLICY_ENTRY_FROM_CONSENTED, /* a manifest, and the user said yes to
				      * its wildcards at install */
	POLICY_ENTRY_FROM_HOST,      /* host config, operator's --allow */
	POLICY_ENTRY_FROM_DENY       /* any deny list */
};

enum policy_entry_fault {
	POLICY_ENTRY_OK = 0,
	POLICY_ENTRY_EMPTY,
	POLICY_ENTRY_TOO_LONG,
	POLICY_ENTRY_BAD_BYTE, /* control, blank, quote, backslash ... */
	POLICY_ENTRY_NOT_ASCII,
	POLICY_ENTRY_SCHEME, /* https:// and every other "x://" */
	POLICY_ENTRY_USERINFO,
	POLICY_ENTRY_PATH, /* "/", "?" or "#" */
	POLICY_ENTRY_PORT, /* not 1..65535 without leading zero */
	POLICY_ENTRY_IP_LITERAL,
	POLICY_ENTRY_LOOKS_NUMERIC, /* "127.1", "0x7f000001" */
	POLICY_ENTRY_LOCALHOST,
	POLICY_ENTRY_SINGLE_LABEL,
	POLICY_ENTRY_NAME,           /* malformed name; see name_fault */
	POLICY_ENTRY_WILDCARD_PLACE, /* "a.*.b", "*a.b", "*" */
	POLICY_ENTRY_WILDCARD_CONSENT,
	POLICY_ENTRY_RAW_NOT_HERE,  /* tcp:// in a manifest */
	POLICY_ENTRY_HTTP_NOT_HERE, /* http:// in a manifest */
	POLICY_ENTRY_RAW_ADDRESS,   /* tcp:// with a name or a bad CIDR */
	POLICY_ENTRY_RAW_PORT,      /* tcp:// without a port */
	POLICY_ENTRY_RAW_WIDE,      /* wider than /8, /16 */
	POLICY_ENTRY_RAW_METADATA,  /* a metadata service itself */
	POLICY_ENTRY_FAULT_COUNT
};

struct policy_entry {
	enum policy_entry_kind kind;
	struct domain name;   /* all but RAW; of a wildcard the parent */
	struct ip_cidr range; /* RAW */
	uint16_t port;        /* 0 only in a deny list: every port */
	enum domain_fault name_fault;
	char text[POLICY_ENTRY_TEXT_MAX]; /* canonical, NUL-terminated */
};

/* Parse one entry; bytes need not be NUL-terminated. */
enum policy_entry_fault policy_entry_parse(const char *bytes, size_t len,
    enum policy_entry_asker asker, struct policy_entry *entry_r);

/* True when entry is for this canonical name; never for RAW entries. */
bool policy_entry_covers_name(
    const struct policy_entry *entry, const struct domain *name);
bool policy_entry_covers_port(const struct policy_entry *entry, uint16_t port);

/* True when all that inner lets through is let through by outer. */
bool policy_entry_includes(
    const struct policy_entry *outer, const struct policy_entry *inner);

/* What is wrong and what would be right, without the entry itself; for
 * POLICY_ENTRY_NAME the text of name_fault. Never NULL. */
const char *policy_entry_fault_text(
    enum policy_entry_fault fault, enum domain_fault name_fault);

#endif
