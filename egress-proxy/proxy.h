/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proxy: sandboxes, the listeners handed over for them, and what keeps
 * accepting possible when descriptors or places run out. proxy_control.c
 * turns the supervisor's messages into these calls.
 */
#ifndef EGRESS_PROXY_PROXY_H
#define EGRESS_PROXY_PROXY_H

#include <event2/event.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "common/dns.h"
#include "egress-proxy/decision_table.h"
#include "egress-proxy/proxy_config.h"
#include "egress-proxy/session_io.h"

#define PROXY_SANDBOXES_MAX 256U
#define PROXY_LISTENERS_MAX 128U /* per sandbox: 64 direct, and ours */

struct proxy_sandbox;

/* One listening socket; its own kind decides how a session begins. */
struct proxy_listener {
	TAILQ_ENTRY(proxy_listener) link;
	struct proxy_sandbox *sandbox;
	int fd;
	struct event *event;
	bool direct; /* otherwise CONNECT and plain HTTP */
	struct domain name;
	uint16_t port; /* direct: dialled upstream */
};

struct proxy_sandbox {
	TAILQ_ENTRY(proxy_sandbox) link;
	struct proxy *proxy;
	struct session_sandbox shared; /* what its sessions see */
	TAILQ_HEAD(, proxy_listener) listeners;
	size_t listener_count;
};

struct proxy {
	struct event_base *base;
	struct dns *dns;
	struct proxy_config config;
	TAILQ_HEAD(, proxy_sandbox) sandboxes;
	size_t sandbox_count;
	struct event *tick, *resume;
	int reserve_fd;   /* given up to accept and close when none is left */
	size_t files_max; /* descriptors above this are kept for upstreams */
	uint64_t flushed_ms, descriptor_shortages;
	struct decision_table decisions;
	decision_table_send *send_decision;
	void *send_context;
	struct session_io_shared shared; /* last: it is large */
};

/* config stays in proxy. Reads nothing and opens no file. */
enum result proxy_init(struct proxy *proxy, struct event_base *base);
/* Every sandbox closed, everything freed. */
void proxy_close(struct proxy *proxy);

struct proxy_sandbox *proxy_find(struct proxy *proxy, const char *id);

/* Takes policy. RESULT_EXISTS, RESULT_TOO_LONG: and policy is freed. */
enum result proxy_open_sandbox(
    struct proxy *proxy, const char *id, struct host_policy *policy);

/* Takes policy and applies it to open sessions. RESULT_REFUSED: it is not
 * narrower than the one in force, which stays. */
enum result proxy_replace_policy(
    struct proxy_sandbox *sandbox, struct host_policy *policy);

/* Takes fd. name NULL: a proxy listener. RESULT_BAD: not a listening
 * internet stream socket; RESULT_TOO_LONG. */
enum result proxy_add_listener(struct proxy_sandbox *sandbox, int fd,
    const struct domain *name, uint16_t port);

/* Close its listeners and reset all it has open. */
void proxy_close_sandbox(struct proxy_sandbox **sandbox);

/* Send counted decisions now. */
void proxy_flush_decisions(struct proxy *proxy);

#endif
