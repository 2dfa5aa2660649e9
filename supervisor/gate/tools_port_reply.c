/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of the tools port, given and counted. Called by tools_port and
 * tools_port_call; it must never answer a connection that has no request.
 */
#include "supervisor/gate/tools_port_reply.h"

#include "common/log.h"

struct tools_answer
tools_port_reply_to(struct tools_port *port, size_t connection)
{
	struct tools_conn *conn = &port->conns[connection];

	return (struct tools_answer){.out = &conn->out,
	    .path = conn->request.path,
	    .id = tools_conn_id(conn),
	    .keep = conn->request.keep};
}

/* An answer that cannot be held ends the connection. */
void
tools_port_reply_written(struct tools_port *port, size_t connection,
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

void
tools_port_reply_refuse(struct tools_port *port, size_t connection,
    enum tools_fault fault, const char *target, const char *detail,
    uint64_t now_ms)
{
	struct tools_answer to = tools_port_reply_to(port, connection);

	tools_tally_add(&port->tally, fault, target, now_ms);
	log_event(LOG_WARN_LEVEL, "tools_refused",
	    LOG_TEXT("code", tools_fault_row(fault)->code),
	    LOG_TEXT("target", target),
	    LOG_TEXT("why",
		detail[0] != '\0' ? detail : tools_fault_row(fault)->sentence));
	tools_port_reply_written(port, connection,
	    tools_answer_fault(&to, fault, NULL, detail), now_ms);
}
