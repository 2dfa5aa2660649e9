/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A provider's response head, judged: strict syntax, no redirect, no coding
 * that hides the content, a content type the path may have, and of its
 * fields only those on a list. Pure. Used by call_relay.c.
 */
#ifndef LLM_BROKER_RESPONSE_FILTER_H
#define LLM_BROKER_RESPONSE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "common/http_head.h"
#include "llm-broker/call_code.h"
#include "llm-broker/provider.h"
#include "llm-broker/redact.h"

#define RESPONSE_FILTER_FIELDS_MAX 8192U

enum response_filter_status {
	RESPONSE_FILTER_MORE,    /* the head is not whole yet */
	RESPONSE_FILTER_INTERIM, /* 1xx: skip head_len bytes, go on */
	RESPONSE_FILTER_OK,
	RESPONSE_FILTER_REFUSED /* code says why */
};

enum response_filter_framing {
	RESPONSE_FILTER_LENGTH, /* length bytes; 0 for no body */
	RESPONSE_FILTER_CHUNKED,
	RESPONSE_FILTER_CLOSE /* ends with the connection */
};

struct response_filter_head {
	unsigned status;
	enum call_code code;
	enum response_filter_framing framing;
	uint64_t length;
	size_t head_len;
	unsigned retry_after_s; /* 0: none, or no plain number */
	bool reusable;          /* the connection, after this response */
	bool event_stream;      /* text/event-stream */
};

/* fields gets "name: value" lines that may go to the agent, in our spelling
 * of the names, keys of patterns overwritten; without Content-Length and
 * Transfer-Encoding, which are the caller's. Errors (400 and above) and
 * refusals leave it empty: nothing of them is passed on. */
enum response_filter_status response_filter_read(const char *bytes, size_t len,
    const struct provider_path *path, const struct redact_set *patterns,
    struct response_filter_head *head_r, struct buffer *fields);

#endif
