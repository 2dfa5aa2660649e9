/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of a process. Called from everywhere, confined or not; must never
 * open a file, allocate, change errno, let a foreign byte steer a terminal,
 * or lose a line without counting it.
 */
#include "common/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOG_RATES_MAX 64U
#define LOG_EVENT_MAX 48U
#define LOG_TAIL 32U /* room kept for ,"cut":true}\n */

struct log_rate {
	char event[LOG_EVENT_MAX];
	uint64_t second;
	unsigned count, suppressed;
};

static struct log_state {
	int fd;
	const char *process;
	enum log_level lowest;
	bool is_terminal;
	bool is_torn; /* a line was written in part: begin on a new one */
	char sandbox[64];
	unsigned per_second;
	unsigned lost; /* lines the descriptor did not take */
	int lost_errno;
	size_t rate_count;
	struct log_rate rates[LOG_RATES_MAX];
} log_state = {.fd = -1, .process = "", .per_second = LOG_RATE_DEFAULT};

/* text[0] is kept for the newline that ends a torn line. */
struct log_line {
	char text[LOG_LINE_MAX];
	size_t len, limit;
	bool full;
};

static const char *const log_levels[] = {"debug", "info", "warn", "error"};

/* Length of the UTF-8 sequence at bytes, 0 when it is none. */
static size_t
log_utf8(const uint8_t *bytes, size_t left, uint32_t *code_r)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t i, len;

	if (bytes[0] < 0x80)
		len = 1;
	else if (bytes[0] >= 0xc2 && bytes[0] < 0xf5)
		len = bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;
	else
		return 0;
	if (len > left)
		return 0;
	*code_r = len == 1 ? bytes[0] : bytes[0] & (0x7fU >> len);
	for (i = 1; i < len; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
		*code_r = *code_r << 6 | (bytes[i] & 0x3f);
	}
	if (*code_r < least[len] || *code_r > 0x10ffff ||
	    (*code_r >= 0xd800 && *code_r <= 0xdfff))
		return 0;
	return len;
}

/* Characters that steer a terminal, reorder text or cannot be seen. */
static bool
log_is_unsafe(uint32_t code)
{
	static const uint32_t ranges[][2] = {{0, 0x1f}, {0x7f, 0x9f},
	    {0xad, 0xad}, {0x61c, 0x61c}, {0x180e, 0x180e}, {0x200b, 0x200f},
	    {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff},
	    {0xfff0, 0xfffb}, {0xe0000, 0xe0fff}};
	size_t i;

	for (i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (code >= ranges[i][0] && code <= ranges[i][1])
			return true;
	return false;
}

/* One character as it may be written; returns its length. */
static size_t
log_escape_one(
    const uint8_t *bytes, size_t left, bool quotes, char out[16], size_t *used)
{
	uint32_t code = 0;

	*used = log_utf8(bytes, left, &code);
	if (*used == 0) {
		*used = 1;
		return (size_t)snprintf(out, 16, "\\ufffd");
	}
	if (log_is_unsafe(code) && code > 0xffff)
		return (size_t)snprintf(out, 16, "\\u%04x\\u%04x",
		    0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
	if (log_is_unsafe(code))
		return (size_t)snprintf(out, 16, "\\u%04x", code);
	if (quotes && (code == '"' || code == '\\')) {
		out[0] = '\\';
		out[1] = (char)code;
		return 2;
	}
	memcpy(out, bytes, *used);
	return *used;
}

/* Written as it is, whoever reads it: most of what is logged. */
static bool
log_is_plain(char byte)
{
	return byte >= ' ' && byte < 0x7f && byte != '"' && byte != '\\';
}

static void
log_escape_into(
    const char *bytes, size_t len, bool quotes, char *text_r, size_t size)
{
	size_t at = 0, out = 0, cut = 0, used, count;
	char one[16];

	if (size == 0)
		return;
	for (; at < len; at += used) {
		one[0] = bytes[at];
		count = used = 1;
		if (!log_is_plain(bytes[at]))
			count = log_escape_one((const uint8_t *)bytes + at,
			    len - at, quotes, one, &used);
		if (out + 4 <= size)
			cut = out; /* "..." still fits behind here */
		if (out + count >= size)
			break;
		memcpy(text_r + out, one, count);
		out += count;
	}
	if (at < len && size >= 4) {
		memcpy(text_r + cut, "...", 3);
		out = cut + 3;
	}
	text_r[out] = '\0';
}

void
log_escape(const char *bytes, size_t len, char *text_r, size_t size)
{
	log_escape_into(bytes, len, true, text_r, size);
}

void
log_clean(const char *bytes, size_t len, char *text_r, size_t size)
{
	log_escape_into(bytes, len, false, text_r, size);
}

static void
log_put(struct log_line *line, const char *text)
{
	size_t len = strlen(text);

	if (line->full || line->len + len > line->limit) {
		line->full = true;
		return;
	}
	memcpy(line->text + line->len, text, len);
	line->len += len;
}

/* Days since 1970 to a civil date, Gregorian, without any library that
 * would look for a time zone. */
static void
log_civil(uint64_t days, unsigned *year_r, unsigned *month_r, unsigned *day_r)
{
	static const unsigned lengths[] = {
	    31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	unsigned year = 1970, month = 0, size;

	for (;; year++) {
		size = (year % 4 == 0 && (year % 100 != 0 || year % 400 == 0))
			   ? 366
			   : 365;
		if (days < size)
			break;
		days -= size;
	}
	for (;; month++) {
		unsigned length = lengths[month] + (month == 1 && size == 366);

		if (days < length)
			break;
		days -= length;
	}
	*year_r = year;
	*month_r = month + 1;
	*day_r = (unsigned)days + 1;
}

/* In decimal, as many digits as it needs but at least some. */
static void
log_put_digits(struct log_line *line, uint64_t number, unsigned least)
{
	char text[24];
	size_t at = sizeof(text) - 1;

	text[at] = '\0';
	while (number > 0 || least > 0) {
		text[--at] = (char)('0' + number % 10);
		number /= 10;
		least -= least > 0;
	}
	log_put(line, text + at);
}

static void
log_put_number(struct log_line *line, int64_t number)
{
	if (number < 0)
		log_put(line, "-");
	log_put_digits(
	    line, number < 0 ? -(uint64_t)number : (uint64_t)number, 1);
}

/* The second's text is made once for all that is logged in it. */
static void
log_put_time(struct log_line *line)
{
	static char text[64];
	static time_t made = -1;
	struct timespec now;
	unsigned year, month, day, second;

	if (clock_gettime(CLOCK_REALTIME, &now) != 0 || now.tv_sec < 0)
		memset(&now, 0, sizeof(now));
	if (now.tv_sec != made) {
		log_civil((uint64_t)now.tv_sec / 86400, &year, &month, &day);
		second = (unsigned)(now.tv_sec % 86400);
		(void)snprintf(text, sizeof(text),
		    "%04u-%02u-%02uT%02u:%02u:%02u.", year, month, day,
		    second / 3600, second / 60 % 60, second % 60);
		made = now.tv_sec;
	}
	log_put(line, text);
	log_put_digits(line, (uint64_t)now.tv_nsec / 1000000, 3);
	log_put(line, "Z");
}

void
log_request(
    char text_r[LOG_REQUEST_MAX], const char *run, char letter, uint64_t number)
{
	(void)snprintf(text_r, LOG_REQUEST_MAX, "%.64s.%c%lu",
	    run != NULL ? run : log_state.sandbox, letter, number);
}

static void
log_put_value(struct log_line *line, const struct log_field *field)
{
	char text[LOG_VALUE_MAX + 1];
	const char *bytes = field->text == NULL ? "" : field->text;
	size_t len = field->len;

	switch (field->kind) {
	case LOG_FIELD_TEXT:
		len = strlen(bytes);
		__attribute__((fallthrough));
	case LOG_FIELD_BYTES:
		log_escape(bytes, len, text, sizeof(text));
		break;
	case LOG_FIELD_REQUEST:
		log_request(text, field->text, (char)field->len,
		    (uint64_t)field->number);
		break;
	case LOG_FIELD_INT:
		log_put_number(line, field->number);
		return;
	case LOG_FIELD_UINT:
		log_put_digits(line, (uint64_t)field->number, 1);
		return;
	case LOG_FIELD_BOOL:
	case LOG_FIELD_END:
		log_put(line, field->number != 0 ? "true" : "false");
		return;
	}
	log_put(line, "\"");
	log_put(line, text);
	log_put(line, "\"");
}

static void
log_put_field(struct log_line *line, const struct log_field *field)
{
	if (field->kind == LOG_FIELD_REQUEST && field->number == 0)
		return;
	log_put(line, log_state.is_terminal ? " " : ",\"");
	log_put(line, field->key);
	log_put(line, log_state.is_terminal ? "=" : "\":");
	log_put_value(line, field);
}

static void
log_put_head(struct log_line *line, enum log_level level, const char *event)
{
	const struct log_field head[] = {LOG_TEXT("level", log_levels[level]),
	    LOG_TEXT("process", log_state.process),
	    LOG_TEXT("sandbox", log_state.sandbox), LOG_TEXT("event", event)};
	size_t i;

	if (log_state.is_terminal) {
		log_put_time(line);
		log_put(line, " ");
		log_put(line, log_levels[level]);
		log_put(line, " ");
		log_put(line, event);
		return;
	}
	log_put(line, "{\"ts\":\"");
	log_put_time(line);
	log_put(line, "\"");
	for (i = 0; i < sizeof(head) / sizeof(head[0]); i++)
		if (head[i].text[0] != '\0')
			log_put_field(line, &head[i]);
}

/* Hand the line to the descriptor in one write; false: not taken. */
static bool
log_line_write(const struct log_line *line)
{
	size_t skip = log_state.is_torn ? 0 : 1;
	ssize_t done;

	do {
		done = write(log_state.fd, line->text + skip, line->len - skip);
	} while (done < 0 && errno == EINTR);
	if (done == (ssize_t)(line->len - skip)) {
		log_state.is_torn = false;
		return true;
	}
	log_state.lost_errno = done < 0 ? errno : ENOSPC;
	if (done > 0)
		log_state.is_torn = true;
	return false;
}

static bool
log_line_send(
    enum log_level level, const char *event, const struct log_field *fields)
{
	struct log_line line = {
	    .len = 1, .limit = LOG_LINE_MAX - LOG_TAIL, .full = false};
	size_t mark;

	line.text[0] = '\n';
	log_put_head(&line, level, event);
	for (; fields->key != NULL && !line.full; fields++) {
		mark = line.len;
		log_put_field(&line, fields);
		if (line.full)
			line.len = mark;
	}
	line.limit = LOG_LINE_MAX;
	if (line.full) {
		line.full = false;
		log_put(
		    &line, log_state.is_terminal ? " cut" : ",\"cut\":true");
	}
	log_put(&line, log_state.is_terminal ? "\n" : "}\n");
	return log_line_write(&line);
}

/* True when nothing is untold any more. */
static bool
log_tell_lost(void)
{
	const struct log_field fields[] = {LOG_UINT("count", log_state.lost),
	    LOG_TEXT("error", strerrorname_np(log_state.lost_errno)),
	    {NULL, LOG_FIELD_END, NULL, 0, 0}};

	if (log_state.lost > 0 &&
	    log_line_send(LOG_ERROR_LEVEL, "log_lost", fields))
		log_state.lost = 0;
	return log_state.lost == 0;
}

static void
log_emit(
    enum log_level level, const char *event, const struct log_field *fields)
{
	if (log_state.fd < 0)
		return;
	if (!log_tell_lost() || !log_line_send(level, event, fields))
		log_state.lost++;
}

static void
log_rate_tell(struct log_rate *rate)
{
	const struct log_field fields[] = {LOG_TEXT("of", rate->event),
	    LOG_UINT("count", rate->suppressed),
	    {NULL, LOG_FIELD_END, NULL, 0, 0}};

	if (rate->suppressed > 0)
		log_emit(LOG_WARN_LEVEL, "suppressed", fields);
	rate->suppressed = 0;
}

/* The counter of an event; when the table is full the last one is shared. */
static struct log_rate *
log_rate_find(const char *event)
{
	struct log_rate *rate;
	size_t i;

	for (i = 0; i < log_state.rate_count; i++)
		if (strncmp(log_state.rates[i].event, event,
			LOG_EVENT_MAX - 1) == 0)
			return &log_state.rates[i];
	if (log_state.rate_count == LOG_RATES_MAX)
		return &log_state.rates[LOG_RATES_MAX - 1];
	rate = &log_state.rates[log_state.rate_count++];
	(void)snprintf(rate->event, sizeof(rate->event), "%s",
	    log_state.rate_count == LOG_RATES_MAX ? "other" : event);
	return rate;
}

static bool
log_rate_allows(const char *event)
{
	struct log_rate *rate;
	struct timespec now = {0, 0};

	if (log_state.per_second == 0)
		return true;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	rate = log_rate_find(event);
	if (rate->second != (uint64_t)now.tv_sec) {
		log_rate_tell(rate);
		rate->second = (uint64_t)now.tv_sec;
		rate->count = 0;
	}
	if (rate->count < log_state.per_second) {
		rate->count++;
		return true;
	}
	rate->suppressed++;
	return false;
}

bool
log_is_wanted(enum log_level level)
{
	return log_state.fd >= 0 && level >= log_state.lowest;
}

void
log_write(
    enum log_level level, const char *event, const struct log_field *fields)
{
	int saved = errno;

	if (log_is_wanted(level) && log_rate_allows(event))
		log_emit(level, event, fields);
	errno = saved;
}

void
log_flush(void)
{
	int saved = errno;
	size_t i;

	for (i = 0; i < log_state.rate_count; i++)
		log_rate_tell(&log_state.rates[i]);
	if (log_state.fd >= 0)
		(void)log_tell_lost();
	errno = saved;
}

void
log_open(int fd, const char *process, enum log_level lowest)
{
	int saved = errno;

	memset(&log_state, 0, sizeof(log_state));
	log_state.fd = fd;
	log_state.process = process;
	log_state.lowest = lowest;
	log_state.per_second = LOG_RATE_DEFAULT;
	log_state.is_terminal = fd >= 0 && isatty(fd) == 1;
	errno = saved;
}

void
log_set_sandbox(const char *id)
{
	log_clean(id, strlen(id), log_state.sandbox, sizeof(log_state.sandbox));
}

void
log_replace_fd(int fd)
{
	if (log_state.fd >= 0)
		(void)close(log_state.fd);
	log_state.fd = fd;
	log_state.is_terminal = log_state.is_torn = false;
}

/* A confined process may not dup2; the lowest free number from 2 on is 2. */
void
log_replace_all(int fd)
{
	log_replace_fd(fd);
	(void)close(STDERR_FILENO);
	(void)fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO);
}

void
log_set_rate(unsigned per_second)
{
	log_state.per_second = per_second;
}

void
log_fatal(int code, const char *event, const char *detail)
{
	const struct log_field fields[] = {LOG_TEXT("detail", detail),
	    LOG_INT("exit_code", code), {NULL, LOG_FIELD_END, NULL, 0, 0}};

	log_emit(LOG_ERROR_LEVEL, event, fields);
	log_flush();
	exit(code);
}
