/* SPDX-License-Identifier: Apache-2.0 */
/*
 * c-ares on the event loop: its sockets, its clock, its servers, and its
 * parsers' results as ours. Called by dns.c alone; must never open a file
 * after dns_channel_init.
 */
#define DNS_INTERNAL
#include "common/dns.h"

#include <ares.h>
#include <arpa/nameser.h>
#include <stdlib.h>
#include <string.h>

#include "common/event_loop.h"

#define DNS_CHANNEL_TRIES 3
#define DNS_CHANNEL_TRY_MIN_MS 100
#define DNS_CHANNEL_EDNS_SIZE 1232 /* no fragments (DNS flag day 2020) */

struct dns_socket {
	ares_socket_t fd;
	struct dns_channel *channel;
	struct event *event;
	LIST_ENTRY(dns_socket) link;
};

static enum result
dns_channel_result(int status)
{
	switch (status) { /* c-ares' codes, ints */
	case ARES_SUCCESS:
		return RESULT_OK;
	case ARES_ENODATA:
	case ARES_ENOTFOUND:
		return RESULT_NOT_FOUND;
	case ARES_ETIMEOUT:
		return RESULT_TIMEOUT;
	case ARES_EBADRESP:
	case ARES_EFORMERR:
	case ARES_EBADNAME:
		return RESULT_BAD;
	default:
		return RESULT_SYSTEM;
	}
}

static int
dns_channel_parse_a(struct dns_half *half, const uint8_t *bytes, int len)
{
	struct ares_addrttl found[DNS_ADDRESSES_MAX + 1];
	int i, count = (int)DNS_ADDRESSES_MAX + 1;
	int status = ares_parse_a_reply(bytes, len, NULL, found, &count);

	for (i = 0; status == ARES_SUCCESS && i < count; i++) {
		half->addresses[i].family = 4;
		memcpy(half->addresses[i].bytes, &found[i].ipaddr, 4);
		if (i == 0 || (unsigned)found[i].ttl < half->ttl_s)
			half->ttl_s = (unsigned)found[i].ttl;
	}
	half->count = status == ARES_SUCCESS ? (size_t)count : 0;
	return status;
}

static int
dns_channel_parse_aaaa(struct dns_half *half, const uint8_t *bytes, int len)
{
	struct ares_addr6ttl found[DNS_ADDRESSES_MAX + 1];
	int i, count = (int)DNS_ADDRESSES_MAX + 1;
	int status = ares_parse_aaaa_reply(bytes, len, NULL, found, &count);

	for (i = 0; status == ARES_SUCCESS && i < count; i++) {
		half->addresses[i].family = 6;
		memcpy(half->addresses[i].bytes, &found[i].ip6addr, 16);
		if (i == 0 || (unsigned)found[i].ttl < half->ttl_s)
			half->ttl_s = (unsigned)found[i].ttl;
	}
	half->count = status == ARES_SUCCESS ? (size_t)count : 0;
	return status;
}

static void
dns_channel_on_answer(
    void *context, int status, int timeouts, unsigned char *bytes, int len)
{
	struct dns_half *half = context;

	(void)timeouts;
	if (status == ARES_ECANCELLED || status == ARES_EDESTRUCTION) {
		half->done(half); /* still NEED_MORE */
		return;
	}
	memset(half->addresses, 0, sizeof(half->addresses));
	if (status == ARES_SUCCESS && half->family == 4)
		status = dns_channel_parse_a(half, bytes, len);
	else if (status == ARES_SUCCESS)
		status = dns_channel_parse_aaaa(half, bytes, len);
	half->result = dns_channel_result(status);
	if (half->result == RESULT_OK && half->count == 0)
		half->result = RESULT_NOT_FOUND; /* a CNAME and nothing more */
	half->done(half);
}

static void
dns_channel_rearm(struct dns_channel *channel)
{
	struct timeval wait, *next = ares_timeout(channel->ares, NULL, &wait);

	if (next == NULL)
		(void)event_del(channel->timer);
	else
		(void)event_add(channel->timer, next);
}

static void
dns_channel_on_timer(evutil_socket_t fd, short what, void *context)
{
	struct dns_channel *channel = context;

	(void)fd;
	(void)what;
	ares_process_fd(channel->ares, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	dns_channel_rearm(channel);
}

static void
dns_channel_on_event(evutil_socket_t fd, short what, void *context)
{
	const struct dns_socket *socket = context;
	struct dns_channel *channel =
	    socket->channel; /* socket may go meanwhile */

	ares_process_fd(channel->ares,
	    (what & EV_READ) != 0 ? fd : ARES_SOCKET_BAD,
	    (what & EV_WRITE) != 0 ? fd : ARES_SOCKET_BAD);
	dns_channel_rearm(channel);
}

static void
dns_channel_forget(struct dns_socket *socket)
{
	LIST_REMOVE(socket, link);
	if (socket->event != NULL)
		event_free(socket->event);
	free(socket);
}

static struct dns_socket *
dns_channel_socket(struct dns_channel *channel, ares_socket_t fd)
{
	struct dns_socket *socket;

	LIST_FOREACH(socket, &channel->sockets, link)
	if (socket->fd == fd)
		return socket;
	socket = calloc(1, sizeof(*socket));
	if (socket == NULL)
		return NULL;
	socket->fd = fd;
	socket->channel = channel;
	LIST_INSERT_HEAD(&channel->sockets, socket, link);
	return socket;
}

/* c-ares tells what it waits for. Without memory for the event the lookup
 * runs into its deadline. */
static void
dns_channel_on_state(
    void *context, ares_socket_t fd, int readable, int writable)
{
	struct dns_channel *channel = context;
	struct dns_socket *socket = dns_channel_socket(channel, fd);
	short what = (short)((readable ? EV_READ : 0) |
			     (writable ? EV_WRITE : 0) | EV_PERSIST);

	if (socket == NULL)
		return;
	if (!readable && !writable) {
		dns_channel_forget(socket);
		return;
	}
	if (socket->event != NULL)
		event_free(socket->event);
	socket->event =
	    event_new(channel->base, fd, what, dns_channel_on_event, socket);
	if (socket->event != NULL)
		(void)event_add(socket->event, NULL);
}

void
dns_channel_ask(struct dns_channel *channel, const struct domain *name,
    struct dns_half *half)
{
	half->result = RESULT_NEED_MORE;
	half->count = 0;
	ares_query(channel->ares, name->name, ns_c_in,
	    half->family == 4 ? ns_t_a : ns_t_aaaa, dns_channel_on_answer,
	    half);
	dns_channel_rearm(channel);
}

/* ":53" or nothing. */
static enum result
dns_channel_parse_port(const char *text, size_t len, int *port_r)
{
	size_t i;

	*port_r = len == 0 ? 53 : 0;
	if (len == 1 || len > 6 || (len > 0 && text[0] != ':'))
		return RESULT_BAD;
	for (i = 1; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return RESULT_BAD;
		*port_r = *port_r * 10 + (text[i] - '0');
	}
	return *port_r >= 1 && *port_r <= 65535 ? RESULT_OK : RESULT_BAD;
}

/* "192.0.2.1", "192.0.2.1:53", "[2001:db8::1]:53"; not terminated. */
static enum result
dns_channel_parse_server(
    const char *text, size_t len, struct ares_addr_port_node *node_r)
{
	size_t bracket = len > 0 && text[0] == '[' ? 1 : 0, host_len, used;
	const char *host = text + bracket;
	const char *stop = memchr(host, bracket ? ']' : ':', len - bracket);
	struct ip_addr address;

	memset(node_r, 0, sizeof(*node_r));
	if (bracket == 1 && stop == NULL)
		return RESULT_BAD;
	host_len = stop == NULL ? len : (size_t)(stop - host);
	used = host_len + 2 * bracket;
	if (ip_addr_parse(host, host_len, &address) != RESULT_OK ||
	    (address.family == 6) != (bracket == 1) ||
	    dns_channel_parse_port(
		text + used, len - used, &node_r->udp_port) != RESULT_OK)
		return RESULT_BAD;
	node_r->tcp_port = node_r->udp_port;
	node_r->family = address.family == 6 ? AF_INET6 : AF_INET;
	memcpy(&node_r->addr, address.bytes, address.family == 6 ? 16 : 4);
	return RESULT_OK;
}

enum result
dns_channel_set_servers(struct dns_channel *channel, const char *servers)
{
	struct ares_addr_port_node nodes[DNS_SERVERS_MAX];
	size_t count = 0, len;

	for (;; servers += len + 1) {
		len = strcspn(servers, ",");
		if (count == DNS_SERVERS_MAX)
			return RESULT_TOO_LONG;
		if (dns_channel_parse_server(servers, len, &nodes[count]) !=
		    RESULT_OK)
			return RESULT_BAD;
		if (count > 0)
			nodes[count - 1].next = &nodes[count];
		count++;
		if (servers[len] == '\0')
			break;
	}
	ares_cancel(channel->ares); /* it takes new servers only when idle */
	return ares_set_servers_ports(channel->ares, nodes) == ARES_SUCCESS
		   ? RESULT_OK
		   : RESULT_SYSTEM;
}

static enum result
dns_channel_open(struct dns_channel *channel, unsigned timeout_ms)
{
	static char no_file[] = "/dev/null", lookups[] = "b";
	int timeout = (int)timeout_ms / 7; /* 1 + 2 + 4 tries */
	struct ares_options options = {
	    .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | ARES_FLAG_EDNS,
	    .timeout = timeout < DNS_CHANNEL_TRY_MIN_MS ? DNS_CHANNEL_TRY_MIN_MS
							: timeout,
	    .tries = DNS_CHANNEL_TRIES,
	    .ndots = 0,
	    .lookups = lookups,
	    .ednspsz = DNS_CHANNEL_EDNS_SIZE,
	    .resolvconf_path = no_file,
	    .sock_state_cb = dns_channel_on_state,
	    .sock_state_cb_data = channel};

	if (ares_init_options(&channel->ares, &options,
		ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
		    ARES_OPT_NDOTS | ARES_OPT_LOOKUPS | ARES_OPT_DOMAINS |
		    ARES_OPT_EDNSPSZ | ARES_OPT_RESOLVCONF |
		    ARES_OPT_SOCK_STATE_CB | ARES_OPT_NOROTATE) == ARES_SUCCESS)
		return RESULT_OK;
	channel->ares = NULL;
	return RESULT_SYSTEM;
}

enum result
dns_channel_init(
    struct dns_channel *channel, struct event_base *base, unsigned timeout_ms)
{
	LIST_INIT(&channel->sockets);
	channel->ares = NULL;
	channel->base = base;
	channel->timer = event_new(base, -1, 0, dns_channel_on_timer, channel);
	if (channel->timer == NULL)
		return RESULT_NO_MEMORY;
	return dns_channel_open(channel, timeout_ms);
}

void
dns_channel_close(struct dns_channel *channel)
{
	if (channel->ares != NULL)
		ares_destroy(channel->ares); /* calls what is owed */
	if (channel->timer != NULL)
		event_free(channel->timer);
	channel->ares = NULL;
	channel->timer = NULL;
}
