/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request of an agent, from its bytes to what may be sent upstream: the
 * head (common/http_head, strict), the body's framing (common/http_body) and
 * coding (identity, gzip, zstd under a decoded cap), then policy on the
 * parsed JSON. Pure: bytes in, enum out; no libevent, no OpenSSL. Used by
 * call.c.
 */
#ifndef LLM_BROKER_CALL_REQUEST_H
#define LLM_BROKER_CALL_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "llm-broker/call_code.h"
#include "llm-broker/grant.h"
#include "llm-broker/provider.h"

#define CALL_REQUEST_HEAD_MAX 16384U
#define CALL_REQUEST_DETAIL_MAX 512U /* bytes of a detail */

struct call_request; /* the parse of one request; opaque */

enum call_request_status {
	CALL_REQUEST_MORE,     /* all taken, more is needed */
	CALL_REQUEST_CONTINUE, /* answer 100, then go on (once) */
	CALL_REQUEST_DONE,     /* judged, see below */
	CALL_REQUEST_REFUSED   /* code and detail say why; close afterwards
				* unless call_request_reusable */
};

/* What call.c needs of a request that passed. Borrowed from the request. */
struct call_request_result {
	const struct provider *provider;
	const struct provider_path *path;
	char model[GRANT_MODEL_MAX + 1]; /* "" when the path has none */
	bool stream;
	bool keep_alive;        /* of the agent's connection */
	bool usage_added;       /* include_usage was put in: strip the chunk */
	bool is_call_llm;       /* answer in the shape of /agentnode/call_llm */
	uint64_t input_chars;   /* of text the model reads */
	uint64_t output_tokens; /* the most it may produce: reserve this */
	const char *head;       /* canonical head for lane.h, without the key */
	size_t head_len;
	const char *body; /* identity, judged, as it goes upstream */
	size_t body_len;
};

struct call_request_options {
	const struct provider *const *providers; /* NULL-terminated */
	const struct grant *grant;
	uint16_t port; /* Host must be a loopback name with this port, or the
			* name of the socket ("localhost" without port) */
};

enum result call_request_new(const struct call_request_options *options,
    struct call_request **request_r);
void call_request_free(struct call_request **request);

/* Feed bytes as they come; *used_r gets how many belong to this request (a
 * pipelined one begins behind). */
enum call_request_status call_request_feed(struct call_request *request,
    const char *bytes, size_t len, size_t *used_r);

/* After DONE. */
const struct call_request_result *call_request_result(
    const struct call_request *request);

/* After REFUSED. detail names the dimension that failed (field, header,
 * path), printable, bounded, never a whole value. */
enum call_code call_request_code(const struct call_request *request);
unsigned call_request_http_status(const struct call_request *request);
const char *call_request_detail(const struct call_request *request);
/* Whose error shape a refusal has; openai's when no provider was named. */
enum provider_errors call_request_shape(const struct call_request *request);
bool call_request_reusable(const struct call_request *request);

#endif
