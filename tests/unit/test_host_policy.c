/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decisions of a policy on names, literals, answers and ECH, as truth
 * tables; and what counts as narrower.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "egress-proxy/host_policy.h"

#define TUNNEL HOST_POLICY_TUNNEL
#define HTTP HOST_POLICY_HTTP

/* Lists end with NULL. */
static struct host_policy *
make(const char *const *allow, const char *const *deny)
{
	struct host_policy *policy = NULL;
	enum domain_fault fault;

	assert_int_equal(host_policy_new(&policy), RESULT_OK);
	for (; allow != NULL && *allow != NULL; allow++)
		if (host_policy_add_allow(policy, *allow, &fault) !=
		    POLICY_ENTRY_OK)
			fail_msg("allow %s", *allow);
	for (; deny != NULL && *deny != NULL; deny++)
		if (host_policy_add_deny(policy, *deny, &fault) !=
		    POLICY_ENTRY_OK)
			fail_msg("deny %s", *deny);
	return policy;
}

static struct domain
name_of(const char *text)
{
	struct domain domain;

	if (domain_parse_any(text, strlen(text), &domain) != DOMAIN_OK)
		fail_msg("%s", text);
	return domain;
}

static struct ip_addr
address_of(const char *text)
{
	struct ip_addr addr;

	if (ip_addr_parse(text, strlen(text), &addr) != RESULT_OK)
		fail_msg("%s", text);
	return addr;
}

struct row {
	const char *host;
	uint16_t port;
	enum host_policy_traffic traffic;
	enum deny_code code;
	const char *rule; /* NULL: none */
};

static void
play(const struct host_policy *policy, const struct row *row)
{
	struct host_policy_decision decision;
	struct ip_addr addr;
	struct domain name;

	if (ip_addr_parse(row->host, strlen(row->host), &addr) == RESULT_OK) {
		host_policy_check_literal(
		    policy, row->traffic, &addr, row->port, &decision);
	} else {
		name = name_of(row->host);
		host_policy_check_name(
		    policy, row->traffic, &name, row->port, &decision);
	}
	if (decision.code != row->code)
		fail_msg("%s:%u gave %s", row->host, row->port,
		    deny_text(decision.code));
	if (row->rule == NULL) {
		assert_null(decision.rule);
	} else {
		assert_non_null(decision.rule);
		assert_string_equal(decision.rule, row->rule);
	}
}
#define PLAY(policy, rows)                                            \
	for (size_t i = 0; i < sizeof(rows) / sizeof((rows)[0]); i++) \
	play((policy), &(rows)[i])

static void
b001_empty_denies(void **state)
{
	static const struct row rows[] = {
	    {"example.com", 443, TUNNEL, DENY_HOST_NOT_ALLOWED, NULL},
	    {"example.com", 80, HTTP, DENY_HOST_NOT_ALLOWED, NULL},
	    {"8.8.8.8", 443, TUNNEL, DENY_IP_LITERAL, NULL},
	    {"localhost", 443, TUNNEL, DENY_HOST_NOT_ALLOWED, NULL},
	};
	struct host_policy *policy = make(NULL, NULL);

	(void)state;
	PLAY(policy, rows);
	host_policy_free(&policy);
	assert_null(policy);
}

static void
b006_b007_names(void **state)
{
	static const char *const allow[] = {
	    "example.com", "*.wild.example", "x.example:8443", NULL};
	static const struct row rows[] = {
	    {"example.com", 443, TUNNEL, DENY_NONE, "example.com:443"},
	    {"EXAMPLE.com.", 443, TUNNEL, DENY_NONE, "example.com:443"},
	    {"evilexample.com", 443, TUNNEL, DENY_HOST_NOT_ALLOWED, NULL},
	    {"example.com.evil.com", 443, TUNNEL, DENY_HOST_NOT_ALLOWED, NULL},
	    {"a.example.com", 443, TUNNEL, DENY_HOST_NOT_ALLOWED, NULL},
	    {"com", 443, TUNNEL, DENY_HOST_NOT_ALLOWED, NULL},
	    {"a.wild.example", 443, TUNNEL, DENY_NONE, "*.wild.example:443"},
	    {"a.b.wild.example", 443, TUNNEL, DENY_NONE, "*.wild.example:443"},
	    {"wild.example", 443, TUNNEL, DENY_HOST_NOT_ALLOWED, NULL},
	    {"evilwild.example", 443, TUNNEL, DENY_HOST_NOT_ALLOWED, NULL},
	    {"metadata.google.internal", 443, TUNNEL, DENY_HOST_NOT_ALLOWED,
		NULL},
	    {"localhost", 443, TUNNEL, DENY_HOST_NOT_ALLOWED, NULL},
	    {"foo.localhost", 443, TUNNEL, DENY_HOST_NOT_ALLOWED, NULL},
	    /* b063: the port is part of the entry. */
	    {"example.com", 8443, TUNNEL, DENY_PORT_NOT_ALLOWED,
		"example.com:443"},
	    {"example.com", 22, TUNNEL, DENY_PORT_NOT_ALLOWED,
		"example.com:443"},
	    {"x.example", 443, TUNNEL, DENY_PORT_NOT_ALLOWED, "x.example:8443"},
	    {"x.example", 8443, TUNNEL, DENY_NONE, "x.example:8443"},
	};
	struct host_policy *policy = make(allow, NULL);

	(void)state;
	PLAY(policy, rows);
	host_policy_free(&policy);
}

static void
b020_deny_wins(void **state)
{
	static const char *const allow[] = {"*.example.com", "bad.example.com",
	    "http://plain.example", "plain.example", "ports.example",
	    "ports.example:8443", NULL};
	static const char *const deny[] = {"bad.example.com",
	    "*.worse.example.com", "http://plain.example", "ports.example:8443",
	    NULL};
	static const struct row rows[] = {
	    {"good.example.com", 443, TUNNEL, DENY_NONE, "*.example.com:443"},
	    {"bad.example.com", 443, TUNNEL, DENY_HOST_DENIED,
		"bad.example.com"},
	    {"BAD.example.com.", 443, TUNNEL, DENY_HOST_DENIED,
		"bad.example.com"},
	    {"bad.example.com", 9, TUNNEL, DENY_HOST_DENIED, "bad.example.com"},
	    {"a.worse.example.com", 443, TUNNEL, DENY_HOST_DENIED,
		"*.worse.example.com"},
	    {"worse.example.com", 443, TUNNEL, DENY_NONE, "*.example.com:443"},
	    {"plain.example", 80, HTTP, DENY_HOST_DENIED,
		"http://plain.example"},
	    {"plain.example", 443, TUNNEL, DENY_NONE, "plain.example:443"},
	    {"ports.example", 443, TUNNEL, DENY_NONE, "ports.example:443"},
	    {"ports.example", 8443, TUNNEL, DENY_HOST_DENIED,
		"ports.example:8443"},
	};
	struct host_policy *policy = make(allow, deny);

	(void)state;
	PLAY(policy, rows);
	host_policy_free(&policy);
}

static void
b045_both_verbs_one_gate(void **state)
{
	static const char *const allow[] = {
	    "tls.example", "http://plain.example:8080", NULL};
	static const struct row rows[] = {
	    {"tls.example", 443, HTTP, DENY_PORT_NOT_ALLOWED,
		"tls.example:443"},
	    {"tls.example", 80, HTTP, DENY_PORT_NOT_ALLOWED, "tls.example:443"},
	    {"plain.example", 8080, HTTP, DENY_NONE,
		"http://plain.example:8080"},
	    {"plain.example", 80, HTTP, DENY_PORT_NOT_ALLOWED,
		"http://plain.example:8080"},
	    {"plain.example", 8080, TUNNEL, DENY_PORT_NOT_ALLOWED,
		"http://plain.example:8080"},
	    {"other.example", 80, HTTP, DENY_HOST_NOT_ALLOWED, NULL},
	};
	struct host_policy *policy = make(allow, NULL);

	(void)state;
	PLAY(policy, rows);
	host_policy_free(&policy);
}

static void
b025_literals(void **state)
{
	static const char *const allow[] = {"example.com",
	    "tcp://10.1.2.0/24:5432", "tcp://203.0.113.7:22",
	    "tcp://[fd12::]/16:22", "tcp://192.0.0.0/8:25",
	    "tcp://169.254.0.0/16:80", NULL};
	static const char *const deny[] = {
	    "tcp://10.1.2.66", "tcp://10.1.2.67:9", NULL};
	static const struct row rows[] = {
	    {"10.1.2.3", 5432, TUNNEL, DENY_NONE, "tcp://10.1.2.0/24:5432"},
	    {"10.1.2.3", 5433, TUNNEL, DENY_PORT_NOT_ALLOWED,
		"tcp://10.1.2.0/24:5432"},
	    {"10.1.2.3", 5432, HTTP, DENY_PORT_NOT_ALLOWED,
		"tcp://10.1.2.0/24:5432"},
	    {"10.1.3.3", 5432, TUNNEL, DENY_IP_LITERAL, NULL},
	    {"10.1.2.66", 5432, TUNNEL, DENY_HOST_DENIED, "tcp://10.1.2.66"},
	    {"10.1.2.67", 5432, TUNNEL, DENY_NONE, "tcp://10.1.2.0/24:5432"},
	    {"203.0.113.7", 22, TUNNEL, DENY_NONE, "tcp://203.0.113.7:22"},
	    {"203.0.113.8", 22, TUNNEL, DENY_IP_LITERAL, NULL},
	    {"fd12::5", 22, TUNNEL, DENY_NONE, "tcp://[fd12::]/16:22"},
	    /* Another spelling of a listed address is another address. */
	    {"::ffff:10.1.2.3", 5432, TUNNEL, DENY_IP_LITERAL, NULL},
	    {"::ffff:10.1.2.66", 5432, TUNNEL, DENY_HOST_DENIED,
		"tcp://10.1.2.66"},
	    /* A wide range opens no special one inside it. */
	    {"192.5.6.30", 25, TUNNEL, DENY_NONE, "tcp://192.0.0.0/8:25"},
	    {"192.168.1.1", 25, TUNNEL, DENY_ADDRESS_NOT_ALLOWED,
		"tcp://192.0.0.0/8:25"},
	    /* b018: metadata stays closed. */
	    {"169.254.1.1", 80, TUNNEL, DENY_NONE, "tcp://169.254.0.0/16:80"},
	    {"169.254.169.254", 80, TUNNEL, DENY_ADDRESS_NOT_ALLOWED,
		"tcp://169.254.0.0/16:80"},
	    {"127.0.0.1", 443, TUNNEL, DENY_IP_LITERAL, NULL},
	    {"::1", 443, TUNNEL, DENY_IP_LITERAL, NULL},
	    {"0.0.0.0", 443, TUNNEL, DENY_IP_LITERAL, NULL},
	    {"100.100.100.200", 80, TUNNEL, DENY_IP_LITERAL, NULL},
	    {"fd00:ec2::254", 80, TUNNEL, DENY_IP_LITERAL, NULL},
	};
	struct host_policy *policy = make(allow, deny);

	(void)state;
	PLAY(policy, rows);
	host_policy_free(&policy);
}

/* Judge an answer of up to three addresses (NULL ends). */
static enum deny_code
judge(const struct host_policy *policy, const char *host,
    const char *const *texts, size_t *bad_r)
{
	struct ip_addr addresses[4];
	struct domain name = name_of(host);
	const char *rule = NULL;
	size_t count;
	enum deny_code code;

	for (count = 0; texts[count] != NULL; count++)
		addresses[count] = address_of(texts[count]);
	code = host_policy_check_answer(
	    policy, &name, 443, addresses, count, &rule, bad_r);
	assert_non_null(rule);
	return code;
}

static void
b019_one_bad_address_refuses_all(void **state)
{
	static const struct {
		const char *host;
		const char *texts[4];
		enum deny_code code;
		size_t bad;
	} rows[] = {
	    {"a.example", {"8.8.8.8", "2606:4700::1"}, DENY_NONE, 1},
	    {"a.example", {"8.8.8.8", "10.0.0.1"}, DENY_ADDRESS_NOT_ALLOWED, 1},
	    {"a.example", {"10.0.0.1", "8.8.8.8"}, DENY_ADDRESS_NOT_ALLOWED, 0},
	    {"a.example", {"8.8.8.8", "::1", "9.9.9.9"},
		DENY_ADDRESS_NOT_ALLOWED, 1},
	    {"a.example", {"::ffff:127.0.0.1"}, DENY_ADDRESS_NOT_ALLOWED, 0},
	    {"a.example", {"64:ff9b::a00:1"}, DENY_ADDRESS_NOT_ALLOWED, 0},
	    {"a.example", {"169.254.169.254"}, DENY_ADDRESS_NOT_ALLOWED, 0},
	    {"a.example", {"1.0.0.1", "5.5.5.5"}, DENY_ADDRESS_NOT_ALLOWED,
		1}, /* own */
	    {"a.example", {"7.7.7.7"}, DENY_HOST_DENIED, 0},
	    {"private.example", {"10.1.1.1", "8.8.8.8"}, DENY_NONE, 1},
	    {"private.example", {"10.1.1.1", "10.2.0.0"},
		DENY_ADDRESS_NOT_ALLOWED, 1},
	    {"private.example", {"169.254.169.254"}, DENY_ADDRESS_NOT_ALLOWED,
		0},
	    {"private.example", {"127.0.0.1"}, DENY_ADDRESS_NOT_ALLOWED, 0},
	    /* What is listed for one name is not listed for another. */
	    {"other.example", {"10.1.1.1"}, DENY_ADDRESS_NOT_ALLOWED, 0},
	    {"sub.private.example", {"10.1.1.1"}, DENY_ADDRESS_NOT_ALLOWED, 0},
	    {"home.example", {"5.5.5.5"}, DENY_NONE, 0},
	    /* A network that was listed is not this host in it. */
	    {"private.example", {"10.1.9.9"}, DENY_ADDRESS_NOT_ALLOWED, 0},
	    {"private.example", {"::ffff:10.1.9.9"}, DENY_ADDRESS_NOT_ALLOWED,
		0},
	    {"private.example", {"10.1.9.8"}, DENY_NONE, 0},
	};
	static const char *const deny[] = {"tcp://7.7.7.0/24", NULL};
	struct host_policy *policy = make(NULL, deny);
	size_t i, bad;

	(void)state;
	assert_int_equal(host_policy_add_own(policy, "5.5.5.5"), RESULT_OK);
	assert_int_equal(host_policy_add_own(policy, "10.1.1.0/24"), RESULT_OK);
	assert_int_equal(host_policy_add_own(policy, "10.1.9.9/32"), RESULT_OK);
	assert_int_equal(host_policy_add_extra_range(
			     policy, "private.example", "10.1.0.0/16"),
	    RESULT_OK);
	assert_int_equal(host_policy_add_extra_range(
			     policy, "private.example", "169.254.0.0/16"),
	    RESULT_OK);
	assert_int_equal(
	    host_policy_add_extra_range(policy, "home.example", "5.5.5.5/32"),
	    RESULT_OK);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum deny_code code =
		    judge(policy, rows[i].host, rows[i].texts, &bad);

		if (code != rows[i].code)
			fail_msg("row %zu: %s", i, deny_text(code));
		assert_int_equal(bad, rows[i].bad);
	}
	host_policy_free(&policy);
}

static void
no_addresses_no_dial(void **state)
{
	static const char *const none[] = {NULL};
	struct host_policy *policy = make(NULL, NULL);

	(void)state;
	assert_int_equal(
	    judge(policy, "a.example", none, NULL), DENY_ADDRESS_NOT_ALLOWED);
	host_policy_free(&policy);
}

static void
b008_bad_ranges_are_refused(void **state)
{
	struct host_policy *policy = make(NULL, NULL);

	(void)state;
	assert_int_equal(
	    host_policy_add_extra_range(policy, "a.example", "0.0.0.0/0"),
	    RESULT_REFUSED);
	assert_int_equal(
	    host_policy_add_extra_range(policy, "a.example", "::/0"),
	    RESULT_REFUSED);
	assert_int_equal(
	    host_policy_add_extra_range(policy, "a.example", "fc00::/7"),
	    RESULT_OK);
	assert_int_equal(
	    host_policy_add_extra_range(policy, "a.example", "10.0.0.1/8"),
	    RESULT_BAD);
	assert_int_equal(
	    host_policy_add_extra_range(policy, "*.example", "10.0.0.0/8"),
	    RESULT_BAD);
	assert_int_equal(host_policy_add_own(policy, "x"), RESULT_BAD);
	assert_int_equal(host_policy_add_ech(policy, "*"), RESULT_BAD);
	host_policy_free(&policy);
}

static void
b034_ech_per_name(void **state)
{
	struct host_policy *policy = make(NULL, NULL);
	struct domain yes = name_of("browser.example");
	struct domain no = name_of("a.browser.example");

	(void)state;
	assert_int_equal(
	    host_policy_add_ech(policy, "Browser.Example."), RESULT_OK);
	assert_true(host_policy_ech_allowed(policy, &yes));
	assert_false(host_policy_ech_allowed(policy, &no));
	host_policy_free(&policy);
}

static void
b044_narrower(void **state)
{
	static const char *const wide[] = {
	    "*.a.example", "b.example", "tcp://10.0.0.0/8:22", NULL};
	static const char *const narrow[] = {
	    "x.a.example", "tcp://10.1.0.0/16:22", NULL};
	static const char *const deny[] = {"y.a.example", NULL};
	struct host_policy *old = make(wide, deny), *next;

	(void)state;
	next = make(narrow, deny);
	assert_true(host_policy_is_narrower(next, old));
	assert_false(host_policy_is_narrower(old, next));
	assert_int_equal(
	    host_policy_add_extra_range(next, "b.example", "10.0.0.0/8"),
	    RESULT_OK);
	assert_false(host_policy_is_narrower(next, old));
	host_policy_free(&next);

	next = make(narrow, NULL); /* a deny entry is gone */
	assert_false(host_policy_is_narrower(next, old));
	host_policy_free(&next);

	next = make(narrow, deny);
	assert_int_equal(host_policy_add_ech(next, "b.example"), RESULT_OK);
	assert_false(host_policy_is_narrower(next, old));
	assert_int_equal(host_policy_add_ech(old, "b.example"), RESULT_OK);
	assert_true(host_policy_is_narrower(next, old));
	assert_int_equal(host_policy_add_own(old, "5.5.5.0/24"), RESULT_OK);
	assert_false(host_policy_is_narrower(next, old));
	assert_int_equal(host_policy_add_own(next, "5.5.0.0/16"), RESULT_OK);
	assert_true(host_policy_is_narrower(next, old));
	/* A network does not stand for the host's own address in it. */
	assert_int_equal(host_policy_add_own(old, "5.5.5.5/32"), RESULT_OK);
	assert_false(host_policy_is_narrower(next, old));
	assert_int_equal(host_policy_add_own(next, "5.5.5.5"), RESULT_OK);
	assert_true(host_policy_is_narrower(next, old));
	host_policy_free(&next);

	next = make(NULL, deny); /* nothing at all */
	assert_int_equal(host_policy_add_own(next, "5.5.5.0/24"), RESULT_OK);
	assert_int_equal(host_policy_add_own(next, "5.5.5.5/32"), RESULT_OK);
	assert_true(host_policy_is_narrower(next, old));
	host_policy_free(&next);
	host_policy_free(&old);
}

/* What is the host's from now on: an address that was written down alone opens
 * itself as before, a network may open another kind of address. */
static void
test_narrower_with_more_own(void **state)
{
	static const struct {
		const char *entry, *own;
		bool narrower;
	} rows[] = {
	    {"tcp://8.8.4.10:22", "8.8.4.0/24", true},
	    {"tcp://8.8.4.10:22", "8.8.4.10/32", true},
	    {"tcp://8.8.0.0/16:22", "8.8.4.0/24", true},
	    {"tcp://8.8.0.0/16:22", "8.8.0.0/24", false},
	    {"*.a.example", "8.8.4.0/24", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *const entries[] = {rows[i].entry, NULL};
		struct host_policy *old = make(entries, NULL);
		struct host_policy *next = make(entries, NULL);

		assert_int_equal(
		    host_policy_add_own(next, rows[i].own), RESULT_OK);
		if (host_policy_is_narrower(next, old) != rows[i].narrower)
			fail_msg("%s with %s", rows[i].entry, rows[i].own);
		host_policy_free(&old);
		host_policy_free(&next);
	}
}

/* Smaller ranges that open what the larger ones do not. */
static void
b044_smaller_is_not_narrower(void **state)
{
	static const struct {
		const char *old, *next;
		bool narrower;
	} rows[] = {
	    {"10.0.0.0/8", "10.0.0.0/8", true},
	    {"10.0.0.0/8", "10.1.0.0/16", true},
	    {"10.0.0.0/8", "10.1.2.3/32", false}, /* may be this host's own */
	    {"10.1.2.3/32", "10.1.2.3/32", true},
	    {"192.0.0.0/8", "192.168.0.0/16", false}, /* another kind */
	    {"192.168.0.0/16", "192.168.1.0/24", true},
	    {"93.0.0.0/8", "93.184.0.0/16", true},
	    {"10.1.0.0/16", "10.0.0.0/8", false},
	};
	char text[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host_policy *old = make(NULL, NULL);
		struct host_policy *next = make(NULL, NULL);
		enum domain_fault fault;

		assert_int_equal(host_policy_add_extra_range(
				     old, "a.example.com", rows[i].old),
		    RESULT_OK);
		assert_int_equal(host_policy_add_extra_range(
				     next, "a.example.com", rows[i].next),
		    RESULT_OK);
		if (host_policy_is_narrower(next, old) != rows[i].narrower)
			fail_msg("range %s to %s", rows[i].old, rows[i].next);
		host_policy_free(&old);
		host_policy_free(&next);
		old = make(NULL, NULL);
		next = make(NULL, NULL);
		snprintf(text, sizeof(text), "tcp://%s:22", rows[i].old);
		assert_int_equal(
		    host_policy_add_allow(old, text, &fault), POLICY_ENTRY_OK);
		snprintf(text, sizeof(text), "tcp://%s:22", rows[i].next);
		assert_int_equal(
		    host_policy_add_allow(next, text, &fault), POLICY_ENTRY_OK);
		if (host_policy_is_narrower(next, old) != rows[i].narrower)
			fail_msg("entry %s to %s", rows[i].old, rows[i].next);
		host_policy_free(&old);
		host_policy_free(&next);
	}
}

static void
i11_bounded(void **state)
{
	struct host_policy *policy = make(NULL, NULL);
	enum domain_fault fault;
	char text[64];
	unsigned i;

	(void)state;
	for (i = 0; i < HOST_POLICY_ENTRIES_MAX; i++) {
		snprintf(text, sizeof(text), "h%u.example.com", i);
		assert_int_equal(host_policy_add_allow(policy, text, &fault),
		    POLICY_ENTRY_OK);
	}
	assert_int_equal(
	    host_policy_add_allow(policy, "one.example.com", &fault),
	    POLICY_ENTRY_TOO_LONG);
	assert_int_equal(
	    host_policy_allow_count(policy), HOST_POLICY_ENTRIES_MAX);
	assert_string_equal(
	    host_policy_allow_borrow(policy, 7)->text, "h7.example.com:443");
	assert_null(host_policy_allow_borrow(policy, HOST_POLICY_ENTRIES_MAX));
	host_policy_free(&policy);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(b001_empty_denies),
	    cmocka_unit_test(b006_b007_names),
	    cmocka_unit_test(b008_bad_ranges_are_refused),
	    cmocka_unit_test(b019_one_bad_address_refuses_all),
	    cmocka_unit_test(b020_deny_wins),
	    cmocka_unit_test(b025_literals),
	    cmocka_unit_test(b034_ech_per_name),
	    cmocka_unit_test(b044_narrower),
	    cmocka_unit_test(test_narrower_with_more_own),
	    cmocka_unit_test(b044_smaller_is_not_narrower),
	    cmocka_unit_test(b045_both_verbs_one_gate),
	    cmocka_unit_test(no_addresses_no_dial),
	    cmocka_unit_test(i11_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
