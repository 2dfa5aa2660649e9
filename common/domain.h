/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one canonical spelling of a host name: lower case, one trailing dot
 * dropped, LDH labels (RFC 952, RFC 1123 section 2.1, RFC 5890 2.3.1).
 * It is made once and is the only spelling used to match, resolve, dial,
 * compare with SNI and log. Pure; used by egress-proxy, the supervisor and
 * the broker.
 */
#ifndef COMMON_DOMAIN_H
#define COMMON_DOMAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/result.h"

#define DOMAIN_NAME_MAX 253U /* RFC 1035 2.3.4, textual form */
#define DOMAIN_LABEL_MAX 63U

/* Why a spelling was refused; domain_fault_text says it in a sentence. */
enum domain_fault {
	DOMAIN_OK = 0,
	DOMAIN_EMPTY,
	DOMAIN_TOO_LONG,
	DOMAIN_LABEL_EMPTY, /* "a..b", ".a", two trailing dots */
	DOMAIN_LABEL_TOO_LONG,
	DOMAIN_LABEL_HYPHEN,  /* leading or trailing hyphen */
	DOMAIN_BAD_BYTE,      /* outside LDH: NUL, '_', '%', space ... */
	DOMAIN_NOT_ASCII,     /* IDN is converted in the config tool only */
	DOMAIN_BAD_ALABEL,    /* "xn--" with nothing or garbage behind it */
	DOMAIN_SINGLE_LABEL,  /* "intranet" */
	DOMAIN_LOCALHOST,     /* localhost and *.localhost (RFC 6761) */
	DOMAIN_LOOKS_NUMERIC, /* last label numeric or 0x...: an odd address */
	DOMAIN_FAULT_COUNT
};

struct domain {
	char name[DOMAIN_NAME_MAX + 1]; /* canonical, NUL-terminated */
	size_t len;
};

/* bytes need not be NUL-terminated. On any fault *domain_r is emptied.
 * A strict dotted quad is DOMAIN_LOOKS_NUMERIC: ask ip_addr first. */
enum domain_fault domain_parse(
    const char *bytes, size_t len, struct domain *domain_r);

/* As domain_parse, but single labels and localhost names are allowed
 * through (a host config may name them for a private provider). */
enum domain_fault domain_parse_any(
    const char *bytes, size_t len, struct domain *domain_r);

bool domain_equal(const struct domain *a, const struct domain *b);

/* True when name is a strict subdomain of parent (label by label). */
bool domain_is_below(const struct domain *name, const struct domain *parent);

/* Number of labels. */
unsigned domain_label_count(const struct domain *domain);

const char *domain_fault_text(enum domain_fault fault);

#endif
