/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replies the broker writes itself, in the shape that the provider's SDK
 * turns into its typed error. Pure. No byte of a provider or of the request
 * but the checked detail.
 */
#ifndef LLM_BROKER_CALL_REPLY_H
#define LLM_BROKER_CALL_REPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buffer.h"
#include "common/result.h"
#include "llm-broker/call_code.h"
#include "llm-broker/provider.h"

struct call_reply {
	enum call_code code;
	unsigned status;    /* 0: call_code_status(code) */
	const char *detail; /* "" or what failed; escaped by us */
	enum provider_errors shape;
	unsigned retry_after_s; /* 0: no Retry-After */
	bool keep_alive;
};

/* Head and body: X-AgentNode-Reason, Content-Type: application/json,
 * Content-Length, Cache-Control: no-store, Connection. x-should-retry: false
 * where a retry cannot help (SDKs obey it). RESULT_TOO_LONG: out is full. */
enum result call_reply_error(
    const struct call_reply *reply, struct buffer *out);

/* The same as one server-sent event, for a stream that began already. */
enum result call_reply_event(
    const struct call_reply *reply, struct buffer *out);

#endif
