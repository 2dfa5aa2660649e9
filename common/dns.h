/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lookups over c-ares on libevent: A and AAAA of one canonical name, with a
 * bounded cache that honours TTLs within limits. Reads no file after
 * dns_new (resolvers are given, no search domains, no hosts file). Used by
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

#define DNS_ADDRESSES_MAX 32U /* an answer with more is RESULT_BAD */
#define DNS_PENDING_MAX 256U  /* names being looked up at one time */
#define DNS_SERVERS_MAX 8U

struct dns;       /* resolver with its cache */
struct dns_query; /* one pending lookup */

struct dns_options {
	const char *servers; /* "192.0.2.1:53,[2001:db8::1]:53" */
	unsigned timeout_ms; /* per lookup, all tries */
	unsigned ttl_min_s, ttl_max_s, negative_ttl_s; /* 0: not cached */
	size_t cache_max;                              /* names */
};

struct dns_answer {
	struct ip_addr addresses[DNS_ADDRESSES_MAX]; /* AAAA, then A */
	size_t count;
	unsigned ttl_s; /* remaining */
	int from_cache;
};

/* result: RESULT_OK with at least one address, RESULT_NOT_FOUND,
 * RESULT_TIMEOUT, RESULT_BAD (broken answer), RESULT_SYSTEM (no server
 * reachable, refused). answer is borrowed for the call. The query is gone
 * when this is called: forget the pointer. */
typedef void dns_done(
    enum result result, const struct dns_answer *answer, void *context);

/* Before confinement (c-ares reads its random key here). Confined callers
 * need socket, connect, sendto, recvfrom, ioctl(FIONBIO), and for TCP
 * setsockopt. RESULT_BAD: servers is malformed. */
enum result dns_new(struct event_base *base, const struct dns_options *options,
    struct dns **dns_r);
/* Pending lookups end without a call. */
void dns_free(struct dns **dns);
/* Replace the resolvers; the cache is emptied, pending lookups start anew. */
enum result dns_set_servers(struct dns *dns, const char *servers);

/* Start a lookup; done is called exactly once, never before this returns,
 * unless dns_cancel is called first. Several lookups of one name share one
 * question. RESULT_TOO_LONG: DNS_PENDING_MAX names are pending already.
 * One family that fails or stays silent does not spoil the other. */
enum result dns_lookup(struct dns *dns, const struct domain *name,
    dns_done *done, void *context, struct dns_query **query_r);
void dns_cancel(struct dns_query **query);

#ifdef DNS_INTERNAL
/* The cache (dns_cache.c), oldest entry out first; for dns.c and tests. */
#include <stdbool.h>
#include <sys/queue.h>

#define DNS_CACHE_BUCKETS 256U
struct dns_entry;
struct dns_cache {
	size_t max, count;
	LIST_HEAD(, dns_entry) buckets[DNS_CACHE_BUCKETS];
	TAILQ_HEAD(, dns_entry) ages;
};
void dns_cache_init(struct dns_cache *cache, size_t max);
void dns_cache_clear(struct dns_cache *cache);
/* answer->ttl_s 0 is not remembered, and forgets what was there. */
void dns_cache_store(struct dns_cache *cache, const struct domain *name,
    enum result result, const struct dns_answer *answer, uint64_t now_ms);
bool dns_cache_find(struct dns_cache *cache, const struct domain *name,
    uint64_t now_ms, enum result *result_r, struct dns_answer *answer_r);

/* c-ares on the loop (dns_channel.c). A half is one question of a lookup;
 * done is called once per ask, at once or later, with result set, or still
 * RESULT_NEED_MORE when it was cancelled. */
struct dns_half {
	void (*done)(struct dns_half *half);
	void *context;
	unsigned family; /* 4 or 6 */
	enum result result;
	/* One more than an answer may have, so that too many show. */
	struct ip_addr addresses[DNS_ADDRESSES_MAX + 1];
	size_t count;
	unsigned ttl_s;
};
struct dns_channel {
	struct event_base *base;
	struct event *timer;
	struct ares_channeldata *ares;
	LIST_HEAD(, dns_socket) sockets;
};
enum result dns_channel_init(
    struct dns_channel *channel, struct event_base *base, unsigned timeout_ms);
void dns_channel_close(struct dns_channel *channel);
/* Cancels what is asked; RESULT_BAD and TOO_LONG touch nothing. */
enum result dns_channel_set_servers(
    struct dns_channel *channel, const char *servers);
void dns_channel_ask(struct dns_channel *channel, const struct domain *name,
    struct dns_half *half);
#endif

#endif
