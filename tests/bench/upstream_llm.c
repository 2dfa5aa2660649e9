/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The provider of load tests: a TLS server that speaks enough of chat
 * completions to be called by anything, one process, one epoll. It refuses
 * a request without the key it was told, so that who injects it is tested
 * with every call. Events of a stream say when they were written.
 *   upstream_llm ADDRESS:PORT PEM KEY BODY_BYTES EVENTS GAP_US EVENT_BYTES
 * A stream of GAP_US 0 is written as fast as it is read. Prints `ready`;
 * ends with its parent or on SIGTERM. For benches and scenarios only.
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
#include <sys/prctl.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define UPSTREAM_LLM_IN_MAX 65536U
#define UPSTREAM_LLM_OUT_MAX (1U << 20)
#define UPSTREAM_LLM_TURN 8 /* events of a stream before others' */
#define UPSTREAM_LLM_STAMP "%020" PRIu64

enum upstream_llm_state {
	UPSTREAM_LLM_HANDSHAKE,
	UPSTREAM_LLM_REQUEST,
	UPSTREAM_LLM_ANSWER, /* out is the whole response */
	UPSTREAM_LLM_STREAM,
	UPSTREAM_LLM_CLOSED
};

struct upstream_llm_conn {
	TAILQ_ENTRY(upstream_llm_conn) link; /* by due_ns */
	SSL *ssl;
	int fd;
	enum upstream_llm_state state;
	bool queued, asked_usage;
	size_t in_len;
	char in[UPSTREAM_LLM_IN_MAX];
	char *out; /* what waits: out_len bytes from out_at on */
	size_t out_len, out_at;
	uint64_t due_ns;
	unsigned long left; /* events */
};

TAILQ_HEAD(upstream_llm_queue, upstream_llm_conn);

static struct upstream_llm_queue upstream_llm_streams =
    TAILQ_HEAD_INITIALIZER(upstream_llm_streams);
static int upstream_llm_epoll, upstream_llm_timer, upstream_llm_listener;
static SSL_CTX *upstream_llm_tls;
static char upstream_llm_key[256]; /* "authorization: bearer KEY" */
static char *upstream_llm_whole, *upstream_llm_event;
static size_t upstream_llm_whole_len, upstream_llm_event_len;
static size_t upstream_llm_stamp_at;
static unsigned long upstream_llm_events;
static uint64_t upstream_llm_gap_ns;

static const char upstream_llm_refused[] =
    "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";
static const char upstream_llm_stream_head[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    "x-request-id: req_bench\r\nTransfer-Encoding: chunked\r\n\r\n";
static const char upstream_llm_usage[] =
    "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\","
    "\"created\":1,\"model\":\"gpt-4o-mini\",\"choices\":[],\"usage\":"
    "{\"prompt_tokens\":300,\"completion_tokens\":40,\"total_tokens\":340}}"
    "\n\n";
static const char upstream_llm_done[] = "data: [DONE]\n\n";

static _Noreturn void
upstream_llm_fail(const char *what)
{
	fprintf(stderr, "upstream_llm: %s: %s\n", what, strerror(errno));
	ERR_print_errors_fp(stderr);
	exit(1);
}

static uint64_t
upstream_llm_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* --- what is answered --- */

static char *
upstream_llm_filler(size_t len)
{
	static const char words[] = "the answer is forty-two, and so on; ";
	char *text = malloc(len + 1);

	if (text == NULL)
		upstream_llm_fail("malloc");
	for (size_t i = 0; i < len; i++)
		text[i] = words[i % (sizeof(words) - 1)];
	text[len] = '\0';
	return text;
}

static void
upstream_llm_make_whole(size_t len)
{
	char *text = upstream_llm_filler(len), *body;
	int body_len, all;

	body_len = asprintf(&body,
	    "{\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion\","
	    "\"created\":1,\"model\":\"gpt-4o-mini\",\"choices\":[{\"index\":0,"
	    "\"message\":{\"role\":\"assistant\",\"content\":\"%s\"},"
	    "\"logprobs\":null,\"finish_reason\":\"stop\"}],\"usage\":"
	    "{\"prompt_tokens\":300,\"completion_tokens\":200,"
	    "\"total_tokens\":500}}",
	    text);
	if (body_len < 0)
		upstream_llm_fail("asprintf");
	all = asprintf(&upstream_llm_whole,
	    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	    "x-request-id: req_bench\r\nContent-Length: %d\r\n\r\n%s",
	    body_len, body);
	if (all < 0)
		upstream_llm_fail("asprintf");
	upstream_llm_whole_len = (size_t)all;
	free(text);
	free(body);
}

static void
upstream_llm_make_event(size_t len)
{
	char *text = upstream_llm_filler(len), *data;
	int data_len, all;

	data_len = asprintf(&data,
	    "data: {\"id\":\"chatcmpl-bench\",\"object\":"
	    "\"chat.completion.chunk\",\"created\":1,\"model\":"
	    "\"gpt-4o-mini\",\"choices\":[{\"index\":0,\"delta\":{\"content\":"
	    "\"t=" UPSTREAM_LLM_STAMP
	    " %s\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n",
	    (uint64_t)0, text);
	if (data_len < 0)
		upstream_llm_fail("asprintf");
	all = asprintf(&upstream_llm_event, "%x\r\n%s\r\n", data_len, data);
	if (all < 0 || (size_t)all > UPSTREAM_LLM_OUT_MAX)
		upstream_llm_fail("asprintf");
	upstream_llm_event_len = (size_t)all;
	upstream_llm_stamp_at = (size_t)(strstr(upstream_llm_event, "\"t=") +
					 3 - upstream_llm_event);
	free(text);
	free(data);
}

/* --- connections --- */

static void
upstream_llm_close(struct upstream_llm_conn *conn)
{
	if (conn->queued)
		TAILQ_REMOVE(&upstream_llm_streams, conn, link);
	conn->queued = false;
	SSL_free(conn->ssl);
	ERR_clear_error();
	close(conn->fd);
	free(conn->out);
	free(conn);
}

/* Write what waits. false: not all of it now, or the connection is over
 * (state CLOSED). */
static bool
upstream_llm_flush(struct upstream_llm_conn *conn)
{
	size_t count;

	while (conn->out_at < conn->out_len) {
		if (SSL_write_ex(conn->ssl, conn->out + conn->out_at,
			conn->out_len - conn->out_at, &count) != 1) {
			if (SSL_get_error(conn->ssl, 0) != SSL_ERROR_WANT_WRITE)
				conn->state = UPSTREAM_LLM_CLOSED;
			ERR_clear_error();
			return false;
		}
		conn->out_at += count;
	}
	free(conn->out);
	conn->out = NULL;
	conn->out_len = conn->out_at = 0;
	return true;
}

/* Nothing may wait. false: as flush. */
static bool
upstream_llm_put(struct upstream_llm_conn *conn, const char *bytes, size_t len)
{
	size_t count = 0;

	if (SSL_write_ex(conn->ssl, bytes, len, &count) == 1 && count == len)
		return true;
	conn->out = malloc(len - count);
	if (conn->out == NULL)
		upstream_llm_fail("malloc");
	memcpy(conn->out, bytes + count, len - count);
	conn->out_len = len - count;
	return upstream_llm_flush(conn);
}

static void
upstream_llm_queue(struct upstream_llm_conn *conn, uint64_t due_ns)
{
	conn->due_ns = due_ns;
	conn->queued = true;
	TAILQ_INSERT_TAIL(&upstream_llm_streams, conn, link);
}

static size_t
upstream_llm_chunk(char *at, const char *text)
{
	return (size_t)sprintf(at, "%zx\r\n%s\r\n", strlen(text), text);
}

static void
upstream_llm_end(struct upstream_llm_conn *conn)
{
	char last[1024];
	size_t len = 0;

	if (conn->asked_usage)
		len = upstream_llm_chunk(last, upstream_llm_usage);
	len += upstream_llm_chunk(last + len, upstream_llm_done);
	memcpy(last + len, "0\r\n\r\n", 5);
	conn->state = UPSTREAM_LLM_ANSWER;
	if (upstream_llm_put(conn, last, len + 5))
		conn->state = UPSTREAM_LLM_REQUEST;
}

/* The events that are due. */
static void
upstream_llm_stream(struct upstream_llm_conn *conn)
{
	char stamp[32];

	for (int i = 0; i < UPSTREAM_LLM_TURN; i++) {
		if (conn->left == 0) {
			upstream_llm_end(conn);
			return;
		}
		conn->left--;
		(void)snprintf(stamp, sizeof(stamp), UPSTREAM_LLM_STAMP,
		    upstream_llm_now());
		memcpy(upstream_llm_event + upstream_llm_stamp_at, stamp, 20);
		if (!upstream_llm_put(
			conn, upstream_llm_event, upstream_llm_event_len))
			return; /* goes on when the rest is written */
		if (upstream_llm_gap_ns > 0)
			break;
	}
	upstream_llm_queue(conn, conn->due_ns + upstream_llm_gap_ns);
}

/* --- requests --- */

/* A request that is all there: its length; 0: not yet. */
static size_t
upstream_llm_request(
    struct upstream_llm_conn *conn, size_t *head_r, bool *has_key_r)
{
	char *end, *field;
	size_t len;

	conn->in[conn->in_len] = '\0';
	end = strstr(conn->in, "\r\n\r\n");
	if (end == NULL)
		return 0;
	*end = '\0';
	field = strcasestr(conn->in, "\r\ncontent-length:");
	len = field != NULL ? strtoul(field + 17, NULL, 10) : 0;
	*head_r = (size_t)(end + 4 - conn->in);
	*has_key_r = strcasestr(conn->in, upstream_llm_key) != NULL;
	*end = '\r';
	return conn->in_len >= *head_r + len ? *head_r + len : 0;
}

static bool
upstream_llm_says(const char *body, size_t len, const char *what)
{
	return memmem(body, len, what, strlen(what)) != NULL;
}

static void
upstream_llm_serve(struct upstream_llm_conn *conn)
{
	bool has_key = false, stream, done;
	size_t head = 0, all = upstream_llm_request(conn, &head, &has_key);
	const char *body = conn->in + head;

	if (all == 0) {
		if (conn->in_len == UPSTREAM_LLM_IN_MAX - 1)
			conn->state = UPSTREAM_LLM_CLOSED;
		return;
	}
	stream =
	    has_key && upstream_llm_says(body, all - head, "\"stream\":true");
	conn->asked_usage =
	    upstream_llm_says(body, all - head, "\"include_usage\":true");
	conn->in_len -= all;
	memmove(conn->in, conn->in + all, conn->in_len);
	conn->state = UPSTREAM_LLM_ANSWER;
	if (!has_key)
		done = upstream_llm_put(conn, upstream_llm_refused,
		    sizeof(upstream_llm_refused) - 1);
	else if (!stream)
		done = upstream_llm_put(
		    conn, upstream_llm_whole, upstream_llm_whole_len);
	else
		done = upstream_llm_put(conn, upstream_llm_stream_head,
		    sizeof(upstream_llm_stream_head) - 1);
	if (!done)
		return;
	conn->state = UPSTREAM_LLM_REQUEST;
	if (!stream)
		return;
	conn->state = UPSTREAM_LLM_STREAM;
	conn->left = upstream_llm_events;
	conn->due_ns = upstream_llm_now();
	upstream_llm_stream(conn);
}

static void
upstream_llm_read(struct upstream_llm_conn *conn)
{
	size_t count;

	while (SSL_read_ex(conn->ssl, conn->in + conn->in_len,
		   UPSTREAM_LLM_IN_MAX - 1 - conn->in_len, &count) == 1) {
		conn->in_len += count;
		if (conn->state == UPSTREAM_LLM_REQUEST)
			upstream_llm_serve(conn);
		if (conn->state == UPSTREAM_LLM_CLOSED ||
		    conn->in_len == UPSTREAM_LLM_IN_MAX - 1)
			return;
	}
	if (SSL_get_error(conn->ssl, 0) != SSL_ERROR_WANT_READ)
		conn->state = UPSTREAM_LLM_CLOSED;
	ERR_clear_error();
}

static void
upstream_llm_handshake(struct upstream_llm_conn *conn)
{
	int ret = SSL_accept(conn->ssl), why;

	if (ret == 1) {
		conn->state = UPSTREAM_LLM_REQUEST;
		return;
	}
	why = SSL_get_error(conn->ssl, ret);
	if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
		conn->state = UPSTREAM_LLM_CLOSED;
	ERR_clear_error();
}

static void
upstream_llm_event_of(struct upstream_llm_conn *conn)
{
	if (conn->state == UPSTREAM_LLM_HANDSHAKE)
		upstream_llm_handshake(conn);
	if (conn->out != NULL && upstream_llm_flush(conn)) {
		if (conn->state == UPSTREAM_LLM_ANSWER)
			conn->state = UPSTREAM_LLM_REQUEST;
		else if (conn->state == UPSTREAM_LLM_STREAM)
			upstream_llm_queue(
			    conn, upstream_llm_now() + upstream_llm_gap_ns);
	}
	if (conn->state != UPSTREAM_LLM_HANDSHAKE &&
	    conn->state != UPSTREAM_LLM_CLOSED)
		upstream_llm_read(conn);
	if (conn->state == UPSTREAM_LLM_CLOSED)
		upstream_llm_close(conn);
}

static void
upstream_llm_accept(void)
{
	int fd, on = 1;

	while ((fd = accept4(upstream_llm_listener, NULL, NULL,
		    SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct upstream_llm_conn *conn = malloc(sizeof(*conn));
		struct epoll_event event = {
		    .events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = conn};

		if (conn == NULL)
			upstream_llm_fail("malloc");
		memset(conn, 0, offsetof(struct upstream_llm_conn, in));
		conn->out = NULL;
		conn->out_len = conn->out_at = 0;
		conn->fd = fd;
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		conn->ssl = SSL_new(upstream_llm_tls);
		if (conn->ssl == NULL || SSL_set_fd(conn->ssl, fd) != 1 ||
		    epoll_ctl(upstream_llm_epoll, EPOLL_CTL_ADD, fd, &event) !=
			0)
			upstream_llm_fail("accept");
	}
}

/* --- life --- */

static void
upstream_llm_listen(const char *address)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	char host[64] = "";
	unsigned port = 0;
	int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (sscanf(address, "%63[0-9.]:%u", host, &port) != 2 ||
	    inet_pton(AF_INET, host, &to.sin_addr) != 1)
		upstream_llm_fail(address);
	to.sin_port = htons((uint16_t)port);
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
	    bind(fd, (struct sockaddr *)&to, sizeof(to)) != 0 ||
	    listen(fd, 4096) != 0)
		upstream_llm_fail(address);
	upstream_llm_listener = fd;
}

static void
upstream_llm_certificate(const char *pem)
{
	upstream_llm_tls = SSL_CTX_new(TLS_server_method());
	if (upstream_llm_tls == NULL ||
	    SSL_CTX_use_certificate_chain_file(upstream_llm_tls, pem) != 1 ||
	    SSL_CTX_use_PrivateKey_file(
		upstream_llm_tls, pem, SSL_FILETYPE_PEM) != 1)
		upstream_llm_fail(pem);
	(void)SSL_CTX_set_mode(upstream_llm_tls,
	    SSL_MODE_ENABLE_PARTIAL_WRITE |
		SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
}

/* Streams that are due; then the timer for the next one. */
static void
upstream_llm_tick(void)
{
	struct itimerspec next = {0};
	struct upstream_llm_conn *conn;
	uint64_t now = upstream_llm_now(), expired;
	struct upstream_llm_conn *last =
	    TAILQ_LAST(&upstream_llm_streams, upstream_llm_queue);

	(void)!read(upstream_llm_timer, &expired, sizeof(expired));
	while ((conn = TAILQ_FIRST(&upstream_llm_streams)) != NULL &&
	       conn->due_ns <= now) {
		bool is_last = conn == last;

		TAILQ_REMOVE(&upstream_llm_streams, conn, link);
		conn->queued = false;
		upstream_llm_stream(conn);
		if (conn->state == UPSTREAM_LLM_CLOSED)
			upstream_llm_close(conn);
		if (is_last)
			break; /* events of others have a turn */
	}
	conn = TAILQ_FIRST(&upstream_llm_streams);
	if (conn == NULL)
		return;
	next.it_value.tv_sec = (time_t)(conn->due_ns / 1000000000U);
	next.it_value.tv_nsec = (long)(conn->due_ns % 1000000000U);
	(void)timerfd_settime(
	    upstream_llm_timer, TFD_TIMER_ABSTIME, &next, NULL);
}

static void
upstream_llm_open(char **argv)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct rlimit files;

	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	(void)signal(SIGPIPE, SIG_IGN);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	(void)snprintf(upstream_llm_key, sizeof(upstream_llm_key),
	    "\r\nauthorization: bearer %s", argv[3]);
	upstream_llm_make_whole(strtoul(argv[4], NULL, 10));
	upstream_llm_events = strtoul(argv[5], NULL, 10);
	upstream_llm_gap_ns = strtoull(argv[6], NULL, 10) * 1000U;
	upstream_llm_make_event(strtoul(argv[7], NULL, 10));
	upstream_llm_certificate(argv[2]);
	upstream_llm_listen(argv[1]);
	upstream_llm_epoll = epoll_create1(EPOLL_CLOEXEC);
	upstream_llm_timer =
	    timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	event.data.ptr = &upstream_llm_listener;
	if (epoll_ctl(upstream_llm_epoll, EPOLL_CTL_ADD, upstream_llm_listener,
		&event) != 0)
		upstream_llm_fail("epoll");
	event.data.ptr = &upstream_llm_timer;
	if (epoll_ctl(upstream_llm_epoll, EPOLL_CTL_ADD, upstream_llm_timer,
		&event) != 0)
		upstream_llm_fail("epoll");
}

int
main(int argc, char **argv)
{
	struct epoll_event events[256];

	if (argc != 8) {
		fprintf(stderr, "usage: upstream_llm ADDRESS:PORT PEM KEY "
				"BODY_BYTES EVENTS GAP_US EVENT_BYTES\n");
		return 2;
	}
	upstream_llm_open(argv);
	puts("ready");
	fflush(stdout);
	for (;;) {
		int count = epoll_wait(upstream_llm_epoll, events, 256, -1);

		for (int i = 0; i < count; i++) {
			if (events[i].data.ptr == &upstream_llm_listener)
				upstream_llm_accept();
			else if (events[i].data.ptr != &upstream_llm_timer)
				upstream_llm_event_of(events[i].data.ptr);
		}
		upstream_llm_tick();
	}
}
