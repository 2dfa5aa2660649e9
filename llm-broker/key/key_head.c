/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shape of a canonical head. Called by key_lane.c for every call. Must
 * never let a head pass that another reader could take for two requests, for
 * another host, or for one with a credential of its own.
 */
#include "llm-broker/key/key_head.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "llm-broker/lane.h"

#define KEY_HEAD_VERSION " HTTP/1.1"
#define KEY_HEAD_DIGITS_MAX 19U /* of a length */

/* One line, without its CRLF. */
struct key_head_line {
	const char *bytes;
	size_t len;
	size_t name_len; /* of a field */
	const char *value;
	size_t value_len;
};

/* What must not be there twice, or at all. */
struct key_head_seen {
	unsigned hosts, lengths;
};

static const char *const key_head_credentials[] = {"authorization",
    "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie",
    "cookie2", "x-auth-token", "x-amz-security-token", NULL};

static const char *const key_head_framing[] = {"transfer-encoding", "upgrade",
    "expect", "te", "trailer", "keep-alive", "proxy-connection",
    "http2-settings", NULL};

static const char *const key_head_texts[KEY_HEAD_FAULT_COUNT] = {
    "canonical",
    "longer than a head may be",
    "a byte that is not printable ASCII",
    "no line end where one must be, or an empty line",
    "the first line is not METHOD /TARGET HTTP/1.1",
    "a line that is not NAME: VALUE",
    "Host is not there once, or not the provider's",
    "a field that credentials travel in",
    "framing that is not what was announced",
};

static bool
key_head_is_upper(char byte)
{
	return byte >= 'A' && byte <= 'Z';
}

static bool
key_head_is_name(char byte)
{
	return key_head_is_upper(byte) || (byte >= 'a' && byte <= 'z') ||
	       (byte >= '0' && byte <= '9') || byte == '-';
}

static bool
key_head_is(const struct key_head_line *line, const char *name)
{
	return strlen(name) == line->name_len &&
	       strncasecmp(line->bytes, name, line->name_len) == 0;
}

static bool
key_head_value_is(const struct key_head_line *line, const char *value)
{
	return strlen(value) == line->value_len &&
	       memcmp(line->value, value, line->value_len) == 0;
}

static bool
key_head_is_one_of(const struct key_head_line *line, const char *const *names)
{
	for (; *names != NULL; names++)
		if (key_head_is(line, *names))
			return true;
	return false;
}

/* METHOD SP /TARGET SP HTTP/1.1 */
static bool
key_head_start_line(const struct key_head_line *line)
{
	const size_t version = sizeof(KEY_HEAD_VERSION) - 1;
	size_t at = 0, end;

	if (line->len < version + 4)
		return false;
	end = line->len - version;
	if (memcmp(line->bytes + end, KEY_HEAD_VERSION, version) != 0)
		return false;
	while (at < end && key_head_is_upper(line->bytes[at]))
		at++;
	if (at == 0 || at + 2 > end || line->bytes[at] != ' ' ||
	    line->bytes[at + 1] != '/')
		return false;
	/* "//host/" is an authority to some readers. */
	if (at + 2 < end && line->bytes[at + 2] == '/')
		return false;
	return memchr(line->bytes + at + 1, ' ', end - at - 1) == NULL &&
	       memchr(line->bytes + at + 1, '#', end - at - 1) == NULL;
}

/* Split NAME: VALUE; the value is not empty and has no outer blank. */
static bool
key_head_split(struct key_head_line *line)
{
	size_t at = 0;

	while (at < line->len && key_head_is_name(line->bytes[at]))
		at++;
	if (at == 0 || line->len < at + 3 || line->bytes[at] != ':' ||
	    line->bytes[at + 1] != ' ' || line->bytes[at + 2] == ' ' ||
	    line->bytes[line->len - 1] == ' ')
		return false;
	line->name_len = at;
	line->value = line->bytes + at + 2;
	line->value_len = line->len - at - 2;
	return true;
}

static bool
key_head_length_is(const struct key_head_line *line, uint64_t expected)
{
	uint64_t length = 0;

	if (line->value_len > KEY_HEAD_DIGITS_MAX ||
	    (line->value_len > 1 && line->value[0] == '0'))
		return false;
	for (size_t i = 0; i < line->value_len; i++) {
		if (line->value[i] < '0' || line->value[i] > '9')
			return false;
		length = length * 10 + (uint64_t)(line->value[i] - '0');
	}
	return length == expected;
}

static enum key_head_fault
key_head_field(struct key_head_line *line,
    const struct key_head_expected *expected, struct key_head_seen *seen)
{
	if (!key_head_split(line))
		return KEY_HEAD_BAD_FIELD;
	if (key_head_is_one_of(line, key_head_credentials) ||
	    key_head_is(line, expected->key_header))
		return KEY_HEAD_CREDENTIAL;
	if (key_head_is_one_of(line, key_head_framing))
		return KEY_HEAD_FRAMING;
	if (key_head_is(line, "host")) {
		seen->hosts++;
		return key_head_value_is(line, expected->host) ||
			       key_head_value_is(line, expected->authority)
			   ? KEY_HEAD_OK
			   : KEY_HEAD_BAD_HOST;
	}
	if (key_head_is(line, "content-length")) {
		seen->lengths++;
		return key_head_length_is(line, expected->body_len)
			   ? KEY_HEAD_OK
			   : KEY_HEAD_FRAMING;
	}
	if (key_head_is(line, "connection"))
		return key_head_value_is(line, "keep-alive") ||
			       key_head_value_is(line, "close")
			   ? KEY_HEAD_OK
			   : KEY_HEAD_FRAMING;
	return KEY_HEAD_OK;
}

/* Cut one line off; false when there is no CRLF. */
static bool
key_head_next(
    const char *head, size_t len, size_t *at, struct key_head_line *line_r)
{
	const char *end = memchr(head + *at, '\r', len - *at);

	memset(line_r, 0, sizeof(*line_r));
	if (end == NULL || end + 1 >= head + len || end[1] != '\n')
		return false;
	line_r->bytes = head + *at;
	line_r->len = (size_t)(end - line_r->bytes);
	*at += line_r->len + 2;
	return true;
}

static bool
key_head_is_printable(const char *head, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((head[i] < 0x20 || head[i] > 0x7e) &&
		    !(head[i] == '\r' && i + 1 < len && head[i + 1] == '\n') &&
		    !(head[i] == '\n' && i > 0 && head[i - 1] == '\r'))
			return false;
	return true;
}

enum key_head_fault
key_head_check(
    const char *head, size_t len, const struct key_head_expected *expected)
{
	struct key_head_seen seen = {0, 0};
	struct key_head_line line;
	enum key_head_fault fault;
	size_t at = 0;

	if (len > LANE_HEAD_MAX)
		return KEY_HEAD_TOO_LONG;
	if (!key_head_is_printable(head, len))
		return KEY_HEAD_BAD_BYTE;
	if (len == 0 || !key_head_next(head, len, &at, &line))
		return KEY_HEAD_BAD_END;
	if (!key_head_start_line(&line))
		return KEY_HEAD_BAD_LINE;
	while (at < len) {
		if (!key_head_next(head, len, &at, &line) || line.len == 0)
			return KEY_HEAD_BAD_END;
		fault = key_head_field(&line, expected, &seen);
		if (fault != KEY_HEAD_OK)
			return fault;
	}
	if (seen.hosts != 1)
		return KEY_HEAD_BAD_HOST;
	/* A body without a length would be the next request. */
	if (seen.lengths > 1 || (seen.lengths == 0 && expected->body_len > 0))
		return KEY_HEAD_FRAMING;
	return KEY_HEAD_OK;
}

const char *
key_head_fault_text(enum key_head_fault fault)
{
	if ((unsigned)fault >= KEY_HEAD_FAULT_COUNT)
		return "unknown";
	return key_head_texts[fault];
}
