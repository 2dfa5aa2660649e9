/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of a process: one JSON object per line on a descriptor, or human
 * text where the descriptor is a terminal. Foreign bytes are escaped and
 * capped: no C0, C1 or DEL byte ever reaches the output, invalid UTF-8 is
 * replaced. Lines of one kind beyond a rate become one counted summary.
 * The only global of the project is the log's state. Used by all.
 *
 * A line: {"ts":"2026-01-02T03:04:05.678Z","level":"info","process":"...",
 *          "sandbox":"...","event":"...", fields ...}
 */
#ifndef COMMON_LOG_H
#define COMMON_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level {
	LOG_DEBUG_LEVEL,
	LOG_INFO_LEVEL,
	LOG_WARN_LEVEL,
	LOG_ERROR_LEVEL
};

enum log_kind {
	LOG_FIELD_END,
	LOG_FIELD_TEXT,
	LOG_FIELD_BYTES,
	LOG_FIELD_INT,
	LOG_FIELD_UINT,
	LOG_FIELD_BOOL,
	LOG_FIELD_REQUEST
};

/* One field of a line; build with the macros below. */
struct log_field {
	const char *key;
	enum log_kind kind;
	const char *text; /* TEXT: NUL-terminated; BYTES: len bytes */
	size_t len;
	int64_t number;
};

#define LOG_FIELD(k, kind, text, len, n)      \
	{                                     \
		(k), (kind), (text), (len), n \
	}
#define LOG_TEXT(k, v) LOG_FIELD(k, LOG_FIELD_TEXT, v, 0, 0)
#define LOG_BYTES(k, v, n) \
	LOG_FIELD(k, LOG_FIELD_BYTES, (const char *)(v), n, 0)
#define LOG_INT(k, v) LOG_FIELD(k, LOG_FIELD_INT, NULL, 0, (int64_t)(v))
#define LOG_UINT(k, v) LOG_FIELD(k, LOG_FIELD_UINT, NULL, 0, (int64_t)(v))
#define LOG_BOOL(k, v) LOG_FIELD(k, LOG_FIELD_BOOL, NULL, 0, (v) ? 1 : 0)

/* "request":"RUN.l7", the id of one request in every process that has part in
 * it: c a connection, l a call of a model, t of a tool, m of an MCP client;
 * run NULL: the log's own sandbox; number 0: no such field. */
#define LOG_REQUEST(run, letter, n) \
	LOG_FIELD("request", LOG_FIELD_REQUEST, run, letter, (int64_t)(n))
/* The same text, for a message that carries it. */
#define LOG_REQUEST_MAX 96U
void log_request(char text_r[LOG_REQUEST_MAX], const char *run, char letter,
    uint64_t number);

/* Longest value of one field after escaping, bytes; longer is cut with
 * "...". Longest line. */
#define LOG_VALUE_MAX 512U
#define LOG_LINE_MAX 4096U

/* Start logging to fd (borrowed, may be -1 = nowhere). process is static. */
void log_open(int fd, const char *process, enum log_level lowest);
void log_set_sandbox(const char *id); /* copied, at most 63 bytes */
/* After rotation: takes fd, closes the old one; fd is a file. */
void log_replace_fd(int fd);
/* The same for a process whose standard error is its log (child.h). */
void log_replace_all(int fd);

/* Write one line: log_event(LOG_INFO_LEVEL, "egress_decision",
 *   LOG_TEXT("host", h), LOG_INT("port", p)). Keeps errno. */
#define log_event(...) \
	LOG_EVENT_END(__VA_ARGS__, {NULL, LOG_FIELD_END, NULL, 0, 0})
#define LOG_EVENT_END(level, event, ...)                                     \
	(log_is_wanted(level) ? log_write((level), (event),                  \
				    (const struct log_field[]){__VA_ARGS__}) \
			      : (void)0)
bool log_is_wanted(enum log_level level);
void log_write(
    enum log_level level, const char *event, const struct log_field *fields);

/* Lines per event name and second before the rest is counted; the summary
 * line has event "suppressed", of=NAME, count=N. 0 = no limit. log_open
 * sets LOG_RATE_DEFAULT. Lines the descriptor did not take are counted too
 * and told by the next line that gets through: event "log_lost". */
#define LOG_RATE_DEFAULT 100U
void log_set_rate(unsigned per_second);
/* Write pending summaries (call from a timer and at exit). */
void log_flush(void);

/* Escape bytes as the log does, into text_r (always terminated): the inside
 * of a JSON string. log_clean leaves quotes and backslashes alone: for
 * sentences shown to a person. What does not fit is cut, with "...". */
void log_escape(const char *bytes, size_t len, char *text_r, size_t size);
void log_clean(const char *bytes, size_t len, char *text_r, size_t size);

/* A broken invariant or failed confinement: one line, then exit(code). */
_Noreturn void log_fatal(int code, const char *event, const char *detail);

#endif
