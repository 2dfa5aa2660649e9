/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resolver of the processes that dial. Called by egress-proxy's and
 * llm-key's story files; must never be asked a name that policy has not
 * matched (the caller's duty), read a file, use a search domain, ask one
 * question twice at a time, or remember more than it was told to.
 */
#define DNS_INTERNAL
#include "common/dns.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/event_loop.h"

#define DNS_OTHER_FAMILY_MS 500U /* wait for it once one answered */

struct dns_query {
	struct event *deliver;
	dns_done *done;
	void *context;
	enum result result;
	struct dns_answer answer;
	LIST_ENTRY(dns_query) link; /* lookup's waiters, or dns's answered */
};
LIST_HEAD(dns_queries, dns_query);

struct dns_lookup {
	struct dns *dns;
	struct domain name;
	struct dns_half halves[2]; /* AAAA, A */
	unsigned in_ares;          /* answers c-ares still owes */
	bool is_done;              /* waiters served; c-ares still owes */
	struct event *timer;
	uint64_t deadline_ms;
	struct dns_queries waiters;
	LIST_ENTRY(dns_lookup) link;
};

struct dns {
	struct event_base *base;
	struct dns_options options;
	struct dns_channel channel;
	size_t pending;
	LIST_HEAD(, dns_lookup) lookups;
	struct dns_queries answered;
	struct dns_cache cache;
};

/* Answering. */

static void
dns_query_free(struct dns_query *query)
{
	LIST_REMOVE(query, link);
	event_free(query->deliver);
	free(query);
}

static void
dns_query_deliver(evutil_socket_t fd, short what, void *context)
{
	struct dns_query *query = context;
	struct dns_query told = *query;

	(void)fd;
	(void)what;
	dns_query_free(query);
	told.done(told.result, &told.answer, told.context);
}

/* From the loop, never from inside dns_lookup or c-ares. */
static void
dns_query_answer(struct dns *dns, struct dns_query *query, enum result result,
    const struct dns_answer *answer)
{
	LIST_REMOVE(query, link);
	LIST_INSERT_HEAD(&dns->answered, query, link);
	query->result = result;
	query->answer = *answer;
	event_active(query->deliver, EV_TIMEOUT, 0);
}

static void
dns_lookup_free(struct dns_lookup *lookup)
{
	LIST_REMOVE(lookup, link);
	lookup->dns->pending--;
	event_free(lookup->timer);
	free(lookup);
}

/* Serve the waiters; the memory stays while c-ares may still call. */
static void
dns_lookup_finish(struct dns_lookup *lookup, enum result result,
    const struct dns_answer *answer)
{
	struct dns_query *query;

	lookup->is_done = true;
	(void)event_del(lookup->timer);
	if (result == RESULT_OK || result == RESULT_NOT_FOUND)
		dns_cache_store(&lookup->dns->cache, &lookup->name, result,
		    answer, event_loop_now_ms());
	while ((query = LIST_FIRST(&lookup->waiters)) != NULL)
		dns_query_answer(lookup->dns, query, result, answer);
	if (lookup->in_ares == 0)
		dns_lookup_free(lookup);
}

static unsigned
dns_clamp(unsigned value, unsigned least, unsigned most)
{
	return value < least ? least : value > most ? most : value;
}

/* Both families as one answer; a half without addresses adds nothing. */
static enum result
dns_lookup_join(const struct dns_lookup *lookup, struct dns_answer *answer_r)
{
	const struct dns_options *options = &lookup->dns->options;
	const struct dns_half *half;
	unsigned ttl = options->ttl_max_s;

	memset(answer_r, 0, sizeof(*answer_r));
	for (half = lookup->halves; half < lookup->halves + 2; half++) {
		if (half->result != RESULT_OK)
			continue;
		if (answer_r->count + half->count > DNS_ADDRESSES_MAX)
			return RESULT_BAD;
		memcpy(&answer_r->addresses[answer_r->count], half->addresses,
		    half->count * sizeof(half->addresses[0]));
		answer_r->count += half->count;
		if (half->ttl_s < ttl)
			ttl = half->ttl_s;
	}
	answer_r->ttl_s =
	    dns_clamp(ttl, options->ttl_min_s, options->ttl_max_s);
	return RESULT_OK;
}

/* What two halves without addresses mean together: a broken answer before
 * an unreachable server before silence before "no such name". */
static enum result
dns_lookup_failure(const struct dns_lookup *lookup)
{
	static const enum result order[] = {
	    RESULT_BAD, RESULT_SYSTEM, RESULT_NEED_MORE, RESULT_TIMEOUT};
	size_t i;

	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (lookup->halves[0].result == order[i] ||
		    lookup->halves[1].result == order[i])
			return order[i] == RESULT_NEED_MORE ? RESULT_TIMEOUT
							    : order[i];
	return RESULT_NOT_FOUND;
}

static void
dns_lookup_conclude(struct dns_lookup *lookup)
{
	const struct dns_half *half;
	struct dns_answer answer;
	enum result result = dns_lookup_join(lookup, &answer);

	if (result == RESULT_OK && answer.count == 0) {
		result = dns_lookup_failure(lookup);
		answer.ttl_s = lookup->dns->options.negative_ttl_s;
	}
	/* Half an answer is not remembered longer than it must be. */
	for (half = lookup->halves; half < lookup->halves + 2; half++)
		if (half->result != RESULT_OK &&
		    half->result != RESULT_NOT_FOUND)
			answer.ttl_s = lookup->dns->options.ttl_min_s;
	if (result != RESULT_OK)
		answer.count = 0;
	dns_lookup_finish(lookup, result, &answer);
}

static void
dns_lookup_on_timer(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	dns_lookup_conclude(context);
}

static struct timeval
dns_lookup_left(const struct dns_lookup *lookup, uint64_t most_ms)
{
	uint64_t now = event_loop_now_ms(), left = 0;

	if (now < lookup->deadline_ms)
		left = lookup->deadline_ms - now;
	return event_loop_timeval(left < most_ms ? left : most_ms);
}

/* A half came in: the end, or a short wait for the other family. */
static void
dns_lookup_check(struct dns_lookup *lookup)
{
	struct timeval wait = dns_lookup_left(lookup, DNS_OTHER_FAMILY_MS);

	if (lookup->halves[0].result != RESULT_NEED_MORE &&
	    lookup->halves[1].result != RESULT_NEED_MORE) {
		dns_lookup_conclude(lookup);
		return;
	}
	if (lookup->halves[0].result != RESULT_OK &&
	    lookup->halves[1].result != RESULT_OK)
		return;
	(void)event_add(lookup->timer, &wait);
}

/* c-ares answered one question, or gave it up (cancelled: NEED_MORE). */
static void
dns_half_done(struct dns_half *half)
{
	struct dns_lookup *lookup = half->context;

	lookup->in_ares--;
	if (lookup->is_done && lookup->in_ares == 0)
		dns_lookup_free(lookup);
	else if (!lookup->is_done && half->result != RESULT_NEED_MORE)
		dns_lookup_check(lookup);
}

/* Both questions; the lookup may be gone afterwards, when both failed at
 * once (no route to any server). */
static void
dns_lookup_ask(struct dns_lookup *lookup)
{
	struct timeval wait = dns_lookup_left(lookup, UINT64_MAX);

	(void)event_add(lookup->timer, &wait); /* else c-ares' own tries end */
	lookup->in_ares = 2; /* both owed, even if the first fails at once */
	lookup->halves[0].result = lookup->halves[1].result = RESULT_NEED_MORE;
	dns_channel_ask(
	    &lookup->dns->channel, &lookup->name, &lookup->halves[0]);
	dns_channel_ask(
	    &lookup->dns->channel, &lookup->name, &lookup->halves[1]);
}

/* Lookups. */

static struct dns_lookup *
dns_lookup_new(struct dns *dns, const struct domain *name)
{
	struct dns_lookup *lookup = calloc(1, sizeof(*lookup));

	if (lookup == NULL)
		return NULL;
	lookup->timer =
	    event_new(dns->base, -1, 0, dns_lookup_on_timer, lookup);
	if (lookup->timer == NULL) {
		free(lookup);
		return NULL;
	}
	lookup->dns = dns;
	lookup->name = *name;
	lookup->deadline_ms = event_loop_now_ms() + dns->options.timeout_ms;
	lookup->halves[0].context = lookup->halves[1].context = lookup;
	lookup->halves[0].done = lookup->halves[1].done = dns_half_done;
	lookup->halves[0].family = 6;
	lookup->halves[1].family = 4;
	LIST_INIT(&lookup->waiters);
	LIST_INSERT_HEAD(&dns->lookups, lookup, link);
	dns->pending++;
	return lookup;
}

static struct dns_lookup *
dns_lookup_find(struct dns *dns, const struct domain *name)
{
	struct dns_lookup *lookup;

	LIST_FOREACH(lookup, &dns->lookups, link)
	if (!lookup->is_done && domain_equal(&lookup->name, name))
		return lookup;
	return NULL;
}

static struct dns_query *
dns_query_new(struct dns *dns, dns_done *done, void *context)
{
	struct dns_query *query = calloc(1, sizeof(*query));

	if (query == NULL)
		return NULL;
	query->deliver = event_new(dns->base, -1, 0, dns_query_deliver, query);
	if (query->deliver == NULL) {
		free(query);
		return NULL;
	}
	query->done = done;
	query->context = context;
	LIST_INSERT_HEAD(&dns->answered, query, link);
	return query;
}

/* Join the lookup of that name, or start it. */
static enum result
dns_query_ask(
    struct dns *dns, struct dns_query *query, const struct domain *name)
{
	struct dns_lookup *lookup = dns_lookup_find(dns, name);
	bool is_first = lookup == NULL;

	if (is_first && dns->pending >= DNS_PENDING_MAX)
		return RESULT_TOO_LONG;
	if (is_first)
		lookup = dns_lookup_new(dns, name);
	if (lookup == NULL)
		return RESULT_NO_MEMORY;
	LIST_REMOVE(query, link);
	LIST_INSERT_HEAD(&lookup->waiters, query, link);
	if (is_first)
		dns_lookup_ask(lookup);
	return RESULT_OK;
}

enum result
dns_lookup(struct dns *dns, const struct domain *name, dns_done *done,
    void *context, struct dns_query **query_r)
{
	struct dns_query *query = dns_query_new(dns, done, context);
	struct dns_answer answer;
	enum result result;

	*query_r = query;
	if (query == NULL)
		return RESULT_NO_MEMORY;
	if (dns_cache_find(
		&dns->cache, name, event_loop_now_ms(), &result, &answer)) {
		dns_query_answer(dns, query, result, &answer);
		return RESULT_OK;
	}
	result = dns_query_ask(dns, query, name);
	if (result != RESULT_OK)
		dns_cancel(query_r);
	return result;
}

void
dns_cancel(struct dns_query **query)
{
	if (*query != NULL)
		dns_query_free(*query);
	*query = NULL; /* the lookup itself ends in the cache */
}

/* Servers, start and end. */

enum result
dns_set_servers(struct dns *dns, const char *servers)
{
	enum result result = dns_channel_set_servers(&dns->channel, servers);
	struct dns_lookup *lookup, *next;

	if (result == RESULT_BAD || result == RESULT_TOO_LONG)
		return result; /* nothing was touched */
	dns_cache_clear(&dns->cache);
	for (lookup = LIST_FIRST(&dns->lookups); lookup != NULL;
	     lookup = next) {
		next = LIST_NEXT(lookup, link);
		dns_lookup_ask(lookup);
	}
	return result;
}

enum result
dns_new(struct event_base *base, const struct dns_options *options,
    struct dns **dns_r)
{
	struct dns *dns = calloc(1, sizeof(*dns));
	enum result result = RESULT_NO_MEMORY;

	*dns_r = NULL;
	if (dns == NULL)
		return result;
	dns->base = base;
	dns->options = *options;
	dns->options.servers = NULL; /* the caller's memory */
	dns_cache_init(&dns->cache, options->cache_max);
	result = dns_channel_init(&dns->channel, base, options->timeout_ms);
	if (result == RESULT_OK)
		result =
		    dns_channel_set_servers(&dns->channel, options->servers);
	if (result == RESULT_OK)
		*dns_r = dns;
	else
		dns_free(&dns);
	return result;
}

static void
dns_queries_free(struct dns_queries *queries)
{
	/* dns_query_free takes it off the list; LIST_REMOVE is too deep for
	 * the analyzer. */
	while (!LIST_EMPTY(queries))
		dns_query_free(LIST_FIRST(queries)); // NOLINT(*-unix.Malloc)
}

void
dns_free(struct dns **dns)
{
	struct dns *old = *dns;
	struct dns_lookup *lookup;

	*dns = NULL;
	if (old == NULL)
		return;
	dns_queries_free(&old->answered);
	LIST_FOREACH(lookup, &old->lookups, link)
	{
		dns_queries_free(&lookup->waiters);
		lookup->is_done = true;
	}
	dns_channel_close(&old->channel); /* frees the lookups */
	dns_cache_clear(&old->cache);
	free(old);
}
