/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is this the canonical head that the broker promises (lane.h)? The broker
 * parses foreign bytes, so it may have been taken over: whatever it sends,
 * the key goes to the provider's own host, in one request, in the field of
 * the host's configuration, or nowhere. This is a check of a shape, not a
 * parser: what is not exactly so is refused, nothing is interpreted. Pure;
 * called by key_lane.c before anything is dialled.
 */
#ifndef LLM_BROKER_KEY_KEY_HEAD_H
#define LLM_BROKER_KEY_KEY_HEAD_H

#include <stddef.h>
#include <stdint.h>

enum key_head_fault {
	KEY_HEAD_OK = 0,
	KEY_HEAD_TOO_LONG,
	KEY_HEAD_BAD_BYTE,   /* not printable ASCII, or a lone CR or LF */
	KEY_HEAD_BAD_END,    /* does not end with CRLF, or an empty line */
	KEY_HEAD_BAD_LINE,   /* not METHOD SP /TARGET SP HTTP/1.1 */
	KEY_HEAD_BAD_FIELD,  /* not NAME: VALUE */
	KEY_HEAD_BAD_HOST,   /* not exactly one, or not the provider's */
	KEY_HEAD_CREDENTIAL, /* a field that credentials travel in */
	KEY_HEAD_FRAMING,    /* not the length that was announced, or a coding,
			      * upgrade or expectation */
	KEY_HEAD_FAULT_COUNT
};

struct key_head_expected {
	const char *host;       /* "api.openai.com" */
	const char *authority;  /* with the port unless it is 443 */
	const char *key_header; /* "" when the provider has none */
	uint64_t body_len;
};

enum key_head_fault key_head_check(
    const char *head, size_t len, const struct key_head_expected *expected);

/* For the log: "a field that credentials travel in"; never NULL. */
const char *key_head_fault_text(enum key_head_fault fault);

#endif
