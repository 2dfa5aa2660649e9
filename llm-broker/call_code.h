/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a call to the broker can end other than served: the code that stands
 * in X-AgentNode-Reason, in the log, in `decision` and `usage`; its status
 * and one fixed sentence with the remedy. Pure. The names are those of
 * egress-proxy/deny.h where both have one; docs/llm.md is the prose.
 */
#ifndef LLM_BROKER_CALL_CODE_H
#define LLM_BROKER_CALL_CODE_H

enum call_code {
	CALL_OK = 0,
	CALL_BAD_REQUEST,            /* 400, 415, 505 */
	CALL_METHOD_REFUSED,         /* 405 */
	CALL_MISDIRECTED,            /* 421: Host is not the broker's */
	CALL_UPGRADE_REFUSED,        /* 400: WebSocket and the like */
	CALL_PATH_NOT_ALLOWED,       /* 404 */
	CALL_PROVIDER_NOT_ALLOWED,   /* 403 */
	CALL_MODEL_NOT_ALLOWED,      /* 403 */
	CALL_FIELD_NOT_ALLOWED,      /* 400 */
	CALL_HEADER_NOT_ALLOWED,     /* 400 */
	CALL_TOO_LARGE,              /* 413 */
	CALL_BUDGET_EXCEEDED,        /* 429 */
	CALL_TOO_MANY_CALLS,         /* 429: concurrent */
	CALL_CREDENTIAL_UNAVAILABLE, /* 503 */
	CALL_KEY_REFUSED,            /* 502: the provider refused the key */
	CALL_POLICY_UNAVAILABLE,     /* 503 */
	CALL_LOOKUP_FAILED,          /* 502 */
	CALL_ADDRESS_NOT_ALLOWED,    /* 502 */
	CALL_DIAL_FAILED,            /* 502 */
	CALL_UPSTREAM_TLS,           /* 502 */
	CALL_UPSTREAM_BAD,           /* 502: head, framing or coding */
	CALL_UPSTREAM_CLOSED,        /* 502, or inside the stream */
	CALL_UPSTREAM_ERROR,         /* the provider's own 4xx or 5xx */
	CALL_REDIRECT_REFUSED,       /* 502: 3xx of the provider */
	CALL_TIMEOUT,                /* 408 or 504 */
	CALL_CANCELLED,              /* the agent went away */
	CALL_OUTPUT_LIMIT,           /* the run's output is used up */
	CALL_CODE_COUNT
};

/* "budget_exceeded"; "" for CALL_OK; never NULL. */
const char *call_code_text(enum call_code code);
const char *call_code_sentence(enum call_code code);
unsigned call_code_status(enum call_code code);

#endif
