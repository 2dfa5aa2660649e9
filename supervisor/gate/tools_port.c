/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an agent may ask and what becomes of it. Called by tools_io, the
 * link to the supervisor and the machine tests; it must never
 * answer a request twice.
 */
#include "supervisor/gate/tools_port.h"

#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "supervisor/gate/tools_port_call.h"
#include "supervisor/gate/tools_port_reply.h"

void
tools_port_init(struct tools_port *port,
    const struct tools_port_options *options, struct tools_grant *grant,
    const struct mcp_hash_key *key, const struct tools_port_hooks *hooks,
    void *context)
{
	memset(port, 0, sizeof(*port));
	port->options = *options;
	port->hooks = *hooks;
	port->context = context;
	port->grant = grant;
	mcp_json_init(&port->json, key);
	for (size_t i = 0; i < TOOLS_PORT_CONNS; i++)
		tools_conn_init(&port->conns[i]);
	for (size_t i = 0; i < TOOLS_GRANT_PACKAGES_MAX; i++)
		tools_listing_init(&port->listings[i]);
}

void
tools_port_free(struct tools_port *port)
{
	mcp_json_free(&port->json);
	for (size_t i = 0; i < TOOLS_PORT_CONNS; i++)
		tools_conn_close(&port->conns[i]);
	for (size_t i = 0; i < TOOLS_GRANT_PACKAGES_MAX; i++)
		tools_listing_free(&port->listings[i]);
}

/* --- requests ----------------------------------------------------------- */

static void
tools_port_result(struct tools_port *port, size_t connection,
    const struct tools_body *body, uint64_t now_ms)
{
	struct tools_answer to = tools_port_reply_to(port, connection);

	if (port->result_given) {
		tools_port_reply_refuse(
		    port, connection, TOOLS_FAULT_GIVEN, "result", "", now_ms);
		return;
	}
	port->result_given = true;
	port->result_ok = body->ok;
	memcpy(port->result_code, body->code, sizeof(port->result_code));
	log_event(LOG_INFO_LEVEL, "tools_result", LOG_BOOL("ok", body->ok),
	    LOG_TEXT("code", body->code), LOG_UINT("bytes", body->value.len));
	port->hooks.result(body, port->context);
	tools_port_reply_written(
	    port, connection, tools_answer_taken(&to), now_ms);
}

/* The one dispatch over what a body asks for. */
static void
tools_port_serve(struct tools_port *port, size_t connection, uint64_t now_ms)
{
	struct tools_conn *conn = &port->conns[connection];
	char none[1] = "", *bytes = none;
	struct tools_body body;
	struct tools_answer to;
	enum tools_fault fault;

	if (conn->body.len > 0)
		bytes = (char *)conn->body.data + conn->body.start;
	tools_body_flatten(bytes, conn->body.len);
	fault = tools_body_read(
	    &port->json, conn->request.path, bytes, conn->body.len, &body);
	tools_conn_keep_id(conn, body.id);
	if (fault != TOOLS_FAULT_NONE) {
		tools_port_reply_refuse(port, connection, fault,
		    tools_request_path_text(conn->request.path), body.detail,
		    now_ms);
		return;
	}
	to = tools_port_reply_to(port, connection);
	switch (body.ask) {
	case TOOLS_ASK_CALL:
		tools_port_call_tool(port, connection, &body, now_ms);
		break;
	case TOOLS_ASK_LIST:
		tools_port_call_list(port, connection, now_ms);
		break;
	case TOOLS_ASK_RESULT:
		tools_port_result(port, connection, &body, now_ms);
		break;
	case TOOLS_ASK_CANCEL:
		tools_port_call_cancel(port, connection, body.cancels, now_ms);
		tools_port_reply_written(
		    port, connection, tools_answer_nothing(&to), now_ms);
		break;
	case TOOLS_ASK_INITIALIZE:
		to.session = ++port->last_session;
		tools_port_reply_written(port, connection,
		    tools_answer_initialize(&to, body.version), now_ms);
		break;
	case TOOLS_ASK_PING:
		tools_port_reply_written(
		    port, connection, tools_answer_ping(&to), now_ms);
		break;
	case TOOLS_ASK_NOTHING:
		tools_port_reply_written(
		    port, connection, tools_answer_nothing(&to), now_ms);
		break;
	}
}

static void
tools_port_advance(struct tools_port *port, size_t connection, uint64_t now_ms)
{
	struct tools_conn *conn = &port->conns[connection];
	const size_t body_max[TOOLS_PATH_MCP + 1] = {
	    [TOOLS_PATH_RPC] =
		port->options.arguments_max + TOOLS_PORT_BODY_RESERVE,
	    [TOOLS_PATH_RESULT] = port->options.result_max,
	    [TOOLS_PATH_MCP] =
		port->options.arguments_max + TOOLS_PORT_BODY_RESERVE,
	};
	enum tools_fault fault = TOOLS_FAULT_NONE;

	switch (tools_conn_read(
	    conn, port->options.port, body_max, now_ms, &fault)) {
	case TOOLS_CONN_MORE:
		break;
	case TOOLS_CONN_REQUEST:
		tools_port_serve(port, connection, now_ms);
		break;
	case TOOLS_CONN_REFUSED:
		tools_port_reply_refuse(
		    port, connection, fault, "http", "", now_ms);
		break;
	}
}

/* --- what happens to connections ---------------------------------------- */

/* One that only just came may have its request on the way. */
static bool
tools_port_may_go(const struct tools_conn *conn, uint64_t now_ms)
{
	return tools_conn_is_idle(conn) &&
	       now_ms - conn->since_ms >= TOOLS_PORT_REST_MS;
}

bool
tools_port_has_room(const struct tools_port *port, uint64_t now_ms)
{
	for (size_t i = 0; i < TOOLS_PORT_CONNS; i++) {
		if (port->conns[i].state == TOOLS_CONN_FREE ||
		    tools_port_may_go(&port->conns[i], now_ms))
			return true;
	}
	return false;
}

size_t
tools_port_accept(struct tools_port *port, size_t *evicted_r, uint64_t now_ms)
{
	size_t oldest = TOOLS_PORT_CONNS;

	*evicted_r = TOOLS_PORT_CONNS;
	for (size_t i = 0; i < TOOLS_PORT_CONNS; i++) {
		struct tools_conn *conn = &port->conns[i];

		if (conn->state == TOOLS_CONN_FREE) {
			oldest = i;
			break;
		}
		if (tools_port_may_go(conn, now_ms) &&
		    (oldest == TOOLS_PORT_CONNS ||
			conn->since_ms < port->conns[oldest].since_ms))
			oldest = i;
	}
	if (oldest == TOOLS_PORT_CONNS)
		return oldest;
	if (port->conns[oldest].state != TOOLS_CONN_FREE) {
		*evicted_r = oldest;
		tools_conn_close(&port->conns[oldest]);
	}
	tools_conn_open(&port->conns[oldest],
	    port->options.answer_max +
		TOOLS_GRANT_PACKAGES_MAX * (TOOLS_LISTING_MAX + 1) +
		TOOLS_ANSWER_RESERVE,
	    now_ms);
	return oldest;
}

static bool
tools_port_is_crowded(const struct tools_port *port, size_t more)
{
	size_t held = more;

	for (size_t i = 0; i < TOOLS_PORT_CONNS; i++)
		held += port->conns[i].in.len + port->conns[i].body.len;
	return held > TOOLS_PORT_HELD_MAX;
}

void
tools_port_bytes(struct tools_port *port, size_t connection, const char *bytes,
    size_t len, uint64_t now_ms)
{
	struct tools_conn *conn = &port->conns[connection];

	if (conn->state == TOOLS_CONN_LINGERING)
		return;
	if (!tools_conn_is_served(conn) && tools_port_is_crowded(port, len)) {
		conn->refused = true;
		conn->request.keep = false;
		tools_port_reply_refuse(
		    port, connection, TOOLS_FAULT_CROWDED, "http", "", now_ms);
		return;
	}
	if (tools_conn_bytes(conn, bytes, len, now_ms) == RESULT_OK)
		tools_port_advance(port, connection, now_ms);
	else
		tools_port_gone(port, connection, now_ms);
}

void
tools_port_gone(struct tools_port *port, size_t connection, uint64_t now_ms)
{
	tools_port_call_drop(port, connection);
	tools_conn_close(&port->conns[connection]);
	tools_port_call_move(port, now_ms);
}

void
tools_port_wrote(struct tools_port *port, size_t connection, uint64_t now_ms)
{
	struct tools_conn *conn = &port->conns[connection];

	if (conn->state != TOOLS_CONN_REPLYING)
		return;
	conn->deadline_ms = now_ms + TOOLS_CONN_STALL_MS;
	if (conn->out.len > 0)
		return;
	buffer_free(&conn->out);
	conn->heavy = false;
	if (conn->refused) {
		tools_conn_enter(conn, TOOLS_CONN_LINGERING, now_ms);
	} else if (!conn->request.keep) {
		tools_conn_close(conn);
	} else {
		tools_conn_enter(conn, TOOLS_CONN_HEAD, now_ms);
		if (conn->in.len > 0)
			conn->deadline_ms = now_ms + TOOLS_CONN_HEAD_MS;
		tools_port_advance(port, connection, now_ms);
	}
	tools_port_call_move(port, now_ms);
}

void
tools_port_answer(struct tools_port *port, uint64_t id, const char *code,
    const char *detail, const char *bytes, size_t len, uint64_t now_ms)
{
	tools_port_call_answered(port, id, code, detail, bytes, len, now_ms);
}

/* --- time and questions ------------------------------------------------- */

static void
tools_port_overdue(struct tools_port *port, size_t connection, uint64_t now_ms)
{
	struct tools_conn *conn = &port->conns[connection];
	bool mid = conn->state == TOOLS_CONN_BODY ||
		   (conn->state == TOOLS_CONN_HEAD && conn->in.len > 0);

	if (!mid) {
		tools_port_gone(port, connection, now_ms);
		return;
	}
	conn->refused = true;
	conn->request.keep = false;
	tools_port_reply_refuse(
	    port, connection, TOOLS_FAULT_SLOW, "http", "", now_ms);
}

void
tools_port_time(struct tools_port *port, uint64_t now_ms)
{
	for (size_t i = 0; i < TOOLS_PORT_CONNS; i++) {
		uint64_t deadline = port->conns[i].deadline_ms;

		if (deadline != 0 && now_ms >= deadline)
			tools_port_overdue(port, i, now_ms);
	}
	tools_port_call_move(port, now_ms);
	tools_tally_flush(
	    &port->tally, now_ms, false, port->hooks.refused, port->context);
}

void
tools_port_end(struct tools_port *port, uint64_t now_ms)
{
	tools_tally_flush(
	    &port->tally, now_ms, true, port->hooks.refused, port->context);
}

bool
tools_port_wants(const struct tools_port *port, size_t connection)
{
	return tools_conn_wants(&port->conns[connection]);
}

struct buffer *
tools_port_output(struct tools_port *port, size_t connection)
{
	return &port->conns[connection].out;
}

bool
tools_port_is_open(const struct tools_port *port, size_t connection)
{
	return port->conns[connection].state != TOOLS_CONN_FREE;
}

uint64_t
tools_port_next_ms(const struct tools_port *port)
{
	uint64_t next = port->tally.due_ms;

	for (size_t i = 0; i < TOOLS_PORT_CONNS; i++) {
		uint64_t deadline = port->conns[i].deadline_ms;

		if (deadline != 0 && (next == 0 || deadline < next))
			next = deadline;
	}
	return next;
}
