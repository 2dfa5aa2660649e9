/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accepts connections on the listeners of sandboxes and starts a session
 * for each. Called by proxy_control.c and the event loop. Must never let
 * one sandbox's clients use up what another needs, spin when descriptors
 * run out, or keep a listener whose sandbox is gone.
 */
#include "egress-proxy/proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/ipc.h"
#include "common/log.h"
#include "egress-proxy/session_report.h"

#define PROXY_ACCEPT_BATCH 64U /* connections per listener and turn */
#define PROXY_PAUSE_MS 200U    /* a listener's rest without descriptors */
#define PROXY_FLUSH_MS 1000U   /* decisions are counted this long */
#define PROXY_FILES_KEPT 32U   /* descriptors kept for dials, pipes, DNS */
#define PROXY_WAITING_MIN 256U /* clients that may owe us a head */

_Static_assert(DENY_CODE_COUNT <= DECISION_TABLE_CODES_MAX,
    "the decision table has a row per code");

/* How many may wait for a head before the oldest has to go. */
static size_t
proxy_waiting_max(const struct proxy *proxy)
{
	size_t tunnels = proxy->shared.limits.max_tunnels;

	return tunnels > PROXY_WAITING_MIN ? tunnels : PROXY_WAITING_MIN;
}

/* The oldest of a list gives up its place. */
static bool
proxy_evict(struct proxy_sandbox *sandbox, enum session_list list)
{
	struct session *oldest = TAILQ_FIRST(&sandbox->shared.lists[list]);

	if (oldest == NULL)
		return false;
	sandbox->proxy->shared.counters.evicted++;
	session_io_tell(oldest, SESSION_EVENT_EVICTED);
	return true;
}

/* Waiting and refused ones are bounded; good clients are neither for long. */
static void
proxy_keep_bounds(struct proxy_sandbox *sandbox)
{
	const size_t *counts = sandbox->shared.counts;
	size_t max = proxy_waiting_max(sandbox->proxy);

	if (counts[SESSION_LIST_WAITING] >= max)
		(void)proxy_evict(sandbox, SESSION_LIST_WAITING);
	if (counts[SESSION_LIST_LEAVING] >= max)
		(void)proxy_evict(sandbox, SESSION_LIST_LEAVING);
}

static void
proxy_keep_ticking(struct proxy *proxy)
{
	struct timeval tick = event_loop_timeval(DEADLINE_WHEEL_TICK_MS);

	if (!event_pending(proxy->tick, EV_TIMEOUT, NULL))
		(void)event_add(proxy->tick, &tick);
}

static void
proxy_start_session(struct proxy_listener *listener, int fd,
    const struct sockaddr_storage *from)
{
	struct ip_addr client = {0};
	uint16_t port = 0;

	/* One that was passed on has no address. */
	(void)ip_addr_from_sockaddr(
	    (const struct sockaddr *)from, sizeof(*from), &client, &port);
	proxy_keep_ticking(listener->sandbox->proxy);
	proxy_keep_bounds(listener->sandbox);
	session_io_accept(&listener->sandbox->proxy->shared,
	    &listener->sandbox->shared, fd, &client, port,
	    listener->direct ? &listener->name : NULL, listener->port);
}

static void
proxy_pause(struct proxy *proxy)
{
	struct timeval rest = event_loop_timeval(PROXY_PAUSE_MS);
	struct proxy_sandbox *sandbox;
	struct proxy_listener *listener;

	TAILQ_FOREACH(sandbox, &proxy->sandboxes, link)
	TAILQ_FOREACH(listener, &sandbox->listeners, link)
	(void)event_del(listener->event);
	(void)event_add(proxy->resume, &rest);
}

/* Of the control socket, which lives as long as we do: a listener's
 * duplicate would outlive the listener (event_loop_new_batched). */
static void
proxy_keep_reserve(struct proxy *proxy)
{
	proxy->reserve_fd = fcntl(IPC_CONTROL_FD, F_DUPFD_CLOEXEC, 0);
}

/* No descriptor is left: use the kept one to turn the client away, make the
 * oldest waiting one leave, and rest. */
static void
proxy_on_shortage(struct proxy_listener *listener)
{
	struct proxy *proxy = listener->sandbox->proxy;
	int fd;

	proxy->descriptor_shortages++;
	log_event(LOG_WARN_LEVEL, "descriptors_exhausted",
	    LOG_TEXT("remedy", "raise the limit of open files, or lower "
			       "egress.max_tunnels"));
	fd_close(&proxy->reserve_fd);
	fd = fd_accept(listener->fd, NULL);
	fd_close(&fd);
	if (!proxy_evict(listener->sandbox, SESSION_LIST_LEAVING))
		(void)proxy_evict(listener->sandbox, SESSION_LIST_WAITING);
	proxy_keep_reserve(proxy);
	proxy_pause(proxy);
}

/* The others need descriptors, too: above the line, the newest leaves. */
static bool
proxy_above_line(struct proxy_listener *listener, int *fd)
{
	struct proxy *proxy = listener->sandbox->proxy;

	if ((size_t)*fd < proxy->files_max)
		return false;
	fd_close(fd);
	proxy_on_shortage(listener);
	return true;
}

static bool
proxy_accept_one(struct proxy_listener *listener)
{
	struct sockaddr_storage from = {0};
	int fd = fd_accept(listener->fd, &from);

	if (fd >= 0) {
		if (proxy_above_line(listener, &fd))
			return false;
		proxy_start_session(listener, fd, &from);
		return true;
	}
	if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
	    errno == ENOMEM) {
		proxy_on_shortage(listener);
		return false;
	}
	if (errno == ESHUTDOWN) {
		(void)event_del(listener->event);
		return false;
	}
	/* Others concern that one connection (accept(2)). */
	return errno != EAGAIN;
}

static void
proxy_on_accept(evutil_socket_t fd, short what, void *context)
{
	struct proxy_listener *listener = context;

	(void)fd;
	(void)what;
	for (unsigned i = 0; i < PROXY_ACCEPT_BATCH; i++)
		if (!proxy_accept_one(listener))
			return;
}

static void
proxy_on_resume(evutil_socket_t fd, short what, void *context)
{
	struct proxy *proxy = context;
	struct proxy_sandbox *sandbox;
	struct proxy_listener *listener;

	(void)fd;
	(void)what;
	TAILQ_FOREACH(sandbox, &proxy->sandboxes, link)
	TAILQ_FOREACH(listener, &sandbox->listeners, link)
	(void)event_add(listener->event, NULL);
}

static void
proxy_on_tick(evutil_socket_t fd, short what, void *context)
{
	struct proxy *proxy = context;
	uint64_t now = event_loop_now_ms();
	struct proxy_sandbox *sandbox;

	(void)fd;
	(void)what;
	TAILQ_FOREACH(sandbox, &proxy->sandboxes, link)
	egress_quota_refill(&sandbox->shared.quota, now);
	session_io_tick(&proxy->shared);
	if (now - proxy->flushed_ms < PROXY_FLUSH_MS)
		return;
	proxy->flushed_ms = now;
	proxy_flush_decisions(proxy);
	log_flush();
	/* Nothing is open and nothing is owed: sleep until a client comes. */
	if (proxy->shared.wheel.armed == 0 && proxy->decisions.used == 0)
		(void)event_del(proxy->tick);
}

void
proxy_flush_decisions(struct proxy *proxy)
{
	if (proxy->send_decision != NULL)
		decision_table_flush(&proxy->decisions, proxy->send_decision,
		    proxy->send_context);
}

static void
proxy_on_decision(const struct session *session, void *context)
{
	struct proxy *proxy = context;
	char target[DECISION_TABLE_TARGET];

	session_report_target(session, target, sizeof(target));
	decision_table_add(&proxy->decisions, session->sandbox->id,
	    session->code, target, session->rule, session->id);
}

/* Descriptors that accepted clients may use: some are kept back, because a
 * client without an upstream is of no use. */
static size_t
proxy_files_max(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
	    limit.rlim_cur == RLIM_INFINITY)
		return SIZE_MAX;
	return limit.rlim_cur > 4 * PROXY_FILES_KEPT
		   ? (size_t)limit.rlim_cur - PROXY_FILES_KEPT
		   : (size_t)limit.rlim_cur / 2;
}

enum result
proxy_init(struct proxy *proxy, struct event_base *base)
{
	const struct dns_options options = {.servers = proxy->config.resolver,
	    .timeout_ms = (unsigned)proxy->config.lookup_timeout_ms,
	    .ttl_min_s = 1,
	    .ttl_max_s = 300,
	    .negative_ttl_s = 5,
	    .cache_max = 1024};
	enum result result;

	TAILQ_INIT(&proxy->sandboxes);
	proxy->base = base;
	proxy_keep_reserve(proxy);
	proxy->files_max = proxy_files_max();
	result = dns_new(base, &options, &proxy->dns);
	if (result != RESULT_OK)
		return result;
	result = session_io_shared_init(
	    &proxy->shared, base, proxy->dns, &proxy->config);
	if (result != RESULT_OK)
		return result;
	proxy->shared.on_decision = proxy_on_decision;
	proxy->shared.context = proxy;
	proxy->tick = event_new(base, -1, EV_PERSIST, proxy_on_tick, proxy);
	proxy->resume = event_new(base, -1, 0, proxy_on_resume, proxy);
	return proxy->tick != NULL && proxy->resume != NULL ? RESULT_OK
							    : RESULT_NO_MEMORY;
}

void
proxy_close(struct proxy *proxy)
{
	struct proxy_sandbox *sandbox;

	while ((sandbox = TAILQ_FIRST(&proxy->sandboxes)) != NULL)
		proxy_close_sandbox(&sandbox);
	session_io_shared_close(&proxy->shared);
	dns_free(&proxy->dns);
	event_free(proxy->tick);
	event_free(proxy->resume);
	fd_close(&proxy->reserve_fd);
}

struct proxy_sandbox *
proxy_find(struct proxy *proxy, const char *id)
{
	struct proxy_sandbox *sandbox;

	TAILQ_FOREACH(sandbox, &proxy->sandboxes, link)
	if (strcmp(sandbox->shared.id, id) == 0)
		return sandbox;
	return NULL;
}

enum result
proxy_open_sandbox(
    struct proxy *proxy, const char *id, struct host_policy *policy)
{
	struct proxy_sandbox *sandbox = NULL;
	enum result result = RESULT_NO_MEMORY;

	if (proxy_find(proxy, id) != NULL)
		result = RESULT_EXISTS;
	else if (proxy->sandbox_count == PROXY_SANDBOXES_MAX ||
		 strlen(id) >= sizeof(sandbox->shared.id))
		result = RESULT_TOO_LONG;
	else
		sandbox = calloc(1, sizeof(*sandbox));
	if (sandbox == NULL) {
		host_policy_free(&policy);
		return result;
	}
	memcpy(sandbox->shared.id, id, strlen(id) + 1); /* measured above */
	sandbox->proxy = proxy;
	sandbox->shared.policy = policy;
	TAILQ_INIT(&sandbox->listeners);
	for (unsigned i = 0; i < SESSION_LIST_COUNT; i++)
		TAILQ_INIT(&sandbox->shared.lists[i]);
	egress_quota_init(&sandbox->shared.quota,
	    (uint64_t)proxy->config.rate_bytes,
	    (uint64_t)proxy->config.max_bytes, event_loop_now_ms());
	TAILQ_INSERT_TAIL(&proxy->sandboxes, sandbox, link);
	proxy->sandbox_count++;
	return RESULT_OK;
}

/* Tell every session of a sandbox, also those that leave while we do. */
static void
proxy_tell_all(struct proxy_sandbox *sandbox, enum session_event event)
{
	for (unsigned list = 0; list < SESSION_LIST_COUNT; list++) {
		struct session_queue *queue = &sandbox->shared.lists[list];
		struct session *session, *next;

		for (session = TAILQ_FIRST(queue); session != NULL;
		     session = next) {
			next = TAILQ_NEXT(session, link);
			session_io_tell(session, event);
		}
	}
}

enum result
proxy_replace_policy(struct proxy_sandbox *sandbox, struct host_policy *policy)
{
	struct host_policy *old = sandbox->shared.policy;

	if (!host_policy_is_narrower(policy, old)) {
		host_policy_free(&policy);
		return RESULT_REFUSED;
	}
	sandbox->shared.policy = policy;
	host_policy_free(&old);
	proxy_tell_all(sandbox, SESSION_EVENT_POLICY);
	return RESULT_OK;
}

/* Accepted sockets inherit these from their listener. */
static void
proxy_prepare_listener(const struct proxy *proxy, int fd)
{
	const char *congestion = proxy->config.congestion;
	int on = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (congestion[0] != '\0' &&
	    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion,
		(socklen_t)strlen(congestion)) != 0)
		log_event(LOG_WARN_LEVEL, "congestion_not_set",
		    LOG_TEXT("name", congestion));
}

static void
proxy_listener_free(struct proxy_listener *listener)
{
	if (listener->event != NULL)
		event_free(listener->event);
	fd_close(&listener->fd);
	free(listener);
}

enum result
proxy_add_listener(struct proxy_sandbox *sandbox, int fd,
    const struct domain *name, uint16_t port)
{
	struct proxy_listener *listener = calloc(1, sizeof(*listener));
	enum result result = RESULT_NO_MEMORY;

	if (listener == NULL) {
		fd_close(&fd);
		return result;
	}
	listener->sandbox = sandbox;
	listener->fd = fd;
	listener->direct = name != NULL;
	listener->port = port;
	if (name != NULL)
		listener->name = *name;
	if (!fd_is_listener(fd) || fd_set_nonblocking(fd, true) != RESULT_OK)
		result = RESULT_BAD;
	else if (sandbox->listener_count == PROXY_LISTENERS_MAX)
		result = RESULT_TOO_LONG;
	else
		listener->event = event_new(sandbox->proxy->base, fd,
		    EV_READ | EV_PERSIST, proxy_on_accept, listener);
	if (listener->event == NULL || event_add(listener->event, NULL) != 0) {
		proxy_listener_free(listener);
		return result;
	}
	proxy_prepare_listener(sandbox->proxy, fd);
	TAILQ_INSERT_TAIL(&sandbox->listeners, listener, link);
	sandbox->listener_count++;
	return RESULT_OK;
}

void
proxy_close_sandbox(struct proxy_sandbox **sandbox)
{
	struct proxy_sandbox *gone = *sandbox;
	struct proxy_listener *listener;

	*sandbox = NULL;
	while ((listener = TAILQ_FIRST(&gone->listeners)) != NULL) {
		TAILQ_REMOVE(&gone->listeners, listener, link);
		proxy_listener_free(listener);
	}
	proxy_tell_all(gone, SESSION_EVENT_SANDBOX_CLOSED);
	TAILQ_REMOVE(&gone->proxy->sandboxes, gone, link);
	gone->proxy->sandbox_count--;
	proxy_flush_decisions(gone->proxy);
	host_policy_free(&gone->shared.policy);
	free(gone);
}
