/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The response side of one call: an upstream's bytes in, what the agent
 * gets out. The head is judged (response_filter), the framing taken off and
 * put on anew, keys overwritten (redact), usage read (usage_scan). Pure.
 * Used by call.c.
 *
 * Nothing of a provider's error is passed on but its status and, of a known
 * list, its word for what went wrong: its text may repeat what it was sent.
 */
#ifndef LLM_BROKER_CALL_RELAY_H
#define LLM_BROKER_CALL_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "common/result.h"
#include "llm-broker/call_code.h"
#include "llm-broker/provider.h"
#include "llm-broker/redact.h"
#include "llm-broker/usage_scan.h"

#define CALL_RELAY_FEED_MAX 65536U      /* bytes of one feed */
#define CALL_RELAY_ERROR_MAX 65536U     /* of a provider's error body */
#define CALL_RELAY_WHOLE_MAX (4U << 20) /* of a collected response */

struct call_relay; /* opaque */

/* Buffers of the process, used within one feed. */
struct call_relay_space {
	struct buffer plain, clean, scanned;
};
void call_relay_space_init(struct call_relay_space *space);
void call_relay_space_free(struct call_relay_space *space);

struct call_relay_options {
	const struct provider_path *path;
	const struct redact_set *patterns; /* outlives the relay */
	bool stream;                       /* the request asked for one */
	bool strip;         /* leave out the usage chunk we asked for */
	bool collect;       /* keep the whole body instead of passing it on */
	bool keep_alive;    /* of the agent's connection */
	uint64_t bytes_max; /* of the decoded body */
	/* Characters the run's agent got, this call's included; what would
	 * pass the limit is not passed on. */
	uint64_t output_chars_max, *output_chars;
};

enum call_relay_status {
	CALL_RELAY_MORE,   /* the response goes on */
	CALL_RELAY_DONE,   /* it is whole */
	CALL_RELAY_FAILED, /* call_relay_code says how */
};

enum result call_relay_new(
    const struct call_relay_options *options, struct call_relay **relay_r);
void call_relay_free(struct call_relay **relay);

/* At most CALL_RELAY_FEED_MAX bytes. Bytes behind the end of the response
 * are dropped and make the upstream connection unfit for another call. */
enum call_relay_status call_relay_feed(struct call_relay *relay,
    struct call_relay_space *space, const char *bytes, size_t len,
    struct buffer *out);
/* The upstream closed in order: the end of a response without length, or
 * a failure. */
enum call_relay_status call_relay_end(struct call_relay *relay,
    struct call_relay_space *space, struct buffer *out);

/* A response that began and will not be completed: end it with an event
 * that says so. RESULT_REFUSED: not possible here, the connection has to be
 * reset instead. */
enum result call_relay_break(
    struct call_relay *relay, const struct buffer *event, struct buffer *out);

enum call_code call_relay_code(const struct call_relay *relay);
unsigned call_relay_status_code(const struct call_relay *relay); /* 0: none */
unsigned call_relay_retry_after(const struct call_relay *relay);
/* "" or the provider's word for its error. */
const char *call_relay_error_word(const struct call_relay *relay);
bool call_relay_reusable(const struct call_relay *relay);
const struct usage_counts *call_relay_counts(const struct call_relay *relay);
/* Keys overwritten; bytes of content that came. */
uint64_t call_relay_redacted(const struct call_relay *relay);
uint64_t call_relay_bytes(const struct call_relay *relay);
/* What this response is looked through for. */
const struct redact_set *call_relay_patterns_borrow(
    const struct call_relay *relay);
/* collect: the whole body. */
const struct buffer *call_relay_body(const struct call_relay *relay);

#endif
