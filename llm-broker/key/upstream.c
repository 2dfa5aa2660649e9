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
#include "common/http_head.h"
#include "common/log.h"
#include "llm-broker/key/upstream_pool.h"

static const char *const upstream_states[] = {"new", "lookup", "parent", "dial",
    "proxy", "handshake", "busy", "idle", "closed"};

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
	upstream_enter(gone, UPSTREAM_CLOSED, why);
	deadline_wheel_clear(site->world->wheel, &gone->deadline);
	dns_cancel(&gone->query);
	dial_cancel(&gone->dial);
	upstream_tls_free(&gone->tls);
	if (event_initialized(&gone->event))
		(void)event_del(&gone->event);
	site->world->counters.sent += gone->wire.sent;
	site->world->counters.received += gone->wire.received;
	upstream_wire_close(&gone->wire);
	buffer_free(&gone->answer);
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

/* The way to the provider is open. */
static void
upstream_connected(struct upstream *upstream)
{
	if (upstream->site->tls == NULL) {
		upstream_ready(upstream);
		return;
	}
	if (upstream_tls_new(upstream->site->tls, &upstream->wire,
		&upstream->tls) != RESULT_OK) {
		upstream_fail(upstream, LANE_FAILED_TLS, "out of memory");
		return;
	}
	upstream_enter(upstream, UPSTREAM_HANDSHAKE, "connected");
	upstream_handshake(upstream);
}

/* --- the corporate proxy --- */

/* Asked for the judged address, never for the name: it would look it up
 * again. */
static void
upstream_ask_proxy(struct upstream *upstream)
{
	bool v6 = upstream->address.family == 6;
	unsigned port = upstream->site->provider->endpoint.port;
	char address[IP_ADDR_TEXT_MAX], target[IP_ADDR_TEXT_MAX + 8], ask[256];
	int len;

	ip_addr_text(&upstream->address, address);
	(void)snprintf(
	    target, sizeof(target), v6 ? "[%s]:%u" : "%s:%u", address, port);
	len = snprintf(ask, sizeof(ask),
	    "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target);
	buffer_init(&upstream->answer, HTTP_HEAD_BYTES_MAX);
	upstream_enter(upstream, UPSTREAM_PROXY, "dialled");
	if (upstream_wire_send(&upstream->wire, ask, (size_t)len) != RESULT_OK)
		upstream_fail(upstream, LANE_FAILED_DIAL, "the proxy closed");
}

static void
upstream_proxy_answered(struct upstream *upstream)
{
	const struct buffer *answer = &upstream->answer;
	struct http_head head;
	enum http_head_status status;

	status = http_head_parse_response(
	    (const char *)buffer_bytes_borrow(answer), answer->len, &head);
	if (status == HTTP_HEAD_NEED_MORE)
		return;
	/* Nothing can follow: TLS begins with us. */
	if (status != HTTP_HEAD_OK || head.status < 200 || head.status > 299 ||
	    head.head_len != answer->len) {
		upstream_fail(upstream, LANE_FAILED_DIAL, "the proxy refused");
		return;
	}
	buffer_free(&upstream->answer);
	upstream_connected(upstream);
}

static void
upstream_read_proxy(struct upstream *upstream)
{
	enum result result = RESULT_OK;
	uint8_t *space;
	size_t room, len = 0;

	while (result == RESULT_OK) {
		result = buffer_reserve(&upstream->answer, 1024, &space, &room);
		if (result == RESULT_OK)
			result = upstream_wire_receive(
			    &upstream->wire, space, room, &len);
		buffer_commit(&upstream->answer, len);
		len = 0;
	}
	if (result != RESULT_NEED_MORE)
		upstream_fail(upstream, LANE_FAILED_DIAL, "the proxy closed");
	else if (upstream->answer.len > 0)
		upstream_proxy_answered(upstream);
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
	case UPSTREAM_PROXY:
		upstream_read_proxy(upstream);
		return;
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
	case UPSTREAM_CLOSED:
		return;
	}
}

/* --- lookup and dial --- */

static void
upstream_on_dialed(enum result result, int fd, const struct ip_addr *address,
    int error, void *context)
{
	struct upstream *upstream = context;
	const struct upstream_world *world = upstream->site->world;
	int on = 1;

	(void)error;
	upstream->dial = NULL;
	if (result != RESULT_OK) {
		upstream_fail(upstream,
		    result == RESULT_TIMEOUT ? LANE_FAILED_TIMEOUT
					     : LANE_FAILED_DIAL,
		    "no address answers");
		return;
	}
	upstream->site->world->counters.dialed++;
	upstream->wire.fd = fd;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (event_assign(&upstream->event, world->base, fd,
		EV_READ | EV_WRITE | EV_CLOSED | EV_ET | EV_PERSIST,
		upstream_on_event, upstream) != 0 ||
	    event_add(&upstream->event, NULL) != 0) {
		upstream_fail(upstream, LANE_FAILED_DIAL, "out of memory");
		return;
	}
	if (world->config->upstream_proxy.port != 0) {
		upstream_ask_proxy(upstream);
		return;
	}
	upstream->address = *address;
	upstream_connected(upstream);
}

static void
upstream_dial(struct upstream *upstream, const struct ip_addr *addresses,
    size_t count, uint16_t port)
{
	const struct upstream_world *world = upstream->site->world;
	const char *congestion = world->config->congestion;
	const struct dial_options options = {
	    .timeout_ms = (unsigned)world->config->connect_timeout_ms,
	    .congestion = congestion[0] != '\0' ? congestion : NULL};

	upstream_enter(upstream, UPSTREAM_DIAL, "judged");
	if (dial_start(world->base, addresses, count, port, &options,
		upstream_on_dialed, upstream, &upstream->dial) != RESULT_OK)
		upstream_fail(
		    upstream, LANE_FAILED_DIAL, "the dial cannot be started");
}

/* The corporate proxy's own name: the host's configuration names it, so its
 * address is not judged. */
static void
upstream_on_parent(
    enum result result, const struct dns_answer *answer, void *context)
{
	struct upstream *upstream = context;

	upstream->query = NULL;
	if (result != RESULT_OK)
		upstream_fail(upstream, LANE_FAILED_DIAL,
		    "the proxy's name cannot be looked up");
	else
		upstream_dial(upstream, answer->addresses, answer->count,
		    upstream->site->world->config->upstream_proxy.port);
}

static void
upstream_reach(
    struct upstream *upstream, const struct ip_addr *addresses, size_t count)
{
	const struct upstream_world *world = upstream->site->world;
	const struct endpoint *proxy = &world->config->upstream_proxy;

	upstream->address = addresses[0];
	if (proxy->port == 0) {
		upstream_dial(upstream, addresses, count,
		    upstream->site->provider->endpoint.port);
		return;
	}
	if (proxy->address.family != 0) {
		upstream_dial(upstream, &proxy->address, 1, proxy->port);
		return;
	}
	upstream_enter(upstream, UPSTREAM_PARENT, "judged");
	if (dns_lookup(world->dns, &proxy->name, upstream_on_parent, upstream,
		&upstream->query) != RESULT_OK)
		upstream_fail(upstream, LANE_FAILED_DIAL,
		    "the proxy's lookup cannot be started");
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

size_t
upstream_unsent(const struct upstream *upstream)
{
	return upstream->wire.unsent.len;
}
