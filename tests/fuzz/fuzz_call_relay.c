/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an upstream may send: the first byte chooses the options, the second
 * the piece size, the rest is the response. In pieces and at once, the same
 * must come of it: the same end, the same content for the agent, in framing
 * that is whole when the response is, and nothing of it when it is an error.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/http_body.h"
#include "llm-broker/call_relay.h"
#include "tests/support/redact_key.h"

#define FUZZ_CALL_RELAY_OUT (4U << 20)

struct fuzz_call_relay {
	enum call_relay_status status;
	enum call_code code;
	unsigned http;
	struct buffer out, content;
	struct usage_counts counts;
	uint64_t chars;
};

/* The content of what went out: head off, chunks off. */
static void
fuzz_call_relay_unwrap(struct fuzz_call_relay *run)
{
	const char *bytes = (const char *)buffer_bytes_borrow(&run->out);
	struct http_head head;
	struct http_body body;
	size_t used = 0;

	if (run->out.len == 0)
		return;
	if (http_head_parse_response(bytes, run->out.len, &head) !=
	    HTTP_HEAD_OK)
		abort();
	if (head.chunked)
		http_body_init_unwrap(&body);
	else
		http_body_init(&body, &head);
	if (run->out.len > head.head_len &&
	    http_body_feed(&body, bytes + head.head_len,
		run->out.len - head.head_len, &used,
		&run->content) == HTTP_BODY_BAD)
		abort();
	if (head.head_len + used != run->out.len)
		abort();
	if (run->status == CALL_RELAY_DONE &&
	    body.state != HTTP_BODY_STATE_DONE)
		abort();
}

static void
fuzz_call_relay_run(struct fuzz_call_relay *run,
    const struct call_relay_options *given, const char *bytes, size_t len,
    size_t piece, bool end)
{
	static struct call_relay_space space;
	struct call_relay_options options = *given;
	struct call_relay *relay;

	if (space.plain.max == 0)
		call_relay_space_init(&space);
	memset(run, 0, sizeof(*run));
	buffer_init(&run->out, FUZZ_CALL_RELAY_OUT);
	buffer_init(&run->content, FUZZ_CALL_RELAY_OUT);
	options.output_chars = &run->chars;
	if (call_relay_new(&options, &relay) != RESULT_OK)
		abort();
	run->status = CALL_RELAY_MORE;
	for (size_t at = 0; at < len && run->status == CALL_RELAY_MORE;
	     at += piece)
		run->status = call_relay_feed(relay, &space, bytes + at,
		    len - at < piece ? len - at : piece, &run->out);
	if (run->status == CALL_RELAY_MORE && end)
		run->status = call_relay_end(relay, &space, &run->out);
	run->code = call_relay_code(relay);
	run->http = call_relay_status_code(relay);
	if (call_relay_counts(relay) != NULL)
		run->counts = *call_relay_counts(relay);
	if (run->http >= 400 && run->out.len > 0)
		abort();
	if ((run->status == CALL_RELAY_FAILED) != (run->code != CALL_OK))
		abort();
	fuzz_call_relay_unwrap(run);
	call_relay_free(&relay);
}

/* Up to the shorter one: a failure may come before or behind the content
 * of the same read, and one failure before another. */
static void
fuzz_call_relay_same(
    const struct fuzz_call_relay *a, const struct fuzz_call_relay *b)
{
	size_t least =
	    a->content.len < b->content.len ? a->content.len : b->content.len;

	if (a->status != b->status)
		abort();
	if (least > 0 && memcmp(buffer_bytes_borrow(&a->content),
			     buffer_bytes_borrow(&b->content), least) != 0)
		abort();
	if (a->status == CALL_RELAY_FAILED)
		return;
	if (a->http != b->http || a->content.len != b->content.len ||
	    a->chars != b->chars || a->counts.known != b->counts.known ||
	    a->counts.output_tokens != b->counts.output_tokens)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct provider_path path = {
	    .usage = PROVIDER_USAGE_OPENAI_CHAT};
	static struct redact_set set;
	struct fuzz_call_relay whole, pieces;
	struct call_relay_options options = {.path = &path,
	    .patterns = &set,
	    .keep_alive = true,
	    .bytes_max = 100000,
	    .output_chars_max = 1000};

	if (size < 2 || size > CALL_RELAY_FEED_MAX)
		return 0;
	if (path.content_types == NULL) {
		path.content_types =
		    json_pack("[s,s]", "application/json", "text/event-stream");
		redact_key_set(REDACT_KEY, &set);
	}
	options.stream = options.strip = (data[0] & 1) != 0;
	options.collect = (data[0] & 2) != 0;
	options.keep_alive = (data[0] & 4) == 0;
	fuzz_call_relay_run(&whole, &options, (const char *)data + 2, size - 2,
	    size, (data[0] & 8) != 0);
	fuzz_call_relay_run(&pieces, &options, (const char *)data + 2, size - 2,
	    1 + data[1] % 64, (data[0] & 8) != 0);
	fuzz_call_relay_same(&whole, &pieces);
	buffer_free(&whole.out);
	buffer_free(&whole.content);
	buffer_free(&pieces.out);
	buffer_free(&pieces.content);
	return 0;
}
