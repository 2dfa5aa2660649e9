/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canonical spelling of a host name. Called wherever a name enters: the
 * request head, the ClientHello, a policy entry. It must never look a name
 * up, repair one, or accept a spelling that two parsers could read as two
 * names.
 */
#include "common/domain.h"

#include <string.h>

#include "common/ip_addr.h"

/* RFC 3492 section 5: parameters of Punycode for IDNA. */
enum {
	PUNY_BASE = 36,
	PUNY_TMIN = 1,
	PUNY_TMAX = 26,
	PUNY_SKEW = 38,
	PUNY_DAMP = 700,
	PUNY_BIAS = 72,
	PUNY_FIRST = 128
};
#define PUNY_CODE_MAX 0x10FFFFU

static bool
domain_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static char
domain_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static enum domain_fault
domain_check_byte(char c)
{
	if ((unsigned char)c >= 0x80)
		return DOMAIN_NOT_ASCII;
	if ((c >= 'a' && c <= 'z') || domain_is_digit(c) || c == '-')
		return DOMAIN_OK;
	return DOMAIN_BAD_BYTE;
}

static int
domain_puny_digit(char c)
{
	if (c >= 'a' && c <= 'z')
		return c - 'a';
	if (domain_is_digit(c))
		return c - '0' + 26;
	return -1;
}

static unsigned
domain_puny_adapt(unsigned delta, unsigned points, bool first)
{
	unsigned k = 0;

	delta = first ? delta / PUNY_DAMP : delta / 2;
	delta += delta / points;
	while (delta > ((PUNY_BASE - PUNY_TMIN) * PUNY_TMAX) / 2) {
		delta /= PUNY_BASE - PUNY_TMIN;
		k += PUNY_BASE;
	}
	return k + (PUNY_BASE - PUNY_TMIN + 1) * delta / (delta + PUNY_SKEW);
}

/* One generalized variable-length integer (RFC 3492 section 3.3), added to
 * *i_r. False when it ends early, overflows or holds a foreign byte. */
static bool
domain_puny_integer(
    const char *code, size_t len, size_t *at, unsigned bias, unsigned *i_r)
{
	unsigned weight = 1, k, threshold;
	int digit;

	for (k = PUNY_BASE;; k += PUNY_BASE) {
		if (*at >= len)
			return false;
		digit = domain_puny_digit(code[(*at)++]);
		if (digit < 0 ||
		    (unsigned)digit > (0x7FFFFFFFU - *i_r) / weight)
			return false;
		*i_r += (unsigned)digit * weight;
		threshold = k <= bias               ? PUNY_TMIN
			    : k >= bias + PUNY_TMAX ? PUNY_TMAX
						    : k - bias;
		if ((unsigned)digit < threshold)
			return true;
		if (weight > 0x7FFFFFFFU / (PUNY_BASE - threshold))
			return false;
		weight *= PUNY_BASE - threshold;
	}
}

/* True when code decodes to at least one code point outside ASCII and to
 * nothing impossible: what follows "xn--" in a label that means something.
 * Code points are counted and ranged, not stored. */
static bool
domain_puny_is_valid(const char *code, size_t len)
{
	unsigned n = PUNY_FIRST, i = 0, bias = PUNY_BIAS, before, points;
	size_t at = 0, basic;

	for (basic = len; basic > 0 && code[basic - 1] != '-'; basic--)
		;
	at = basic;
	points = basic > 0 ? (unsigned)basic - 1 : 0;
	if (basic == 1 || at >= len)
		return false;
	while (at < len) {
		before = i;
		if (!domain_puny_integer(code, len, &at, bias, &i))
			return false;
		points++;
		bias = domain_puny_adapt(i - before, points, before == 0);
		if (i / points > PUNY_CODE_MAX - n)
			return false;
		n += i / points;
		i = i % points + 1;
		if (n >= 0xD800U && n <= 0xDFFFU)
			return false;
	}
	return true;
}

/* One label, already lower case. */
static enum domain_fault
domain_check_label(const char *label, size_t len)
{
	size_t i;

	if (len == 0)
		return DOMAIN_LABEL_EMPTY;
	if (len > DOMAIN_LABEL_MAX)
		return DOMAIN_LABEL_TOO_LONG;
	for (i = 0; i < len; i++)
		if (domain_check_byte(label[i]) != DOMAIN_OK)
			return domain_check_byte(label[i]);
	if (label[0] == '-' || label[len - 1] == '-')
		return len >= 4 && memcmp(label, "xn--", 4) == 0
			   ? DOMAIN_BAD_ALABEL
			   : DOMAIN_LABEL_HYPHEN;
	if (len >= 4 && memcmp(label, "xn--", 4) == 0 &&
	    !domain_puny_is_valid(label + 4, len - 4))
		return DOMAIN_BAD_ALABEL;
	return DOMAIN_OK;
}

static enum domain_fault
domain_check_labels(const struct domain *domain)
{
	const char *label = domain->name, *dot;
	const char *end = domain->name + domain->len;
	enum domain_fault fault;

	for (;;) {
		dot = memchr(label, '.', (size_t)(end - label));
		fault = domain_check_label(
		    label, (size_t)((dot == NULL ? end : dot) - label));
		if (fault != DOMAIN_OK || dot == NULL)
			return fault;
		label = dot + 1;
	}
}

/* The grammar alone, without the rules on what a name may mean. */
static enum domain_fault
domain_parse_grammar(const char *bytes, size_t len, struct domain *domain_r)
{
	size_t i;

	memset(domain_r, 0, sizeof(*domain_r));
	if (len > 0 && bytes[len - 1] == '.')
		len--;
	if (len == 0)
		return DOMAIN_EMPTY;
	/* What is wrong with a byte is said before what is too long. */
	for (i = 0; i < len && i <= DOMAIN_NAME_MAX; i++)
		if (bytes[i] != '.' &&
		    domain_check_byte(domain_lower(bytes[i])) != DOMAIN_OK)
			return domain_check_byte(domain_lower(bytes[i]));
	if (len > DOMAIN_NAME_MAX)
		return DOMAIN_TOO_LONG;
	for (i = 0; i < len; i++)
		domain_r->name[i] = domain_lower(bytes[i]);
	domain_r->len = len;
	return domain_check_labels(domain_r);
}

/* localhost and everything below it (RFC 6761 section 6.3). */
static bool
domain_is_localhost(const struct domain *domain)
{
	static const struct domain localhost = {"localhost", 9};

	return domain_equal(domain, &localhost) ||
	       domain_is_below(domain, &localhost);
}

static enum domain_fault
domain_check_meaning(const struct domain *domain, bool any)
{
	if (ip_addr_looks_numeric(domain->name, domain->len))
		return DOMAIN_LOOKS_NUMERIC;
	if (any)
		return DOMAIN_OK;
	if (domain_is_localhost(domain))
		return DOMAIN_LOCALHOST;
	if (domain_label_count(domain) < 2)
		return DOMAIN_SINGLE_LABEL;
	return DOMAIN_OK;
}

static enum domain_fault
domain_parse_as(
    const char *bytes, size_t len, bool any, struct domain *domain_r)
{
	enum domain_fault fault;

	fault = domain_parse_grammar(bytes, len, domain_r);
	if (fault == DOMAIN_OK)
		fault = domain_check_meaning(domain_r, any);
	if (fault != DOMAIN_OK)
		memset(domain_r, 0, sizeof(*domain_r));
	return fault;
}

enum domain_fault
domain_parse(const char *bytes, size_t len, struct domain *domain_r)
{
	return domain_parse_as(bytes, len, false, domain_r);
}

enum domain_fault
domain_parse_any(const char *bytes, size_t len, struct domain *domain_r)
{
	return domain_parse_as(bytes, len, true, domain_r);
}

bool
domain_equal(const struct domain *a, const struct domain *b)
{
	return a->len == b->len && memcmp(a->name, b->name, a->len) == 0;
}

bool
domain_is_below(const struct domain *name, const struct domain *parent)
{
	size_t offset;

	if (parent->len == 0 || name->len < parent->len + 2)
		return false;
	offset = name->len - parent->len;
	return name->name[offset - 1] == '.' &&
	       memcmp(name->name + offset, parent->name, parent->len) == 0;
}

unsigned
domain_label_count(const struct domain *domain)
{
	unsigned count = domain->len > 0 ? 1 : 0;
	size_t i;

	for (i = 0; i < domain->len; i++)
		if (domain->name[i] == '.')
			count++;
	return count;
}

const char *
domain_fault_text(enum domain_fault fault)
{
	static const char *const texts[DOMAIN_FAULT_COUNT] = {
	    [DOMAIN_OK] = "the name is well formed",
	    [DOMAIN_EMPTY] = "the name is empty",
	    [DOMAIN_TOO_LONG] = "the name is longer than 253 bytes",
	    [DOMAIN_LABEL_EMPTY] = "a label between two dots is empty",
	    [DOMAIN_LABEL_TOO_LONG] = "a label is longer than 63 bytes",
	    [DOMAIN_LABEL_HYPHEN] = "a label starts or ends with a hyphen",
	    [DOMAIN_BAD_BYTE] =
		"only letters, digits, hyphens and dots may stand in a name",
	    [DOMAIN_NOT_ASCII] = "the name is not ASCII; write its xn-- form",
	    [DOMAIN_BAD_ALABEL] =
		"a label starting with xn-- encodes no international name",
	    [DOMAIN_SINGLE_LABEL] =
		"the name has a single label; write the full name",
	    [DOMAIN_LOCALHOST] = "localhost names are never reachable",
	    [DOMAIN_LOOKS_NUMERIC] =
		"the last label looks like that of an address, a number",
	};

	if ((unsigned)fault >= DOMAIN_FAULT_COUNT)
		return "unknown fault";
	return texts[fault];
}
