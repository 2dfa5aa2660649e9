/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses: strict spellings, and the judge against every range of the
 * special-purpose registries, plain and embedded.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "common/ip_addr.h"

static struct ip_addr
make(const char *text)
{
	struct ip_addr addr;

	if (ip_addr_parse(text, strlen(text), &addr) != RESULT_OK)
		fail_msg("'%s' did not parse", text);
	return addr;
}

static void
b014_odd_ipv4(void **state)
{
	static const char *const odd[] = {"127.1", "0x7f.1", "0177.0.0.1",
	    "2130706433", "0x", "0x7f000001", "1e1.0.0.1", "127.0.0.1.",
	    "127.0.0.01", "127.0.0.256", "127.0.0", "127.0.0.1.1", " 127.0.0.1",
	    "127.0.0.1 ", "+127.0.0.1", "127..0.1", "", "1.2.3.4/32",
	    "[127.0.0.1]", "1.2.3.-4"};
	struct ip_addr addr;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		assert_int_equal(
		    ip_addr_parse(odd[i], strlen(odd[i]), &addr), RESULT_BAD);
		assert_int_equal(addr.family, 0);
	}
	assert_int_equal(ip_addr_parse("127.0.0.1\0.x", 12, &addr), RESULT_BAD);
	assert_int_equal(ip_addr_parse("127.0.0.1x", 9, &addr), RESULT_OK);
}

static void
b014_looks_numeric(void **state)
{
	static const char *const yes[] = {"127.1", "0x7f.1", "0177.0.0.1",
	    "2130706433", "0x", "1e1.0.0.1", "127.0.0.1", "127.1.", "a.0xz",
	    "a.b.1"};
	static const char *const no[] = {
	    "", ".", "example.com", "1.example", "x0", "0.a", "a.1b"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		assert_true(ip_addr_looks_numeric(yes[i], strlen(yes[i])));
	for (i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		assert_false(ip_addr_looks_numeric(no[i], strlen(no[i])));
}

static void
b012_ipv6_spellings(void **state)
{
	static const char *const bad[] = {"fe80::1%25eth0", "fe80::1%eth0",
	    "::ffff:1.2.3.4%x.example.com", "[::1]", ":::", "1::2::3",
	    "12345::", "::1.2.3", "::1.2.3.04", "1:2:3:4:5:6:7",
	    "1:2:3:4:5:6:7:8:9", ":1", "1:", "::g",
	    "1111:2222:3333:4444:5555:6666:7777:8888:"};
	static const char *const good[][2] = {{"::1", "::1"},
	    {"2001:DB8::A", "2001:db8::a"}, {"0:0:0:0:0:0:0:0", "::"},
	    {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
	    {"::ffff:127.0.0.1", "::ffff:127.0.0.1"},
	    {"::ffff:7f00:1", "::ffff:127.0.0.1"},
	    {"1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"}};
	char text[IP_ADDR_TEXT_MAX];
	struct ip_addr addr;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(
		    ip_addr_parse(bad[i], strlen(bad[i]), &addr), RESULT_BAD);
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		addr = make(good[i][0]);
		ip_addr_text(&addr, text);
		assert_string_equal(text, good[i][1]);
	}
}

/* A row of the address vectors: verdict and how the rule begins. */
struct row {
	const char *text;
	enum ip_verdict verdict;
	const char *rule;
};

static void
play(const struct row *rows, size_t count, const struct ip_cidr_list *own)
{
	struct ip_addr addr;
	enum ip_verdict verdict;
	const char *rule;
	size_t i;

	for (i = 0; i < count; i++) {
		addr = make(rows[i].text);
		verdict = ip_addr_judge(&addr, own, &rule);
		if (verdict != rows[i].verdict ||
		    strncmp(rule, rows[i].rule, strlen(rows[i].rule)) != 0)
			fail_msg(
			    "%s gave %d, %s", rows[i].text, (int)verdict, rule);
		assert_int_equal(ip_addr_judge(&addr, own, NULL), verdict);
	}
}
#define PLAY(rows) play(rows, sizeof(rows) / sizeof((rows)[0]), NULL)

static void
b015_mapped(void **state)
{
	static const struct row rows[] = {
	    {"::ffff:7f00:1", IP_EMBEDDED, "127.0.0.0/8"},
	    {"::ffff:10.1.2.3", IP_EMBEDDED, "10.0.0.0/8"},
	    {"::ffff:169.254.169.254", IP_METADATA, "169.254.169.254"},
	    /* Mapped addresses are never what a peer is reached by. */
	    {"::ffff:8.8.8.8", IP_SPECIAL, "::ffff:0:0/96"},
	};

	(void)state;
	PLAY(rows);
}

static void
b016_embedded(void **state)
{
	static const struct row rows[] = {
	    {"::127.0.0.1", IP_EMBEDDED, "127.0.0.0/8"},
	    {"::8.8.8.8", IP_SPECIAL, "::/96"},
	    {"::ffff:0:127.0.0.1", IP_EMBEDDED, "127.0.0.0/8"},
	    {"64:ff9b::7f00:1", IP_EMBEDDED, "127.0.0.0/8"},
	    {"64:ff9b::10.0.0.1", IP_EMBEDDED, "10.0.0.0/8"},
	    {"64:ff9b::169.254.169.254", IP_METADATA, "169.254.169.254"},
	    {"64:ff9b::8.8.8.8", IP_GLOBAL, "globally"},
	    {"64:ff9b:1::7f00:1", IP_EMBEDDED, "127.0.0.0/8"},
	    {"64:ff9b:1:7f00:0:100::", IP_EMBEDDED, "127.0.0.0/8"},
	    {"64:ff9b:1::808:808", IP_SPECIAL, "64:ff9b:1::/48"},
	    {"2002:7f00:1::", IP_EMBEDDED, "127.0.0.0/8"},
	    {"2002:a9fe:a9fe::1", IP_METADATA, "169.254.169.254"},
	    {"2002:808:808::1", IP_SPECIAL, "2002::/16"},
	    /* Teredo: the client's address is stored inverted. */
	    {"2001:0:808:808:0:0:80ff:fffe", IP_EMBEDDED, "127.0.0.0/8"},
	    {"2001:0:808:808:0:0:f7f7:f7f7", IP_SPECIAL, "2001::/32"},
	    /* ISATAP below an ordinary prefix. */
	    {"2600:1234::5efe:10.0.0.1", IP_EMBEDDED, "10.0.0.0/8"},
	    {"2600:1234::200:5efe:192.168.1.1", IP_EMBEDDED, "192.168.0.0/16"},
	    {"2600:1234::5efe:8.8.8.8", IP_GLOBAL, "globally"},
	};

	(void)state;
	PLAY(rows);
}

static void
b017_unspecified(void **state)
{
	static const struct row rows[] = {
	    {"0.0.0.0", IP_SPECIAL, "0.0.0.0/32"},
	    {"0.1.2.3", IP_SPECIAL, "0.0.0.0/8"},
	    {"::", IP_SPECIAL, "::/128"},
	    {"::1", IP_SPECIAL, "::1/128"},
	    {"::ffff:0.0.0.0", IP_SPECIAL, "::ffff:0:0/96"},
	};

	(void)state;
	PLAY(rows);
}

static void
b018_metadata(void **state)
{
	static const struct row rows[] = {
	    {"169.254.169.254", IP_METADATA, "169.254.169.254"},
	    {"169.254.170.2", IP_METADATA, "169.254.170.2"},
	    {"100.100.100.200", IP_METADATA, "100.100.100.200"},
	    {"168.63.129.16", IP_METADATA, "168.63.129.16"},
	    {"fd00:ec2::254", IP_METADATA, "fd00:ec2::254"},
	    {"fd20:ce::254", IP_METADATA, "fd20:ce::254"},
	    {"fe80::1", IP_SPECIAL, "fe80::/10"},
	};

	(void)state;
	PLAY(rows);
}

/* Every row of the two registries: the first, a middle and the last address
 * are judged as the registry's column "Globally Reachable" says, unless a
 * longer row takes them. */
struct range {
	struct ip_cidr cidr;
	bool global;
};
#define NOT_GLOBAL false
#define GLOBAL true
#define PAIR(g) (uint8_t)((g) >> 8), (uint8_t)((g)&0xff)
#define IP_SPECIAL_V4(a, b, c, d, prefix, reach, text) \
	{{{4, {a, b, c, d}}, prefix}, reach},
#define IP_SPECIAL_V6(a, b, c, d, e, f, g, h, prefix, reach, text)            \
	{{{6, {PAIR(a), PAIR(b), PAIR(c), PAIR(d), PAIR(e), PAIR(f), PAIR(g), \
		  PAIR(h)}},                                                  \
	     prefix},                                                         \
	    reach},
static const struct range ranges[] = {
#include "common/ip_addr_special.inc"
};
#define RANGES (sizeof(ranges) / sizeof(ranges[0]))

static bool
expected_global(const struct ip_addr *addr)
{
	const struct range *best = NULL;
	size_t i;

	for (i = 0; i < RANGES; i++)
		if (ip_addr_cidr_contains(&ranges[i].cidr, addr) &&
		    (best == NULL || ranges[i].cidr.prefix > best->cidr.prefix))
			best = &ranges[i];
	return best == NULL || best->global;
}

/* The range's base with its host bits filled by pattern. */
static struct ip_addr
fill(const struct ip_cidr *cidr, uint8_t pattern)
{
	struct ip_addr addr = cidr->base;
	unsigned bit, bits = addr.family == 4 ? 32 : 128;

	for (bit = cidr->prefix; bit < bits; bit++)
		if ((pattern & (0x80U >> (bit % 8))) != 0)
			addr.bytes[bit / 8] |= (uint8_t)(0x80U >> (bit % 8));
	return addr;
}

static void
b018_every_registry_row(void **state)
{
	static const uint8_t patterns[] = {0x00, 0xff, 0x55, 0xaa};
	struct ip_addr addr, inner;
	size_t i, j;
	bool global;

	(void)state;
	assert_true(RANGES >= 57);
	for (i = 0; i < RANGES; i++) {
		for (j = 0; j < sizeof(patterns); j++) {
			addr = fill(&ranges[i].cidr, patterns[j]);
			global = ip_addr_judge(&addr, NULL, NULL) == IP_GLOBAL;
			if (global && !expected_global(&addr))
				fail_msg("row %zu is not global", i);
			/* NAT64 and ISATAP are as global as what is inside */
			if (!ip_addr_embedded(&addr, &inner) &&
			    expected_global(&addr))
				assert_true(global);
		}
	}
}

static void
b018_global_addresses(void **state)
{
	static const struct row rows[] = {
	    {"8.8.8.8", IP_GLOBAL, "globally"},
	    {"1.1.1.1", IP_GLOBAL, "globally"},
	    {"9.255.255.255", IP_GLOBAL, "globally"},
	    {"11.0.0.0", IP_GLOBAL, "globally"},
	    {"100.63.255.255", IP_GLOBAL, "globally"},
	    {"100.128.0.0", IP_GLOBAL, "globally"},
	    {"172.15.255.255", IP_GLOBAL, "globally"},
	    {"172.32.0.0", IP_GLOBAL, "globally"},
	    {"192.0.0.9", IP_GLOBAL, "globally"},
	    {"223.255.255.255", IP_GLOBAL, "globally"},
	    {"2606:4700::1111", IP_GLOBAL, "globally"},
	    {"2001:1::1", IP_GLOBAL, "globally"},
	    {"3fff:1000::", IP_GLOBAL, "globally"},
	    {"4000::1", IP_SPECIAL, "outside 2000::/3"},
	    {"1000::1", IP_SPECIAL, "outside 2000::/3"},
	    {"ff02::1", IP_SPECIAL, "ff00::/8"},
	    {"224.0.0.1", IP_SPECIAL, "224.0.0.0/4"},
	    {"255.255.255.255", IP_SPECIAL, "255.255.255.255/32"},
	};

	(void)state;
	PLAY(rows);
}

static void
b021_own_addresses(void **state)
{
	static const struct row rows[] = {
	    {"8.8.8.8", IP_OWN_HOST, "an address or network"},
	    {"8.8.4.4", IP_GLOBAL, "globally"},
	    {"2606:4700:1::5", IP_OWN_HOST, "an address or network"},
	    {"64:ff9b::8.8.8.8", IP_OWN_HOST, "an address or network"},
	};
	struct ip_cidr items[2];
	struct ip_cidr_list own = {items, 2};

	(void)state;
	assert_int_equal(
	    ip_addr_parse_cidr("8.8.8.8", 7, &items[0]), RESULT_OK);
	assert_int_equal(
	    ip_addr_parse_cidr("2606:4700:1::/48", 16, &items[1]), RESULT_OK);
	play(rows, sizeof(rows) / sizeof(rows[0]), &own);
}

static void
cidr_spellings(void **state)
{
	static const char *const bad[] = {"10.0.0.1/8", "10.0.0.0/33",
	    "10.0.0.0/", "10.0.0.0/08", "10.0.0.0/8/8", "/8", "10.0.0.0/-1",
	    "10.0.0.0/ 8", "2001:db8::1/32", "::/129", "10/8", ""};
	static const char *const good[][2] = {{"10.0.0.0/8", "10.0.0.0/8"},
	    {"0.0.0.0/0", "0.0.0.0/0"}, {"10.1.2.3", "10.1.2.3/32"},
	    {"2001:DB8::/32", "2001:db8::/32"}, {"::1", "::1/128"}};
	char text[IP_ADDR_TEXT_MAX + 4];
	struct ip_cidr cidr;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(
		    ip_addr_parse_cidr(bad[i], strlen(bad[i]), &cidr),
		    RESULT_BAD);
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(
		    ip_addr_parse_cidr(good[i][0], strlen(good[i][0]), &cidr),
		    RESULT_OK);
		ip_addr_cidr_text(&cidr, text);
		assert_string_equal(text, good[i][1]);
	}
}

static void
ranges_contain(void **state)
{
	struct ip_addr inside = make("10.31.255.255");
	struct ip_addr outside = make("10.32.0.0");
	struct ip_addr mapped = make("::ffff:10.16.0.1");
	struct ip_cidr cidr;
	struct ip_cidr_list list = {&cidr, 1};

	(void)state;
	assert_int_equal(
	    ip_addr_parse_cidr("10.16.0.0/12", 12, &cidr), RESULT_OK);
	assert_true(ip_addr_cidr_contains(&cidr, &inside));
	assert_false(ip_addr_cidr_contains(&cidr, &outside));
	assert_false(ip_addr_cidr_contains(&cidr, &mapped));
	assert_true(ip_addr_in(&mapped, &list));
	assert_false(ip_addr_in(&outside, &list));
	assert_false(ip_addr_in(&inside, NULL));
	assert_true(ip_addr_equal(&inside, &inside));
	assert_false(ip_addr_equal(&inside, &outside));
}

static void
sockaddr_round_trip(void **state)
{
	static const char *const texts[] = {"192.0.2.7", "2001:db8::7"};
	struct sockaddr_storage storage;
	struct ip_addr addr, back;
	socklen_t len;
	uint16_t port;
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		addr = make(texts[i]);
		len = ip_addr_to_sockaddr(&addr, 4433, &storage);
		assert_int_equal(
		    ip_addr_from_sockaddr(
			(struct sockaddr *)&storage, len, &back, &port),
		    RESULT_OK);
		assert_true(ip_addr_equal(&addr, &back));
		assert_int_equal(port, 4433);
		assert_int_equal(
		    ip_addr_from_sockaddr(
			(struct sockaddr *)&storage, 4, &back, &port),
		    RESULT_BAD);
	}
	memset(&addr, 0, sizeof(addr));
	assert_int_equal(ip_addr_to_sockaddr(&addr, 1, &storage), 0);
	assert_int_equal(ip_addr_judge(&addr, NULL, NULL), IP_SPECIAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(b012_ipv6_spellings),
	    cmocka_unit_test(b014_odd_ipv4),
	    cmocka_unit_test(b014_looks_numeric),
	    cmocka_unit_test(b015_mapped),
	    cmocka_unit_test(b016_embedded),
	    cmocka_unit_test(b017_unspecified),
	    cmocka_unit_test(b018_metadata),
	    cmocka_unit_test(b018_every_registry_row),
	    cmocka_unit_test(b018_global_addresses),
	    cmocka_unit_test(b021_own_addresses),
	    cmocka_unit_test(cidr_spellings),
	    cmocka_unit_test(ranges_contain),
	    cmocka_unit_test(sockaddr_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
