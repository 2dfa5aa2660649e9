/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bounded load on a proxy over loopback, one process, one epoll:
 *   load_proxy PROXY AUTHORITY MODE CONCURRENCY SECONDS [CONGESTION]
 *   connect  CONNECT, hello, one byte back, close: connections per second
 *   direct   hello, one byte back, close (a direct listener)
 *   plain    connect, one byte to and fro, no hello (raw)
 *   hold     open CONCURRENCY tunnels, print `held`, keep them SECONDS
 *   down     hello, then read for ever: bytes per second and fairness
 *   up       hello, then write for ever
 * down and up go through CONNECT unless AUTHORITY is "direct:NAME".
 * Prints one JSON object. For benches only.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LOAD_PROXY_SLOTS 20000
#define LOAD_PROXY_CHUNK (1U << 18)

enum load_proxy_state {
	LOAD_PROXY_IDLE,
	LOAD_PROXY_ASKED, /* CONNECT is out, 200 is due */
	LOAD_PROXY_HELLO, /* hello is out, a byte is due */
	LOAD_PROXY_MOVING
};

struct load_proxy_slot {
	int fd;
	enum load_proxy_state state;
	uint64_t bytes;
};

static struct load_proxy_slot load_proxy_slots[LOAD_PROXY_SLOTS];
static char load_proxy_bytes[LOAD_PROXY_CHUNK];
static struct sockaddr_in load_proxy_to;
static const char *load_proxy_mode, *load_proxy_congestion;
static char load_proxy_ask[600], load_proxy_hello[1024];
static size_t load_proxy_ask_len, load_proxy_hello_len;
static uint64_t load_proxy_done, load_proxy_failed;
static size_t load_proxy_open;
static int load_proxy_epoll;

static double
load_proxy_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static _Noreturn void
load_proxy_fail(const char *what)
{
	fprintf(stderr, "load_proxy: %s: %s\n", what, strerror(errno));
	exit(1);
}

static size_t
load_proxy_put(char *at, const void *bytes, size_t len)
{
	memcpy(at, bytes, len);
	return len;
}

static size_t
load_proxy_put16(char *at, size_t value)
{
	at[0] = (char)(value >> 8);
	at[1] = (char)value;
	return 2;
}

/* A TLS 1.3 hello of the usual size: server_name, and padding. */
static void
load_proxy_make_hello(const char *name)
{
	size_t len = strlen(name), pad = 400;
	size_t extensions = 9 + len + 4 + pad, body = 34 + 1 + 4 + 2 + 2;
	char *at = load_proxy_hello;

	body += extensions;
	at += load_proxy_put(at, "\x16\x03\x01", 3);
	at += load_proxy_put16(at, body + 4);
	at += load_proxy_put(at, "\x01\x00", 2);
	at += load_proxy_put16(at, body);
	at += load_proxy_put(at, "\x03\x03", 2);
	memset(at, 7, 32);
	at += 32;
	at += load_proxy_put(at, "\x00\x00\x02\x13\x01\x01\x00", 7);
	at += load_proxy_put16(at, extensions);
	at += load_proxy_put16(at, 0);
	at += load_proxy_put16(at, len + 5);
	at += load_proxy_put16(at, len + 3);
	*at++ = 0;
	at += load_proxy_put16(at, len);
	at += load_proxy_put(at, name, len);
	at += load_proxy_put16(at, 21);
	at += load_proxy_put16(at, pad);
	memset(at, 0, pad);
	at += pad;
	load_proxy_hello_len = (size_t)(at - load_proxy_hello);
}

static bool
load_proxy_is(const char *mode)
{
	return strcmp(load_proxy_mode, mode) == 0;
}

static void
load_proxy_send(struct load_proxy_slot *slot, const char *bytes, size_t len)
{
	if (send(slot->fd, bytes, len, MSG_NOSIGNAL) != (ssize_t)len)
		load_proxy_failed++;
}

static void
load_proxy_start(struct load_proxy_slot *slot)
{
	struct epoll_event event = {
	    .events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = slot};
	int on = 1;

	slot->fd =
	    socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (slot->fd < 0)
		load_proxy_fail("socket");
	(void)setsockopt(slot->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (load_proxy_congestion != NULL)
		(void)setsockopt(slot->fd, IPPROTO_TCP, TCP_CONGESTION,
		    load_proxy_congestion,
		    (socklen_t)strlen(load_proxy_congestion));
	if (connect(slot->fd, (struct sockaddr *)&load_proxy_to,
		sizeof(load_proxy_to)) != 0 &&
	    errno != EINPROGRESS)
		load_proxy_fail("connect");
	slot->state = LOAD_PROXY_IDLE;
	if (epoll_ctl(load_proxy_epoll, EPOLL_CTL_ADD, slot->fd, &event) != 0)
		load_proxy_fail("epoll_ctl");
}

static void
load_proxy_again(struct load_proxy_slot *slot, bool good)
{
	if (good)
		load_proxy_done++;
	else
		load_proxy_failed++;
	close(slot->fd);
	load_proxy_start(slot);
}

/* The tunnel answered its first byte. */
static void
load_proxy_opened(struct load_proxy_slot *slot)
{
	if (load_proxy_is("hold")) {
		load_proxy_open++;
		slot->state = LOAD_PROXY_MOVING;
	} else {
		load_proxy_again(slot, true);
	}
}

static void
load_proxy_connected(struct load_proxy_slot *slot)
{
	if (load_proxy_ask_len > 0) {
		slot->state = LOAD_PROXY_ASKED;
		load_proxy_send(slot, load_proxy_ask, load_proxy_ask_len);
		return;
	}
	slot->state = load_proxy_is("down") || load_proxy_is("up")
			  ? LOAD_PROXY_MOVING
			  : LOAD_PROXY_HELLO;
	load_proxy_send(slot, load_proxy_hello, load_proxy_hello_len);
}

static void
load_proxy_read(struct load_proxy_slot *slot)
{
	ssize_t count;

	for (int i = 0; i < 8; i++) {
		bool moving = slot->state == LOAD_PROXY_MOVING;

		count = recv(slot->fd, load_proxy_bytes, LOAD_PROXY_CHUNK,
		    moving ? MSG_TRUNC : 0);
		if (count < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (count <= 0) {
			load_proxy_again(slot, false);
			return;
		}
		if (moving) {
			slot->bytes += (uint64_t)count;
		} else if (slot->state == LOAD_PROXY_HELLO) {
			load_proxy_opened(slot);
			return;
		} else if (count < 12 ||
			   memcmp(load_proxy_bytes + 9, "200", 3) != 0) {
			load_proxy_again(slot, false);
			return;
		} else {
			slot->state =
			    load_proxy_is("down") || load_proxy_is("up")
				? LOAD_PROXY_MOVING
				: LOAD_PROXY_HELLO;
			load_proxy_send(
			    slot, load_proxy_hello, load_proxy_hello_len);
		}
	}
}

static void
load_proxy_write(struct load_proxy_slot *slot)
{
	for (int i = 0; i < 8; i++) {
		ssize_t count = send(
		    slot->fd, load_proxy_bytes, LOAD_PROXY_CHUNK, MSG_NOSIGNAL);

		if (count <= 0)
			return;
		slot->bytes += (uint64_t)count;
	}
}

/* Ask for the edge again: there may be more. Only for what is wanted: a
 * reader that is told of room to write never sleeps, and would take the
 * core that it shares with the upstream. */
static void
load_proxy_rearm(struct load_proxy_slot *slot)
{
	uint32_t wanted = load_proxy_is("up") ? EPOLLOUT : EPOLLIN;
	struct epoll_event event = {
	    .events = wanted | EPOLLET, .data.ptr = slot};

	(void)epoll_ctl(load_proxy_epoll, EPOLL_CTL_MOD, slot->fd, &event);
}

static void
load_proxy_event(const struct epoll_event *event)
{
	struct load_proxy_slot *slot = event->data.ptr;

	if (slot->state == LOAD_PROXY_IDLE && event->events & EPOLLOUT)
		load_proxy_connected(slot);
	if (event->events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		load_proxy_read(slot);
	if (slot->state != LOAD_PROXY_MOVING)
		return;
	if (load_proxy_is("up"))
		load_proxy_write(slot);
	if (!load_proxy_is("hold"))
		load_proxy_rearm(slot);
}

/* Bytes of all slots, the least and the most of one. */
static uint64_t
load_proxy_bytes_sum(size_t slots, uint64_t *least, uint64_t *most)
{
	uint64_t sum = 0;

	*least = UINT64_MAX;
	*most = 0;
	for (size_t i = 0; i < slots; i++) {
		uint64_t bytes = load_proxy_slots[i].bytes;

		sum += bytes;
		*least = bytes < *least ? bytes : *least;
		*most = bytes > *most ? bytes : *most;
	}
	return sum;
}

static void
load_proxy_run(size_t slots, double seconds)
{
	struct epoll_event events[512];
	double start = load_proxy_now(), end = start + seconds, now = start;
	uint64_t least, most, sum;
	bool told = false;

	while (now < end) {
		int count = epoll_wait(load_proxy_epoll, events, 512, 20);

		for (int i = 0; i < count; i++)
			load_proxy_event(&events[i]);
		if (!told && load_proxy_is("hold") &&
		    load_proxy_open == slots) {
			printf("held %zu\n", load_proxy_open);
			fflush(stdout);
			told = true;
		}
		now = load_proxy_now();
	}
	sum = load_proxy_bytes_sum(slots, &least, &most);
	printf("{\"mode\":\"%s\",\"seconds\":%.3f,\"done\":%llu,"
	       "\"failed\":%llu,\"per_second\":%.0f,\"open\":%zu,"
	       "\"bytes\":%llu,\"gb_per_second\":%.3f,\"fairness\":%.3f}\n",
	    load_proxy_mode, now - start, (unsigned long long)load_proxy_done,
	    (unsigned long long)load_proxy_failed,
	    (double)load_proxy_done / (now - start), load_proxy_open,
	    (unsigned long long)sum, (double)sum / (now - start) / 1e9,
	    most > 0 ? (double)least / (double)most : 0.0);
}

static void
load_proxy_arguments(char **argv)
{
	char host[300] = "", address[64] = "";
	unsigned port = 0;
	char *colon;

	if (sscanf(argv[1], "%63[0-9.]:%u", address, &port) != 2 ||
	    inet_pton(AF_INET, address, &load_proxy_to.sin_addr) != 1)
		load_proxy_fail(argv[1]);
	load_proxy_to.sin_family = AF_INET;
	load_proxy_to.sin_port = htons((uint16_t)port);
	load_proxy_mode = argv[3];
	if (strncmp(argv[2], "direct:", 7) == 0) {
		load_proxy_make_hello(argv[2] + 7);
		return;
	}
	snprintf(host, sizeof(host), "%s", argv[2]);
	colon = strrchr(host, ':');
	if (colon != NULL)
		*colon = '\0';
	load_proxy_make_hello(host);
	if (!load_proxy_is("direct"))
		load_proxy_ask_len =
		    (size_t)snprintf(load_proxy_ask, sizeof(load_proxy_ask),
			"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", argv[2],
			argv[2]);
}

int
main(int argc, char **argv)
{
	struct rlimit files;
	size_t slots;

	if (argc < 6) {
		fprintf(stderr,
		    "usage: load_proxy PROXY AUTHORITY MODE CONCURRENCY "
		    "SECONDS [CONGESTION]\n");
		return 2;
	}
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	load_proxy_congestion = argc > 6 ? argv[6] : NULL;
	load_proxy_arguments(argv);
	load_proxy_epoll = epoll_create1(EPOLL_CLOEXEC);
	slots = (size_t)atoi(argv[4]);
	if (slots < 1 || slots > LOAD_PROXY_SLOTS)
		load_proxy_fail("CONCURRENCY");
	for (size_t i = 0; i < slots; i++)
		load_proxy_start(&load_proxy_slots[i]);
	load_proxy_run(slots, atof(argv[5]));
	return 0;
}
