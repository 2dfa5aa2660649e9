/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes a response apart and puts it together for the agent. Called by
 * call.c with what came through a lane. Must never pass on a byte that was
 * not looked through for keys, nor framing that the upstream wrote.
 */
#include "llm-broker/call_relay.h"

#include <stdlib.h>
#include <string.h>

#include "common/http_body.h"
#include "llm-broker/error_word.h"
#include "llm-broker/response_filter.h"

#define CALL_RELAY_INTERIM_MAX 8U /* 1xx heads of one response */
#define CALL_RELAY_SPACE (CALL_RELAY_FEED_MAX + 2 * REDACT_HELD_MAX)

enum call_relay_phase {
	CALL_RELAY_PHASE_HEAD,
	CALL_RELAY_PHASE_BODY,
	CALL_RELAY_PHASE_END /* done or failed */
};

struct call_relay {
	enum call_relay_phase phase;
	struct call_relay_options options;
	struct redact *redact;
	struct usage_scan *scan;
	struct response_filter_head head;
	struct http_body body;
	struct buffer kept; /* a partial head, an error, a collected body */
	const char *word;
	uint64_t bytes, left, chars; /* decoded; of Content-Length; counted */
	unsigned interim;
	enum call_code code;
	bool chunked; /* what goes out */
	bool begun;   /* the agent's head was written */
	bool spoiled; /* bytes came behind the end */
	char tail[4]; /* the last bytes of content that went out */
};

/* Bytes on their way, and where they go. */
struct call_relay_turn {
	struct call_relay *relay;
	struct call_relay_space *space;
	struct buffer *out;
};

void
call_relay_space_init(struct call_relay_space *space)
{
	buffer_init(&space->plain, CALL_RELAY_FEED_MAX);
	buffer_init(&space->clean, CALL_RELAY_SPACE);
	buffer_init(&space->scanned, CALL_RELAY_SPACE + USAGE_SCAN_EVENT_MAX);
}

void
call_relay_space_free(struct call_relay_space *space)
{
	buffer_free(&space->plain);
	buffer_free(&space->clean);
	buffer_free(&space->scanned);
}

enum result
call_relay_new(
    const struct call_relay_options *options, struct call_relay **relay_r)
{
	struct call_relay *relay = calloc(1, sizeof(*relay));

	*relay_r = NULL;
	if (relay == NULL)
		return RESULT_NO_MEMORY;
	relay->options = *options;
	relay->word = "";
	memcpy(relay->tail, "\n\n\n\n", sizeof(relay->tail));
	buffer_init(&relay->kept, HTTP_HEAD_BYTES_MAX + 1);
	*relay_r = relay;
	return RESULT_OK;
}

void
call_relay_free(struct call_relay **relay)
{
	struct call_relay *gone = *relay;

	*relay = NULL;
	if (gone == NULL)
		return;
	redact_free(&gone->redact);
	usage_scan_free(&gone->scan);
	buffer_free(&gone->kept);
	free(gone);
}

static void
call_relay_enter(struct call_relay *relay, enum call_relay_phase phase)
{
	relay->phase = phase;
}

static enum call_relay_status
call_relay_fail(struct call_relay *relay, enum call_code code)
{
	relay->code = code;
	relay->head.reusable = false;
	call_relay_enter(relay, CALL_RELAY_PHASE_END);
	return CALL_RELAY_FAILED;
}

static bool
call_relay_is_error(const struct call_relay *relay)
{
	return relay->head.status >= 400;
}

/* --- the head --- */

/* How the agent's side is framed: a length that stays true, else chunks. */
static enum result
call_relay_framing(struct call_relay *relay, struct buffer *out)
{
	const struct call_relay_options *options = &relay->options;
	enum result result = RESULT_OK;
	bool known =
	    relay->head.framing == RESPONSE_FILTER_LENGTH && !options->strip;

	if (known)
		result = buffer_append_text(out, "Content-Length: ");
	if (known && result == RESULT_OK)
		result = buffer_append_number(out, relay->head.length);
	if (known && result == RESULT_OK)
		result = buffer_append_text(out, "\r\n");
	relay->chunked = !known;
	if (relay->chunked && result == RESULT_OK)
		result =
		    buffer_append_text(out, "Transfer-Encoding: chunked\r\n");
	if (result == RESULT_OK && !options->keep_alive)
		result = buffer_append_text(out, "Connection: close\r\n");
	return result != RESULT_OK ? result : buffer_append_text(out, "\r\n");
}

static enum result
call_relay_write_head(
    struct call_relay *relay, const struct buffer *fields, struct buffer *out)
{
	enum result result;

	relay->begun = true;
	if (relay->head.status == 200)
		result = buffer_append_text(out, "HTTP/1.1 200 OK\r\n");
	else
		result =
		    buffer_printf(out, "HTTP/1.1 %u \r\n", relay->head.status);
	if (result == RESULT_OK)
		result = buffer_append(
		    out, buffer_bytes_borrow(fields), fields->len);
	return result != RESULT_OK ? result : call_relay_framing(relay, out);
}

/* A good head: the parts that read its body are made. */
static enum result
call_relay_open_body(struct call_relay *relay)
{
	const struct response_filter_head *head = &relay->head;
	enum result result = RESULT_OK;

	if (head->framing == RESPONSE_FILTER_CHUNKED)
		http_body_init_unwrap(&relay->body);
	relay->left = head->length;
	buffer_free(&relay->kept);
	buffer_init(&relay->kept, call_relay_is_error(relay)
				      ? CALL_RELAY_ERROR_MAX
				      : CALL_RELAY_WHOLE_MAX);
	if (call_relay_is_error(relay))
		return RESULT_OK;
	result = redact_new(relay->options.patterns, &relay->redact);
	if (result == RESULT_OK)
		result = usage_scan_new(relay->options.path->usage,
		    head->event_stream, relay->options.strip, &relay->scan);
	return result;
}

static enum call_relay_status
call_relay_take_head(struct call_relay_turn *turn, const struct buffer *fields)
{
	struct call_relay *relay = turn->relay;
	enum result result;

	if (!relay->head.event_stream)
		relay->options.strip = false;
	result = call_relay_open_body(relay);
	if (result == RESULT_OK && !call_relay_is_error(relay) &&
	    !relay->options.collect)
		result = call_relay_write_head(relay, fields, turn->out);
	if (result != RESULT_OK)
		return call_relay_fail(relay, CALL_UPSTREAM_BAD);
	call_relay_enter(relay, CALL_RELAY_PHASE_BODY);
	return CALL_RELAY_MORE;
}

/* Judge what is there of the head. *used_r: bytes of it. */
static enum call_relay_status
call_relay_judge(
    struct call_relay_turn *turn, const char *bytes, size_t len, size_t *used_r)
{
	struct call_relay *relay = turn->relay;
	struct buffer fields;
	enum response_filter_status status;
	enum call_relay_status done = CALL_RELAY_MORE;

	buffer_init(&fields, RESPONSE_FILTER_FIELDS_MAX);
	status = response_filter_read(bytes, len, relay->options.path,
	    relay->options.patterns, &relay->head, &fields);
	*used_r = status == RESPONSE_FILTER_MORE ? 0 : relay->head.head_len;
	if (status == RESPONSE_FILTER_REFUSED)
		done = call_relay_fail(relay, relay->head.code);
	else if (status == RESPONSE_FILTER_OK)
		done = call_relay_take_head(turn, &fields);
	else if (status == RESPONSE_FILTER_INTERIM &&
		 ++relay->interim > CALL_RELAY_INTERIM_MAX)
		done = call_relay_fail(relay, CALL_UPSTREAM_BAD);
	buffer_free(&fields);
	return done;
}

/* A head in one piece is read where it lies; a part of one is kept. */
static enum call_relay_status
call_relay_heads(
    struct call_relay_turn *turn, const char *bytes, size_t len, size_t *used_r)
{
	struct call_relay *relay = turn->relay;
	enum call_relay_status status = CALL_RELAY_MORE;
	size_t used = 1;

	*used_r = 0;
	while (relay->phase == CALL_RELAY_PHASE_HEAD && used > 0 &&
	       status == CALL_RELAY_MORE && *used_r < len) {
		status = call_relay_judge(
		    turn, bytes + *used_r, len - *used_r, &used);
		*used_r += used;
	}
	if (status != CALL_RELAY_MORE || relay->phase != CALL_RELAY_PHASE_HEAD)
		return status;
	if (buffer_append(&relay->kept, bytes + *used_r, len - *used_r) !=
	    RESULT_OK)
		return call_relay_fail(relay, CALL_UPSTREAM_BAD);
	*used_r = len;
	return CALL_RELAY_MORE;
}

/* --- the body --- */

/* Content that was looked through, in the agent's framing. */
static enum result
call_relay_put(struct call_relay_turn *turn, const struct buffer *content)
{
	struct call_relay *relay = turn->relay;
	const uint8_t *bytes = buffer_bytes_borrow(content);
	size_t len = content->len, end;
	enum result result = RESULT_OK;

	if (len == 0)
		return RESULT_OK;
	if (relay->options.collect)
		return buffer_append(&relay->kept, bytes, len);
	if (relay->chunked)
		result = buffer_printf(turn->out, "%zx\r\n", len);
	if (result == RESULT_OK)
		result = buffer_append(turn->out, bytes, len);
	if (result == RESULT_OK && relay->chunked)
		result = buffer_append_text(turn->out, "\r\n");
	end = len < sizeof(relay->tail) ? len : sizeof(relay->tail);
	memmove(relay->tail, relay->tail + end, sizeof(relay->tail) - end);
	memcpy(relay->tail + sizeof(relay->tail) - end, bytes + len - end, end);
	return result;
}

/* Count what came; over the run's limit it does not go on. */
static bool
call_relay_may_put(struct call_relay *relay)
{
	uint64_t chars = usage_scan_counts(relay->scan)->output_chars;

	*relay->options.output_chars += chars - relay->chars;
	relay->chars = chars;
	return *relay->options.output_chars <= relay->options.output_chars_max;
}

/* Clean content through the scanner and out. last: nothing follows. */
static enum call_relay_status
call_relay_emit(struct call_relay_turn *turn, bool last)
{
	struct call_relay *relay = turn->relay;
	struct buffer *clean = &turn->space->clean;
	struct buffer *scanned = &turn->space->scanned;
	enum result result;

	buffer_clear(scanned);
	result = usage_scan_feed(relay->scan,
	    (const char *)buffer_bytes_borrow(clean), clean->len, scanned);
	if (result == RESULT_OK && last)
		result = usage_scan_finish(relay->scan, scanned);
	if (result != RESULT_OK)
		return call_relay_fail(relay, CALL_UPSTREAM_BAD);
	if (!call_relay_may_put(relay))
		return call_relay_fail(relay, CALL_OUTPUT_LIMIT);
	/* What cannot be counted is not passed on. */
	if (usage_scan_counts(relay->scan)->odd)
		return call_relay_fail(relay, CALL_UPSTREAM_BAD);
	if (call_relay_put(turn, scanned) != RESULT_OK)
		return call_relay_fail(relay, CALL_UPSTREAM_BAD);
	return CALL_RELAY_MORE;
}

static enum call_relay_status call_relay_finish(struct call_relay_turn *turn);

static enum call_relay_status
call_relay_content(struct call_relay_turn *turn, const char *bytes, size_t len)
{
	struct call_relay *relay = turn->relay;
	struct buffer *clean = &turn->space->clean;

	if (call_relay_is_error(relay)) {
		if (buffer_append(&relay->kept, bytes, len) == RESULT_OK)
			return CALL_RELAY_MORE;
		relay->spoiled = true; /* more than is worth reading */
		return call_relay_finish(turn);
	}
	relay->bytes += len;
	if (relay->bytes > relay->options.bytes_max)
		return call_relay_fail(relay, CALL_OUTPUT_LIMIT);
	buffer_clear(clean);
	if (redact_feed(relay->redact, bytes, len, clean) != RESULT_OK)
		return call_relay_fail(relay, CALL_UPSTREAM_BAD);
	return call_relay_emit(turn, false);
}

/* The body is whole: what was held back, and the end of the framing. */
static enum call_relay_status
call_relay_finish(struct call_relay_turn *turn)
{
	struct call_relay *relay = turn->relay;
	struct buffer *clean = &turn->space->clean;
	enum call_relay_status status;

	if (call_relay_is_error(relay)) {
		relay->word = error_word_find(
		    (const char *)buffer_bytes_borrow(&relay->kept),
		    relay->kept.len);
		call_relay_enter(relay, CALL_RELAY_PHASE_END);
		return CALL_RELAY_DONE;
	}
	buffer_clear(clean);
	if (redact_finish(relay->redact, clean) != RESULT_OK)
		return call_relay_fail(relay, CALL_UPSTREAM_BAD);
	status = call_relay_emit(turn, true);
	if (status != CALL_RELAY_MORE)
		return status;
	if (relay->chunked &&
	    buffer_append_text(turn->out, "0\r\n\r\n") != RESULT_OK)
		return call_relay_fail(relay, CALL_UPSTREAM_BAD);
	call_relay_enter(relay, CALL_RELAY_PHASE_END);
	return CALL_RELAY_DONE;
}

/* Content-Length: as it lies. */
static enum call_relay_status
call_relay_length(struct call_relay_turn *turn, const char *bytes, size_t len)
{
	struct call_relay *relay = turn->relay;
	size_t count = len < relay->left ? len : (size_t)relay->left;
	enum call_relay_status status = CALL_RELAY_MORE;

	relay->left -= count;
	relay->spoiled = count < len;
	if (count > 0)
		status = call_relay_content(turn, bytes, count);
	if (status == CALL_RELAY_MORE && relay->left == 0)
		return call_relay_finish(turn);
	return status;
}

static enum call_relay_status
call_relay_chunks(struct call_relay_turn *turn, const char *bytes, size_t len)
{
	struct call_relay *relay = turn->relay;
	struct buffer *plain = &turn->space->plain;
	enum http_body_status status;
	enum call_relay_status done = CALL_RELAY_MORE;
	size_t used = 0;

	buffer_clear(plain);
	status = http_body_feed(&relay->body, bytes, len, &used, plain);
	if (status == HTTP_BODY_BAD || status == HTTP_BODY_FULL)
		return call_relay_fail(relay, CALL_UPSTREAM_BAD);
	relay->spoiled = used < len;
	if (plain->len > 0)
		done = call_relay_content(
		    turn, (const char *)buffer_bytes_borrow(plain), plain->len);
	if (done == CALL_RELAY_MORE && status == HTTP_BODY_DONE)
		return call_relay_finish(turn);
	return done;
}

static enum call_relay_status
call_relay_unframe(struct call_relay_turn *turn, const char *bytes, size_t len)
{
	switch (turn->relay->head.framing) {
	case RESPONSE_FILTER_LENGTH:
		return call_relay_length(turn, bytes, len);
	case RESPONSE_FILTER_CHUNKED:
		return len > 0 ? call_relay_chunks(turn, bytes, len)
			       : CALL_RELAY_MORE;
	case RESPONSE_FILTER_CLOSE:
		break;
	}
	return len > 0 ? call_relay_content(turn, bytes, len) : CALL_RELAY_MORE;
}

/* A head that came in pieces: read again from where they are collected;
 * what lies behind it there is body. */
static enum call_relay_status
call_relay_collected(struct call_relay_turn *turn)
{
	struct buffer kept = turn->relay->kept;
	enum call_relay_status status;
	const char *bytes = (const char *)buffer_bytes_borrow(&kept);
	size_t used = 0;

	buffer_init(&turn->relay->kept, HTTP_HEAD_BYTES_MAX + 1);
	status = call_relay_heads(turn, bytes, kept.len, &used);
	if (status == CALL_RELAY_MORE &&
	    turn->relay->phase == CALL_RELAY_PHASE_BODY)
		status =
		    call_relay_unframe(turn, bytes + used, kept.len - used);
	buffer_free(&kept);
	return status;
}

static enum call_relay_status
call_relay_take(struct call_relay *relay, struct call_relay_space *space,
    const char *bytes, size_t len, struct buffer *out)
{
	struct call_relay_turn turn = {relay, space, out};
	enum call_relay_status status;
	size_t used = 0, room;

	if (relay->phase == CALL_RELAY_PHASE_HEAD && relay->kept.len > 0) {
		room = relay->kept.max - relay->kept.len;
		used = len < room ? len : room;
		if (used == 0 ||
		    buffer_append(&relay->kept, bytes, used) != RESULT_OK)
			return call_relay_fail(relay, CALL_UPSTREAM_BAD);
		status = call_relay_collected(&turn);
		if (status != CALL_RELAY_MORE || used == len)
			return status;
		return call_relay_take(
		    relay, space, bytes + used, len - used, out);
	}
	if (relay->phase == CALL_RELAY_PHASE_HEAD) {
		status = call_relay_heads(&turn, bytes, len, &used);
		if (status != CALL_RELAY_MORE ||
		    relay->phase == CALL_RELAY_PHASE_HEAD)
			return status;
	}
	if (relay->phase == CALL_RELAY_PHASE_END)
		return call_relay_fail(relay, CALL_UPSTREAM_BAD);
	return call_relay_unframe(&turn, bytes + used, len - used);
}

/* Nothing of what came stays in the process's buffers. */
static void
call_relay_space_clear(struct call_relay_space *space)
{
	buffer_clear(&space->plain);
	buffer_clear(&space->clean);
	buffer_clear(&space->scanned);
}

enum call_relay_status
call_relay_feed(struct call_relay *relay, struct call_relay_space *space,
    const char *bytes, size_t len, struct buffer *out)
{
	enum call_relay_status status =
	    call_relay_take(relay, space, bytes, len, out);

	call_relay_space_clear(space);
	return status;
}

enum call_relay_status
call_relay_end(struct call_relay *relay, struct call_relay_space *space,
    struct buffer *out)
{
	struct call_relay_turn turn = {relay, space, out};
	enum call_relay_status status;

	if (relay->phase == CALL_RELAY_PHASE_BODY &&
	    relay->head.framing == RESPONSE_FILTER_CLOSE)
		status = call_relay_finish(&turn);
	else
		status = call_relay_fail(relay, CALL_UPSTREAM_CLOSED);
	call_relay_space_clear(space);
	return status;
}

enum result
call_relay_break(
    struct call_relay *relay, const struct buffer *event, struct buffer *out)
{
	struct call_relay_turn turn = {relay, NULL, out};
	bool between = memcmp(relay->tail + 2, "\n\n", 2) == 0 ||
		       memcmp(relay->tail, "\r\n\r\n", 4) == 0;
	enum result result;

	if (!relay->begun || !relay->head.event_stream || !between ||
	    !relay->chunked)
		return RESULT_REFUSED;
	result = call_relay_put(&turn, event);
	return result != RESULT_OK ? result
				   : buffer_append_text(out, "0\r\n\r\n");
}

enum call_code
call_relay_code(const struct call_relay *relay)
{
	return relay->code;
}

unsigned
call_relay_status_code(const struct call_relay *relay)
{
	return relay->phase == CALL_RELAY_PHASE_HEAD ? 0 : relay->head.status;
}

unsigned
call_relay_retry_after(const struct call_relay *relay)
{
	return relay->head.retry_after_s;
}

const char *
call_relay_error_word(const struct call_relay *relay)
{
	return relay->word;
}

bool
call_relay_reusable(const struct call_relay *relay)
{
	return relay->phase == CALL_RELAY_PHASE_END && relay->code == CALL_OK &&
	       relay->head.reusable && !relay->spoiled;
}

const struct redact_set *
call_relay_patterns_borrow(const struct call_relay *relay)
{
	return relay->options.patterns;
}

const struct usage_counts *
call_relay_counts(const struct call_relay *relay)
{
	return relay->scan != NULL ? usage_scan_counts(relay->scan) : NULL;
}

uint64_t
call_relay_redacted(const struct call_relay *relay)
{
	return relay->redact != NULL ? redact_count(relay->redact) : 0;
}

uint64_t
call_relay_bytes(const struct call_relay *relay)
{
	return relay->bytes;
}

const struct buffer *
call_relay_body(const struct call_relay *relay)
{
	return &relay->kept;
}
