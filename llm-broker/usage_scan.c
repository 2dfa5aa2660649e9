/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts what a response says it used and what the agent got. Called by
 * call_relay.c with content that was already looked through for keys. Must
 * never change a byte of what goes on, except to leave out one whole event,
 * nor fail because a provider's JSON is broken: it says so.
 */
#include "llm-broker/usage_scan.h"

#include <stdlib.h>
#include <string.h>

#include "llm-broker/json_walk.h"
#include "llm-broker/usage_rule.h"

#define USAGE_SCAN_CHARS_PER_TOKEN 3U /* of English it is four */

static const char usage_scan_data[] = "data:";
static const char usage_scan_done[] = "[DONE]";

/* Where in a line of an event stream. */
enum usage_scan_line {
	USAGE_SCAN_LINE_NAME, /* as long as it can be "data:" */
	USAGE_SCAN_LINE_DATA,
	USAGE_SCAN_LINE_SKIP
};

/* The event that is being read. */
struct usage_scan_event {
	enum usage_scan_line line;
	size_t line_len; /* without its end; a last '\r' counts */
	bool cr;         /* the line ends with '\r' so far */
	bool has_data, has_choice, has_usage;
	bool is_copy;                       /* usage_rule_is_copy */
	bool passing;                       /* strip: it is known to go on */
	char head[sizeof(usage_scan_done)]; /* its first bytes of data */
	size_t head_len;
};

struct usage_scan {
	enum provider_usage format;
	bool is_stream, strip;
	struct json_walk walk;
	enum usage_rule_kind kind; /* of the value that is being read */
	enum usage_rule_own own;
	uint64_t registers[USAGE_RULE_REGISTERS];
	bool said[USAGE_RULE_REGISTERS];
	uint64_t text, whole, parts; /* characters */
	struct usage_counts counts;
	struct usage_scan_event event;
	struct buffer held; /* strip: the event so far */
};

/* --- what the walk finds --- */

static uint64_t *
usage_scan_counter(struct usage_scan *scan, enum usage_rule_kind kind)
{
	if (kind == USAGE_RULE_TEXT)
		return &scan->text;
	if (kind == USAGE_RULE_WHOLE)
		return &scan->whole;
	if (kind != USAGE_RULE_PART)
		return NULL;
	return scan->event.is_copy ? &scan->parts : &scan->text;
}

/* A name that the model wrote, its quotes and its colon. */
static uint64_t *
usage_scan_name(struct json_walk *walk)
{
	struct usage_scan *scan = walk->context;
	size_t steps = walk->depth - 1 < JSON_WALK_STEPS ? walk->depth - 1
							 : JSON_WALK_STEPS;
	enum usage_rule_own own;
	uint64_t *counter = usage_scan_counter(
	    scan, usage_rule_find(scan->format, walk->path, steps, &own));

	if (counter == NULL || own == USAGE_RULE_THEIRS)
		return NULL;
	*counter += 3;
	return counter;
}

/* What the model wrote is as long as its text would be: a comma, quotes or
 * brackets around it, and in usage_scan_end the digits of a number. */
static uint64_t *
usage_scan_begin(struct json_walk *walk, enum json_walk_kind kind)
{
	struct usage_scan *scan = walk->context;
	uint64_t *counter;

	scan->kind = usage_rule_find(
	    scan->format, walk->path, json_walk_steps(walk), &scan->own);
	if (scan->kind == USAGE_RULE_CHOICE)
		scan->event.has_choice = true;
	counter = usage_scan_counter(scan, scan->kind);
	if (counter == NULL)
		return NULL;
	if (scan->own == USAGE_RULE_INSIDE)
		*counter += kind == JSON_WALK_SCALAR_KIND ? 1 : 3;
	return kind == JSON_WALK_TEXT_KIND ? counter : NULL;
}

/* A whole number of at most 15 digits. */
static bool
usage_scan_number(const char *text, size_t len, uint64_t *value_r)
{
	*value_r = 0;
	if (len == 0 || len > 15)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		*value_r = *value_r * 10 + (uint64_t)(text[i] - '0');
	}
	return true;
}

static void
usage_scan_end(struct json_walk *walk, enum json_walk_kind kind,
    const char *text, size_t len)
{
	struct usage_scan *scan = walk->context;
	uint64_t value;

	if (kind == JSON_WALK_TEXT_KIND) {
		if (scan->kind == USAGE_RULE_TYPE &&
		    usage_rule_is_copy(scan->format, text, len))
			scan->event.is_copy = true;
		if (scan->kind == USAGE_RULE_FINISH ||
		    (scan->kind == USAGE_RULE_TYPE &&
			usage_rule_is_last(scan->format, text, len)))
			scan->counts.finished = true;
		return;
	}
	if (scan->own == USAGE_RULE_INSIDE)
		*usage_scan_counter(scan, scan->kind) += walk->text_len;
	if (scan->kind == USAGE_RULE_NONE ||
	    scan->kind >= USAGE_RULE_REGISTERS ||
	    !usage_scan_number(text, len, &value))
		return;
	scan->registers[scan->kind] = value;
	scan->said[scan->kind] = true;
	scan->event.has_usage = true;
}

static const struct json_walk_handlers usage_scan_handlers = {
    usage_rule_key, usage_scan_name, usage_scan_begin, usage_scan_end};

/* --- counts --- */

static bool
usage_scan_is_known(const struct usage_scan *scan)
{
	const bool *said = scan->said;
	bool finished = scan->counts.finished;

	switch (scan->format) {
	case PROVIDER_USAGE_NONE:
		return true; /* nothing is billed on such a path */
	case PROVIDER_USAGE_OPENAI_EMBEDDINGS:
		return said[USAGE_RULE_INPUT] && finished;
	case PROVIDER_USAGE_OPENAI_CHAT:
		/* Its last chunk but one, with all of it. */
		return said[USAGE_RULE_INPUT] && said[USAGE_RULE_OUTPUT] &&
		       (finished || scan->is_stream);
	case PROVIDER_USAGE_OPENAI_RESPONSES:
	case PROVIDER_USAGE_ANTHROPIC:
	case PROVIDER_USAGE_GEMINI:
		break;
	}
	return said[USAGE_RULE_INPUT] && said[USAGE_RULE_OUTPUT] && finished;
}

static void
usage_scan_sum(struct usage_scan *scan)
{
	const uint64_t *registers = scan->registers;
	struct usage_counts *counts = &scan->counts;

	counts->input_tokens = registers[USAGE_RULE_INPUT] +
			       registers[USAGE_RULE_INPUT_MORE] +
			       registers[USAGE_RULE_INPUT_CACHE];
	counts->cached_tokens =
	    registers[USAGE_RULE_INPUT_CACHE] + registers[USAGE_RULE_CACHED];
	counts->output_tokens =
	    registers[USAGE_RULE_OUTPUT] + registers[USAGE_RULE_OUTPUT_MORE];
	/* The same text up to three times, whichever of them is complete. */
	counts->output_chars =
	    scan->text > scan->whole ? scan->text : scan->whole;
	if (scan->parts > counts->output_chars)
		counts->output_chars = scan->parts;
	counts->known = usage_scan_is_known(scan);
}

/* Does what is being read defy the walk? The marker at a stream's end does,
 * and is none of the agent's text. */
static void
usage_scan_note_odd(struct usage_scan *scan)
{
	const struct usage_scan_event *event = &scan->event;

	if (scan->format == PROVIDER_USAGE_NONE ||
	    scan->walk.state != JSON_WALK_BAD)
		return;
	if (!scan->is_stream ||
	    memcmp(event->head, usage_scan_done, event->head_len) != 0)
		scan->counts.odd = true;
}

/* --- events --- */

static void
usage_scan_line_reset(struct usage_scan_event *event)
{
	event->line = USAGE_SCAN_LINE_NAME;
	event->line_len = 0;
	event->cr = false;
}

static void
usage_scan_event_reset(struct usage_scan *scan)
{
	memset(&scan->event, 0, sizeof(scan->event));
	json_walk_init(&scan->walk, &usage_scan_handlers, scan);
}

static void
usage_scan_data_bytes(struct usage_scan *scan, const char *bytes, size_t len)
{
	struct usage_scan_event *event = &scan->event;

	for (size_t i = 0; i < len && event->head_len < sizeof(event->head) - 1;
	     i++)
		if (bytes[i] != ' ' || event->head_len > 0)
			event->head[event->head_len++] = bytes[i];
	(void)json_walk_feed(&scan->walk, bytes, len);
	usage_scan_note_odd(scan);
}

/* Bytes of one line, without its '\n'. */
static void
usage_scan_line_bytes(struct usage_scan *scan, const char *bytes, size_t len)
{
	struct usage_scan_event *event = &scan->event;
	size_t at = 0;

	if (len == 0)
		return;
	while (at < len && event->line == USAGE_SCAN_LINE_NAME) {
		if (bytes[at] != usage_scan_data[event->line_len + at])
			event->line = USAGE_SCAN_LINE_SKIP;
		else if (event->line_len + ++at == sizeof(usage_scan_data) - 1)
			event->line = USAGE_SCAN_LINE_DATA;
	}
	event->cr = bytes[len - 1] == '\r';
	event->line_len += len;
	if (event->line != USAGE_SCAN_LINE_DATA)
		return;
	event->has_data = true;
	usage_scan_data_bytes(scan, bytes + at, len - at);
}

static bool
usage_scan_is_blank(const struct usage_scan_event *event)
{
	return event->line_len == 0 || (event->line_len == 1 && event->cr);
}

/* An event that only carries the usage we asked for ourselves. */
static bool
usage_scan_is_ours(const struct usage_scan_event *event)
{
	return event->has_data && event->has_usage && !event->has_choice;
}

/* Held bytes go on; the rest of the event follows as it comes. */
static enum result
usage_scan_release(struct usage_scan *scan, struct buffer *out)
{
	struct buffer *held = &scan->held;
	enum result result = RESULT_OK;

	if (held->len > 0)
		result =
		    buffer_append(out, buffer_bytes_borrow(held), held->len);
	buffer_free(held);
	scan->event.passing = true;
	return result;
}

/* strip: bytes of the event that is being read; over: it ends with them. */
static enum result
usage_scan_sort(struct usage_scan *scan, const char *bytes, size_t len,
    bool over, struct buffer *out)
{
	struct usage_scan_event *event = &scan->event;
	enum result result = RESULT_OK;

	if (!event->passing && over && usage_scan_is_ours(event)) {
		buffer_free(&scan->held);
		return RESULT_OK;
	}
	if (!event->passing && (over || event->has_choice ||
				   scan->held.len + len > USAGE_SCAN_EVENT_MAX))
		result = usage_scan_release(scan, out);
	if (result != RESULT_OK)
		return result;
	return buffer_append(event->passing ? out : &scan->held, bytes, len);
}

/* True: it was blank, and the event is over. */
static bool
usage_scan_line_end(struct usage_scan *scan)
{
	struct usage_scan_event *event = &scan->event;
	bool over = usage_scan_is_blank(event);

	if (over &&
	    memcmp(event->head, usage_scan_done, sizeof(event->head) - 1) == 0)
		scan->counts.finished = true;
	if (!over)
		usage_scan_line_reset(event);
	return over;
}

static enum result
usage_scan_events(
    struct usage_scan *scan, const char *bytes, size_t len, struct buffer *out)
{
	enum result result = RESULT_OK;
	size_t at = 0, from = 0;
	bool over;

	while (at < len && result == RESULT_OK) {
		const char *end = memchr(bytes + at, '\n', len - at);
		size_t line =
		    end != NULL ? (size_t)(end - bytes) - at : len - at;

		usage_scan_line_bytes(scan, bytes + at, line);
		at += line + (end != NULL);
		over = end != NULL && usage_scan_line_end(scan);
		if (scan->strip && (over || at == len)) {
			result = usage_scan_sort(
			    scan, bytes + from, at - from, over, out);
			from = at;
		}
		if (over)
			usage_scan_event_reset(scan);
	}
	return result;
}

/* --- the whole --- */

enum result
usage_scan_new(enum provider_usage format, bool is_stream, bool strip,
    struct usage_scan **scan_r)
{
	struct usage_scan *scan = calloc(1, sizeof(*scan));

	*scan_r = scan;
	if (scan == NULL)
		return RESULT_NO_MEMORY;
	scan->format = format;
	scan->is_stream = is_stream;
	scan->strip = strip && is_stream;
	buffer_init(&scan->held, USAGE_SCAN_EVENT_MAX);
	usage_scan_event_reset(scan);
	usage_scan_sum(scan);
	return RESULT_OK;
}

void
usage_scan_free(struct usage_scan **scan)
{
	if (*scan != NULL)
		buffer_free(&(*scan)->held);
	free(*scan);
	*scan = NULL;
}

enum result
usage_scan_feed(
    struct usage_scan *scan, const char *bytes, size_t len, struct buffer *out)
{
	enum result result = RESULT_OK;

	if (!scan->strip)
		result = buffer_append(out, bytes, len);
	if (result == RESULT_OK && scan->is_stream)
		result = usage_scan_events(scan, bytes, len, out);
	else if (result == RESULT_OK)
		(void)json_walk_feed(&scan->walk, bytes, len);
	usage_scan_note_odd(scan);
	if (!scan->is_stream)
		scan->counts.finished = scan->walk.state == JSON_WALK_DONE;
	usage_scan_sum(scan);
	return result;
}

enum result
usage_scan_finish(struct usage_scan *scan, struct buffer *out)
{
	if (!scan->strip)
		return RESULT_OK;
	return usage_scan_sort(scan, "", 0, true, out);
}

const struct usage_counts *
usage_scan_counts(const struct usage_scan *scan)
{
	return &scan->counts;
}

uint64_t
usage_scan_estimate(uint64_t characters)
{
	return characters / USAGE_SCAN_CHARS_PER_TOKEN +
	       (characters % USAGE_SCAN_CHARS_PER_TOKEN != 0);
}
