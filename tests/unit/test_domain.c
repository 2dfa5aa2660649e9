/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host names: what is canonicalised, what is refused and why. The rows are
 * the vectors of the groups "Names" and "IPv4 spellings".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "common/domain.h"

struct row {
	const char *bytes;
	size_t len; /* 0: strlen */
	const char *canonical;
	enum domain_fault fault;
};

static void
play(const struct row *rows, size_t count)
{
	struct domain domain;
	enum domain_fault fault;
	size_t i, len;

	for (i = 0; i < count; i++) {
		len = rows[i].len != 0 ? rows[i].len : strlen(rows[i].bytes);
		fault = domain_parse(rows[i].bytes, len, &domain);
		if (fault != rows[i].fault)
			print_message("row %zu: '%s' gave: %s\n", i,
			    rows[i].bytes, domain_fault_text(fault));
		assert_int_equal(fault, rows[i].fault);
		if (fault != DOMAIN_OK) {
			assert_int_equal(domain.len, 0);
			assert_string_equal(domain.name, "");
			continue;
		}
		assert_string_equal(domain.name, rows[i].canonical);
		assert_int_equal(domain.len, strlen(rows[i].canonical));
	}
}
#define PLAY(rows) play(rows, sizeof(rows) / sizeof((rows)[0]))

#define L60 "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff"
#define L63 L60 "ggg"

static void
b009_case_and_trailing_dot(void **state)
{
	static const struct row rows[] = {
	    {"example.com", 0, "example.com", DOMAIN_OK},
	    {"example.com.", 0, "example.com", DOMAIN_OK},
	    {"EXAMPLE.com", 0, "example.com", DOMAIN_OK},
	    {"ExAmPlE.CoM.", 0, "example.com", DOMAIN_OK},
	    {"example.com..", 0, NULL, DOMAIN_LABEL_EMPTY},
	    {"a..b", 0, NULL, DOMAIN_LABEL_EMPTY},
	    {".example.com", 0, NULL, DOMAIN_LABEL_EMPTY},
	    {".", 0, NULL, DOMAIN_EMPTY},
	    {"..", 0, NULL, DOMAIN_LABEL_EMPTY},
	};
	struct domain domain;

	(void)state;
	PLAY(rows);
	assert_int_equal(domain_parse("", 0, &domain), DOMAIN_EMPTY);
}

static void
b010_brackets(void **state)
{
	static const struct row rows[] = {
	    {"[example.com]", 0, NULL, DOMAIN_BAD_BYTE},
	    {"[example.com", 0, NULL, DOMAIN_BAD_BYTE},
	    {"example.com]", 0, NULL, DOMAIN_BAD_BYTE},
	    {"[::1]", 0, NULL, DOMAIN_BAD_BYTE},
	};

	(void)state;
	PLAY(rows);
}

static void
b011_nul_and_controls(void **state)
{
	static const struct row rows[] = {
	    {"example.com\0.evil", 17, NULL, DOMAIN_BAD_BYTE},
	    {"example.com\0", 12, NULL, DOMAIN_BAD_BYTE},
	    {"\0", 1, NULL, DOMAIN_BAD_BYTE},
	    {"example.com%00", 0, NULL, DOMAIN_BAD_BYTE},
	    {"example.com\n", 0, NULL, DOMAIN_BAD_BYTE},
	    {"example.com\r\nHost", 0, NULL, DOMAIN_BAD_BYTE},
	    {"exam ple.com", 0, NULL, DOMAIN_BAD_BYTE},
	    {"example.com\t", 0, NULL, DOMAIN_BAD_BYTE},
	    {"exam\x7fple.com", 0, NULL, DOMAIN_BAD_BYTE},
	    {"a_b.example.com", 0, NULL, DOMAIN_BAD_BYTE},
	    {"user@example.com", 0, NULL, DOMAIN_BAD_BYTE},
	    {"example.com/x", 0, NULL, DOMAIN_BAD_BYTE},
	    {"example.com#x", 0, NULL, DOMAIN_BAD_BYTE},
	    {"example.com\\x", 0, NULL, DOMAIN_BAD_BYTE},
	    {"example.com,evil.com", 0, NULL, DOMAIN_BAD_BYTE},
	    {"example.com:443", 0, NULL, DOMAIN_BAD_BYTE},
	};

	(void)state;
	PLAY(rows);
}

static void
b012_zone_id(void **state)
{
	static const struct row rows[] = {
	    {"::ffff:1.2.3.4%x.example.com", 0, NULL, DOMAIN_BAD_BYTE},
	    {"fe80::1%25eth0", 0, NULL, DOMAIN_BAD_BYTE},
	    {"x%y.example.com", 0, NULL, DOMAIN_BAD_BYTE},
	};

	(void)state;
	PLAY(rows);
}

static void
b013_idn(void **state)
{
	static const struct row rows[] = {
	    {"ex\xd0\xb0mple.com", 0, NULL, DOMAIN_NOT_ASCII},
	    {"example\xe3\x80\x82"
	     "com",
		0, NULL, DOMAIN_NOT_ASCII},
	    {"\xef\xbd\x85xample.com", 0, NULL, DOMAIN_NOT_ASCII},
	    {"example.com\xc2\xad", 0, NULL, DOMAIN_NOT_ASCII},
	    {"xn--", 0, NULL, DOMAIN_BAD_ALABEL},
	    {"xn--.com", 0, NULL, DOMAIN_BAD_ALABEL},
	    {"XN--.com", 0, NULL, DOMAIN_BAD_ALABEL},
	    {"xn--example-.com", 0, NULL, DOMAIN_BAD_ALABEL},
	    {"xn--a-.com", 0, NULL, DOMAIN_BAD_ALABEL},
	    {"xn---mnchen.com", 0, NULL, DOMAIN_BAD_ALABEL},
	    {"xn--99999999999.com", 0, NULL, DOMAIN_BAD_ALABEL},
	    {"xn--mnchen-3ya.de", 0, "xn--mnchen-3ya.de", DOMAIN_OK},
	    {"XN--MNCHEN-3YA.de", 0, "xn--mnchen-3ya.de", DOMAIN_OK},
	    {"xn--e1afmkfd.xn--p1ai", 0, "xn--e1afmkfd.xn--p1ai", DOMAIN_OK},
	    {"xn--fiqs8s.xn--fiqs8s", 0, "xn--fiqs8s.xn--fiqs8s", DOMAIN_OK},
	    {"r3---sn-abc.example.com", 0, "r3---sn-abc.example.com",
		DOMAIN_OK},
	};

	(void)state;
	PLAY(rows);
}

static void
b014_odd_ipv4(void **state)
{
	static const struct row rows[] = {
	    {"127.1", 0, NULL, DOMAIN_LOOKS_NUMERIC},
	    {"0x7f.1", 0, NULL, DOMAIN_LOOKS_NUMERIC},
	    {"0177.0.0.1", 0, NULL, DOMAIN_LOOKS_NUMERIC},
	    {"2130706433", 0, NULL, DOMAIN_LOOKS_NUMERIC},
	    {"0x", 0, NULL, DOMAIN_LOOKS_NUMERIC},
	    {"0X7F000001", 0, NULL, DOMAIN_LOOKS_NUMERIC},
	    {"1e1.0.0.1", 0, NULL, DOMAIN_LOOKS_NUMERIC},
	    {"127.0.0.0x1", 0, NULL, DOMAIN_LOOKS_NUMERIC},
	    {"127.0.0.1", 0, NULL, DOMAIN_LOOKS_NUMERIC},
	    {"127.0.0.1.", 0, NULL, DOMAIN_LOOKS_NUMERIC},
	    {"example.123", 0, NULL, DOMAIN_LOOKS_NUMERIC},
	    {"0x7f.example.com", 0, "0x7f.example.com", DOMAIN_OK},
	    {"1.2.3.4.example", 0, "1.2.3.4.example", DOMAIN_OK},
	    {"4chan.org", 0, "4chan.org", DOMAIN_OK},
	};

	(void)state;
	PLAY(rows);
}

static void
b018_local_names(void **state)
{
	static const struct row rows[] = {
	    {"localhost", 0, NULL, DOMAIN_LOCALHOST},
	    {"localhost.", 0, NULL, DOMAIN_LOCALHOST},
	    {"LOCALHOST", 0, NULL, DOMAIN_LOCALHOST},
	    {"foo.localhost", 0, NULL, DOMAIN_LOCALHOST},
	    {"intranet", 0, NULL, DOMAIN_SINGLE_LABEL},
	    {"notlocalhost.com", 0, "notlocalhost.com", DOMAIN_OK},
	    {"metadata.google.internal", 0, "metadata.google.internal",
		DOMAIN_OK},
	};
	struct domain domain;

	(void)state;
	PLAY(rows);
	assert_int_equal(domain_parse_any("localhost", 9, &domain), DOMAIN_OK);
	assert_int_equal(domain_parse_any("intranet", 8, &domain), DOMAIN_OK);
	assert_int_equal(
	    domain_parse_any("127.1", 5, &domain), DOMAIN_LOOKS_NUMERIC);
	assert_int_equal(domain_parse_any("a b", 3, &domain), DOMAIN_BAD_BYTE);
}

static void
b043_lengths(void **state)
{
	static const struct row rows[] = {
	    {L63 ".com", 0, L63 ".com", DOMAIN_OK},
	    {L63 "h.com", 0, NULL, DOMAIN_LABEL_TOO_LONG},
	    {L63 "." L63 "." L63 "." L60 "a", 0,
		L63 "." L63 "." L63 "." L60 "a", DOMAIN_OK}, /* 253 */
	    {L63 "." L63 "." L63 "." L60 "a.", 0,
		L63 "." L63 "." L63 "." L60 "a", DOMAIN_OK},
	    {L63 "." L63 "." L63 "." L60 "ab", 0, NULL,
		DOMAIN_TOO_LONG}, /* 254 */
	    {L63 "." L63 "." L63 "." L63 "." L63, 0, NULL, DOMAIN_TOO_LONG},
	    {"-a.com", 0, NULL, DOMAIN_LABEL_HYPHEN},
	    {"a-.com", 0, NULL, DOMAIN_LABEL_HYPHEN},
	    {"-", 0, NULL, DOMAIN_LABEL_HYPHEN},
	};

	(void)state;
	PLAY(rows);
}

static struct domain
make(const char *text)
{
	struct domain domain;

	assert_int_equal(
	    domain_parse_any(text, strlen(text), &domain), DOMAIN_OK);
	return domain;
}

static void
b006_suffix_confusion(void **state)
{
	struct domain parent = make("example.com"), evil, child, deep, other;

	(void)state;
	evil = make("evilexample.com");
	child = make("a.example.com");
	deep = make("a.b.EXAMPLE.com");
	other = make("example.com.evil.com");
	assert_false(domain_is_below(&evil, &parent));
	assert_false(domain_is_below(&other, &parent));
	assert_false(domain_is_below(&parent, &parent));
	assert_true(domain_is_below(&child, &parent));
	assert_true(domain_is_below(&deep, &parent));
	assert_false(domain_is_below(&parent, &child));
	assert_false(domain_equal(&evil, &parent));
	assert_true(domain_equal(&parent, &parent));
	assert_int_equal(domain_label_count(&deep), 4);
	assert_int_equal(domain_label_count(&parent), 2);
}

static void
every_fault_has_a_text(void **state)
{
	int i, j;

	(void)state;
	for (i = 0; i < DOMAIN_FAULT_COUNT; i++) {
		assert_non_null(domain_fault_text((enum domain_fault)i));
		for (j = 0; j < i; j++)
			assert_string_not_equal(
			    domain_fault_text((enum domain_fault)i),
			    domain_fault_text((enum domain_fault)j));
	}
	assert_string_equal(
	    domain_fault_text((enum domain_fault)99), "unknown fault");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(b006_suffix_confusion),
	    cmocka_unit_test(b009_case_and_trailing_dot),
	    cmocka_unit_test(b010_brackets),
	    cmocka_unit_test(b011_nul_and_controls),
	    cmocka_unit_test(b012_zone_id),
	    cmocka_unit_test(b013_idn),
	    cmocka_unit_test(b014_odd_ipv4),
	    cmocka_unit_test(b018_local_names),
	    cmocka_unit_test(b043_lengths),
	    cmocka_unit_test(every_fault_has_a_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
