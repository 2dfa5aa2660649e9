/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a URL (see the header). Used by the report and by the probe of
 * the way out.
 */
#include "supervisor/probe/probe_fetch.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/probe/probe_dial.h"
#include "supervisor/probe/probe_hello.h"
#include "supervisor/probe/probe_try.h"

#define PROBE_FETCH_HEAD 8192U
#define PROBE_FETCH_REASON "\nX-AgentNode-Reason:"

struct probe_fetch_url {
	bool tls;
	char host[256];
	uint16_t port;
	const char *path;
};

static bool
probe_fetch_parse(const char *url, struct probe_fetch_url *url_r)
{
	const char *host;
	size_t len;

	if (strncmp(url, "https://", 8) == 0)
		url_r->tls = true;
	else if (strncmp(url, "http://", 7) == 0)
		url_r->tls = false;
	else
		return false;
	host = url + (url_r->tls ? 8 : 7);
	len = strcspn(host, ":/");
	if (len == 0 || len >= sizeof(url_r->host))
		return false;
	memcpy(url_r->host, host, len);
	url_r->host[len] = '\0';
	url_r->port = url_r->tls ? 443 : 80;
	if (host[len] == ':')
		url_r->port = (uint16_t)strtoul(host + len + 1, NULL, 10);
	url_r->path = strchr(host + len, '/');
	if (url_r->path == NULL)
		url_r->path = "/";
	return url_r->port != 0;
}

/* The proxy of the environment, connected; *proxied_r false without one, or
 * when it is not asked. */
static int
probe_fetch_dial(const struct probe_fetch_url *url, bool raw, bool *proxied_r)
{
	const char *proxy = getenv(url->tls ? "HTTPS_PROXY" : "HTTP_PROXY");
	struct probe_fetch_url at;
	int fd;

	*proxied_r = !raw && proxy != NULL && *proxy != '\0';
	if (*proxied_r) {
		if (probe_fetch_parse(proxy, &at))
			return probe_dial_address(at.host, at.port);
		errno = EINVAL;
		return -1;
	}
	fd = probe_dial_address(url->host, url->port);
	if (fd < 0 && errno == EINVAL)
		fd = probe_dial_name(url->host, url->port);
	return fd;
}

/* A response head, terminated; its status, or -1. */
static int
probe_fetch_head(int fd, char head_r[PROBE_FETCH_HEAD])
{
	size_t len = 0;

	head_r[0] = '\0';
	while (
	    len < PROBE_FETCH_HEAD - 1 && strstr(head_r, "\r\n\r\n") == NULL) {
		long got = probe_dial_receive(
		    fd, head_r + len, PROBE_FETCH_HEAD - 1 - len);

		if (got <= 0)
			break;
		len += (size_t)got;
		head_r[len] = '\0';
	}
	if (strncmp(head_r, "HTTP/1.", 7) != 0 || strlen(head_r) < 12)
		return -1;
	return atoi(head_r + 9);
}

static void
probe_fetch_refused(const char *head, int status, char *text_r, size_t size)
{
	const char *reason = strcasestr(head, PROBE_FETCH_REASON);

	if (reason == NULL) {
		(void)snprintf(
		    text_r, size, "refused by the proxy, status %d", status);
		return;
	}
	reason += strlen(PROBE_FETCH_REASON);
	reason += strspn(reason, " ");
	(void)snprintf(text_r, size, "refused by the proxy, status %d (%.*s)",
	    status, (int)strcspn(reason, "\r\n"), reason);
}

/* CONNECT, unless there is no proxy; true when the tunnel is open. */
static bool
probe_fetch_tunnel(
    int fd, const struct probe_fetch_url *url, char *text_r, size_t size)
{
	char head[PROBE_FETCH_HEAD];
	int len = snprintf(head, sizeof(head),
	    "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n\r\n", url->host,
	    url->port, url->host, url->port);
	int status;

	if (!probe_dial_send(fd, head, (size_t)len))
		return false;
	status = probe_fetch_head(fd, head);
	if (status > 0 && status != 200)
		probe_fetch_refused(head, status, text_r, size);
	return status == 200;
}

static bool
probe_fetch_tls(int fd, const struct probe_fetch_url *url, bool proxied,
    char *text_r, size_t size)
{
	uint8_t record[PROBE_HELLO_MAX];
	size_t len = probe_hello_make(url->host, record);
	long got;

	(void)snprintf(text_r, size, "failed: the proxy did not answer");
	if (proxied && !probe_fetch_tunnel(fd, url, text_r, size))
		return false;
	(void)snprintf(text_r, size, "failed: no TLS answer");
	if (len == 0 || !probe_dial_send(fd, record, len))
		return false;
	got = probe_dial_receive(fd, record, 6);
	if (got < 1 || !probe_hello_answered(record, (size_t)got))
		return false;
	(void)snprintf(text_r, size, "reached, TLS answered");
	return true;
}

static bool
probe_fetch_plain(int fd, const struct probe_fetch_url *url, bool proxied,
    char *text_r, size_t size)
{
	char head[PROBE_FETCH_HEAD], target[512] = "";
	int len, status;

	if (proxied)
		(void)snprintf(target, sizeof(target), "http://%s:%u",
		    url->host, url->port);
	len = snprintf(head, sizeof(head),
	    "GET %s%s HTTP/1.1\r\nHost: %s:%u\r\nConnection: close\r\n\r\n",
	    target, url->path, url->host, url->port);
	if (len < 0 || len >= (int)sizeof(head) ||
	    !probe_dial_send(fd, head, (size_t)len)) {
		(void)snprintf(text_r, size, "failed: request not sent");
		return false;
	}
	status = probe_fetch_head(fd, head);
	if (status < 0)
		(void)snprintf(text_r, size, "failed: no HTTP answer");
	else if (proxied && strcasestr(head, PROBE_FETCH_REASON) != NULL)
		probe_fetch_refused(head, status, text_r, size);
	else {
		(void)snprintf(text_r, size, "reached, status %d", status);
		return true;
	}
	return false;
}

static bool
probe_fetch_open(const char *text, bool raw, char *text_r, size_t size)
{
	struct probe_fetch_url url;
	bool proxied, reached;
	int fd;

	if (!probe_fetch_parse(text, &url)) {
		(void)snprintf(text_r, size, "failed: not an http(s) URL");
		return false;
	}
	fd = probe_fetch_dial(&url, raw, &proxied);
	if (fd < 0) {
		if (errno == ECONNREFUSED)
			(void)snprintf(text_r, size, "refused");
		else
			(void)snprintf(text_r, size, "failed: %s",
			    errno == ENOENT ? "the name does not resolve"
					    : probe_try_error(errno));
		return false;
	}
	reached = url.tls ? probe_fetch_tls(fd, &url, proxied, text_r, size)
			  : probe_fetch_plain(fd, &url, proxied, text_r, size);
	close(fd);
	return reached;
}

bool
probe_fetch(const char *text, char *text_r, size_t size)
{
	return probe_fetch_open(text, false, text_r, size);
}

bool
probe_fetch_raw(const char *text, char *text_r, size_t size)
{
	return probe_fetch_open(text, true, text_r, size);
}
