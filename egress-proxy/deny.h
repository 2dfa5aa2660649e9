/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The codes a refused connection ends with. The same code stands in the HTTP
 * reply (X-AgentNode-Reason), in the log and in the decision message; the
 * sentence is fixed, names the dimension that failed and the remedy, and
 * never holds a byte of the client. Pure. Used by egress-proxy and by
 * `agentnode egress check`; docs/egress-policy.md is the prose to it.
 */
#ifndef EGRESS_PROXY_DENY_H
#define EGRESS_PROXY_DENY_H

#include "common/buffer.h"
#include "common/result.h"

enum deny_code {
	DENY_NONE = 0,            /* nothing is refused */
	DENY_BAD_REQUEST,         /* head, authority or spelling not strict */
	DENY_METHOD_REFUSED,      /* TRACE, TRACK and the like */
	DENY_MISDIRECTED,         /* Host differs from the target */
	DENY_HOST_NOT_ALLOWED,    /* no allow entry matches the name */
	DENY_HOST_DENIED,         /* a deny entry matches */
	DENY_PORT_NOT_ALLOWED,    /* the host is listed for another port or
				   * another kind of traffic */
	DENY_IP_LITERAL,          /* an address that is not itself listed */
	DENY_ADDRESS_NOT_ALLOWED, /* an address no policy lets us dial */
	DENY_NOT_TLS,             /* a tunnel that does not begin with TLS */
	DENY_TLS_PARSE,           /* malformed, oversized or ambiguous hello */
	DENY_SNI_MISSING,
	DENY_SNI_MISMATCH,
	DENY_ECH_REFUSED,      /* encrypted_client_hello without opt-in */
	DENY_TIMEOUT,          /* a deadline passed */
	DENY_TOO_MANY_TUNNELS, /* connection cap of sandbox or process */
	DENY_POLICY_UNAVAILABLE,
	DENY_LOOKUP_FAILED, /* an error, not a refusal: no usable answer */
	DENY_DIAL_FAILED,   /* an error, not a refusal: no connection */
	DENY_CODE_COUNT
};

/* "host_not_allowed"; "none" for DENY_NONE; never NULL. */
const char *deny_text(enum deny_code code);

/* One sentence for a person or a model, with the remedy; never NULL. */
const char *deny_sentence(enum deny_code code);

/* The HTTP status of a reply with this code: 400..504. Codes that occur
 * only behind the 200 of a CONNECT have one, too. */
unsigned deny_status(enum deny_code code);

/* Append the whole reply (head and body, Connection: close). status 0 means
 * deny_status(code); 505 and 504 are what callers may put there. */
enum result deny_reply(
    enum deny_code code, unsigned status, struct buffer *reply);

#endif
