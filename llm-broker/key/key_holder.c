/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the parts of the process together. Called by main.c and
 * key_control.c. Must never send the broker more of a key than its patterns.
 */
#include "llm-broker/key/key_holder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/ipc_catalogue.h"
#include "common/log.h"
#include "llm-broker/key/upstream_pool.h"

#define KEY_HOLDER_TTL_MAX_S 300U
#define KEY_HOLDER_NEGATIVE_S 5U
#define KEY_HOLDER_NAMES 64U /* in the cache of names */

/* --- start --- */

struct key_holder_bundles {
	struct upstream_tls_trust *trusts[IPC_FDS_MAX];
};

static void
key_holder_bundles_free(struct key_holder_bundles *bundles)
{
	for (size_t i = 0; i < IPC_FDS_MAX; i++)
		upstream_tls_trust_free(&bundles->trusts[i]);
}

/* The bundle in the message's descriptor index, read once. */
static enum result
key_holder_bundle(struct key_holder_bundles *bundles,
    struct ipc_message *message, size_t index)
{
	FD_CLEANUP int fd = -1;
	char *pem = NULL;
	size_t len = 0;
	enum result result;

	if (index >= IPC_FDS_MAX)
		return RESULT_NOT_FOUND;
	if (bundles->trusts[index] != NULL)
		return RESULT_OK;
	fd = ipc_message_take_fd(message, index);
	if (fd < 0)
		return RESULT_NOT_FOUND;
	result = fd_read_all(fd, UPSTREAM_TLS_BUNDLE_MAX, &pem, &len);
	if (result == RESULT_OK)
		result =
		    upstream_tls_trust_new(pem, len, &bundles->trusts[index]);
	free(pem);
	return result;
}

static enum result
key_holder_site(struct key_holder *holder, size_t index,
    struct key_holder_bundles *bundles, struct ipc_message *message)
{
	const struct key_config_provider *provider =
	    &holder->config.providers[index];
	struct key_site *site = &holder->world.sites[index];
	struct upstream_tls_context *tls = NULL;
	enum result result = RESULT_OK;
	size_t bundle = provider->ca_index >= 0
			    ? (size_t)provider->ca_index
			    : (size_t)holder->config.ca_index;

	if (provider->tls)
		result = key_holder_bundle(bundles, message, bundle);
	if (provider->tls && result == RESULT_OK)
		result = upstream_tls_context_new(holder->library,
		    bundles->trusts[bundle], provider->host,
		    &provider->endpoint.address, &tls);
	if (result != RESULT_OK)
		return result;
	upstream_pool_init(
	    &site->upstream, &holder->world.upstreams, provider, tls);
	key_breaker_init(&site->breaker, (uint64_t)holder->config.breaker_ms);
	site->index = index;
	holder->world.site_count = index + 1;
	return RESULT_OK;
}

static enum result
key_holder_sites(struct key_holder *holder, struct ipc_message *message,
    char why_r[KEY_HOLDER_WHY_MAX])
{
	struct key_holder_bundles bundles = {{NULL}};
	enum result result = RESULT_OK;

	for (size_t i = 0;
	     i < holder->config.provider_count && result == RESULT_OK; i++) {
		result = key_holder_site(holder, i, &bundles, message);
		if (result != RESULT_OK)
			(void)snprintf(why_r, KEY_HOLDER_WHY_MAX,
			    "options.providers[%zu]: the CA bundle cannot be "
			    "used (%s): give a descriptor of a PEM file",
			    i, result_text(result));
	}
	key_holder_bundles_free(&bundles);
	return result;
}

/* --- the broker --- */

/* False: the broker may not know what to look for, and no key may go out. */
static bool
key_holder_send_pattern(struct key_holder *holder, size_t provider)
{
	enum key_status status = key_store_status(
	    holder->world.store, provider, event_loop_now_ms());
	const json_t *patterns =
	    key_store_patterns_borrow(holder->world.store, provider);
	struct ipc_message message;
	enum result result;

	if (holder->broker == NULL || status == KEY_STATUS_UNUSED ||
	    status == KEY_STATUS_AWAITED)
		return true;
	ipc_message_init(&message, IPC_KEY_PATTERN, 0);
	message.body = json_pack("{s:s,s:s,s:o}", "provider",
	    holder->config.providers[provider].name, "status",
	    key_store_status_text(status), "patterns",
	    patterns != NULL ? json_deep_copy(patterns) : json_array());
	result = message.body != NULL ? peer_send(holder->broker, &message)
				      : RESULT_NO_MEMORY;
	ipc_message_clear(&message);
	if (result == RESULT_OK) {
		lane_trunk_told(&holder->world.trunk);
		return true;
	}
	log_event(LOG_ERROR_LEVEL, "key_pattern_failed",
	    LOG_TEXT("result", result_text(result)));
	holder->is_broken = true;
	event_loop_stop(holder->base);
	return false;
}

static void
key_holder_on_change(size_t provider, void *context)
{
	struct key_holder *holder = context;

	/* The patterns first: what comes back is looked at for this key. */
	if (key_holder_send_pattern(holder, provider))
		key_lane_io_key_changed(&holder->world, provider);
}

static void
key_holder_on_broken(void *context)
{
	struct key_holder *holder = context;

	log_event(LOG_ERROR_LEVEL, "lane_broken",
	    LOG_TEXT("detail", "the broker sent what a lane cannot hold"));
	holder->is_broken = true;
	event_loop_stop(holder->base);
}

static void
key_holder_on_broker(struct ipc_message *message, void *context)
{
	struct key_holder *holder = context;
	enum result result;

	/* The catalogue lets nothing else through on this pair. */
	if (message->type != IPC_UPSTREAM_OPEN) {
		key_holder_on_broken(holder);
		return;
	}
	for (size_t i = 0; i < message->fd_count; i++) {
		result = key_lane_io_add(
		    &holder->world, ipc_message_take_fd(message, i));
		if (result != RESULT_OK)
			log_event(LOG_ERROR_LEVEL, "lane_refused",
			    LOG_TEXT("result", result_text(result)));
	}
	lane_trunk_heard(&holder->world.trunk);
}

static void
key_holder_on_broker_end(enum result why, const char *detail, void *context)
{
	struct key_holder *holder = context;

	log_event(LOG_WARN_LEVEL, "broker_ended",
	    LOG_TEXT("why", result_text(why)), LOG_TEXT("detail", detail));
	key_lane_io_drop_all(&holder->world);
	peer_free(&holder->broker);
}

enum result
key_holder_add_broker(struct key_holder *holder, int fd)
{
	static const struct peer_handlers handlers = {
	    .on_message = key_holder_on_broker,
	    .on_end = key_holder_on_broker_end};
	enum result result;

	if (holder->broker != NULL) {
		fd_close(&fd);
		return RESULT_EXISTS;
	}
	result = peer_new(holder->base, fd, IPC_KEY, IPC_BROKER, &handlers,
	    holder, &holder->broker);
	if (result != RESULT_OK)
		return result;
	peer_set_state(holder->broker, IPC_RUNNING);
	for (size_t i = 0; i < holder->config.provider_count; i++)
		if (!key_holder_send_pattern(holder, i))
			return RESULT_INTERNAL;
	return RESULT_OK;
}

/* --- what the supervisor wants --- */

enum result
key_holder_add_keyring(struct key_holder *holder, int fd)
{
	return key_store_add_pair(holder->world.store, fd);
}

enum result
key_holder_key_changed(struct key_holder *holder, const char *provider)
{
	for (size_t i = 0; i < holder->config.provider_count; i++) {
		if (strcmp(holder->config.providers[i].name, provider) != 0)
			continue;
		key_store_changed(holder->world.store, i);
		key_lane_io_key_changed(&holder->world, i);
		return RESULT_OK;
	}
	return RESULT_NOT_FOUND;
}

enum result
key_holder_set_resolver(struct key_holder *holder, const char *servers)
{
	return dns_set_servers(holder->world.upstreams.dns, servers);
}

static json_t *
key_holder_failures(const struct key_lane_counters *counters)
{
	json_t *failures = json_object();

	for (unsigned i = 1; i <= LANE_FAILED_BUSY; i++)
		(void)json_object_set_new(failures,
		    key_lane_failure_text((enum lane_failure)i),
		    json_integer((json_int_t)counters->failures[i]));
	return failures;
}

json_t *
key_holder_stats(const struct key_holder *holder)
{
	const struct key_lane_world *world = &holder->world;
	const struct key_lane_counters *lanes = &world->counters;
	const struct upstream_counters *upstreams = &world->upstreams.counters;
	size_t idle = 0, open = 0, keys = 0;

	for (size_t i = 0; i < world->site_count; i++) {
		idle += world->sites[i].upstream.idle_count;
		open += world->sites[i].upstream.count;
		keys += key_store_key_borrow(world->store, i) != NULL;
	}
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,"
			 "s:I,s:I,s:I,s:I,s:o}",
	    "calls", (json_int_t)lanes->calls, "served",
	    (json_int_t)lanes->served, "failed", (json_int_t)lanes->failed,
	    "cancelled", (json_int_t)lanes->cancelled, "retried",
	    (json_int_t)lanes->retried, "up_bytes", (json_int_t)lanes->up,
	    "down_bytes", (json_int_t)lanes->down, "lanes",
	    (json_int_t)world->lane_count, "keys", (json_int_t)keys,
	    "connections", (json_int_t)open, "idle", (json_int_t)idle, "dialed",
	    (json_int_t)upstreams->dialed, "handshakes",
	    (json_int_t)upstreams->handshakes, "resumed",
	    (json_int_t)upstreams->resumed, "reused",
	    (json_int_t)upstreams->reused, "stale",
	    (json_int_t)upstreams->stale, "connect_failed",
	    (json_int_t)upstreams->failed, "failures",
	    key_holder_failures(lanes));
}

/* --- the whole --- */

static enum result
key_holder_make_store(struct key_holder *holder)
{
	struct key_store_provider providers[KEY_CONFIG_PROVIDERS_MAX];
	struct key_store_options options = {.providers = providers,
	    .count = holder->config.provider_count,
	    .wait_ms = (uint64_t)holder->config.key_wait_ms,
	    .on_change = key_holder_on_change,
	    .context = holder};

	for (size_t i = 0; i < options.count; i++) {
		providers[i].name = holder->config.providers[i].name;
		providers[i].has_key = holder->config.providers[i].has_key;
	}
	return key_store_new(holder->base, &options, &holder->world.store);
}

enum result
key_holder_init(struct key_holder *holder, struct event_base *base,
    struct ipc_message *message, char why_r[KEY_HOLDER_WHY_MAX])
{
	struct key_lane_world *world = &holder->world;
	const struct dns_options dns = {.servers = holder->config.resolver,
	    .timeout_ms = (unsigned)holder->config.lookup_timeout_ms,
	    .ttl_min_s = 1,
	    .ttl_max_s = KEY_HOLDER_TTL_MAX_S,
	    .negative_ttl_s = KEY_HOLDER_NEGATIVE_S,
	    .cache_max = KEY_HOLDER_NAMES};

	(void)snprintf(why_r, KEY_HOLDER_WHY_MAX,
	    "OpenSSL, the resolver or locked memory cannot be had");
	holder->base = base;
	world->base = base;
	world->upstreams.base = base;
	world->upstreams.config = &holder->config;
	world->on_broken = key_holder_on_broken;
	world->context = holder;
	if (upstream_tls_library_new(&holder->library) != RESULT_OK ||
	    dns_new(base, &dns, &world->upstreams.dns) != RESULT_OK ||
	    key_lane_io_init(world) != RESULT_OK ||
	    key_holder_make_store(holder) != RESULT_OK)
		return RESULT_SYSTEM;
	return key_holder_sites(holder, message, why_r);
}

void
key_holder_close(struct key_holder *holder)
{
	peer_free(&holder->broker);
	key_lane_io_close(&holder->world);
	key_store_free(&holder->world.store);
	upstream_tls_library_free(&holder->library);
	dns_free(&holder->world.upstreams.dns);
	key_config_clear(&holder->config);
}
