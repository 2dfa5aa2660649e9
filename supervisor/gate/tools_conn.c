/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading requests of one connection. Called by tools_port; it must never
 * hold more than its bounds, nor read on behind a request it refused.
 */
#include "supervisor/gate/tools_conn.h"

#include <string.h>

#include "common/log.h"

#define TOOLS_CONN_CONTINUE "HTTP/1.1 100 Continue\r\n\r\n"

static const char *
tools_conn_state_text(enum tools_conn_state state)
{
	static const char *const texts[] = {
	    [TOOLS_CONN_FREE] = "free",
	    [TOOLS_CONN_HEAD] = "head",
	    [TOOLS_CONN_BODY] = "body",
	    [TOOLS_CONN_CALLING] = "calling",
	    [TOOLS_CONN_LISTING] = "listing",
	    [TOOLS_CONN_REPLYING] = "replying",
	    [TOOLS_CONN_LINGERING] = "lingering",
	};

	return texts[state];
}

/* A call has a limit of its own, and so have the calls of a list. */
static uint64_t
tools_conn_limit(enum tools_conn_state state)
{
	static const uint64_t limits[] = {
	    [TOOLS_CONN_FREE] = 0,
	    [TOOLS_CONN_HEAD] = TOOLS_CONN_IDLE_MS,
	    [TOOLS_CONN_BODY] = TOOLS_CONN_BODY_MS,
	    [TOOLS_CONN_CALLING] = 0,
	    [TOOLS_CONN_LISTING] = 0,
	    [TOOLS_CONN_REPLYING] = TOOLS_CONN_STALL_MS,
	    [TOOLS_CONN_LINGERING] = TOOLS_CONN_LINGER_MS,
	};

	return limits[state];
}

void
tools_conn_enter(
    struct tools_conn *conn, enum tools_conn_state state, uint64_t now_ms)
{
	uint64_t limit = tools_conn_limit(state);

	log_event(LOG_DEBUG_LEVEL, "tools_conn_state",
	    LOG_TEXT("from", tools_conn_state_text(conn->state)),
	    LOG_TEXT("to", tools_conn_state_text(state)));
	conn->state = state;
	conn->since_ms = now_ms;
	conn->deadline_ms = limit == 0 ? 0 : now_ms + limit;
}

void
tools_conn_init(struct tools_conn *conn)
{
	memset(conn, 0, sizeof(*conn));
	buffer_init(&conn->in, HTTP_HEAD_BYTES_MAX + 2 * TOOLS_CONN_CHUNK);
	buffer_init(&conn->body, 0);
	buffer_init(&conn->out, 0);
}

void
tools_conn_open(struct tools_conn *conn, size_t out_max, uint64_t now_ms)
{
	tools_conn_init(conn);
	buffer_init(&conn->out, out_max);
	tools_conn_enter(conn, TOOLS_CONN_HEAD, now_ms);
}

void
tools_conn_close(struct tools_conn *conn)
{
	buffer_free(&conn->in);
	buffer_free(&conn->body);
	buffer_free(&conn->out);
	conn->heavy = false;
	conn->call = 0;
	tools_conn_enter(conn, TOOLS_CONN_FREE, 0);
}

/* --- bytes -------------------------------------------------------------- */

bool
tools_conn_wants(const struct tools_conn *conn)
{
	switch (conn->state) {
	case TOOLS_CONN_HEAD:
		return conn->in.len <= HTTP_HEAD_BYTES_MAX + TOOLS_CONN_CHUNK;
	case TOOLS_CONN_BODY:
		return conn->in.len <= TOOLS_CONN_CHUNK;
	case TOOLS_CONN_LINGERING:
		return true;
	case TOOLS_CONN_CALLING:
	case TOOLS_CONN_LISTING:
		return conn->in.len == 0; /* or its end would not be seen */
	case TOOLS_CONN_FREE:
	case TOOLS_CONN_REPLYING:
		break;
	}
	return false;
}

/* The head's time runs from its first byte. */
enum result
tools_conn_bytes(
    struct tools_conn *conn, const char *bytes, size_t len, uint64_t now_ms)
{
	if (conn->state == TOOLS_CONN_LINGERING)
		return RESULT_OK;
	if (tools_conn_is_idle(conn))
		conn->deadline_ms = now_ms + TOOLS_CONN_HEAD_MS;
	return buffer_append(&conn->in, bytes, len);
}

bool
tools_conn_is_served(const struct tools_conn *conn)
{
	return conn->state == TOOLS_CONN_CALLING ||
	       conn->state == TOOLS_CONN_LISTING;
}

bool
tools_conn_is_idle(const struct tools_conn *conn)
{
	return conn->state == TOOLS_CONN_HEAD && conn->in.len == 0;
}

/* --- requests ----------------------------------------------------------- */

/* Nothing more is read from it. */
static enum tools_conn_step
tools_conn_refuse(
    struct tools_conn *conn, enum tools_fault fault, enum tools_fault *fault_r)
{
	conn->refused = true;
	conn->request.keep = false;
	*fault_r = fault;
	return TOOLS_CONN_REFUSED;
}

static enum tools_conn_step
tools_conn_read_head(struct tools_conn *conn, uint16_t port,
    const size_t *body_max, uint64_t now_ms, enum tools_fault *fault_r)
{
	struct http_head head;
	enum http_head_status status = http_head_parse_request(
	    (const char *)buffer_bytes_borrow(&conn->in), conn->in.len, &head);
	enum tools_fault fault = tools_request_head_fault(status);

	if (status == HTTP_HEAD_NEED_MORE)
		return TOOLS_CONN_MORE;
	conn->id_len = 0;
	if (status != HTTP_HEAD_OK) {
		memset(&conn->request, 0, sizeof(conn->request));
		return tools_conn_refuse(conn, fault, fault_r);
	}
	fault = tools_request_judge(&head, port, &conn->request);
	if (fault == TOOLS_FAULT_NONE && head.has_length &&
	    head.content_length > body_max[conn->request.path])
		fault = TOOLS_FAULT_TOO_LONG;
	if (fault != TOOLS_FAULT_NONE)
		return tools_conn_refuse(conn, fault, fault_r);
	buffer_consume(&conn->in, head.head_len);
	buffer_free(&conn->body);
	buffer_init(&conn->body, body_max[conn->request.path]);
	tools_conn_enter(conn, TOOLS_CONN_BODY, now_ms);
	if (conn->request.expects && conn->in.len == 0)
		(void)buffer_append_text(&conn->out, TOOLS_CONN_CONTINUE);
	return TOOLS_CONN_MORE;
}

static enum tools_conn_step
tools_conn_read_body(struct tools_conn *conn, enum tools_fault *fault_r)
{
	enum http_body_status status;
	size_t used = 0;

	status = http_body_feed(&conn->request.body,
	    (const char *)buffer_bytes_borrow(&conn->in), conn->in.len, &used,
	    &conn->body);
	buffer_consume(&conn->in, used);
	switch (status) {
	case HTTP_BODY_MORE:
		return TOOLS_CONN_MORE;
	case HTTP_BODY_DONE:
		return TOOLS_CONN_REQUEST;
	case HTTP_BODY_FULL:
		return tools_conn_refuse(conn, TOOLS_FAULT_TOO_LONG, fault_r);
	case HTTP_BODY_BAD:
		break;
	}
	return tools_conn_refuse(conn, TOOLS_FAULT_BODY, fault_r);
}

enum tools_conn_step
tools_conn_read(struct tools_conn *conn, uint16_t port,
    const size_t body_max[TOOLS_PATH_MCP + 1], uint64_t now_ms,
    enum tools_fault *fault_r)
{
	enum tools_conn_step step = TOOLS_CONN_MORE;

	if (conn->state == TOOLS_CONN_HEAD && conn->in.len > 0)
		step =
		    tools_conn_read_head(conn, port, body_max, now_ms, fault_r);
	if (step == TOOLS_CONN_MORE && conn->state == TOOLS_CONN_BODY)
		step = tools_conn_read_body(conn, fault_r);
	return step;
}

/* --- what is kept ------------------------------------------------------- */

void
tools_conn_keep_id(struct tools_conn *conn, struct mcp_span id)
{
	conn->id_len = 0;
	if (id.bytes != NULL && id.len <= sizeof(conn->id)) {
		memcpy(conn->id, id.bytes, id.len);
		conn->id_len = id.len;
	}
}

struct mcp_span
tools_conn_id(const struct tools_conn *conn)
{
	if (conn->id_len == 0)
		return (struct mcp_span){NULL, 0};
	return (struct mcp_span){conn->id, conn->id_len};
}

size_t
tools_conn_held(const struct tools_conn *conn)
{
	return conn->in.len + conn->body.len + conn->out.len;
}
