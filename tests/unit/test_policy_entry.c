/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy entries: what each asker may write, the canonical spelling, and
 * what includes what.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "egress-proxy/policy_entry.h"

#define MANIFEST POLICY_ENTRY_FROM_MANIFEST
#define CONSENTED POLICY_ENTRY_FROM_CONSENTED
#define HOST POLICY_ENTRY_FROM_HOST
#define DENY POLICY_ENTRY_FROM_DENY

struct good {
	const char *text;
	enum policy_entry_asker asker;
	const char *canonical;
	enum policy_entry_kind kind;
};

struct bad {
	const char *text;
	enum policy_entry_asker asker;
	enum policy_entry_fault fault;
};

static void
canonical_spellings(void **state)
{
	static const struct good rows[] = {
	    {"api.example.com", MANIFEST, "api.example.com:443",
		POLICY_ENTRY_TLS},
	    {"API.Example.COM.", MANIFEST, "api.example.com:443",
		POLICY_ENTRY_TLS},
	    {"api.example.com:8443", MANIFEST, "api.example.com:8443",
		POLICY_ENTRY_TLS},
	    {"api.example.com.:443", HOST, "api.example.com:443",
		POLICY_ENTRY_TLS},
	    {"xn--mnchen-3ya.de", MANIFEST, "xn--mnchen-3ya.de:443",
		POLICY_ENTRY_TLS},
	    {"*.Example.com", HOST, "*.example.com:443", POLICY_ENTRY_WILDCARD},
	    {"*.example.com:8443", CONSENTED, "*.example.com:8443",
		POLICY_ENTRY_WILDCARD},
	    {"tcp://10.1.2.0/24:5432", HOST, "tcp://10.1.2.0/24:5432",
		POLICY_ENTRY_RAW},
	    {"tcp://203.0.113.7:22", HOST, "tcp://203.0.113.7:22",
		POLICY_ENTRY_RAW},
	    {"tcp://203.0.113.7/32:22", HOST, "tcp://203.0.113.7:22",
		POLICY_ENTRY_RAW},
	    {"tcp://[2001:DB8::7]:22", HOST, "tcp://[2001:db8::7]:22",
		POLICY_ENTRY_RAW},
	    {"tcp://[2001:db8::]/32:22", HOST, "tcp://[2001:db8::]/32:22",
		POLICY_ENTRY_RAW},
	    {"http://Host.example", HOST, "http://host.example:80",
		POLICY_ENTRY_HTTP},
	    {"http://host.example:8080", HOST, "http://host.example:8080",
		POLICY_ENTRY_HTTP},
	    {"bad.example.com", DENY, "bad.example.com", POLICY_ENTRY_TLS},
	    {"bad.example.com:443", DENY, "bad.example.com:443",
		POLICY_ENTRY_TLS},
	    {"*.com", DENY, "*.com", POLICY_ENTRY_WILDCARD},
	    {"intranet", DENY, "intranet", POLICY_ENTRY_TLS},
	    {"tcp://10.0.0.0/8", DENY, "tcp://10.0.0.0/8", POLICY_ENTRY_RAW},
	    {"tcp://0.0.0.0/0", DENY, "tcp://0.0.0.0/0", POLICY_ENTRY_RAW},
	    {"http://x.example", DENY, "http://x.example", POLICY_ENTRY_HTTP},
	};
	struct policy_entry entry, again;
	enum policy_entry_fault fault;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fault = policy_entry_parse(
		    rows[i].text, strlen(rows[i].text), rows[i].asker, &entry);
		if (fault != POLICY_ENTRY_OK)
			fail_msg("%s %s", rows[i].text,
			    policy_entry_fault_text(fault, entry.name_fault));
		assert_string_equal(entry.text, rows[i].canonical);
		assert_int_equal(entry.kind, rows[i].kind);
		/* The canonical spelling means the same and is stable. */
		assert_int_equal(policy_entry_parse(entry.text,
				     strlen(entry.text), rows[i].asker, &again),
		    POLICY_ENTRY_OK);
		assert_string_equal(again.text, entry.text);
		assert_true(policy_entry_includes(&entry, &again));
	}
}

static void
refused_entries(void **state)
{
	static const struct bad rows[] = {
	    {"", HOST, POLICY_ENTRY_EMPTY},
	    {" api.example.com", HOST, POLICY_ENTRY_BAD_BYTE},
	    {"api.example.com ", HOST, POLICY_ENTRY_BAD_BYTE},
	    {"a\"b.example.com", HOST, POLICY_ENTRY_BAD_BYTE},
	    {"a\\b.example.com", HOST, POLICY_ENTRY_BAD_BYTE},
	    {"api.example.com\r\n", HOST, POLICY_ENTRY_BAD_BYTE},
	    {"a,b.example.com", HOST, POLICY_ENTRY_BAD_BYTE},
	    {"m\xc3\xbcnchen.de", HOST, POLICY_ENTRY_NOT_ASCII},
	    {"https://api.example.com", HOST, POLICY_ENTRY_SCHEME},
	    {"ftp://api.example.com", HOST, POLICY_ENTRY_SCHEME},
	    {"HTTP://api.example.com", HOST, POLICY_ENTRY_SCHEME},
	    {"user@api.example.com", HOST, POLICY_ENTRY_USERINFO},
	    {"user:pw@api.example.com:443", HOST, POLICY_ENTRY_USERINFO},
	    {"api.example.com/v1", HOST, POLICY_ENTRY_PATH},
	    {"api.example.com:443/", HOST, POLICY_ENTRY_PATH},
	    {"api.example.com?x", HOST, POLICY_ENTRY_PATH},
	    {"api.example.com#x", HOST, POLICY_ENTRY_PATH},
	    {"http://api.example.com/", HOST, POLICY_ENTRY_PATH},
	    {"api.example.com:", HOST, POLICY_ENTRY_PORT},
	    {"api.example.com:0", HOST, POLICY_ENTRY_PORT},
	    {"api.example.com:0443", HOST, POLICY_ENTRY_PORT},
	    {"api.example.com:65536", HOST, POLICY_ENTRY_PORT},
	    {"api.example.com:+443", HOST, POLICY_ENTRY_PORT},
	    {"api.example.com:443.evil.com", HOST, POLICY_ENTRY_PORT},
	    {"127.0.0.1", HOST, POLICY_ENTRY_IP_LITERAL},
	    {"127.0.0.1:443", MANIFEST, POLICY_ENTRY_IP_LITERAL},
	    {"10.0.0.0/8", HOST, POLICY_ENTRY_IP_LITERAL},
	    {"::1", HOST, POLICY_ENTRY_IP_LITERAL},
	    {"[::1]:443", HOST, POLICY_ENTRY_IP_LITERAL},
	    {"http://127.0.0.1", HOST, POLICY_ENTRY_IP_LITERAL},
	    {"127.1", HOST, POLICY_ENTRY_LOOKS_NUMERIC},
	    {"0x7f.1:443", HOST, POLICY_ENTRY_LOOKS_NUMERIC},
	    {"2130706433", HOST, POLICY_ENTRY_LOOKS_NUMERIC},
	    {"*.1", HOST, POLICY_ENTRY_LOOKS_NUMERIC},
	    {"localhost", HOST, POLICY_ENTRY_LOCALHOST},
	    {"localhost.:443", HOST, POLICY_ENTRY_LOCALHOST},
	    {"foo.localhost", MANIFEST, POLICY_ENTRY_LOCALHOST},
	    {"*.localhost", HOST, POLICY_ENTRY_LOCALHOST},
	    {"intranet", HOST, POLICY_ENTRY_SINGLE_LABEL},
	    {"*.com", HOST, POLICY_ENTRY_SINGLE_LABEL},
	    {"*", HOST, POLICY_ENTRY_WILDCARD_PLACE},
	    {"*:443", HOST, POLICY_ENTRY_WILDCARD_PLACE},
	    {"a.*.example.com", HOST, POLICY_ENTRY_WILDCARD_PLACE},
	    {"*a.example.com", HOST, POLICY_ENTRY_WILDCARD_PLACE},
	    {"*.*.example.com", HOST, POLICY_ENTRY_WILDCARD_PLACE},
	    {"http://*.example.com", HOST, POLICY_ENTRY_WILDCARD_PLACE},
	    {"*.", HOST, POLICY_ENTRY_NAME},
	    {"a..example.com", HOST, POLICY_ENTRY_NAME},
	    {"a_b.example.com", HOST, POLICY_ENTRY_NAME},
	    {"-a.example.com", HOST, POLICY_ENTRY_NAME},
	    {"xn--.example.com", HOST, POLICY_ENTRY_NAME},
	    {"[api.example.com]", HOST, POLICY_ENTRY_NAME},
	    {"example.com%00", HOST, POLICY_ENTRY_NAME},
	    {".example.com", HOST, POLICY_ENTRY_NAME},
	    {"http://", HOST, POLICY_ENTRY_NAME},
	    {"*.example.com", MANIFEST, POLICY_ENTRY_WILDCARD_CONSENT},
	    {"tcp://203.0.113.7:22", MANIFEST, POLICY_ENTRY_RAW_NOT_HERE},
	    {"tcp://203.0.113.7:22", CONSENTED, POLICY_ENTRY_RAW_NOT_HERE},
	    {"http://a.example", MANIFEST, POLICY_ENTRY_HTTP_NOT_HERE},
	    {"http://a.example", CONSENTED, POLICY_ENTRY_HTTP_NOT_HERE},
	    {"tcp://db.example.com:22", HOST, POLICY_ENTRY_RAW_ADDRESS},
	    {"tcp://10.1.2.3/24:22", HOST, POLICY_ENTRY_RAW_ADDRESS},
	    {"tcp://2001:db8::1:22", HOST, POLICY_ENTRY_RAW_ADDRESS},
	    {"tcp://[10.1.2.3]:22", HOST, POLICY_ENTRY_RAW_ADDRESS},
	    {"tcp://[2001:db8::1:22", HOST, POLICY_ENTRY_RAW_ADDRESS},
	    {"tcp://[fe80::1%eth0]:22", HOST, POLICY_ENTRY_RAW_ADDRESS},
	    {"tcp://:22", HOST, POLICY_ENTRY_RAW_ADDRESS},
	    {"tcp://", HOST, POLICY_ENTRY_RAW_ADDRESS},
	    {"tcp://203.0.113.7", HOST, POLICY_ENTRY_RAW_PORT},
	    {"tcp://[2001:db8::1]", HOST, POLICY_ENTRY_RAW_PORT},
	    {"tcp://203.0.113.7:0", HOST, POLICY_ENTRY_PORT},
	    {"tcp://u@203.0.113.7:22", HOST, POLICY_ENTRY_USERINFO},
	    {"tcp://0.0.0.0/0:22", HOST, POLICY_ENTRY_RAW_WIDE},
	    {"tcp://128.0.0.0/7:22", HOST, POLICY_ENTRY_RAW_WIDE},
	    {"tcp://[2000::]/3:22", HOST, POLICY_ENTRY_RAW_WIDE},
	    {"tcp://169.254.169.254:80", HOST, POLICY_ENTRY_RAW_METADATA},
	    {"tcp://[fd00:ec2::254]:80", HOST, POLICY_ENTRY_RAW_METADATA},
	};
	struct policy_entry entry;
	enum policy_entry_fault fault;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fault = policy_entry_parse(
		    rows[i].text, strlen(rows[i].text), rows[i].asker, &entry);
		if (fault != rows[i].fault)
			fail_msg("'%s' %s", rows[i].text,
			    policy_entry_fault_text(fault, entry.name_fault));
		assert_string_equal(entry.text, "");
		assert_int_equal(entry.name.len, 0);
		assert_non_null(
		    policy_entry_fault_text(fault, entry.name_fault));
	}
}

static void
b011_nul_and_length(void **state)
{
	struct policy_entry entry;
	char text[400];

	(void)state;
	assert_int_equal(
	    policy_entry_parse("a.example\0.evil", 15, HOST, &entry),
	    POLICY_ENTRY_BAD_BYTE);
	memset(text, 'a', sizeof(text));
	assert_int_equal(policy_entry_parse(text, sizeof(text), HOST, &entry),
	    POLICY_ENTRY_TOO_LONG);
}

static struct policy_entry
make(const char *text, enum policy_entry_asker asker)
{
	struct policy_entry entry;

	if (policy_entry_parse(text, strlen(text), asker, &entry) !=
	    POLICY_ENTRY_OK)
		fail_msg("%s", text);
	return entry;
}

static void
i05_what_includes_what(void **state)
{
	static const struct {
		const char *outer, *inner;
		bool includes;
	} rows[] = {
	    {"a.example", "a.example", true},
	    {"a.example", "b.example", false},
	    {"a.example", "x.a.example", false},
	    {"a.example", "a.example:8443", false},
	    {"*.a.example", "x.a.example", true},
	    {"*.a.example", "a.example", false},
	    {"*.a.example", "*.a.example", true},
	    {"*.a.example", "*.x.a.example", true},
	    {"*.x.a.example", "*.a.example", false},
	    {"x.a.example", "*.a.example", false},
	    {"a.example:80", "http://a.example", false},
	    {"http://a.example", "a.example:80", false},
	    {"http://a.example", "http://a.example:80", true},
	    {"tcp://10.0.0.0/8:22", "tcp://10.1.0.0/16:22", true},
	    {"tcp://10.1.0.0/16:22", "tcp://10.0.0.0/8:22", false},
	    {"tcp://10.0.0.0/8:22", "tcp://10.1.0.0/16:23", false},
	    {"tcp://10.0.0.0/8:22", "a.example:22", false},
	};
	struct policy_entry outer, inner;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		outer = make(rows[i].outer, HOST);
		inner = make(rows[i].inner, HOST);
		if (policy_entry_includes(&outer, &inner) != rows[i].includes)
			fail_msg("%s, %s", rows[i].outer, rows[i].inner);
	}
	outer = make("a.example", DENY);
	inner = make("a.example:8443", DENY);
	assert_true(policy_entry_includes(&outer, &inner));
	assert_false(policy_entry_includes(&inner, &outer));
}

static void
every_fault_has_a_text(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < POLICY_ENTRY_FAULT_COUNT; i++)
		assert_non_null(policy_entry_fault_text(
		    (enum policy_entry_fault)i, DOMAIN_EMPTY));
	assert_non_null(
	    policy_entry_fault_text((enum policy_entry_fault)99, DOMAIN_EMPTY));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(b011_nul_and_length),
	    cmocka_unit_test(canonical_spellings),
	    cmocka_unit_test(refused_entries),
	    cmocka_unit_test(i05_what_includes_what),
	    cmocka_unit_test(every_fault_has_a_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
