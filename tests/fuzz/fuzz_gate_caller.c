/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool package's server that says anything: each line is the server's,
 * one that begins with '>' is a job's arguments. Each job is answered once,
 * a result is strict JSON, and what the server gets is whole lines of it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/gate/gate_caller_wire.h"
#include "supervisor/gate/mcp_line.h"

#define FUZZ_GATE_CALLER_CAP 8192U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_gate_caller {
	struct mcp_session session;
	struct gate_caller caller;
	struct mcp_line heard;
	struct mcp_json json;
	uint64_t asked, answered, now;
};

static void
fuzz_gate_caller_check(
    struct fuzz_gate_caller *fuzz, const char *bytes, size_t len)
{
	size_t position;

	if (mcp_json_check(&fuzz->json, bytes, len, &position) != MCP_JSON_OK)
		abort();
}

/* What the server gets, and what the caller hears. */
static void
fuzz_gate_caller_turn(struct fuzz_gate_caller *fuzz)
{
	struct buffer *out = &fuzz->session.out[MCP_CLIENT];
	const char *bytes;
	uint64_t len;
	struct gate_caller_job *job;

	while (out->len > 0) {
		size_t part =
		    out->len < MCP_LINE_CHUNK ? out->len : MCP_LINE_CHUNK;

		if (mcp_line_append(&fuzz->heard,
			(const char *)buffer_bytes_borrow(out),
			part) != RESULT_OK)
			abort();
		buffer_consume(out, part);
		while (
		    mcp_line_next(&fuzz->heard, &bytes, &len) == MCP_LINE_READY)
			gate_caller_wire_line(&fuzz->caller, &fuzz->session,
			    bytes, (size_t)len, fuzz->now);
	}
	gate_caller_pump(&fuzz->caller, &fuzz->session, fuzz->now);
	out = &fuzz->session.out[MCP_SERVER];
	while (out->len > 0) {
		bytes = (const char *)buffer_bytes_borrow(out);
		len = (uint64_t)((const char *)memchr(bytes, '\n', out->len) -
				 bytes);
		fuzz_gate_caller_check(fuzz, bytes, (size_t)len);
		buffer_consume(out, (size_t)len + 1);
	}
	while ((job = gate_caller_answered(&fuzz->caller)) != NULL) {
		if (++fuzz->answered > fuzz->asked)
			abort();
		if (job->code[0] == '\0')
			fuzz_gate_caller_check(fuzz,
			    (const char *)buffer_bytes_borrow(&job->bytes),
			    job->bytes.len);
		gate_caller_forget(job);
	}
}

static void
fuzz_gate_caller_line(
    struct fuzz_gate_caller *fuzz, const char *bytes, size_t len)
{
	char *copy = malloc(len == 0 ? 1 : len);

	if (copy == NULL)
		abort();
	memcpy(copy, bytes, len);
	if (len > 0 && copy[0] == '>') {
		if (fuzz->asked - fuzz->answered < GATE_CALLER_JOBS_MAX)
			gate_caller_job(&fuzz->caller, &fuzz->session,
			    ++fuzz->asked, len == 1, len % 2 == 0 ? "t" : NULL,
			    copy + 1, len - 1);
	} else if (len <= FUZZ_GATE_CALLER_CAP) {
		mcp_session_line(
		    &fuzz->session, MCP_SERVER, copy, len, fuzz->now);
	}
	free(copy);
	fuzz->now += 10;
	fuzz_gate_caller_turn(fuzz);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct mcp_hash_key key = {9, 10};
	static const struct gate_caller_limits limits = {
	    500, 300, FUZZ_GATE_CALLER_CAP / 2, 1024};
	static const struct mcp_session_limits none = {0, 0};
	static const struct mcp_policy policy = {
	    .community = true, .package = "p"};
	struct fuzz_gate_caller *fuzz = calloc(1, sizeof(*fuzz));
	const char *p = (const char *)data, *end = p + size, *lf;

	if (fuzz == NULL || mcp_session_init(&fuzz->session, &policy,
				FUZZ_GATE_CALLER_CAP, &none, &key) != RESULT_OK)
		abort();
	mcp_json_init(&fuzz->json, &key);
	mcp_line_init(&fuzz->heard, FUZZ_GATE_CALLER_CAP * 2);
	gate_caller_init(&fuzz->caller, &limits, &key);
	gate_caller_wire_begin(&fuzz->caller, &fuzz->session, fuzz->now);
	while (p < end) {
		lf = memchr(p, '\n', (size_t)(end - p));
		if (lf == NULL)
			lf = end;
		fuzz_gate_caller_line(fuzz, p, (size_t)(lf - p));
		p = lf + (lf < end ? 1 : 0);
	}
	gate_caller_end(&fuzz->caller, "tool_ended", "");
	fuzz_gate_caller_turn(fuzz);
	if (fuzz->answered != fuzz->asked)
		abort();
	gate_caller_free(&fuzz->caller);
	mcp_line_free(&fuzz->heard);
	mcp_json_free(&fuzz->json);
	mcp_session_free(&fuzz->session);
	free(fuzz);
	return 0;
}
