/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of a chat completion over kept connections, one process, one epoll:
 *   load_llm ADDRESS:PORT PATH MODE CONCURRENCY SECONDS [OPTION VALUE]...
 *   calls    one after the other on each connection: calls per second and
 *            how long each took
 *   streams  the same of streams: time to the first event, how late each
 *            event is (upstream_llm.c says when it wrote it), and jitter:
 *            how much more or less two events lie apart than they were
 *            written
 *   hold     opens CONCURRENCY streams, prints `held N` once each has had
 *            an event, and reads them for SECONDS
 * Options: tls CA.pem, host NAME, field "Name: value" (may be repeated),
 * body BYTES (of the question), spread MS (the first calls start that far
 * apart in all). Every response is read to its end and must be a 200.
 * Prints one JSON object. For benches and scenarios only.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/load_samples.h"

#define LOAD_LLM_SLOTS 8192U
#define LOAD_LLM_HEAD_MAX 16384U
#define LOAD_LLM_LINE_MAX 512U /* a stamp stands in the beginning */
#define LOAD_LLM_READ 262144U

enum load_llm_state {
	LOAD_LLM_WAITING, /* for its turn to begin */
	LOAD_LLM_HEAD,
	LOAD_LLM_LENGTH, /* left bytes of content */
	LOAD_LLM_SIZE,   /* the line with a chunk's size */
	LOAD_LLM_CHUNK,  /* left bytes of it */
	LOAD_LLM_AFTER   /* the line end behind it */
};

struct load_llm_slot {
	int fd;
	SSL *ssl;
	enum load_llm_state state;
	bool last_chunk;
	uint64_t begin_ns; /* when the first call is due */
	uint64_t asked_ns, event_ns, stamp_ns;
	uint64_t left;
	unsigned events;
	size_t kept_len; /* of a head, or of a line of a stream */
	char kept[LOAD_LLM_HEAD_MAX];
};

static struct load_llm_slot *load_llm_slots;
static size_t load_llm_slot_count;
static struct sockaddr_in load_llm_to;
static SSL_CTX *load_llm_tls;
static bool load_llm_is_stream, load_llm_is_hold;
static const char *load_llm_host;
static char load_llm_fields[4096];
static char *load_llm_request;
static size_t load_llm_request_len, load_llm_body_len = 1200;
static uint64_t load_llm_spread_ns;
static uint64_t load_llm_calls, load_llm_failed, load_llm_bytes;
static uint64_t load_llm_all_events;
static size_t load_llm_held;
static int load_llm_epoll;
static char load_llm_scratch[LOAD_LLM_READ];
static struct load_samples load_llm_took, load_llm_first, load_llm_delay,
    load_llm_jitter;

static void load_llm_open(struct load_llm_slot *slot);

static uint64_t
load_llm_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static _Noreturn void
load_llm_fail(const char *what)
{
	fprintf(stderr, "load_llm: %s: %s\n", what, strerror(errno));
	ERR_print_errors_fp(stderr);
	exit(1);
}

/* --- the request --- */

/* A question as agents ask it: prose, code, quotes and line ends. */
static char *
load_llm_question(size_t len)
{
	static const char text[] =
	    "Look at this function and say what it does, then write a test "
	    "for it.\\n```c\\nint add(int a, int b) { return a + b; }\\n"
	    "```\\nIt is called \\\"add\\\"; keep the names. ";
	char *question = malloc(len + sizeof(text));
	size_t at = 0;

	if (question == NULL)
		load_llm_fail("malloc");
	while (at < len) {
		memcpy(question + at, text, sizeof(text) - 1);
		at += sizeof(text) - 1;
	}
	question[at] = '\0';
	return question;
}

static void
load_llm_make_request(const char *path)
{
	char *question = load_llm_question(load_llm_body_len), *body;
	int body_len, all;

	body_len = asprintf(&body,
	    "{\"model\":\"gpt-4o-mini\",\"messages\":[{\"role\":\"system\","
	    "\"content\":\"You are a careful engineer.\"},{\"role\":\"user\","
	    "\"content\":\"%s\"}],\"temperature\":0.2,\"max_tokens\":400,"
	    "\"stream\":%s}",
	    question, load_llm_is_stream ? "true" : "false");
	if (body_len < 0)
		load_llm_fail("asprintf");
	all = asprintf(&load_llm_request,
	    "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: load_llm\r\n"
	    "Accept: application/json\r\nContent-Type: application/json\r\n"
	    "%sContent-Length: %d\r\n\r\n%s",
	    path, load_llm_host, load_llm_fields, body_len, body);
	if (all < 0)
		load_llm_fail("asprintf");
	load_llm_request_len = (size_t)all;
	free(question);
	free(body);
}

/* --- one connection --- */

static void
load_llm_ask(struct load_llm_slot *slot)
{
	size_t count = 0;

	slot->state = LOAD_LLM_HEAD;
	slot->kept_len = 0;
	slot->events = 0;
	slot->last_chunk = false;
	slot->asked_ns = load_llm_now();
	if (slot->ssl != NULL)
		(void)SSL_write_ex(
		    slot->ssl, load_llm_request, load_llm_request_len, &count);
	else
		count = (size_t)send(slot->fd, load_llm_request,
		    load_llm_request_len, MSG_NOSIGNAL);
	if (count != load_llm_request_len)
		load_llm_failed++;
}

static void
load_llm_again(struct load_llm_slot *slot, const char *why)
{
	static unsigned said;

	load_llm_failed++;
	if (said++ < 5)
		fprintf(stderr, "load_llm: %s\n", why);
	if (slot->ssl != NULL)
		SSL_free(slot->ssl);
	close(slot->fd);
	load_llm_open(slot);
	load_llm_ask(slot);
}

static void
load_llm_handshake(struct load_llm_slot *slot)
{
	slot->ssl = SSL_new(load_llm_tls);
	if (slot->ssl == NULL || SSL_set_fd(slot->ssl, slot->fd) != 1 ||
	    SSL_set_tlsext_host_name(slot->ssl, load_llm_host) != 1 ||
	    SSL_connect(slot->ssl) != 1)
		load_llm_fail("TLS");
}

/* Connected (and encrypted) before it is counted. */
static void
load_llm_open(struct load_llm_slot *slot)
{
	struct epoll_event event = {
	    .events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.ptr = slot};
	int on = 1;

	slot->ssl = NULL;
	slot->state = LOAD_LLM_WAITING;
	slot->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (slot->fd < 0 || connect(slot->fd, (struct sockaddr *)&load_llm_to,
				sizeof(load_llm_to)) != 0)
		load_llm_fail("connect");
	(void)setsockopt(slot->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (load_llm_tls != NULL)
		load_llm_handshake(slot);
	if (ioctl(slot->fd, FIONBIO, &on) != 0 ||
	    epoll_ctl(load_llm_epoll, EPOLL_CTL_ADD, slot->fd, &event) != 0)
		load_llm_fail("epoll_ctl");
}

static void
load_llm_call_ended(struct load_llm_slot *slot)
{
	load_llm_calls++;
	load_samples_add(&load_llm_took, load_llm_now() - slot->asked_ns);
	load_llm_ask(slot);
}

/* --- content --- */

static void
load_llm_on_event(struct load_llm_slot *slot, uint64_t stamp_ns)
{
	uint64_t now = load_llm_now();

	load_llm_all_events++;
	load_samples_add(&load_llm_delay, now - stamp_ns);
	if (slot->events++ == 0) {
		load_samples_add(&load_llm_first, now - slot->asked_ns);
		load_llm_held++;
	} else {
		int64_t more = (int64_t)((now - slot->event_ns) -
					 (stamp_ns - slot->stamp_ns));

		load_samples_add(
		    &load_llm_jitter, (uint64_t)(more < 0 ? -more : more));
	}
	slot->event_ns = now;
	slot->stamp_ns = stamp_ns;
}

/* A line, or the beginning of a long one. */
static void
load_llm_line(struct load_llm_slot *slot)
{
	const char *stamp;

	slot->kept[slot->kept_len] = '\0';
	slot->kept_len = 0;
	stamp = strstr(slot->kept, "\"t=");
	if (stamp != NULL)
		load_llm_on_event(slot, strtoull(stamp + 3, NULL, 10));
}

static void
load_llm_content(struct load_llm_slot *slot, const char *bytes, size_t len)
{
	load_llm_bytes += len;
	while (load_llm_is_stream && len > 0) {
		const char *end = memchr(bytes, '\n', len);
		size_t part = end != NULL ? (size_t)(end - bytes) : len;
		size_t room = LOAD_LLM_LINE_MAX - slot->kept_len;
		size_t kept = part < room ? part : room;

		memcpy(slot->kept + slot->kept_len, bytes, kept);
		slot->kept_len += kept;
		if (end == NULL)
			return;
		load_llm_line(slot);
		bytes += part + 1;
		len -= part + 1;
	}
}

/* --- framing --- */

/* false: no good response. */
static bool
load_llm_judge_head(struct load_llm_slot *slot)
{
	const char *field;

	if (strncmp(slot->kept, "HTTP/1.1 200", 12) != 0)
		return false;
	slot->kept_len = 0;
	field = strcasestr(slot->kept, "\r\ncontent-length:");
	if (field != NULL) {
		slot->left = strtoull(field + 17, NULL, 10);
		slot->state = LOAD_LLM_LENGTH;
		return true;
	}
	slot->left = 0;
	slot->state = LOAD_LLM_SIZE;
	return strcasestr(slot->kept, "\r\ntransfer-encoding: chunked") != NULL;
}

/* Bytes of a head; those used. */
static size_t
load_llm_head(struct load_llm_slot *slot, const char *bytes, size_t len)
{
	size_t before = slot->kept_len;
	size_t room = LOAD_LLM_HEAD_MAX - 1 - before;
	size_t count = len < room ? len : room;
	char *end;

	memcpy(slot->kept + before, bytes, count);
	slot->kept[before + count] = '\0';
	slot->kept_len = before + count;
	end = strstr(slot->kept, "\r\n\r\n");
	if (end == NULL && slot->kept_len < LOAD_LLM_HEAD_MAX - 1)
		return count;
	if (end == NULL)
		return 0;
	end[2] = '\0';
	count = (size_t)(end + 4 - slot->kept) - before;
	return load_llm_judge_head(slot) ? count : 0;
}

/* A byte of a chunk's size line. */
static bool
load_llm_size(struct load_llm_slot *slot, char byte)
{
	const char *digits = "0123456789abcdef", *digit;

	if (byte == '\r')
		return true;
	if (byte == '\n') {
		slot->last_chunk = slot->left == 0;
		slot->state =
		    slot->last_chunk ? LOAD_LLM_AFTER : LOAD_LLM_CHUNK;
		return true;
	}
	digit = strchr(digits, byte | 0x20);
	if (byte == '\0' || digit == NULL)
		return false;
	slot->left = slot->left * 16 + (uint64_t)(digit - digits);
	return true;
}

static size_t
load_llm_body(struct load_llm_slot *slot, const char *bytes, size_t len)
{
	size_t count = slot->left < len ? (size_t)slot->left : len;

	load_llm_content(slot, bytes, count);
	slot->left -= count;
	if (slot->left > 0)
		return count;
	if (slot->state == LOAD_LLM_LENGTH)
		load_llm_call_ended(slot);
	else
		slot->state = LOAD_LLM_AFTER;
	return count;
}

static size_t
load_llm_after(struct load_llm_slot *slot, char byte)
{
	if (byte != '\n')
		return byte == '\r' ? 1 : 0;
	slot->left = 0;
	slot->state = LOAD_LLM_SIZE;
	if (slot->last_chunk)
		load_llm_call_ended(slot);
	return 1;
}

/* Bytes used; 0: they belong to no good response. */
static size_t
load_llm_step(struct load_llm_slot *slot, const char *bytes, size_t len)
{
	switch (slot->state) {
	case LOAD_LLM_WAITING:
		return 0;
	case LOAD_LLM_HEAD:
		return load_llm_head(slot, bytes, len);
	case LOAD_LLM_SIZE:
		return load_llm_size(slot, *bytes) ? 1 : 0;
	case LOAD_LLM_LENGTH:
	case LOAD_LLM_CHUNK:
		return load_llm_body(slot, bytes, len);
	case LOAD_LLM_AFTER:
		return load_llm_after(slot, *bytes);
	}
	return 0;
}

static bool
load_llm_take(struct load_llm_slot *slot, const char *bytes, size_t len)
{
	while (len > 0) {
		size_t used = load_llm_step(slot, bytes, len);

		if (used == 0) {
			load_llm_again(slot, "no good response");
			return false;
		}
		bytes += used;
		len -= used;
	}
	return true;
}

/* --- the loop --- */

/* Bytes that came; 0: none now; below: the connection is over. */
static ssize_t
load_llm_receive(struct load_llm_slot *slot)
{
	size_t count = 0;
	ssize_t got;

	if (slot->ssl == NULL) {
		got = recv(slot->fd, load_llm_scratch, LOAD_LLM_READ, 0);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		return got > 0 ? got : -1;
	}
	if (SSL_read_ex(slot->ssl, load_llm_scratch, LOAD_LLM_READ, &count))
		return (ssize_t)count;
	got = SSL_get_error(slot->ssl, 0) == SSL_ERROR_WANT_READ ? 0 : -1;
	ERR_clear_error();
	return got;
}

static void
load_llm_read(struct load_llm_slot *slot)
{
	ssize_t count;

	while ((count = load_llm_receive(slot)) > 0)
		if (!load_llm_take(slot, load_llm_scratch, (size_t)count))
			return;
	if (count < 0)
		load_llm_again(slot, "the connection was closed");
}

/* Those whose turn to begin came. Without TLS they connect only then: who
 * is connected and says nothing may be turned away. */
static void
load_llm_begin(uint64_t now)
{
	static size_t begun;

	for (; begun < load_llm_slot_count &&
	       load_llm_slots[begun].begin_ns <= now;
	     begun++) {
		if (load_llm_tls == NULL)
			load_llm_open(&load_llm_slots[begun]);
		load_llm_ask(&load_llm_slots[begun]);
	}
}

static double
load_llm_run(double seconds)
{
	struct epoll_event events[512];
	uint64_t start = load_llm_now(), now = start;
	/* A crowd that is to be held has a minute to come. */
	double most = load_llm_is_hold ? seconds + 60 : seconds;
	uint64_t end = start + (uint64_t)(most * 1e9);
	bool told = false;

	for (size_t i = 0; i < load_llm_slot_count; i++)
		load_llm_slots[i].begin_ns =
		    start + load_llm_spread_ns * i / load_llm_slot_count;
	while (now < end) {
		int count;

		load_llm_begin(now);
		count = epoll_wait(load_llm_epoll, events, 512, 1);
		for (int i = 0; i < count; i++)
			load_llm_read(events[i].data.ptr);
		now = load_llm_now();
		if (told || !load_llm_is_hold ||
		    load_llm_held < load_llm_slot_count)
			continue;
		printf("held %zu\n", load_llm_held);
		fflush(stdout);
		told = true;
		end = now + (uint64_t)(seconds * 1e9);
	}
	return (double)(now - start) / 1e9;
}

static void
load_llm_report(double seconds)
{
	printf("{\"seconds\":%.3f,\"calls\":%" PRIu64 ",\"failed\":%" PRIu64
	       ",\"events\":%" PRIu64 ",\"per_second\":%.1f,\"bytes\":%" PRIu64,
	    seconds, load_llm_calls, load_llm_failed, load_llm_all_events,
	    (double)load_llm_calls / seconds, load_llm_bytes);
	load_samples_print(&load_llm_took, "took");
	if (load_llm_is_stream) {
		load_samples_print(&load_llm_first, "first");
		load_samples_print(&load_llm_delay, "delay");
		load_samples_print(&load_llm_jitter, "jitter");
	}
	puts("}");
}

/* --- the command line --- */

static void
load_llm_option(const char *name, const char *value)
{
	size_t len = strlen(load_llm_fields);

	if (strcmp(name, "host") == 0) {
		load_llm_host = value;
	} else if (strcmp(name, "body") == 0) {
		load_llm_body_len = strtoul(value, NULL, 10);
	} else if (strcmp(name, "spread") == 0) {
		load_llm_spread_ns = strtoull(value, NULL, 10) * 1000000U;
	} else if (strcmp(name, "field") == 0) {
		(void)snprintf(load_llm_fields + len,
		    sizeof(load_llm_fields) - len, "%s\r\n", value);
	} else if (strcmp(name, "tls") == 0) {
		load_llm_tls = SSL_CTX_new(TLS_client_method());
		if (load_llm_tls == NULL ||
		    SSL_CTX_load_verify_file(load_llm_tls, value) != 1)
			load_llm_fail(value);
		SSL_CTX_set_verify(load_llm_tls, SSL_VERIFY_PEER, NULL);
	} else {
		errno = EINVAL;
		load_llm_fail(name);
	}
}

static void
load_llm_arguments(int argc, char **argv)
{
	char address[64] = "";
	unsigned port = 0;

	if (argc < 6 || argc % 2 != 0) {
		fprintf(stderr, "usage: load_llm ADDRESS:PORT PATH MODE "
				"CONCURRENCY SECONDS [OPTION VALUE]...\n");
		exit(2);
	}
	if (sscanf(argv[1], "%63[0-9.]:%u", address, &port) != 2 ||
	    inet_pton(AF_INET, address, &load_llm_to.sin_addr) != 1)
		load_llm_fail(argv[1]);
	load_llm_to.sin_family = AF_INET;
	load_llm_to.sin_port = htons((uint16_t)port);
	load_llm_host = argv[1];
	load_llm_is_hold = strcmp(argv[3], "hold") == 0;
	load_llm_is_stream =
	    load_llm_is_hold || strcmp(argv[3], "streams") == 0;
	if (!load_llm_is_stream && strcmp(argv[3], "calls") != 0)
		load_llm_fail(argv[3]);
	load_llm_slot_count = strtoul(argv[4], NULL, 10);
	if (load_llm_slot_count < 1 || load_llm_slot_count > LOAD_LLM_SLOTS)
		load_llm_fail("CONCURRENCY");
	for (int i = 6; i + 1 < argc; i += 2)
		load_llm_option(argv[i], argv[i + 1]);
	load_llm_make_request(argv[2]);
}

int
main(int argc, char **argv)
{
	struct rlimit files;

	(void)signal(SIGPIPE, SIG_IGN);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	load_llm_arguments(argc, argv);
	load_llm_epoll = epoll_create1(EPOLL_CLOEXEC);
	load_llm_slots = calloc(load_llm_slot_count, sizeof(*load_llm_slots));
	if (load_llm_slots == NULL || load_llm_epoll < 0)
		load_llm_fail("calloc");
	for (size_t i = 0; load_llm_tls != NULL && i < load_llm_slot_count; i++)
		load_llm_open(&load_llm_slots[i]);
	load_llm_report(load_llm_run(atof(argv[5])));
	return 0;
}
