/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole conversation: lines that begin with '>' are the client's, all
 * others the server's. Whatever they say, each side only ever gets whole
 * lines of strict JSON-RPC without a stray CR, a community server never
 * sees a capability it could ask the client by, and buffers stay bounded.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/gate/mcp_session.h"

#define FUZZ_MCP_SESSION_CAP 4096U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const fuzz_mcp_session_tools[] = {"echo", "add"};

/* One line a side would get. */
static void
fuzz_mcp_session_check(
    struct mcp_session *session, const char *bytes, size_t len, int to_server)
{
	static struct mcp_message message;
	enum mcp_json_fault json;
	struct mcp_span capabilities;
	size_t i, position;

	if (mcp_message_parse(&session->json, bytes, len, &message, &json,
		&position) != MCP_FAULT_NONE) {
		/* The one thing we say that is no request or answer of
		 * the strict kind: an error without an id. */
		if (memmem(bytes, len, "\"id\":null,\"error\"", 17) == NULL)
			abort();
		return;
	}
	for (i = 0; i < message.count; i++) {
		const struct mcp_entry *entry = &message.entries[i];

		if (!to_server || strcmp(entry->method, "initialize") != 0)
			continue;
		capabilities = mcp_cursor_find(entry->params, "capabilities");
		if (mcp_cursor_find(capabilities, "roots").bytes != NULL ||
		    mcp_cursor_find(capabilities, "sampling").bytes != NULL)
			abort();
	}
}

static void
fuzz_mcp_session_drain(struct mcp_session *session, enum mcp_side side)
{
	struct buffer *out = &session->out[side];
	const char *bytes, *lf;

	while (out->len > 0) {
		bytes = (const char *)buffer_bytes_borrow(out);
		lf = memchr(bytes, '\n', out->len);
		if (lf == NULL)
			abort();
		fuzz_mcp_session_check(
		    session, bytes, (size_t)(lf - bytes), side == MCP_SERVER);
		buffer_consume(out, (size_t)(lf - bytes) + 1);
	}
}

static void
fuzz_mcp_session_line(
    struct mcp_session *session, const char *bytes, size_t len, uint64_t now)
{
	enum mcp_side from = MCP_SERVER;
	struct mcp_peek peek;
	char *copy;

	if (len > 0 && bytes[0] == '>') {
		from = MCP_CLIENT;
		bytes++;
		len--;
	}
	/* Exactly as large as it is, so that a read past it is seen. */
	copy = malloc(len == 0 ? 1 : len);
	if (copy == NULL)
		abort();
	memcpy(copy, bytes, len);
	if (len > FUZZ_MCP_SESSION_CAP) {
		mcp_peek_start(&peek);
		mcp_peek_feed(&peek, copy, len);
		mcp_session_too_long(session, from, &peek, len);
	} else {
		mcp_session_line(session, from, copy, len, now);
	}
	free(copy);
	if (session->result != RESULT_OK)
		abort();
	fuzz_mcp_session_drain(session, MCP_CLIENT);
	fuzz_mcp_session_drain(session, MCP_SERVER);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct mcp_hash_key key = {9, 10};
	struct mcp_policy policy = {.community = true,
	    .resources = true,
	    .prompts = true,
	    .package = "p"};
	struct mcp_session_limits limits = {5, 7};
	struct mcp_session session;
	const char *p = (const char *)data, *end = p + size, *lf;
	uint64_t now = 0;

	if (size > 0 && (data[0] & 1) != 0) {
		policy.has_tools = true;
		policy.tools = fuzz_mcp_session_tools;
		policy.tool_count = 2;
	}
	if (mcp_session_init(&session, &policy, FUZZ_MCP_SESSION_CAP, &limits,
		&key) != RESULT_OK)
		abort();
	while (p < end) {
		lf = memchr(p, '\n', (size_t)(end - p));
		if (lf == NULL)
			lf = end;
		fuzz_mcp_session_line(&session, p, (size_t)(lf - p), now++);
		mcp_session_tick(&session, now);
		fuzz_mcp_session_drain(&session, MCP_CLIENT);
		fuzz_mcp_session_drain(&session, MCP_SERVER);
		p = lf + (lf < end ? 1 : 0);
	}
	mcp_session_server_ended(&session, " (exit 1)");
	fuzz_mcp_session_drain(&session, MCP_CLIENT);
	mcp_session_free(&session);
	return 0;
}
