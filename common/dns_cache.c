/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What dns.c remembers: answers and refusals by name, for their time, within
 * a count. Called by dns.c alone; must never give out an answer whose time
 * is over.
 */
#define DNS_INTERNAL
#include "common/dns.h"

#include <stdlib.h>
#include <string.h>

struct dns_entry {
	struct domain name;
	uint64_t expires_ms;
	enum result result;
	size_t count;
	LIST_ENTRY(dns_entry) chain;
	TAILQ_ENTRY(dns_entry) age;
	struct ip_addr addresses[];
};

static unsigned
dns_cache_bucket(const struct domain *name)
{
	uint32_t hash = 2166136261U; /* FNV-1a */
	size_t i;

	for (i = 0; i < name->len; i++)
		hash = (hash ^ (uint8_t)name->name[i]) * 16777619U;
	return hash % DNS_CACHE_BUCKETS;
}

static void
dns_cache_drop(struct dns_cache *cache, struct dns_entry *entry)
{
	LIST_REMOVE(entry, chain);
	TAILQ_REMOVE(&cache->ages, entry, age);
	cache->count--;
	free(entry);
}

void
dns_cache_init(struct dns_cache *cache, size_t max)
{
	size_t i;

	cache->max = max;
	cache->count = 0;
	for (i = 0; i < DNS_CACHE_BUCKETS; i++)
		LIST_INIT(&cache->buckets[i]);
	TAILQ_INIT(&cache->ages);
}

void
dns_cache_clear(struct dns_cache *cache)
{
	/* Both loops: what is dropped is off the list; TAILQ_REMOVE is too
	 * deep for the analyzer. */
	while (!TAILQ_EMPTY(&cache->ages))
		dns_cache_drop( // NOLINT(clang-analyzer-unix.Malloc)
		    cache, TAILQ_FIRST(&cache->ages));
}

static struct dns_entry *
dns_cache_entry(struct dns_cache *cache, const struct domain *name)
{
	struct dns_entry *entry;

	LIST_FOREACH(entry, &cache->buckets[dns_cache_bucket(name)], chain)
	if (domain_equal(&entry->name, name))
		break;
	return entry;
}

/* Without memory the answer is just not remembered. */
void
dns_cache_store(struct dns_cache *cache, const struct domain *name,
    enum result result, const struct dns_answer *answer, uint64_t now_ms)
{
	size_t size = answer->count * sizeof(answer->addresses[0]);
	struct dns_entry *entry = dns_cache_entry(cache, name);

	if (entry != NULL)
		dns_cache_drop(cache, entry);
	if (answer->ttl_s == 0 || cache->max == 0)
		return;
	while (cache->count >= cache->max)
		dns_cache_drop( // NOLINT(clang-analyzer-unix.Malloc)
		    cache, TAILQ_FIRST(&cache->ages));
	entry = malloc(sizeof(*entry) + size);
	if (entry == NULL)
		return;
	entry->name = *name;
	entry->expires_ms = now_ms + (uint64_t)answer->ttl_s * 1000;
	entry->result = result;
	entry->count = answer->count;
	memcpy(entry->addresses, answer->addresses, size);
	LIST_INSERT_HEAD(&cache->buckets[dns_cache_bucket(name)], entry, chain);
	TAILQ_INSERT_TAIL(&cache->ages, entry, age);
	cache->count++;
}

bool
dns_cache_find(struct dns_cache *cache, const struct domain *name,
    uint64_t now_ms, enum result *result_r, struct dns_answer *answer_r)
{
	struct dns_entry *entry = dns_cache_entry(cache, name);

	if (entry != NULL && entry->expires_ms <= now_ms) {
		dns_cache_drop(cache, entry);
		entry = NULL;
	}
	if (entry == NULL)
		return false;
	memset(answer_r, 0, sizeof(*answer_r));
	memcpy(answer_r->addresses, entry->addresses,
	    entry->count * sizeof(entry->addresses[0]));
	answer_r->count = entry->count;
	answer_r->ttl_s = (unsigned)((entry->expires_ms - now_ms) / 1000);
	answer_r->from_cache = 1;
	*result_r = entry->result;
	return true;
}
