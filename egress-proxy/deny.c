/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codes, sentences and replies of refused connections. Called by session.c
 * and by the egress check. It must never put a byte of a client, a name or
 * an address into a reply.
 */
#include "egress-proxy/deny.h"

#include <stddef.h>
#include <string.h>

struct deny_row {
	const char *text;
	unsigned status;
	const char *sentence;
};

static const struct deny_row deny_rows[DENY_CODE_COUNT] = {
    [DENY_NONE] = {"none", 200, "Nothing was refused."},
    [DENY_BAD_REQUEST] = {"bad_request", 400,
	"The request is not strictly valid HTTP or its host and port are "
	"malformed; send CONNECT host:port HTTP/1.1 with one equal Host "
	"header."},
    [DENY_METHOD_REFUSED] = {"method_refused", 405,
	"This method is never forwarded; use CONNECT, or an ordinary method "
	"on an allowed http:// host."},
    [DENY_MISDIRECTED] = {"misdirected", 421,
	"The Host header differs from the request target; make both name "
	"the same host and port."},
    [DENY_HOST_NOT_ALLOWED] = {"host_not_allowed", 403,
	"The host is not on this sandbox's allowlist; the operator can add "
	"it with --allow HOST or in egress.allow."},
    [DENY_HOST_DENIED] = {"host_denied", 403,
	"A deny entry matches and wins over every allow entry; only the "
	"operator can remove it from egress.deny."},
    [DENY_PORT_NOT_ALLOWED] = {"port_not_allowed", 403,
	"The host is allowed, but not on this port or not for this kind of "
	"traffic; the operator can add HOST:PORT, or http://HOST:PORT for "
	"plain HTTP."},
    [DENY_IP_LITERAL] = {"ip_literal", 403,
	"The target is an IP address that is not itself listed; use the "
	"host name, or the operator can add tcp://ADDRESS:PORT."},
    [DENY_ADDRESS_NOT_ALLOWED] = {"address_not_allowed", 403,
	"The target's address is private, local or otherwise not globally "
	"reachable; the operator can list ranges for this one name in "
	"egress.extra_ranges."},
    [DENY_NOT_TLS] = {"not_tls", 403,
	"The tunnel did not begin with TLS; use TLS, or the operator can "
	"allow raw TCP with tcp://ADDRESS:PORT."},
    [DENY_TLS_PARSE] = {"tls_parse", 403,
	"The TLS ClientHello is malformed, too long or ambiguous; use a "
	"current TLS client."},
    [DENY_SNI_MISSING] = {"sni_missing", 403,
	"The TLS ClientHello names no server; let the client send SNI equal "
	"to the requested host."},
    [DENY_SNI_MISMATCH] = {"sni_mismatch", 403,
	"The TLS server name differs from the requested host; request the "
	"host that the TLS client names."},
    [DENY_ECH_REFUSED] = {"ech_refused", 403,
	"The TLS ClientHello carries encrypted_client_hello, real or GREASE; "
	"turn it off in the client, or the operator can add the host to "
	"egress.ech_allow."},
    [DENY_TIMEOUT] = {"timeout", 408,
	"A time limit passed; send the request and the TLS ClientHello at "
	"once, or the operator can raise the egress time limits."},
    [DENY_TOO_MANY_TUNNELS] = {"too_many_tunnels", 429,
	"Too many connections are open; close some, or the operator can "
	"raise egress.max_tunnels."},
    [DENY_POLICY_UNAVAILABLE] = {"policy_unavailable", 503,
	"No valid policy is loaded, so nothing is forwarded; the operator "
	"should look at agentnode sandbox doctor."},
    [DENY_LOOKUP_FAILED] = {"lookup_failed", 502,
	"The allowed name could not be resolved; check its spelling, or the "
	"operator should look at egress.resolver."},
    [DENY_DIAL_FAILED] = {"dial_failed", 502,
	"The allowed host did not accept a connection; try again later or "
	"check the port."},
};

static const struct deny_row *
deny_find(enum deny_code code)
{
	/* An impossible code is told as the strictest one. */
	if ((unsigned)code >= DENY_CODE_COUNT)
		return &deny_rows[DENY_POLICY_UNAVAILABLE];
	return &deny_rows[code];
}

const char *
deny_text(enum deny_code code)
{
	return deny_find(code)->text;
}

const char *
deny_sentence(enum deny_code code)
{
	return deny_find(code)->sentence;
}

unsigned
deny_status(enum deny_code code)
{
	return deny_find(code)->status;
}

static const char *
deny_reason_phrase(unsigned status)
{
	switch (status) {
	case 400:
		return "Bad Request";
	case 403:
		return "Forbidden";
	case 405:
		return "Method Not Allowed";
	case 408:
		return "Request Timeout";
	case 421:
		return "Misdirected Request";
	case 429:
		return "Too Many Requests";
	case 502:
		return "Bad Gateway";
	case 503:
		return "Service Unavailable";
	case 504:
		return "Gateway Timeout";
	case 505:
		return "HTTP Version Not Supported";
	default:
		return "Refused";
	}
}

enum result
deny_reply(enum deny_code code, unsigned status, struct buffer *reply)
{
	const struct deny_row *row = deny_find(code);

	if (status == 0)
		status = row->status;
	return buffer_printf(reply,
	    "HTTP/1.1 %u %s\r\n"
	    "X-AgentNode-Reason: %s\r\n"
	    "Content-Type: text/plain; charset=utf-8\r\n"
	    "Content-Length: %zu\r\n"
	    "%s"
	    "Connection: close\r\n\r\n"
	    "%s: %s\n",
	    status, deny_reason_phrase(status), row->text,
	    strlen(row->text) + strlen(row->sentence) + 3,
	    status == 405 ? "Allow: CONNECT, GET, HEAD, POST, PUT, PATCH, "
			    "DELETE, OPTIONS\r\n"
			  : "",
	    row->text, row->sentence);
}
