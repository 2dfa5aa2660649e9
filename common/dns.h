/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lookups over c-ares on libevent: A and AAAA of one canonical name, with a
 * bounded cache that honours TTLs within limits. Reads no file after
 * dns_new (lookups "b" without a service string, resolvers given). Used by
 * egress-proxy and llm-key.
 */
#ifndef COMMON_DNS_H
#define COMMON_DNS_H

#include <event2/event.h>
#include <stddef.h>
#include <stdint.h>

#include "common/domain.h"
#include "common/ip_addr.h"
#include "common/result.h"

#define DNS_ADDRESSES_MAX 32U

struct dns;       /* resolver with its cache */
struct dns_query; /* one pending lookup */

struct dns_options {
	const char *servers; /* "192.0.2.1:53,[2001:db8::1]:53" */
	unsigned timeout_ms; /* per lookup, all tries */
	unsigned ttl_min_s, ttl_max_s, negative_ttl_s;
	size_t cache_max; /* names */
};

struct dns_answer {
	struct ip_addr addresses[DNS_ADDRESSES_MAX]; /* AAAA and A as given */
	size_t count;
	unsigned ttl_s; /* remaining */
	int from_cache;
};

/* result: RESULT_OK with at least one address, RESULT_NOT_FOUND,
 * RESULT_TIMEOUT, RESULT_BAD (broken answer), RESULT_SYSTEM (no server
 * reachable, refused). answer is borrowed for the call. */
typedef void dns_done(
    enum result result, const struct dns_answer *answer, void *context);

enum result dns_new(struct event_base *base, const struct dns_options *options,
    struct dns **dns_r);
void dns_free(struct dns **dns);
enum result dns_set_servers(struct dns *dns, const char *servers);

/* Start a lookup; done is called exactly once, never before this returns,
 * unless dns_cancel is called first. */
enum result dns_lookup(struct dns *dns, const struct domain *name,
    dns_done *done, void *context, struct dns_query **query_r);
void dns_cancel(struct dns_query **query);

#endif
