/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A conversation with the tools port. Bytes are an agent's; a byte 0xff
 * with the one behind it is something else: time goes on, an answer is
 * written, a call is answered with the bytes up to the next 0xff. Whatever
 * comes: only granted tools are asked for, with one object of strict JSON
 * as arguments, and each answer is as long as its head says.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/gate/tools_port.h"

#define FUZZ_TOOLS_RPC_ARGUMENTS 512U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_tools_rpc {
	struct tools_port port;
	struct tools_grant grant;
	uint64_t call, now;
	unsigned results;
};

static bool
fuzz_tools_rpc_on_call(const struct tools_port_call *call, const char *package,
    struct mcp_span arguments, void *context)
{
	struct fuzz_tools_rpc *fuzz = context;
	bool all = strcmp(package, "alpha") == 0;
	struct mcp_json json;
	size_t position;

	if (!all && strcmp(package, "beta") != 0)
		abort();
	if (!all && !call->list && strcmp(call->tool, "get") != 0)
		abort();
	fuzz->call = call->id;
	if (call->list)
		return true;
	mcp_json_init(&json, &fuzz->port.json.key);
	if (mcp_json_check(&json, arguments.bytes, arguments.len, &position) !=
		MCP_JSON_OK ||
	    mcp_cursor_kind(mcp_cursor_value(arguments.bytes, arguments.len)) !=
		MCP_VALUE_OBJECT ||
	    arguments.len > FUZZ_TOOLS_RPC_ARGUMENTS)
		abort();
	mcp_json_free(&json);
	return (call->id & 7) != 7;
}

static void
fuzz_tools_rpc_on_result(const struct tools_body *body, void *context)
{
	struct fuzz_tools_rpc *fuzz = context;

	if (++fuzz->results > 1 || body->value.bytes == NULL)
		abort();
}

static void
fuzz_tools_rpc_on_cancel(
    const struct tools_port_call *call, const char *package, void *context)
{
	(void)context;
	if (call->id == 0 || call->list || package == NULL)
		abort();
}

static void
fuzz_tools_rpc_on_refused(const struct tools_tally_row *row, void *context)
{
	(void)context;
	if (row->count == 0 || row->fault == TOOLS_FAULT_NONE)
		abort();
}

/* Everything that waits to be written is whole answers. */
static void
fuzz_tools_rpc_read(struct fuzz_tools_rpc *fuzz, size_t client)
{
	struct buffer *out = tools_port_output(&fuzz->port, client);
	struct http_head head;
	uint64_t len;

	while (out->len > 0) {
		if (http_head_parse_response(
			(const char *)buffer_bytes_borrow(out), out->len,
			&head) != HTTP_HEAD_OK)
			abort();
		len = head.has_length ? head.content_length : 0;
		if ((head.status != 100 && !head.has_length) ||
		    len > out->len - head.head_len)
			abort();
		buffer_consume(out, head.head_len + (size_t)len);
		tools_port_wrote(&fuzz->port, client, fuzz->now);
	}
}

/* Whoever waits waits for something that will come. */
static void
fuzz_tools_rpc_check(const struct fuzz_tools_rpc *fuzz)
{
	const struct tools_port *port = &fuzz->port;
	size_t calls = 0, lists = 0, calling = 0, unread = 0;
	bool listing = false;

	for (size_t i = 0; i < TOOLS_PORT_CALLS_MAX; i++) {
		lists += port->calls[i].id != 0 && port->calls[i].list;
		calls += port->calls[i].id != 0 && !port->calls[i].list;
	}
	for (size_t i = 0; i < TOOLS_PORT_CONNS; i++) {
		const struct tools_conn *conn = &port->conns[i];

		calling += conn->state == TOOLS_CONN_CALLING;
		unread += conn->heavy;
		listing = listing || conn->state == TOOLS_CONN_LISTING;
		if (conn->heavy && conn->deadline_ms == 0)
			abort();
	}
	if (calls != calling || (listing && calls + lists + unread == 0))
		abort();
}

/* One command: what, and up to len bytes that belong to it. */
static void
fuzz_tools_rpc_command(struct fuzz_tools_rpc *fuzz, size_t *client,
    uint8_t what, const char *bytes, size_t len)
{
	size_t evicted;

	switch (what & 7) {
	case 0:
		fuzz->now += (uint64_t)what * 100;
		tools_port_time(&fuzz->port, fuzz->now);
		break;
	case 1:
		fuzz_tools_rpc_read(fuzz, *client);
		break;
	case 2:
		tools_port_answer(
		    &fuzz->port, fuzz->call, "", "", bytes, len, fuzz->now);
		break;
	case 3:
		tools_port_answer(&fuzz->port, fuzz->call, "tool_failed", "why",
		    NULL, 0, fuzz->now);
		break;
	case 4:
		tools_port_gone(&fuzz->port, *client, fuzz->now);
		break;
	default:
		*client = tools_port_accept(&fuzz->port, &evicted, fuzz->now);
		break;
	}
	if (*client == TOOLS_PORT_CONNS ||
	    !tools_port_is_open(&fuzz->port, *client))
		*client = tools_port_accept(&fuzz->port, &evicted, fuzz->now);
}

static void
fuzz_tools_rpc_play(
    struct fuzz_tools_rpc *fuzz, const uint8_t *data, size_t size)
{
	const uint8_t *p = data, *end = data + size, *next;
	size_t evicted, client;

	client = tools_port_accept(&fuzz->port, &evicted, fuzz->now);
	while (p < end && client < TOOLS_PORT_CONNS) {
		bool command = *p == 0xff && end - p >= 2;
		uint8_t what = command ? p[1] : 0;
		char *copy;
		size_t len;

		p += command ? 2 : 0;
		next = memchr(p, 0xff, (size_t)(end - p));
		len = (size_t)((next == NULL ? end : next) - p);
		/* Exactly as large as it is, so that a read past it shows. */
		copy = malloc(len == 0 ? 1 : len);
		if (copy == NULL)
			abort();
		memcpy(copy, p, len);
		if (command)
			fuzz_tools_rpc_command(fuzz, &client, what, copy, len);
		else if (len > 0 && tools_port_wants(&fuzz->port, client))
			tools_port_bytes(
			    &fuzz->port, client, copy, len, fuzz->now);
		free(copy);
		fuzz_tools_rpc_check(fuzz);
		if (!command && len == 0)
			p++;
		p += command && (what & 7) != 2 ? 0 : len;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct mcp_hash_key key = {9, 10};
	static const char *tools[] = {"get"};
	static const struct tools_port_hooks hooks = {fuzz_tools_rpc_on_call,
	    fuzz_tools_rpc_on_cancel, fuzz_tools_rpc_on_result,
	    fuzz_tools_rpc_on_refused};
	static const struct tools_port_options options = {.port = 4101,
	    .calls_at_once = 4,
	    .arguments_max = FUZZ_TOOLS_RPC_ARGUMENTS,
	    .result_max = 512,
	    .answer_max = 2048};
	struct fuzz_tools_rpc *fuzz = calloc(1, sizeof(*fuzz));

	if (fuzz == NULL)
		abort();
	fuzz->now = 1000;
	fuzz->grant.packages[0].slug = "alpha";
	fuzz->grant.packages[1].slug = "beta";
	fuzz->grant.packages[1].has_tools = true;
	fuzz->grant.packages[1].tools = tools;
	fuzz->grant.packages[1].tool_count = 1;
	fuzz->grant.count = 2;
	fuzz->grant.calls_max = 20;
	tools_port_init(
	    &fuzz->port, &options, &fuzz->grant, &key, &hooks, fuzz);
	fuzz_tools_rpc_play(fuzz, data, size);
	for (size_t i = 0; i < TOOLS_PORT_CONNS; i++)
		fuzz_tools_rpc_read(fuzz, i);
	tools_port_end(&fuzz->port, fuzz->now);
	tools_port_free(&fuzz->port);
	free(fuzz);
	return 0;
}
