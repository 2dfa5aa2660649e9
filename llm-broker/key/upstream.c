/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection to a provider. Called by upstream_pool.c and the loop. Must
 * never dial an address that was not judged, look a name up twice, or send
 * a byte of a call before TLS knows who is there.
 */
#include "llm-broker/key/upstream.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/log.h"
#include "llm-broker/key/upstream_pool.h"
#include "llm-broker/key/upstream_turn.h"

static const char *const upstream_states[] = {"new", "lookup", "parent", "dial",
    "through", "turn", "handshake", "busy", "idle", "closed"};

void
upstream_enter(
    struct upstream *upstream, enum upstream_state state, const char *why)
{
	log_event(LOG_DEBUG_LEVEL, "upstream_state",
	    LOG_TEXT("provider", upstream->site->provider->name),
	    LOG_TEXT("from", upstream_states[upstream->state]),
	    LOG_TEXT("to", upstream_states[state]), LOG_TEXT("why", why));
	upstream->state = state;
}

void
upstream_close(struct upstream **upstream, const char *why)
{
	struct upstream *gone = *upstream;
	struct upstream_site *site;

	*upstream = NULL;
	if (gone == NULL)
		return;
	site = gone->site;
	if (gone->state == UPSTREAM_IDLE) {
		TAILQ_REMOVE(&site->idle, gone, link);
		site->idle_count--;
	} else {
		TAILQ_REMOVE(&site->open, gone, link);
	}
	site->count--;
	upstream_turn_leave(gone);
	upstream_enter(gone, UPSTREAM_CLOSED, why);
	deadline_wheel_clear(site->world->wheel, &gone->deadline);
	dns_cancel(&gone->query);
	dial_cancel(&gone->dial);
	parent_dial_cancel(&gone->parent);
	upstream_tls_free(&gone->tls);
	if (event_initialized(&gone->event))
		(void)event_del(&gone->event);
	site->world->counters.closed++;
	site->world->counters.sent += gone->wire.sent;
	site->world->counters.received += gone->wire.received;
	upstream_wire_close(&gone->wire);
	free(gone->judged);
	free(gone);
}

/* It never became ready: tell the user, who forgets it. */
static void
upstream_fail(
    struct upstream *upstream, enum lane_failure failure, const char *detail)
{
	const struct upstream_user user = upstream->user;

	upstream->site->world->counters.failed++;
	upstream_close(&upstream, detail);
	user.on_failed(failure, detail, user.context);
}

void
upstream_on_deadline(struct upstream *upstream)
{
	if (upstream->state == UPSTREAM_IDLE)
		upstream_close(&upstream, "it rested long enough");
	else
		upstream_fail(upstream, LANE_FAILED_TIMEOUT,
		    upstream_states[upstream->state]);
}

static void
upstream_ready(struct upstream *upstream)
{
	deadline_wheel_clear(upstream->site->world->wheel, &upstream->deadline);
	upstream_turn_leave(upstream);
	upstream_enter(upstream, UPSTREAM_BUSY, "ready");
	upstream->user.on_ready(upstream->user.context);
}

/* --- TLS --- */

static void
upstream_handshake(struct upstream *upstream)
{
	struct upstream_counters *counters = &upstream->site->world->counters;
	char why[UPSTREAM_TLS_WHY_MAX];
	enum result result;

	result = upstream_tls_handshake(upstream->tls, why);
	if (result == RESULT_NEED_MORE)
		return;
	if (result == RESULT_CLOSED) {
		upstream_fail(
		    upstream, LANE_FAILED_CLOSED, "closed in the handshake");
		return;
	}
	if (result != RESULT_OK) {
		upstream_fail(upstream, LANE_FAILED_TLS, why);
		return;
	}
	counters->handshakes++;
	if (upstream_tls_is_resumed(upstream->tls))
		counters->resumed++;
	upstream_ready(upstream);
}

static void
upstream_greet(struct upstream *upstream)
{
	if (upstream_tls_new(upstream->site->tls, &upstream->wire,
		&upstream->tls) != RESULT_OK) {
		upstream_fail(upstream, LANE_FAILED_TLS, "out of memory");
		return;
	}
	upstream_enter(upstream, UPSTREAM_HANDSHAKE, "connected");
	upstream_handshake(upstream);
}

void
upstream_on_next(evutil_socket_t fd, short what, void *context)
{
	struct upstream_site *site = context;
	struct upstream *upstream, *stale;
	uint64_t now = event_loop_now_ms();

	(void)fd;
	(void)what;
	for (;;) {
		upstream = upstream_turn_next(site, now, &stale);
		if (stale != NULL) {
			upstream_fail(stale, LANE_FAILED_TIMEOUT,
			    "the handshake took the time of others");
			continue;
		}
		if (upstream == NULL)
			return;
		/* It has waited for others: its own time begins now. */
		deadline_wheel_arm(site->world->wheel, &upstream->deadline,
		    now + (uint64_t)site->world->config->connect_timeout_ms);
		upstream_greet(upstream);
	}
}

/* The way to the provider is open. */
static void
upstream_connected(struct upstream *upstream)
{
	struct upstream_site *site = upstream->site;

	if (site->tls == NULL) {
		upstream_ready(upstream);
	} else if (upstream_turn_ask(upstream, event_loop_now_ms())) {
		upstream_greet(upstream);
	} else {
		upstream_enter(upstream, UPSTREAM_TURN, "connected");
	}
}

/* --- the loop --- */

static void
upstream_on_event(evutil_socket_t fd, short what, void *context)
{
	struct upstream *upstream = context;

	(void)fd;
	upstream_wire_note(&upstream->wire, (what & EV_CLOSED) != 0);
	/* A wire that died shows when it is read. */
	(void)upstream_wire_flush(&upstream->wire);
	switch (upstream->state) {
	case UPSTREAM_HANDSHAKE:
		upstream_handshake(upstream);
		return;
	case UPSTREAM_BUSY:
		upstream->user.on_event(upstream->user.context);
		return;
	case UPSTREAM_IDLE:
		upstream_pool_on_event(upstream);
		return;
	case UPSTREAM_NEW:
	case UPSTREAM_LOOKUP:
	case UPSTREAM_PARENT:
	case UPSTREAM_DIAL:
	case UPSTREAM_THROUGH:
	case UPSTREAM_TURN: /* it is read in its turn */
	case UPSTREAM_CLOSED:
		return;
	}
}

/* --- lookup and dial --- */

/* The socket leads to the provider's judged address. */
static void
upstream_reached(
    struct upstream *upstream, int fd, const struct ip_addr *address)
{
	struct upstream_world *world = upstream->site->world;
	int on = 1;

	world->counters.dialed++;
	upstream->wire.fd = fd;
	upstream->address = *address;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (event_assign(&upstream->event, world->base, fd,
		EV_READ | EV_WRITE | EV_CLOSED | EV_ET | EV_PERSIST,
		upstream_on_event, upstream) == 0 &&
	    event_add(&upstream->event, NULL) == 0)
		upstream_connected(upstream);
	else
		upstream_fail(upstream, LANE_FAILED_DIAL, "out of memory");
}

static void
upstream_unreached(
    struct upstream *upstream, enum result result, const char *detail)
{
	upstream_fail(upstream,
	    result == RESULT_TIMEOUT ? LANE_FAILED_TIMEOUT : LANE_FAILED_DIAL,
	    detail);
}

static void
upstream_on_dialed(enum result result, int fd, const struct ip_addr *address,
    int error, void *context)
{
	struct upstream *upstream = context;

	(void)error;
	upstream->dial = NULL;
	if (result == RESULT_OK)
		upstream_reached(upstream, fd, address);
	else
		upstream_unreached(upstream, result, "no address answers");
}

/* Nothing can stand behind the proxy's answer: TLS begins with us. */
static void
upstream_on_through(enum result result, int fd, const struct ip_addr *target,
    const struct buffer *rest, void *context)
{
	struct upstream *upstream = context;

	upstream->parent = NULL;
	if (result == RESULT_OK && rest->len == 0) {
		upstream_reached(upstream, fd, target);
		return;
	}
	fd_close(&fd);
	upstream_unreached(upstream, result, "the corporate proxy refuses");
}

static struct dial_options
upstream_dial_options(const struct upstream_world *world)
{
	const char *congestion = world->config->congestion;

	return (struct dial_options){
	    .timeout_ms = (unsigned)world->config->connect_timeout_ms,
	    .congestion = congestion[0] != '\0' ? congestion : NULL};
}

static void
upstream_dial(
    struct upstream *upstream, const struct ip_addr *addresses, size_t count)
{
	const struct upstream_world *world = upstream->site->world;
	const struct dial_options options = upstream_dial_options(world);

	upstream_enter(upstream, UPSTREAM_DIAL, "judged");
	if (dial_start(world->base, addresses, count,
		upstream->site->provider->endpoint.port, &options,
		upstream_on_dialed, upstream, &upstream->dial) != RESULT_OK)
		upstream_fail(
		    upstream, LANE_FAILED_DIAL, "the dial cannot be started");
}

/* The corporate proxy's own addresses are not judged: the host's
 * configuration names it. */
static void
upstream_dial_through(struct upstream *upstream, const struct ip_addr *proxies,
    size_t proxy_count, const struct ip_addr *targets, size_t target_count)
{
	const struct upstream_world *world = upstream->site->world;
	const struct parent_dial_plan plan = {.proxies = proxies,
	    .proxy_count = proxy_count,
	    .proxy_port = world->config->upstream_proxy.port,
	    .targets = targets,
	    .target_count = target_count,
	    .target_port = upstream->site->provider->endpoint.port,
	    .options = upstream_dial_options(world)};

	upstream_enter(upstream, UPSTREAM_THROUGH, "judged");
	if (parent_dial_start(world->base, &plan, upstream_on_through, upstream,
		&upstream->parent) != RESULT_OK)
		upstream_fail(
		    upstream, LANE_FAILED_DIAL, "the dial cannot be started");
}

static void
upstream_on_parent(
    enum result result, const struct dns_answer *answer, void *context)
{
	struct upstream *upstream = context;
	const struct dns_answer *judged = upstream->judged;

	upstream->query = NULL;
	if (result == RESULT_OK)
		upstream_dial_through(upstream, answer->addresses,
		    answer->count, judged->addresses, judged->count);
	else
		upstream_fail(upstream, LANE_FAILED_DIAL,
		    "the corporate proxy's name cannot be looked up");
}

/* The judged addresses are kept while the proxy's name is looked up. */
static void
upstream_find_parent(
    struct upstream *upstream, const struct ip_addr *addresses, size_t count)
{
	const struct upstream_world *world = upstream->site->world;

	upstream_enter(upstream, UPSTREAM_PARENT, "judged");
	upstream->judged = calloc(1, sizeof(*upstream->judged));
	if (upstream->judged != NULL) {
		memcpy(upstream->judged->addresses, addresses,
		    count * sizeof(addresses[0]));
		upstream->judged->count = count;
	}
	if (upstream->judged == NULL ||
	    dns_lookup(world->dns, &world->config->upstream_proxy.name,
		upstream_on_parent, upstream, &upstream->query) != RESULT_OK)
		upstream_fail(upstream, LANE_FAILED_DIAL,
		    "the corporate proxy's lookup cannot be started");
}

static void
upstream_reach(
    struct upstream *upstream, const struct ip_addr *addresses, size_t count)
{
	const struct endpoint *proxy =
	    &upstream->site->world->config->upstream_proxy;

	if (proxy->port == 0)
		upstream_dial(upstream, addresses, count);
	else if (proxy->address.family != 0)
		upstream_dial_through(
		    upstream, &proxy->address, 1, addresses, count);
	else
		upstream_find_parent(upstream, addresses, count);
}

/* One bad address refuses all. */
static void
upstream_judge(
    struct upstream *upstream, const struct ip_addr *addresses, size_t count)
{
	const struct key_config_provider *provider = upstream->site->provider;
	struct domain judged;
	char bad_text[IP_ADDR_TEXT_MAX];
	const char *rule = "";
	size_t bad = 0;

	(void)domain_parse(
	    KEY_CONFIG_JUDGED, strlen(KEY_CONFIG_JUDGED), &judged);
	if (host_policy_check_answer(provider->policy, &judged,
		provider->endpoint.port, addresses, count, &rule,
		&bad) == DENY_NONE) {
		upstream_reach(upstream, addresses, count);
		return;
	}
	ip_addr_text(&addresses[bad < count ? bad : 0], bad_text);
	log_event(LOG_WARN_LEVEL, "address_refused",
	    LOG_TEXT("provider", provider->name),
	    LOG_TEXT("host", provider->host), LOG_TEXT("address", bad_text),
	    LOG_TEXT("rule", rule));
	upstream_fail(upstream, LANE_FAILED_ADDRESS, rule);
}

static void
upstream_on_answer(
    enum result result, const struct dns_answer *answer, void *context)
{
	struct upstream *upstream = context;

	upstream->query = NULL;
	if (result == RESULT_OK)
		upstream_judge(upstream, answer->addresses, answer->count);
	else
		upstream_fail(
		    upstream, LANE_FAILED_LOOKUP, result_text(result));
}

/* A literal is judged like an answer, in a turn of the loop of its own. */
static void
upstream_on_literal(evutil_socket_t fd, short what, void *context)
{
	struct upstream *upstream = context;

	(void)fd;
	(void)what;
	memset(&upstream->event, 0, sizeof(upstream->event));
	upstream_judge(
	    upstream, &upstream->site->provider->endpoint.address, 1);
}

static enum result
upstream_lookup(struct upstream *upstream)
{
	const struct upstream_world *world = upstream->site->world;
	const struct endpoint *endpoint = &upstream->site->provider->endpoint;
	static const struct timeval now = {0, 0};

	upstream_enter(upstream, UPSTREAM_LOOKUP, "asked for");
	if (endpoint->address.family == 0)
		return dns_lookup(world->dns, &endpoint->name,
		    upstream_on_answer, upstream, &upstream->query);
	if (event_assign(&upstream->event, world->base, -1, 0,
		upstream_on_literal, upstream) != 0 ||
	    event_add(&upstream->event, &now) != 0)
		return RESULT_NO_MEMORY;
	return RESULT_OK;
}

enum result
upstream_open(struct upstream_site *site, const struct upstream_user *user,
    struct upstream **upstream_r)
{
	struct upstream_world *world = site->world;
	struct upstream *upstream = calloc(1, sizeof(*upstream));

	*upstream_r = NULL;
	if (upstream == NULL)
		return RESULT_NO_MEMORY;
	upstream->site = site;
	upstream->user = *user;
	upstream->generation = site->generation;
	upstream_wire_init(&upstream->wire, -1);
	TAILQ_INSERT_HEAD(&site->open, upstream, link);
	site->count++;
	deadline_wheel_arm(world->wheel, &upstream->deadline,
	    event_loop_now_ms() +
		(uint64_t)(world->config->lookup_timeout_ms +
			   world->config->connect_timeout_ms));
	if (upstream_lookup(upstream) != RESULT_OK) {
		upstream_close(&upstream, "the lookup cannot be started");
		return RESULT_NO_MEMORY;
	}
	*upstream_r = upstream;
	return RESULT_OK;
}

/* --- a call's bytes --- */

enum result
upstream_read(
    struct upstream *upstream, void *bytes, size_t size, size_t *len_r)
{
	if (upstream->tls != NULL)
		return upstream_tls_read(upstream->tls, bytes, size, len_r);
	return upstream_wire_receive(&upstream->wire, bytes, size, len_r);
}

enum result
upstream_write(struct upstream *upstream, const void *bytes, size_t len)
{
	if (upstream->tls != NULL)
		return upstream_tls_write(upstream->tls, bytes, len);
	return upstream_wire_send(&upstream->wire, bytes, len);
}

bool
upstream_has_more(const struct upstream *upstream)
{
	return upstream->tls != NULL && upstream_tls_has_more(upstream->tls);
}

size_t
upstream_unsent(const struct upstream *upstream)
{
	return upstream->wire.unsent.len;
}
