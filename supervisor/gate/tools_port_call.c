/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of tools and lists of them, from an agent's request to its answer.
 * Called by tools_port; it must never hand on a call that tools_grant has
 * not judged.
 */
#include "supervisor/gate/tools_port_call.h"

#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "supervisor/gate/mcp_pending.h"
#include "supervisor/gate/tools_port_reply.h"

/* --- calls -------------------------------------------------------------- */

static struct tools_port_call *
tools_port_call_find(struct tools_port *port, uint64_t id)
{
	for (size_t i = 0; i < TOOLS_PORT_CALLS_MAX; i++) {
		if (port->calls[i].id == id)
			return &port->calls[i];
	}
	return NULL;
}

/* Calls on their way, and answers that are not read yet. */
static bool
tools_port_call_has_room(const struct tools_port *port)
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
tools_port_call_begin(struct tools_port *port, bool list, size_t package,
    size_t connection, uint64_t now_ms)
{
	struct tools_port_call *call = tools_port_call_find(port, 0);

	call->id = ++port->last_id;
	call->list = list;
	call->package = package;
	call->connection = connection;
	call->since_ms = now_ms;
	call->tool[0] = '\0';
	return call;
}

static bool
tools_port_call_send(struct tools_port *port, struct tools_port_call *call,
    struct mcp_span arguments)
{
	const char *slug = port->grant->packages[call->package].slug;

	log_event(LOG_INFO_LEVEL, "tools_call",
	    LOG_REQUEST(NULL, 't', call->id), LOG_TEXT("package", slug),
	    LOG_TEXT("tool", call->tool), LOG_BOOL("list", call->list),
	    LOG_UINT("arguments", arguments.len));
	if (port->hooks.call(call, slug, arguments, port->context))
		return true;
	call->id = 0;
	return false;
}

static void
tools_port_call_target(
    const struct tools_body *body, char *target_r, size_t size)
{
	(void)snprintf(target_r, size, "%s%s%s", body->slug,
	    body->tool[0] != '\0' ? "/" : "", body->tool);
}

void
tools_port_call_tool(struct tools_port *port, size_t connection,
    struct tools_body *body, uint64_t now_ms)
{
	struct tools_conn *conn = &port->conns[connection];
	struct tools_port_call *call;
	char target[TOOLS_TALLY_TARGET];
	size_t package;
	enum tools_fault fault;

	fault = tools_grant_judge(port->grant, body, &package);
	tools_port_call_target(body, target, sizeof(target));
	if (fault == TOOLS_FAULT_NONE &&
	    body->arguments.len > port->options.arguments_max)
		fault = TOOLS_FAULT_ARGUMENTS;
	if (fault == TOOLS_FAULT_NONE && !tools_port_call_has_room(port))
		fault = TOOLS_FAULT_BUSY;
	if (fault != TOOLS_FAULT_NONE) {
		tools_port_reply_refuse(
		    port, connection, fault, target, body->detail, now_ms);
		return;
	}
	call = tools_port_call_begin(port, false, package, connection, now_ms);
	memcpy(call->tool, body->tool, sizeof(call->tool));
	if (!tools_port_call_send(port, call, body->arguments)) {
		tools_port_reply_refuse(
		    port, connection, TOOLS_FAULT_BUSY, target, "", now_ms);
		return;
	}
	port->grant->calls++;
	conn->call = call->id;
	buffer_free(&conn->body);
	tools_conn_enter(conn, TOOLS_CONN_CALLING, now_ms);
}

/* --- calls that nobody waits for ---------------------------------------- */

void
tools_port_call_drop(struct tools_port *port, size_t connection)
{
	for (size_t i = 0; i < TOOLS_PORT_CALLS_MAX; i++) {
		struct tools_port_call *call = &port->calls[i];

		if (call->id == 0 || call->connection != connection)
			continue;
		log_event(LOG_INFO_LEVEL, "tools_cancelled",
		    LOG_REQUEST(NULL, 't', call->id));
		port->hooks.cancel(call,
		    port->grant->packages[call->package].slug, port->context);
		call->id = 0;
	}
}

/* Two of one id: no telling which one is meant. */
static size_t
tools_port_call_of(
    const struct tools_port *port, uint64_t session, struct mcp_span id)
{
	size_t found = TOOLS_PORT_CONNS;

	for (size_t i = 0; i < TOOLS_PORT_CONNS; i++) {
		const struct tools_conn *conn = &port->conns[i];

		if (!tools_conn_is_served(conn) || conn->id_len == 0 ||
		    conn->request.path != TOOLS_PATH_MCP ||
		    conn->request.session != session ||
		    !mcp_pending_same_id(id, tools_conn_id(conn)))
			continue;
		if (found < TOOLS_PORT_CONNS)
			return TOOLS_PORT_CONNS;
		found = i;
	}
	return found;
}

void
tools_port_call_cancel(struct tools_port *port, size_t connection,
    struct mcp_span id, uint64_t now_ms)
{
	size_t of = tools_port_call_of(
	    port, port->conns[connection].request.session, id);
	struct tools_answer to;

	if (of == TOOLS_PORT_CONNS)
		return; /* it was answered already */
	tools_port_call_drop(port, of);
	to = tools_port_reply_to(port, of);
	tools_port_reply_written(port, of, tools_answer_nothing(&to), now_ms);
	tools_port_call_move(port, now_ms);
}

/* --- lists -------------------------------------------------------------- */

/* Ask one package; one that cannot be asked has failed. */
static void
tools_port_call_ask_one(
    struct tools_port *port, size_t package, uint64_t now_ms)
{
	const struct mcp_span none = {NULL, 0};
	struct tools_listing *listing = &port->listings[package];

	tools_listing_asked(listing);
	if (!tools_port_call_send(port,
		tools_port_call_begin(
		    port, true, package, TOOLS_PORT_CONNS, now_ms),
		none))
		(void)tools_listing_take(
		    listing, &port->grant->packages[package], none);
}

/* Ask packages for what somebody waits for; false while there is something
 * to wait for. begin: what failed is asked again. */
static bool
tools_port_call_ask(struct tools_port *port, bool begin, uint64_t now_ms)
{
	bool waits = false;

	for (size_t i = 0; i < port->grant->count; i++) {
		struct tools_listing *listing = &port->listings[i];
		bool ask = tools_listing_is_wanted(listing) &&
			   (begin || listing->state == TOOLS_LISTING_UNKNOWN);

		if (ask && tools_port_call_has_room(port))
			tools_port_call_ask_one(port, i, now_ms);
		else
			waits = waits || ask;
		waits = waits || listing->state == TOOLS_LISTING_ASKED;
	}
	return !waits;
}

static void
tools_port_call_told(
    struct tools_port *port, size_t connection, uint64_t now_ms)
{
	struct tools_answer to = tools_port_reply_to(port, connection);

	tools_port_reply_written(port, connection,
	    tools_answer_list(&to, port->listings, port->grant->count), now_ms);
}

/* Something ended: there may be room to ask, or nothing left to ask. */
void
tools_port_call_move(struct tools_port *port, uint64_t now_ms)
{
	bool waited = false;

	for (size_t i = 0; i < TOOLS_PORT_CONNS; i++)
		waited |= port->conns[i].state == TOOLS_CONN_LISTING;
	if (!waited || !tools_port_call_ask(port, false, now_ms))
		return;
	for (size_t i = 0; i < TOOLS_PORT_CONNS; i++) {
		if (port->conns[i].state == TOOLS_CONN_LISTING)
			tools_port_call_told(port, i, now_ms);
	}
}

void
tools_port_call_list(
    struct tools_port *port, size_t connection, uint64_t now_ms)
{
	struct tools_conn *conn = &port->conns[connection];

	buffer_free(&conn->body);
	if (tools_port_call_ask(port, true, now_ms))
		tools_port_call_told(port, connection, now_ms);
	else
		tools_conn_enter(conn, TOOLS_CONN_LISTING, now_ms);
}

/* --- what comes back ---------------------------------------------------- */

/* The checked value, or absent. */
static struct mcp_span
tools_port_call_value(struct tools_port *port, const char *bytes, size_t len)
{
	size_t position;

	if (bytes == NULL || len > port->options.answer_max ||
	    mcp_json_check(&port->json, bytes, len, &position) != MCP_JSON_OK)
		return (struct mcp_span){NULL, 0};
	return mcp_cursor_value(bytes, len);
}

static void
tools_port_call_answer(struct tools_port *port, size_t connection,
    const char *code, const char *detail, struct mcp_span value,
    uint64_t now_ms)
{
	struct tools_answer to = tools_port_reply_to(port, connection);
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
	tools_port_reply_written(port, connection, written, now_ms);
}

void
tools_port_call_answered(struct tools_port *port, uint64_t id, const char *code,
    const char *detail, const char *bytes, size_t len, uint64_t now_ms)
{
	struct tools_port_call *call =
	    id == 0 ? NULL : tools_port_call_find(port, id);
	struct mcp_span value;
	size_t connection;

	if (call == NULL)
		return;
	connection = call->connection;
	log_event(LOG_INFO_LEVEL, "tools_answer", LOG_REQUEST(NULL, 't', id),
	    LOG_TEXT("code", code), LOG_UINT("bytes", len),
	    LOG_UINT("ms", now_ms - call->since_ms));
	call->id = 0;
	value =
	    tools_port_call_value(port, code[0] == '\0' ? bytes : NULL, len);
	if (call->list)
		(void)tools_listing_take(&port->listings[call->package],
		    &port->grant->packages[call->package], value);
	else if (connection < TOOLS_PORT_CONNS &&
		 port->conns[connection].call == id)
		tools_port_call_answer(
		    port, connection, code, detail, value, now_ms);
	tools_port_call_move(port, now_ms);
}
