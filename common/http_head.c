/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strict head parser. Called by the proxy and the broker on bytes of a
 * workload, by llm-key's side on bytes of a provider. It must never repair,
 * decode or skip a byte: a head that two parsers could read in two ways is
 * refused with the reason.
 */
#include "common/http_head.h"

#include <string.h>

/* Classes of bytes (RFC 9110 section 5.6.2). */
enum {
	HTTP_HEAD_TOKEN = 1,   /* tchar */
	HTTP_HEAD_VISIBLE = 2, /* 0x21 .. 0x7e */
};

/* One line without its CRLF. */
struct http_head_line {
	const char *bytes;
	size_t len;
};

/* Where the parser stands. */
struct http_head_scan {
	const char *bytes;
	size_t len;
	size_t at;
	bool response;
};

/* One bit per ASCII byte. */
static const uint32_t http_head_token_bits[4] = {
    0x00000000U, 0x03ff6cfaU, 0xc7fffffeU, 0x57ffffffU};
static const uint32_t http_head_visible_bits[4] = {
    0x00000000U, 0xfffffffeU, 0xffffffffU, 0x7fffffffU};

static unsigned
http_head_class(char c)
{
	unsigned byte = (unsigned char)c, word = byte / 32, bit = byte % 32;

	if (byte >= 0x80)
		return 0;
	return (http_head_token_bits[word] >> bit & 1) * HTTP_HEAD_TOKEN +
	       (http_head_visible_bits[word] >> bit & 1) * HTTP_HEAD_VISIBLE;
}

static bool
http_head_all(const char *bytes, size_t len, unsigned class)
{
	size_t i;

	for (i = 0; i < len; i++)
		if ((http_head_class(bytes[i]) & class) == 0)
			return false;
	return true;
}

static char
http_head_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool
http_head_blank(char c)
{
	return c == ' ' || c == '\t';
}

bool
http_head_text_is(struct http_text text, const char *literal)
{
	return text.len == strlen(literal) &&
	       memcmp(text.bytes, literal, text.len) == 0;
}

bool
http_head_text_is_nocase(struct http_text text, const char *literal)
{
	size_t i;

	/* Most names differ in their first byte: no length is counted. */
	for (i = 0; i < text.len; i++)
		if (literal[i] == '\0' || http_head_lower(text.bytes[i]) !=
					      http_head_lower(literal[i]))
			return false;
	return literal[i] == '\0';
}

/* Bytes that no line may hold, whole or not: NUL, CR inside, other
 * controls. */
static enum http_head_status
http_head_check_bytes(const char *bytes, size_t len, bool start_line)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (bytes[i] >= ' ' && bytes[i] < 0x7f)
			continue;
		if (bytes[i] == '\0' || bytes[i] == '\r' || bytes[i] == '\n')
			return HTTP_HEAD_BAD_LINE_END;
		if (start_line)
			return HTTP_HEAD_BAD_LINE;
		if (bytes[i] != '\t')
			return HTTP_HEAD_BAD_FIELD_VALUE;
	}
	return HTTP_HEAD_OK;
}

/* A line whose end has not come: refuse what can be refused already. */
static enum http_head_status
http_head_check_partial(const struct http_head_scan *scan)
{
	const char *rest = scan->bytes + scan->at;
	size_t len = scan->len - scan->at;
	enum http_head_status status;

	if (scan->at > 0 && len > 0 && http_head_blank(rest[0]))
		return HTTP_HEAD_FOLDED;
	if (scan->at == 0 && len > 0 &&
	    (http_head_class(rest[0]) & HTTP_HEAD_TOKEN) == 0)
		return rest[0] == '\r' || rest[0] == '\0'
			   ? HTTP_HEAD_BAD_LINE_END
			   : HTTP_HEAD_BAD_LINE;
	if (len > 0 && rest[len - 1] == '\r')
		len--;
	status = http_head_check_bytes(rest, len, scan->at == 0);
	if (status != HTTP_HEAD_OK)
		return status;
	return scan->len > HTTP_HEAD_BYTES_MAX ? HTTP_HEAD_TOO_LONG
					       : HTTP_HEAD_NEED_MORE;
}

/* The next line; NEED_MORE (or a fault) when its CRLF has not come. */
static enum http_head_status
http_head_next_line(struct http_head_scan *scan, struct http_head_line *line_r)
{
	const char *start = scan->bytes + scan->at;
	const char *lf = NULL;
	size_t len;

	if (scan->at < scan->len)
		lf = memchr(start, '\n', scan->len - scan->at);
	if (lf == NULL)
		return http_head_check_partial(scan);
	len = (size_t)(lf - start);
	if (scan->at + len + 1 > HTTP_HEAD_BYTES_MAX)
		return HTTP_HEAD_TOO_LONG;
	if (len == 0 || start[len - 1] != '\r')
		return HTTP_HEAD_BAD_LINE_END;
	line_r->bytes = start;
	line_r->len = len - 1;
	scan->at += len + 1;
	return http_head_check_bytes(
	    line_r->bytes, line_r->len, scan->at == len + 1);
}

/* "HTTP/1.0" or "HTTP/1.1". */
static enum http_head_status
http_head_parse_version(const char *bytes, size_t len, struct http_head *head)
{
	if (len != 8 || memcmp(bytes, "HTTP/", 5) != 0 || bytes[6] != '.')
		return HTTP_HEAD_BAD_LINE;
	if (bytes[5] != '1' || (bytes[7] != '0' && bytes[7] != '1'))
		return HTTP_HEAD_BAD_VERSION;
	head->minor_version = bytes[7] == '1';
	return HTTP_HEAD_OK;
}

/* method SP target SP version, single spaces. */
static enum http_head_status
http_head_parse_request_line(
    const struct http_head_line *line, struct http_head *head)
{
	const char *end = line->bytes + line->len, *second;
	const char *first = memchr(line->bytes, ' ', line->len);

	if (first == NULL || first == line->bytes)
		return HTTP_HEAD_BAD_LINE;
	second = memchr(first + 1, ' ', (size_t)(end - first - 1));
	if (second == NULL || second == first + 1)
		return HTTP_HEAD_BAD_LINE;
	head->method.bytes = line->bytes;
	head->method.len = (size_t)(first - line->bytes);
	head->target.bytes = first + 1;
	head->target.len = (size_t)(second - first - 1);
	if (!http_head_all(
		head->method.bytes, head->method.len, HTTP_HEAD_TOKEN) ||
	    !http_head_all(
		head->target.bytes, head->target.len, HTTP_HEAD_VISIBLE))
		return HTTP_HEAD_BAD_LINE;
	if (head->target.len > HTTP_HEAD_TARGET_MAX)
		return HTTP_HEAD_TOO_LONG;
	return http_head_parse_version(
	    second + 1, (size_t)(end - second - 1), head);
}

/* version SP three digits [SP reason]. */
static enum http_head_status
http_head_parse_status_line(
    const struct http_head_line *line, struct http_head *head)
{
	const char *b = line->bytes;
	enum http_head_status status;
	size_t i;

	if (line->len < 12 || b[8] != ' ' || (line->len > 12 && b[12] != ' '))
		return HTTP_HEAD_BAD_LINE;
	status = http_head_parse_version(b, 8, head);
	if (status != HTTP_HEAD_OK)
		return status;
	for (i = 9; i < 12; i++) {
		if (b[i] < '0' || b[i] > '9')
			return HTTP_HEAD_BAD_LINE;
		head->status = head->status * 10 + (unsigned)(b[i] - '0');
	}
	return head->status >= 100 ? HTTP_HEAD_OK : HTTP_HEAD_BAD_LINE;
}

static enum http_head_status
http_head_note_length(struct http_text value, struct http_head *head)
{
	size_t i;

	/* 18 digits are below 2^63 and above every body we would carry. */
	if (head->has_length || value.len == 0 || value.len > 18)
		return HTTP_HEAD_BAD_LENGTH;
	for (i = 0; i < value.len; i++) {
		if (value.bytes[i] < '0' || value.bytes[i] > '9')
			return HTTP_HEAD_BAD_LENGTH;
		head->content_length = head->content_length * 10 +
				       (uint64_t)(value.bytes[i] - '0');
	}
	head->has_length = true;
	return HTTP_HEAD_OK;
}

static enum http_head_status
http_head_note_coding(struct http_text value, struct http_head *head)
{
	if (head->chunked || head->minor_version == 0 ||
	    !http_head_text_is_nocase(value, "chunked"))
		return HTTP_HEAD_BAD_CODING;
	head->chunked = true;
	return HTTP_HEAD_OK;
}

/* Fields that decide where the message ends or where it goes. */
static enum http_head_status
http_head_note_field(
    const struct http_field *field, bool response, struct http_head *head)
{
	if (http_head_text_is_nocase(field->name, "content-length"))
		return http_head_note_length(field->value, head);
	if (http_head_text_is_nocase(field->name, "transfer-encoding"))
		return http_head_note_coding(field->value, head);
	if (response)
		return HTTP_HEAD_OK;
	if (http_head_text_is_nocase(field->name, "host")) {
		if (head->host.bytes != NULL)
			return HTTP_HEAD_HOST_REPEATED;
		head->host = field->value;
	}
	if (http_head_text_is_nocase(field->name, "expect")) {
		if (head->expect_continue ||
		    !http_head_text_is_nocase(field->value, "100-continue"))
			return HTTP_HEAD_BAD_FIELD_VALUE;
		head->expect_continue = true;
	}
	return HTTP_HEAD_OK;
}

/* name ":" OWS value OWS */
static enum http_head_status
http_head_parse_field(
    const struct http_head_line *line, bool response, struct http_head *head)
{
	struct http_field field;
	const char *colon, *end = line->bytes + line->len;

	if (http_head_blank(line->bytes[0]))
		return HTTP_HEAD_FOLDED;
	if (head->field_count == HTTP_HEAD_FIELDS_MAX)
		return HTTP_HEAD_TOO_MANY_FIELDS;
	colon = memchr(line->bytes, ':', line->len);
	if (colon == NULL || colon == line->bytes)
		return HTTP_HEAD_BAD_FIELD_NAME;
	field.name.bytes = line->bytes;
	field.name.len = (size_t)(colon - line->bytes);
	if (!http_head_all(field.name.bytes, field.name.len, HTTP_HEAD_TOKEN) ||
	    memchr(field.name.bytes, '_', field.name.len) != NULL)
		return HTTP_HEAD_BAD_FIELD_NAME;
	for (colon++; colon < end && http_head_blank(*colon); colon++)
		;
	for (; end > colon && http_head_blank(end[-1]); end--)
		;
	field.value.bytes = colon;
	field.value.len = (size_t)(end - colon);
	head->fields[head->field_count++] = field;
	return http_head_note_field(&field, response, head);
}

/* HTTP/1.0 clients of CONNECT (Python before 3.12) send no Host; the target
 * is the only authority then, so nothing can differ from it. */
static bool
http_head_host_optional(const struct http_head *head)
{
	return head->minor_version == 0 &&
	       http_head_text_is(head->method, "CONNECT");
}

/* What can be said only when all fields are there. */
static enum http_head_status
http_head_check_whole(const struct http_head *head, bool response)
{
	if (head->chunked && head->has_length)
		return HTTP_HEAD_LENGTH_AND_CODING;
	if (response || head->host.bytes != NULL ||
	    http_head_host_optional(head))
		return HTTP_HEAD_OK;
	return head->minor_version == 0 ? HTTP_HEAD_BAD_VERSION
					: HTTP_HEAD_HOST_MISSING;
}

static enum http_head_status
http_head_parse(struct http_head_scan *scan, struct http_head *head_r)
{
	struct http_head_line line;
	enum http_head_status status;

	memset(head_r, 0, sizeof(*head_r));
	status = http_head_next_line(scan, &line);
	if (status != HTTP_HEAD_OK)
		return status;
	status = scan->response ? http_head_parse_status_line(&line, head_r)
				: http_head_parse_request_line(&line, head_r);
	while (status == HTTP_HEAD_OK) {
		status = http_head_next_line(scan, &line);
		if (status != HTTP_HEAD_OK)
			break;
		if (line.len == 0) {
			head_r->head_len = scan->at;
			return http_head_check_whole(head_r, scan->response);
		}
		status = http_head_parse_field(&line, scan->response, head_r);
	}
	return status;
}

enum http_head_status
http_head_parse_request(const char *bytes, size_t len, struct http_head *head_r)
{
	struct http_head_scan scan = {bytes, len, 0, false};

	return http_head_parse(&scan, head_r);
}

enum http_head_status
http_head_parse_response(
    const char *bytes, size_t len, struct http_head *head_r)
{
	struct http_head_scan scan = {bytes, len, 0, true};

	return http_head_parse(&scan, head_r);
}

const struct http_field *
http_head_find(const struct http_head *head, const char *name)
{
	size_t i;

	for (i = 0; i < head->field_count; i++)
		if (http_head_text_is_nocase(head->fields[i].name, name))
			return &head->fields[i];
	return NULL;
}

const char *
http_head_status_text(enum http_head_status status)
{
	static const char *const texts[HTTP_HEAD_STATUS_COUNT] = {
	    [HTTP_HEAD_OK] = "the head is well formed",
	    [HTTP_HEAD_NEED_MORE] = "the head is not complete",
	    [HTTP_HEAD_BAD_LINE] = "the first line is malformed",
	    [HTTP_HEAD_BAD_VERSION] =
		"the version is neither HTTP/1.1 nor HTTP/1.0 with Host",
	    [HTTP_HEAD_BAD_LINE_END] =
		"a line does not end in CRLF, or holds CR, LF or NUL",
	    [HTTP_HEAD_BAD_FIELD_NAME] = "a header name is malformed",
	    [HTTP_HEAD_BAD_FIELD_VALUE] = "a header value is malformed",
	    [HTTP_HEAD_FOLDED] = "a header is folded over lines",
	    [HTTP_HEAD_TOO_LONG] = "the head is longer than the limit",
	    [HTTP_HEAD_TOO_MANY_FIELDS] = "the head has too many headers",
	    [HTTP_HEAD_HOST_MISSING] = "Host is missing",
	    [HTTP_HEAD_HOST_REPEATED] = "Host is there more than once",
	    [HTTP_HEAD_BAD_LENGTH] = "Content-Length is repeated or no number",
	    [HTTP_HEAD_BAD_CODING] =
		"Transfer-Encoding is anything but chunked",
	    [HTTP_HEAD_LENGTH_AND_CODING] =
		"both Content-Length and Transfer-Encoding are there",
	};

	if ((unsigned)status >= HTTP_HEAD_STATUS_COUNT)
		return "unknown fault";
	return texts[status];
}
