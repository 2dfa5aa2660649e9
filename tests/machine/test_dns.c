/* SPDX-License-Identifier: Apache-2.0 */
/* common/dns with real packets on loopback: what is believed, for how long,
 * how often it is asked, and what a bad or silent server leads to. */
#define DNS_INTERNAL
#include "common/dns.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/event_loop.h"
#include "tests/support/dns_responder.h"

#define TEST_DNS_TIMEOUT 700U

struct test_dns {
	struct event_base *base;
	struct dns_responder server;
	struct dns *dns;
};

struct test_dns_answer {
	struct event_base *base;
	unsigned calls;
	enum result result;
	struct dns_answer answer;
	unsigned *remaining; /* the loop stops at 0 */
};

static unsigned
test_dns_open_count(void)
{
	unsigned count = 0;
	int fd;

	for (fd = 0; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			count++;
	return count;
}

static struct domain
test_dns_name(const char *text)
{
	struct domain name;

	assert_int_equal(domain_parse(text, strlen(text), &name), DOMAIN_OK);
	return name;
}

static void
test_dns_open(struct test_dns *test, const struct dns_options *given)
{
	struct dns_options options = {.timeout_ms = TEST_DNS_TIMEOUT,
	    .ttl_max_s = 3600,
	    .negative_ttl_s = 30,
	    .cache_max = 8};

	if (given != NULL)
		options = *given;
	assert_int_equal(event_loop_new(&test->base), RESULT_OK);
	dns_responder_open(&test->server, test->base);
	options.servers = test->server.address;
	assert_int_equal(dns_new(test->base, &options, &test->dns), RESULT_OK);
}

static void
test_dns_close(struct test_dns *test)
{
	dns_free(&test->dns);
	assert_null(test->dns);
	dns_responder_close(&test->server);
	event_base_free(test->base);
}

static void
test_dns_done(
    enum result result, const struct dns_answer *answer, void *context)
{
	struct test_dns_answer *told = context;

	told->calls++;
	told->result = result;
	told->answer = *answer;
	if (--*told->remaining == 0)
		event_loop_stop(told->base);
}

/* One lookup to its end. */
static void
test_dns_ask(
    struct test_dns *test, const char *text, struct test_dns_answer *told)
{
	struct domain name = test_dns_name(text);
	struct dns_query *query;
	unsigned remaining = 1;

	memset(told, 0, sizeof(*told));
	told->base = test->base;
	told->remaining = &remaining;
	assert_int_equal(
	    dns_lookup(test->dns, &name, test_dns_done, told, &query),
	    RESULT_OK);
	assert_int_equal(told->calls, 0);
	assert_int_equal(event_loop_run(test->base), RESULT_OK);
	assert_int_equal(told->calls, 1);
}

static void
test_dns_expect(const struct test_dns_answer *told, const char *const *texts)
{
	char text[IP_ADDR_TEXT_MAX];
	size_t i;

	assert_int_equal(told->result, RESULT_OK);
	for (i = 0; texts[i] != NULL; i++) {
		assert_true(i < told->answer.count);
		ip_addr_text(&told->answer.addresses[i], text);
		assert_string_equal(text, texts[i]);
	}
	assert_int_equal(told->answer.count, i);
}

static const char *const test_dns_both[] = {"2001:db8::1", "192.0.2.1", NULL};
static const char *const test_dns_four[] = {"192.0.2.1", NULL};

static void
test_dns_good_and_cached(void **state)
{
	unsigned before = test_dns_open_count();
	struct test_dns_answer told;
	struct test_dns test;

	(void)state;
	test_dns_open(&test, NULL);
	test_dns_ask(&test, "good.example", &told);
	test_dns_expect(&told, test_dns_both);
	assert_int_equal(told.answer.ttl_s, 300);
	assert_int_equal(told.answer.from_cache, 0);
	assert_int_equal(test.server.queries, 2);
	assert_int_equal(test.server.with_edns, 2);
	assert_string_equal(test.server.last_name, "good.example");
	test_dns_ask(&test, "good.example", &told);
	test_dns_expect(&told, test_dns_both);
	assert_int_equal(told.answer.from_cache, 1);
	assert_in_range(told.answer.ttl_s, 298, 300);
	assert_int_equal(test.server.queries, 2);
	test_dns_close(&test);
	assert_int_equal(test_dns_open_count(), before);
}

static void
test_dns_kinds(void **state)
{
	static const struct {
		const char *name;
		enum result result;
		const char *const *addresses;
		unsigned ttl;
	} rows[] = {
	    {"aonly.example", RESULT_OK, test_dns_four, 300},
	    {"chain.example", RESULT_OK, test_dns_both, 60},
	    {"wrongid.example", RESULT_OK, test_dns_both, 300},
	    {"wrongq.example", RESULT_OK, test_dns_both, 300},
	    {"trunc.example", RESULT_OK, test_dns_both, 300},
	    {"late.example", RESULT_OK, test_dns_both, 300},
	    {"ttl9999999.example", RESULT_OK, test_dns_both, 3600},
	    {"nx.example", RESULT_NOT_FOUND, NULL, 30},
	    {"nodata.example", RESULT_NOT_FOUND, NULL, 30},
	    {"cname.example", RESULT_NOT_FOUND, NULL, 30},
	    {"servfail.example", RESULT_SYSTEM, NULL, 0},
	    {"garbage.example", RESULT_BAD, NULL, 0},
	    {"short.example", RESULT_TIMEOUT, NULL, 0},
	    {"silent.example", RESULT_TIMEOUT, NULL, 0},
	    {"many.example", RESULT_BAD, NULL, 0},
	};
	struct test_dns_answer told;
	struct test_dns test;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		test_dns_open(&test, NULL);
		test_dns_ask(&test, rows[i].name, &told);
		if (told.result != rows[i].result)
			fail_msg("%s: result %d, expected %d", rows[i].name,
			    told.result, rows[i].result);
		if (rows[i].addresses != NULL) {
			test_dns_expect(&told, rows[i].addresses);
			assert_int_equal(told.answer.ttl_s, rows[i].ttl);
		} else {
			assert_int_equal(told.answer.count, 0);
		}
		test_dns_close(&test);
	}
}

static void
test_dns_tcp_fallback(void **state)
{
	struct test_dns_answer told;
	struct test_dns test;

	(void)state;
	test_dns_open(&test, NULL);
	test_dns_ask(&test, "trunc.example", &told);
	test_dns_expect(&told, test_dns_both);
	assert_int_equal(test.server.tcp_queries, 2);
	test_dns_close(&test);
}

/* Refusals are remembered too, failures are not. */
static void
test_dns_negative_cache(void **state)
{
	struct test_dns_answer told;
	struct test_dns test;
	unsigned asked;

	(void)state;
	test_dns_open(&test, NULL);
	test_dns_ask(&test, "nx.example", &told);
	asked = test.server.queries;
	test_dns_ask(&test, "nx.example", &told);
	assert_int_equal(told.result, RESULT_NOT_FOUND);
	assert_int_equal(told.answer.from_cache, 1);
	assert_int_equal(test.server.queries, asked);
	test_dns_ask(&test, "garbage.example", &told);
	asked = test.server.queries;
	test_dns_ask(&test, "garbage.example", &told);
	assert_int_equal(told.result, RESULT_BAD);
	assert_true(test.server.queries > asked);
	test_dns_close(&test);
}

static void
test_dns_ttl_bounds(void **state)
{
	const struct dns_options floor = {.timeout_ms = TEST_DNS_TIMEOUT,
	    .ttl_min_s = 5,
	    .ttl_max_s = 60,
	    .cache_max = 8};
	struct test_dns_answer told;
	struct test_dns test;

	(void)state;
	test_dns_open(&test, NULL); /* no floor: TTL 0 is asked each time */
	test_dns_ask(&test, "zero.example", &told);
	assert_int_equal(told.answer.ttl_s, 0);
	test_dns_ask(&test, "zero.example", &told);
	assert_int_equal(told.answer.from_cache, 0);
	assert_int_equal(test.server.queries, 4);
	test_dns_close(&test);
	test_dns_open(&test, &floor);
	test_dns_ask(&test, "zero.example", &told);
	assert_int_equal(told.answer.ttl_s, 5);
	test_dns_ask(&test, "zero.example", &told);
	assert_int_equal(told.answer.from_cache, 1);
	test_dns_ask(&test, "good.example", &told);
	assert_int_equal(told.answer.ttl_s, 60);
	test_dns_ask(&test, "nx.example", &told); /* negative: not kept */
	test_dns_ask(&test, "nx.example", &told);
	assert_int_equal(told.answer.from_cache, 0);
	test_dns_close(&test);
}

/* One silent family delays, but does not spoil, the other. */
static void
test_dns_half_mute(void **state)
{
	const struct dns_options options = {
	    .timeout_ms = 5000, .ttl_max_s = 3600, .cache_max = 8};
	struct test_dns_answer told;
	struct test_dns test;
	uint64_t start;

	(void)state;
	test_dns_open(&test, &options);
	start = event_loop_now_ms();
	test_dns_ask(&test, "halfmute.example", &told);
	test_dns_expect(&told, test_dns_four);
	assert_in_range(event_loop_now_ms() - start, 400, 2500);
	assert_int_equal(told.answer.ttl_s, 0); /* half: not remembered */
	test_dns_close(&test);
}

static void
test_dns_timeout_time(void **state)
{
	struct test_dns_answer told;
	struct test_dns test;
	uint64_t start;

	(void)state;
	test_dns_open(&test, NULL);
	start = event_loop_now_ms();
	test_dns_ask(&test, "silent.example", &told);
	assert_int_equal(told.result, RESULT_TIMEOUT);
	assert_in_range(event_loop_now_ms() - start, 500, 2000);
	assert_true(test.server.queries >= 4); /* it tried more than once */
	test_dns_close(&test);
}

/* Many lookups of one name at a time are one question per family. */
static void
test_dns_coalesce(void **state)
{
	struct domain name = test_dns_name("good.example");
	struct test_dns_answer told[20];
	struct dns_query *queries[20];
	struct test_dns test;
	unsigned remaining = 18;
	size_t i;

	(void)state;
	test_dns_open(&test, NULL);
	memset(told, 0, sizeof(told));
	for (i = 0; i < 20; i++) {
		told[i].base = test.base;
		told[i].remaining = &remaining;
		assert_int_equal(dns_lookup(test.dns, &name, test_dns_done,
				     &told[i], &queries[i]),
		    RESULT_OK);
	}
	dns_cancel(&queries[0]);
	dns_cancel(&queries[7]);
	assert_null(queries[7]);
	assert_int_equal(event_loop_run(test.base), RESULT_OK);
	for (i = 0; i < 20; i++)
		assert_int_equal(told[i].calls, i == 0 || i == 7 ? 0 : 1);
	assert_int_equal(test.server.queries, 2);
	test_dns_close(&test);
}

/* Cancelled by everybody: nothing is called, and dns_free with lookups and
 * answers pending leaves nothing. */
static void
test_dns_cancel_and_free(void **state)
{
	struct domain silent = test_dns_name("silent.example");
	struct domain good = test_dns_name("good.example");
	struct test_dns_answer told = {.calls = 0};
	struct dns_query *query, *other;
	struct test_dns test;

	(void)state;
	test_dns_open(&test, NULL);
	assert_int_equal(
	    dns_lookup(test.dns, &silent, test_dns_done, &told, &query),
	    RESULT_OK);
	dns_cancel(&query);
	event_base_loop(test.base, EVLOOP_NONBLOCK);
	assert_int_equal(
	    dns_lookup(test.dns, &silent, test_dns_done, &told, &query),
	    RESULT_OK);
	assert_int_equal(
	    dns_lookup(test.dns, &good, test_dns_done, &told, &other),
	    RESULT_OK);
	test_dns_close(&test);
	assert_int_equal(told.calls, 0);
}

static void
test_dns_pending_bound(void **state)
{
	struct test_dns_answer told = {.calls = 0};
	struct dns_query *query;
	struct test_dns test;
	struct domain name;
	char text[32];
	unsigned i;

	(void)state;
	test_dns_open(&test, NULL);
	for (i = 0; i < DNS_PENDING_MAX; i++) {
		snprintf(text, sizeof(text), "silent.n%u.example", i);
		name = test_dns_name(text);
		assert_int_equal(
		    dns_lookup(test.dns, &name, test_dns_done, &told, &query),
		    RESULT_OK);
	}
	name = test_dns_name("good.example");
	assert_int_equal(
	    dns_lookup(test.dns, &name, test_dns_done, &told, &query),
	    RESULT_TOO_LONG);
	assert_null(query);
	name = test_dns_name(text); /* joins one that is pending */
	assert_int_equal(
	    dns_lookup(test.dns, &name, test_dns_done, &told, &query),
	    RESULT_OK);
	test_dns_close(&test);
}

static void
test_dns_no_server(void **state)
{
	struct test_dns_answer told;
	struct test_dns test;
	uint64_t start;

	(void)state;
	test_dns_open(&test, NULL);
	/* a port nobody has: refused by ICMP, told at once */
	assert_int_equal(dns_set_servers(test.dns, "127.0.0.1:1"), RESULT_OK);
	start = event_loop_now_ms();
	test_dns_ask(&test, "good.example", &told);
	assert_int_equal(told.result, RESULT_SYSTEM);
	assert_true(event_loop_now_ms() - start < TEST_DNS_TIMEOUT);
	assert_int_equal(test.server.queries, 0);
	/* the second of two answers */
	snprintf(test.server.last_name, sizeof(test.server.last_name),
	    "127.0.0.1:1,%s", test.server.address);
	assert_int_equal(
	    dns_set_servers(test.dns, test.server.last_name), RESULT_OK);
	test_dns_ask(&test, "good.example", &told);
	test_dns_expect(&told, test_dns_both);
	test_dns_close(&test);
}

/* New resolvers: the cache is forgotten and what is pending asks anew. */
static void
test_dns_replace_servers(void **state)
{
	struct domain silent = test_dns_name("late.example");
	struct dns_responder other;
	struct test_dns_answer told;
	struct dns_query *query;
	struct test_dns test;
	unsigned remaining = 1;

	(void)state;
	test_dns_open(&test, NULL);
	test_dns_ask(&test, "good.example", &told);
	dns_responder_open(&other, test.base);
	other.last_octet = 2;
	other.queries = 2; /* "late" answers here at once */
	test.server.queries = 0;
	told.calls = 0;
	told.remaining = &remaining;
	assert_int_equal(
	    dns_lookup(test.dns, &silent, test_dns_done, &told, &query),
	    RESULT_OK);
	event_base_loop(test.base, EVLOOP_NONBLOCK);
	assert_int_equal(dns_set_servers(test.dns, other.address), RESULT_OK);
	assert_int_equal(event_loop_run(test.base), RESULT_OK);
	assert_int_equal(told.calls, 1);
	test_dns_expect(
	    &told, (const char *const[]){"2001:db8::2", "192.0.2.2", NULL});
	test_dns_ask(&test, "good.example", &told);
	assert_int_equal(told.answer.from_cache, 0);
	test_dns_expect(
	    &told, (const char *const[]){"2001:db8::2", "192.0.2.2", NULL});
	dns_responder_close(&other);
	test_dns_close(&test);
}

static void
test_dns_server_texts(void **state)
{
	static const char *const good[] = {"192.0.2.1", "192.0.2.1:53",
	    "[2001:db8::1]", "[2001:db8::1]:5353,127.0.0.1:53",
	    "127.0.0.1:65535"};
	static const char *const bad[] = {"", ",", "127.0.0.1,", "127.1",
	    "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:+5",
	    "127.0.0.1:5 ", "2001:db8::1", "[127.0.0.1]:53", "[::1", "[::1]53",
	    "[::1]]", "[]:53", "dns.example:53", " 127.0.0.1",
	    "127.0.0.1:123456"};
	struct test_dns test;
	size_t i;

	(void)state;
	test_dns_open(&test, NULL);
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(dns_set_servers(test.dns, good[i]), RESULT_OK);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (dns_set_servers(test.dns, bad[i]) != RESULT_BAD)
			fail_msg("'%s' was accepted", bad[i]);
	assert_int_equal(
	    dns_set_servers(test.dns,
		"127.0.0.1,127.0.0.1,127.0.0.1,127.0.0.1,127.0.0.1,"
		"127.0.0.1,127.0.0.1,127.0.0.1,127.0.0.1"),
	    RESULT_TOO_LONG);
	test_dns_close(&test);
}

static void
test_dns_cache_bounds(void **state)
{
	struct dns_answer answer = {.count = 1, .ttl_s = 10}, got;
	struct dns_cache cache;
	struct domain name;
	enum result result;
	char text[32];
	unsigned i;

	(void)state;
	dns_cache_init(&cache, 3);
	for (i = 0; i < 5; i++) {
		snprintf(text, sizeof(text), "n%u.example", i);
		name = test_dns_name(text);
		dns_cache_store(&cache, &name, RESULT_OK, &answer, 1000);
		assert_true(cache.count <= 3);
	}
	assert_true(dns_cache_find(&cache, &name, 10999, &result, &got));
	assert_int_equal(got.ttl_s, 0);
	assert_false(dns_cache_find(&cache, &name, 11000, &result, &got));
	assert_int_equal(cache.count, 2);
	name = test_dns_name("n1.example"); /* pushed out */
	assert_false(dns_cache_find(&cache, &name, 1000, &result, &got));
	name = test_dns_name("n2.example");
	assert_true(dns_cache_find(&cache, &name, 1000, &result, &got));
	answer.ttl_s = 0; /* forgets */
	dns_cache_store(&cache, &name, RESULT_OK, &answer, 1000);
	assert_false(dns_cache_find(&cache, &name, 1000, &result, &got));
	dns_cache_clear(&cache);
	assert_int_equal(cache.count, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_dns_good_and_cached),
	    cmocka_unit_test(test_dns_kinds),
	    cmocka_unit_test(test_dns_tcp_fallback),
	    cmocka_unit_test(test_dns_negative_cache),
	    cmocka_unit_test(test_dns_ttl_bounds),
	    cmocka_unit_test(test_dns_half_mute),
	    cmocka_unit_test(test_dns_timeout_time),
	    cmocka_unit_test(test_dns_coalesce),
	    cmocka_unit_test(test_dns_cancel_and_free),
	    cmocka_unit_test(test_dns_pending_bound),
	    cmocka_unit_test(test_dns_no_server),
	    cmocka_unit_test(test_dns_replace_servers),
	    cmocka_unit_test(test_dns_server_texts),
	    cmocka_unit_test(test_dns_cache_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
