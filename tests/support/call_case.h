/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request against the shipped providers, for tests and the fuzzer: load,
 * feed in pieces, look at the outcome.
 */
#ifndef TESTS_SUPPORT_CALL_CASE_H
#define TESTS_SUPPORT_CALL_CASE_H

#include "llm-broker/call_request.h"

#define CALL_CASE_PORT 4100
/* All three providers, one model each but gemini, which has any. */
#define CALL_CASE_GRANT                                                     \
	"{\"providers\":[{\"name\":\"openai\",\"models\":[\"gpt-4o-mini\"," \
	"\"text-embedding-3-small\"]},{\"name\":\"anthropic\",\"models\":[" \
	"\"claude-sonnet-4-5\"]},{\"name\":\"gemini\"}],"                   \
	"\"default\":{\"provider\":\"openai\",\"model\":\"gpt-4o-mini\"},"  \
	"\"ledger\":true}"

struct call_case {
	struct provider *providers[4]; /* NULL-terminated */
	struct grant *grant;
};

/* folder: of the provider files. Ends the process when it cannot. */
void call_case_open(
    struct call_case *call_case, const char *folder, const char *grant);
void call_case_close(struct call_case *call_case);

/* Feed bytes in pieces; 100-continue is answered by going on, and noted. The
 * caller frees the request. */
enum call_request_status call_case_feed(const struct call_case *call_case,
    const char *bytes, size_t len, size_t piece,
    struct call_request **request_r, size_t *used_r, bool *continued_r);

/* "METHOD PATH", more header lines (each ended by \r\n), a body of its own
 * length (NULL: none): a whole request in out. */
void call_case_write(struct buffer *out, const char *line, const char *headers,
    const char *body);

/* One row of a table of requests; each becomes a test of its name. */
struct call_case_row {
	const char *name, *line, *headers, *body;
	enum call_code code; /* CALL_OK: it passes */
	unsigned status;     /* 0: the code's */
	/* In the detail, or (passing) in head and body upstream. NULL: any. */
	const char *has;
	const char *lacks; /* not in head and body upstream, in any case */
};

/* Runs the row whole and byte by byte; fails the running test otherwise. */
void call_case_check(
    const struct call_case *call_case, const struct call_case_row *row);

#endif
