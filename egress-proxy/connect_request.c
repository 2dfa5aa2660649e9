/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the proxy. Called by session.c with the bytes read so far. It
 * must never decode a byte, guess a default that changes where a request
 * goes, or let two parts of a request name two hosts.
 */
#include "egress-proxy/connect_request.h"

#include <string.h>
#include <strings.h>

#define CONNECT_REQUEST_PORT_HTTP 80U

static enum connect_request_status
connect_request_refuse(struct connect_request *request, enum deny_code code,
    unsigned http_status, const char *detail)
{
	request->code = code;
	request->http_status = http_status;
	request->detail = detail;
	return CONNECT_REQUEST_REFUSED;
}

/* "1".."65535" without leading zero. */
static enum result
connect_request_parse_port(const char *bytes, size_t len, uint16_t *port_r)
{
	unsigned value = 0;
	size_t i;

	if (len == 0 || len > 5 || bytes[0] == '0')
		return RESULT_BAD;
	for (i = 0; i < len; i++) {
		if (bytes[i] < '0' || bytes[i] > '9')
			return RESULT_BAD;
		value = value * 10 + (unsigned)(bytes[i] - '0');
	}
	if (value > 65535)
		return RESULT_BAD;
	*port_r = (uint16_t)value;
	return RESULT_OK;
}

/* A name, a strict dotted quad, or a bracketed IPv6 literal without zone. */
static enum result
connect_request_parse_host(
    const char *bytes, size_t len, struct connect_request_target *target_r)
{
	if (len > 0 && bytes[0] == '[') {
		target_r->is_address = true;
		if (len < 2 || bytes[len - 1] != ']' ||
		    ip_addr_parse(bytes + 1, len - 2, &target_r->address) !=
			RESULT_OK ||
		    target_r->address.family != 6)
			return RESULT_BAD;
		return RESULT_OK;
	}
	if (ip_addr_parse(bytes, len, &target_r->address) == RESULT_OK) {
		target_r->is_address = true;
		return target_r->address.family == 4 ? RESULT_OK : RESULT_BAD;
	}
	return domain_parse_any(bytes, len, &target_r->name) == DOMAIN_OK
		   ? RESULT_OK
		   : RESULT_BAD;
}

/* host [":" port]; port 0 when there is none. The port is what follows the
 * last colon outside brackets. */
static enum result
connect_request_parse_host_port(
    const char *bytes, size_t len, struct connect_request_target *target_r)
{
	size_t at = len;

	memset(target_r, 0, sizeof(*target_r));
	while (at > 0 && bytes[at - 1] != ':' && bytes[at - 1] != ']')
		at--;
	if (at == 0 || bytes[at - 1] == ']')
		return connect_request_parse_host(bytes, len, target_r);
	if (connect_request_parse_port(bytes + at, len - at, &target_r->port) !=
	    RESULT_OK)
		return RESULT_BAD;
	return connect_request_parse_host(bytes, at - 1, target_r);
}

enum result
connect_request_parse_authority(
    const char *bytes, size_t len, struct connect_request_target *target_r)
{
	enum result result;

	result = connect_request_parse_host_port(bytes, len, target_r);
	if (result == RESULT_OK && target_r->port == 0)
		result = RESULT_BAD;
	if (result != RESULT_OK)
		memset(target_r, 0, sizeof(*target_r));
	return result;
}

void
connect_request_host_text(const struct connect_request_target *target,
    char text_r[DOMAIN_NAME_MAX + 1])
{
	if (target->is_address)
		ip_addr_text(&target->address, text_r);
	else
		memcpy(text_r, target->name.name, DOMAIN_NAME_MAX + 1);
}

static bool
connect_request_same_host(const struct connect_request_target *a,
    const struct connect_request_target *b)
{
	if (a->is_address != b->is_address)
		return false;
	return a->is_address ? ip_addr_equal(&a->address, &b->address)
			     : domain_equal(&a->name, &b->name);
}

/* Host must be the target. Without a port it stands for default_port; 0:
 * for whatever the target says, as some clients send it with CONNECT. */
static enum connect_request_status
connect_request_check_host(
    struct connect_request *request, uint16_t default_port)
{
	const struct http_text *host = &request->head.host;
	struct connect_request_target named;

	if (host->bytes == NULL)
		return CONNECT_REQUEST_OK;
	if (connect_request_parse_host_port(host->bytes, host->len, &named) !=
	    RESULT_OK)
		return connect_request_refuse(
		    request, DENY_BAD_REQUEST, 0, "Host is malformed");
	if (named.port == 0)
		named.port =
		    default_port == 0 ? request->target.port : default_port;
	if (named.port != request->target.port ||
	    !connect_request_same_host(&named, &request->target))
		return connect_request_refuse(request, DENY_MISDIRECTED, 0,
		    "Host differs from the request target");
	return CONNECT_REQUEST_OK;
}

static enum connect_request_status
connect_request_parse_connect(struct connect_request *request)
{
	const struct http_head *head = &request->head;

	if (connect_request_parse_authority(head->target.bytes,
		head->target.len, &request->target) != RESULT_OK)
		return connect_request_refuse(request, DENY_BAD_REQUEST, 0,
		    "the target of CONNECT is not host:port");
	if (head->chunked || (head->has_length && head->content_length > 0))
		return connect_request_refuse(
		    request, DENY_BAD_REQUEST, 0, "CONNECT has a body");
	if (head->expect_continue)
		return connect_request_refuse(request, DENY_BAD_REQUEST, 0,
		    "CONNECT expects 100-continue");
	return connect_request_check_host(request, 0);
}

static bool
connect_request_same_token(struct http_text a, struct http_text b)
{
	return a.len == b.len && strncasecmp(a.bytes, b.bytes, a.len) == 0;
}

/* True when the value of a Connection header names this token. */
static bool
connect_request_lists(struct http_text value, struct http_text name)
{
	const char *at = value.bytes, *end = value.bytes + value.len;
	struct http_text token;

	while (at < end) {
		while (at < end && (*at == ' ' || *at == '\t' || *at == ','))
			at++;
		token.bytes = at;
		while (at < end && *at != ',')
			at++;
		token.len = (size_t)(at - token.bytes);
		while (token.len > 0 && (token.bytes[token.len - 1] == ' ' ||
					    token.bytes[token.len - 1] == '\t'))
			token.len--;
		if (connect_request_same_token(token, name))
			return true;
	}
	return false;
}

static bool
connect_request_connection_names(
    const struct http_head *head, struct http_text name)
{
	size_t i;

	for (i = 0; i < head->field_count; i++)
		if (http_head_text_is_nocase(
			head->fields[i].name, "connection") &&
		    connect_request_lists(head->fields[i].value, name))
			return true;
	return false;
}

/* Headers that decide the message must not be named for dropping. */
static bool
connect_request_drops_framing(const struct http_head *head)
{
	static const struct http_text framing[] = {
	    {"host", 4}, {"content-length", 14}, {"transfer-encoding", 17}};
	size_t i;

	for (i = 0; i < sizeof(framing) / sizeof(framing[0]); i++)
		if (connect_request_connection_names(head, framing[i]))
			return true;
	return false;
}

/* "http://" authority path-and-query, no fragment, no user. */
static enum connect_request_status
connect_request_parse_absolute(struct connect_request *request)
{
	const char *at = request->head.target.bytes;
	const char *end = at + request->head.target.len, *authority;
	struct http_text scheme = {at, 7};

	if (request->head.target.len < 7 ||
	    !http_head_text_is_nocase(scheme, "http://"))
		return connect_request_refuse(request, DENY_BAD_REQUEST, 0,
		    "the target is not http://host/path");
	authority = at += 7;
	while (at < end && *at != '/' && *at != '?')
		at++;
	request->path.bytes = at;
	request->path.len = (size_t)(end - at);
	if (memchr(at, '#', request->path.len) != NULL ||
	    memchr(at, '\\', request->path.len) != NULL)
		return connect_request_refuse(request, DENY_BAD_REQUEST, 0,
		    "the target has a fragment or a backslash");
	if (connect_request_parse_host_port(authority, (size_t)(at - authority),
		&request->target) != RESULT_OK)
		return connect_request_refuse(request, DENY_BAD_REQUEST, 0,
		    "the authority of the target is malformed");
	if (request->target.port == 0)
		request->target.port = CONNECT_REQUEST_PORT_HTTP;
	return connect_request_check_host(request, CONNECT_REQUEST_PORT_HTTP);
}

static enum connect_request_status
connect_request_parse_http(struct connect_request *request)
{
	const struct http_head *head = &request->head;
	enum connect_request_status status;

	request->plain_http = true;
	status = connect_request_parse_absolute(request);
	if (status != CONNECT_REQUEST_OK)
		return status;
	if (connect_request_drops_framing(head))
		return connect_request_refuse(request, DENY_BAD_REQUEST, 0,
		    "Connection names a header that frames the message");
	if (head->expect_continue && !head->chunked &&
	    (!head->has_length || head->content_length == 0))
		return connect_request_refuse(request, DENY_BAD_REQUEST, 0,
		    "Expect stands without a body");
	return CONNECT_REQUEST_OK;
}

/* Methods that are forwarded; every other one is refused (TRACE reflects
 * what an upstream added, others have no business here). */
static bool
connect_request_method_known(struct http_text method)
{
	static const char *const known[] = {
	    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (http_head_text_is(method, known[i]))
			return true;
	return false;
}

enum connect_request_status
connect_request_parse(
    const char *bytes, size_t len, struct connect_request *request_r)
{
	enum http_head_status status;

	memset(request_r, 0, sizeof(*request_r));
	status = http_head_parse_request(bytes, len, &request_r->head);
	if (status == HTTP_HEAD_NEED_MORE)
		return CONNECT_REQUEST_NEED_MORE;
	if (status != HTTP_HEAD_OK)
		return connect_request_refuse(request_r, DENY_BAD_REQUEST,
		    status == HTTP_HEAD_BAD_VERSION ? 505 : 0,
		    http_head_status_text(status));
	if (http_head_text_is(request_r->head.method, "CONNECT"))
		return connect_request_parse_connect(request_r);
	if (!connect_request_method_known(request_r->head.method))
		return connect_request_refuse(request_r, DENY_METHOD_REFUSED, 0,
		    "the method is never forwarded");
	return connect_request_parse_http(request_r);
}

/* Headers that concern this hop alone, or that we write ourselves. */
static bool
connect_request_is_hop(
    const struct connect_request *request, const struct http_field *field)
{
	static const char *const hop[] = {"host", "connection", "keep-alive",
	    "proxy-connection", "proxy-authenticate", "proxy-authorization",
	    "proxy-authentication-info", "te", "trailer", "upgrade",
	    "http2-settings"};
	size_t i;

	for (i = 0; i < sizeof(hop) / sizeof(hop[0]); i++)
		if (http_head_text_is_nocase(field->name, hop[i]))
			return true;
	return connect_request_connection_names(&request->head, field->name);
}

static enum result
connect_request_append_line(
    const struct connect_request *request, struct buffer *head)
{
	const struct http_text *method = &request->head.method;
	const struct http_text *path = &request->path;
	bool slash = path->len == 0 || path->bytes[0] != '/';

	return buffer_printf(head, "%.*s %s%.*s HTTP/1.%u\r\n",
	    (int)method->len, method->bytes, slash ? "/" : "", (int)path->len,
	    path->bytes, request->head.minor_version);
}

static enum result
connect_request_append_host(
    const struct connect_request *request, struct buffer *head)
{
	const struct connect_request_target *target = &request->target;
	char host[DOMAIN_NAME_MAX + 1];
	bool v6 = target->is_address && target->address.family == 6;

	connect_request_host_text(target, host);
	if (target->port == CONNECT_REQUEST_PORT_HTTP)
		return buffer_printf(
		    head, v6 ? "Host: [%s]\r\n" : "Host: %s\r\n", host);
	return buffer_printf(head, v6 ? "Host: [%s]:%u\r\n" : "Host: %s:%u\r\n",
	    host, target->port);
}

enum result
connect_request_rewrite(
    const struct connect_request *request, struct buffer *head)
{
	const struct http_field *field;
	enum result result;
	size_t i;

	result = connect_request_append_line(request, head);
	if (result == RESULT_OK)
		result = connect_request_append_host(request, head);
	for (i = 0; i < request->head.field_count && result == RESULT_OK; i++) {
		field = &request->head.fields[i];
		if (connect_request_is_hop(request, field))
			continue;
		result = buffer_printf(head, "%.*s: %.*s\r\n",
		    (int)field->name.len, field->name.bytes,
		    (int)field->value.len, field->value.bytes);
	}
	if (result == RESULT_OK)
		result = buffer_append_text(head, "Connection: close\r\n\r\n");
	return result;
}
