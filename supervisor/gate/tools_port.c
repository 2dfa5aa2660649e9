/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an agent may ask and what becomes of it. Called by tools_io, the
 * link to the supervisor and the machine tests; it must never hand on a
 * call that tools_grant has not judged, nor answer a request twice.
 */
#include "supervisor/gate/tools_port.h"

#include <stdio.h>
#include <string.h>

#include "common/log.h"

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

/* --- answering ---------------------------------------------------------- */

static struct tools_answer
tools_port_to(struct tools_port *port, size_t connection)
{
	struct tools_conn *conn = &port->conns[connection];

	return (struct tools_answer){.out = &conn->out,
	    .path = conn->request.path,
	    .id = tools_conn_id(conn),
	    .keep = conn->request.keep};
}

/* An answer that cannot be held ends the connection. */
static void
tools_port_reply(struct tools_port *port, size_t connection,
    enum result written, uint64_t now_ms)
{
	struct tools_conn *conn = &port->conns[connection];

	conn->call = 0;
	buffer_free(&conn->body);
	if (written == RESULT_OK)
		tools_conn_enter(conn, TOOLS_CONN_REPLYING, now_ms);
	else
		tools_conn_close(conn);
}

static void
tools_port_refuse(struct tools_port *port, size_t connection,
    enum tools_fault fault, const char *target, const char *detail,
    uint64_t now_ms)
{
	struct tools_answer to = tools_port_to(port, connection);

	tools_tally_add(&port->tally, fault, target, now_ms);
	log_event(LOG_WARN_LEVEL, "tools_refused",
	    LOG_TEXT("code", tools_fault_row(fault)->code),
	    LOG_TEXT("target", target),
	    LOG_TEXT("why",
		detail[0] != '\0' ? detail : tools_fault_row(fault)->sentence));
	tools_port_reply(port, connection,
	    tools_answer_fault(&to, fault, NULL, detail), now_ms);
}

/* --- calls -------------------------------------------------------------- */

static struct tools_port_call *
tools_port_find_call(struct tools_port *port, uint64_t id)
{
	for (size_t i = 0; i < TOOLS_PORT_CALLS_MAX; i++) {
		if (port->calls[i].id == id)
			return &port->calls[i];
	}
	return NULL;
}

/* Calls on their way, and answers that are not read yet. */
static bool
tools_port_has_room(const struct tools_port *port)
{
	size_t used = 0;

	for (size_t i = 0; i < TOOLS_PORT_CALLS_MAX; i++)
		used += port->calls[i].id != 0;
	for (size_t i = 0; i < TOOLS_PORT_CONNS; i++)
		used += port->conns[i].heavy;
	return used < port->options.calls_at_once &&
	       used < TOOLS_PORT_CALLS_MAX;
}

/* A free row, filled; there is room. */
static struct tools_port_call *
tools_port_begin(struct tools_port *port, bool list, size_t package,
    size_t connection, uint64_t now_ms)
{
	struct tools_port_call *call = tools_port_find_call(port, 0);

	call->id = ++port->last_id;
	call->list = list;
	call->package = package;
	call->connection = connection;
	call->since_ms = now_ms;
	call->tool[0] = '\0';
	return call;
}

static bool
tools_port_send(struct tools_port *port, struct tools_port_call *call,
    struct mcp_span arguments)
{
	const char *slug = port->grant->packages[call->package].slug;

	log_event(LOG_INFO_LEVEL, "tools_call", LOG_UINT("call", call->id),
	    LOG_TEXT("package", slug), LOG_TEXT("tool", call->tool),
	    LOG_BOOL("list", call->list), LOG_UINT("arguments", arguments.len));
	if (port->hooks.call(call, slug, arguments, port->context))
		return true;
	call->id = 0;
	return false;
}

static void
tools_port_target(const struct tools_body *body, char *target_r, size_t size)
{
	(void)snprintf(target_r, size, "%s%s%s", body->slug,
	    body->tool[0] != '\0' ? "/" : "", body->tool);
}

static void
tools_port_call_tool(struct tools_port *port, size_t connection,
    struct tools_body *body, uint64_t now_ms)
{
	struct tools_conn *conn = &port->conns[connection];
	struct tools_port_call *call;
	char target[TOOLS_TALLY_TARGET];
	size_t package;
	enum tools_fault fault;

	fault = tools_grant_judge(port->grant, body, &package);
	tools_port_target(body, target, sizeof(target));
	if (fault == TOOLS_FAULT_NONE &&
	    body->arguments.len > port->options.arguments_max)
		fault = TOOLS_FAULT_ARGUMENTS;
	if (fault == TOOLS_FAULT_NONE && !tools_port_has_room(port))
		fault = TOOLS_FAULT_BUSY;
	if (fault != TOOLS_FAULT_NONE) {
		tools_port_refuse(
		    port, connection, fault, target, body->detail, now_ms);
		return;
	}
	call = tools_port_begin(port, false, package, connection, now_ms);
	memcpy(call->tool, body->tool, sizeof(call->tool));
	if (!tools_port_send(port, call, body->arguments)) {
		tools_port_refuse(
		    port, connection, TOOLS_FAULT_BUSY, target, "", now_ms);
		return;
	}
	port->grant->calls++;
	conn->call = call->id;
	buffer_free(&conn->body);
	tools_conn_enter(conn, TOOLS_CONN_CALLING, now_ms);
}

/* --- lists -------------------------------------------------------------- */

/* Ask packages for what somebody waits for; true when nobody is asked. */
static bool
tools_port_ask_lists(struct tools_port *port, bool begin, uint64_t now_ms)
{
	const struct mcp_span none = {NULL, 0};
	struct tools_port_call *call;
	bool all = true;

	for (size_t i = 0; i < port->grant->count; i++) {
		struct tools_listing *listing = &port->listings[i];

		if (tools_listing_is_wanted(listing) &&
		    (begin || listing->state == TOOLS_LISTING_UNKNOWN)) {
			all = false;
			if (!tools_port_has_room(port))
				continue;
			tools_listing_asked(listing);
			call = tools_port_begin(
			    port, true, i, TOOLS_PORT_CONNS, now_ms);
			if (!tools_port_send(port, call, none))
				(void)tools_listing_take(
				    listing, &port->grant->packages[i], none);
		}
		all = all && listing->state != TOOLS_LISTING_ASKED;
	}
	return all;
}

static void
tools_port_tell_list(
    struct tools_port *port, size_t connection, uint64_t now_ms)
{
	struct tools_answer to = tools_port_to(port, connection);

	tools_port_reply(port, connection,
	    tools_answer_list(&to, port->listings, port->grant->count), now_ms);
}

/* Something ended: there may be room to ask, or nothing left to ask. */
static void
tools_port_lists_move(struct tools_port *port, uint64_t now_ms)
{
	bool waited = false;

	for (size_t i = 0; i < TOOLS_PORT_CONNS; i++)
		waited |= port->conns[i].state == TOOLS_CONN_LISTING;
	if (!waited || !tools_port_ask_lists(port, false, now_ms))
		return;
	for (size_t i = 0; i < TOOLS_PORT_CONNS; i++) {
		if (port->conns[i].state == TOOLS_CONN_LISTING)
			tools_port_tell_list(port, i, now_ms);
	}
}

static void
tools_port_list(struct tools_port *port, size_t connection, uint64_t now_ms)
{
	struct tools_conn *conn = &port->conns[connection];

	buffer_free(&conn->body);
	if (tools_port_ask_lists(port, true, now_ms))
		tools_port_tell_list(port, connection, now_ms);
	else
		tools_conn_enter(conn, TOOLS_CONN_LISTING, now_ms);
}

/* --- requests ----------------------------------------------------------- */

static void
tools_port_result(struct tools_port *port, size_t connection,
    const struct tools_body *body, uint64_t now_ms)
{
	struct tools_answer to = tools_port_to(port, connection);

	if (port->result_given) {
		tools_port_refuse(
		    port, connection, TOOLS_FAULT_GIVEN, "result", "", now_ms);
		return;
	}
	port->result_given = true;
	port->result_ok = body->ok;
	memcpy(port->result_code, body->code, sizeof(port->result_code));
	log_event(LOG_INFO_LEVEL, "tools_result", LOG_BOOL("ok", body->ok),
	    LOG_TEXT("code", body->code), LOG_UINT("bytes", body->value.len));
	port->hooks.result(body, port->context);
	tools_port_reply(port, connection, tools_answer_taken(&to), now_ms);
}

/* The one dispatch over what a body asks for. */
static void
tools_port_serve(struct tools_port *port, size_t connection, uint64_t now_ms)
{
	struct tools_conn *conn = &port->conns[connection];
	char *bytes = (char *)conn->body.data + conn->body.start;
	struct tools_body body;
	struct tools_answer to;
	enum tools_fault fault;

	if (conn->body.len > 0)
		tools_body_flatten(bytes, conn->body.len);
	fault = tools_body_read(&port->json, conn->request.path,
	    conn->body.len > 0 ? bytes : "", conn->body.len, &body);
	tools_conn_keep_id(conn, body.id);
	if (fault != TOOLS_FAULT_NONE) {
		tools_port_refuse(port, connection, fault,
		    tools_request_path_text(conn->request.path), body.detail,
		    now_ms);
		return;
	}
	to = tools_port_to(port, connection);
	switch (body.ask) {
	case TOOLS_ASK_CALL:
		tools_port_call_tool(port, connection, &body, now_ms);
		break;
	case TOOLS_ASK_LIST:
		tools_port_list(port, connection, now_ms);
		break;
	case TOOLS_ASK_RESULT:
		tools_port_result(port, connection, &body, now_ms);
		break;
	case TOOLS_ASK_INITIALIZE:
		tools_port_reply(port, connection,
		    tools_answer_initialize(&to, body.version), now_ms);
		break;
	case TOOLS_ASK_PING:
		tools_port_reply(
		    port, connection, tools_answer_ping(&to), now_ms);
		break;
	case TOOLS_ASK_NOTHING:
		tools_port_reply(
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
		tools_port_refuse(port, connection, fault, "http", "", now_ms);
		break;
	}
}

/* --- what happens to connections ---------------------------------------- */

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
		if (tools_conn_is_idle(conn) &&
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
	if (tools_port_is_crowded(port, len)) {
		conn->refused = true;
		conn->request.keep = false;
		tools_port_refuse(
		    port, connection, TOOLS_FAULT_CROWDED, "http", "", now_ms);
		return;
	}
	if (tools_conn_bytes(conn, bytes, len, now_ms) == RESULT_OK)
		tools_port_advance(port, connection, now_ms);
	else
		tools_port_broken(port, connection);
}

/* Nobody is there for its call any more; the call goes on. */
void
tools_port_broken(struct tools_port *port, size_t connection)
{
	for (size_t i = 0; i < TOOLS_PORT_CALLS_MAX; i++) {
		if (port->calls[i].connection == connection)
			port->calls[i].connection = TOOLS_PORT_CONNS;
	}
	tools_conn_close(&port->conns[connection]);
}

void
tools_port_eof(struct tools_port *port, size_t connection, uint64_t now_ms)
{
	(void)now_ms;
	tools_port_broken(port, connection);
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
	tools_port_lists_move(port, now_ms);
}

/* --- what comes back ---------------------------------------------------- */

/* The checked value, or absent. */
static struct mcp_span
tools_port_value(struct tools_port *port, const char *bytes, size_t len)
{
	size_t position;

	if (bytes == NULL || len > port->options.answer_max ||
	    mcp_json_check(&port->json, bytes, len, &position) != MCP_JSON_OK)
		return (struct mcp_span){NULL, 0};
	return mcp_cursor_value(bytes, len);
}

static void
tools_port_answer_call(struct tools_port *port, size_t connection,
    const char *code, const char *detail, struct mcp_span value,
    uint64_t now_ms)
{
	struct tools_answer to = tools_port_to(port, connection);
	enum result written;

	if (code[0] != '\0') {
		written =
		    tools_answer_fault(&to, TOOLS_FAULT_FAILED, code, detail);
	} else if (!tools_answer_is_call(value)) {
		written = tools_answer_fault(&to, TOOLS_FAULT_ANSWER, NULL, "");
	} else {
		written = tools_answer_call(&to, value);
		port->conns[connection].heavy = written == RESULT_OK;
	}
	tools_port_reply(port, connection, written, now_ms);
}

void
tools_port_answer(struct tools_port *port, uint64_t id, const char *code,
    const char *detail, const char *bytes, size_t len, uint64_t now_ms)
{
	struct tools_port_call *call =
	    id == 0 ? NULL : tools_port_find_call(port, id);
	struct mcp_span value;
	size_t connection;

	if (call == NULL)
		return;
	connection = call->connection;
	log_event(LOG_INFO_LEVEL, "tools_answer", LOG_UINT("call", id),
	    LOG_TEXT("code", code), LOG_UINT("bytes", len),
	    LOG_UINT("ms", now_ms - call->since_ms));
	call->id = 0;
	value = tools_port_value(port, code[0] == '\0' ? bytes : NULL, len);
	if (call->list)
		(void)tools_listing_take(&port->listings[call->package],
		    &port->grant->packages[call->package], value);
	else if (connection < TOOLS_PORT_CONNS &&
		 port->conns[connection].call == id)
		tools_port_answer_call(
		    port, connection, code, detail, value, now_ms);
	tools_port_lists_move(port, now_ms);
}

/* --- time and questions ------------------------------------------------- */

static void
tools_port_overdue(struct tools_port *port, size_t connection, uint64_t now_ms)
{
	struct tools_conn *conn = &port->conns[connection];
	bool mid = conn->state == TOOLS_CONN_BODY ||
		   (conn->state == TOOLS_CONN_HEAD && conn->in.len > 0);

	if (!mid) {
		tools_port_broken(port, connection);
		return;
	}
	conn->refused = true;
	conn->request.keep = false;
	tools_port_refuse(
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
