/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between tools_port and the control socket. Called by main.c and the port;
 * it must never send a call that the port did not hand on, nor put a byte
 * of arguments or results into a message.
 */
#include "supervisor/gate/tools_link.h"

#include <stdlib.h>
#include <string.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "common/log.h"
#include "supervisor/gate/tools_io.h"

struct tools_link {
	struct tools_port port;
	struct tools_io *tools; /* descriptors of the port */
	struct gate_io *io;     /* where the result goes */
	struct peer *peer;      /* borrowed */
	const char *sandbox;
	size_t answer_max;
};

/* --- to the supervisor -------------------------------------------------- */

static bool
tools_link_send(struct tools_link *link, enum ipc_type type, uint64_t id,
    json_t *body, int fd)
{
	struct ipc_message message;
	enum result result;

	ipc_message_init(&message, type, id);
	message.body = body;
	if (fd >= 0) {
		message.fds[0] = fd;
		message.fd_count = 1;
	}
	result =
	    body == NULL ? RESULT_NO_MEMORY : peer_send(link->peer, &message);
	message.fd_count = 0; /* the caller's */
	ipc_message_clear(&message);
	return result == RESULT_OK;
}

static bool
tools_link_call(const struct tools_port_call *call, const char *package,
    struct mcp_span arguments, void *context)
{
	struct tools_link *link = context;
	int fd FD_CLEANUP = -1;
	bool sent;

	if (!call->list && fd_sealed_memfd("arguments", arguments.bytes,
			       arguments.len, &fd) != RESULT_OK)
		return false;
	sent = tools_link_send(link, IPC_TOOL_CALL, call->id,
	    json_pack("{s:s, s:s, s:s, s:s*}", "sandbox", link->sandbox,
		"package", package, "method", call->list ? "list" : "call",
		"tool", call->tool[0] != '\0' ? call->tool : NULL),
	    fd);
	if (!sent)
		log_event(LOG_ERROR_LEVEL, "tools_call_not_sent",
		    LOG_REQUEST(NULL, 't', call->id));
	return sent;
}

static void
tools_link_cancel(
    const struct tools_port_call *call, const char *package, void *context)
{
	struct tools_link *link = context;

	if (!tools_link_send(link, IPC_TOOL_CALL, call->id,
		json_pack("{s:s, s:s, s:s}", "sandbox", link->sandbox,
		    "package", package, "method", "cancel"),
		-1))
		log_event(LOG_ERROR_LEVEL, "tools_cancel_not_sent",
		    LOG_REQUEST(NULL, 't', call->id));
}

static void
tools_link_refused(const struct tools_tally_row *row, void *context)
{
	struct tools_link *link = context;

	(void)tools_link_send(link, IPC_DECISION, 0,
	    json_pack("{s:s, s:s, s:s, s:s, s:I}", "sandbox", link->sandbox,
		"verdict", "deny", "code", tools_fault_row(row->fault)->code,
		"target", row->target, "count", (json_int_t)row->count),
	    -1);
}

/* --- to the caller's standard output ------------------------------------ */

/* One object, written anew: its members were checked one by one. */
static void
tools_link_agent_result(const struct tools_body *body, void *context)
{
	struct tools_link *link = context;
	struct buffer line;
	enum result result;

	buffer_init(&line, body->value.len + 256);
	result = buffer_append_text(&line,
	    body->ok ? "{\"ok\":true,\"value\":" : "{\"ok\":false,\"error\":");
	if (result == RESULT_OK)
		result =
		    buffer_append(&line, body->value.bytes, body->value.len);
	if (result == RESULT_OK && !body->ok)
		result = buffer_printf(&line, ",\"code\":\"%s\"", body->code);
	if (result == RESULT_OK)
		result = buffer_append_text(&line, "}");
	if (result == RESULT_OK)
		gate_io_result(link->io,
		    (const char *)buffer_bytes_borrow(&line), line.len);
	else
		log_event(LOG_ERROR_LEVEL, "tools_result_lost");
	buffer_free(&line);
}

/* --- making ------------------------------------------------------------- */

enum result
tools_link_new(struct event_base *base, struct gate_config *config,
    const struct mcp_hash_key *key, struct gate_io *io, const char *sandbox,
    struct tools_link **link_r)
{
	static const struct tools_port_hooks hooks = {tools_link_call,
	    tools_link_cancel, tools_link_agent_result, tools_link_refused};
	struct tools_link *link = calloc(1, sizeof(*link));
	enum result result;

	*link_r = link;
	if (link == NULL)
		return RESULT_NO_MEMORY;
	link->io = io;
	link->sandbox = sandbox;
	link->answer_max = config->port.answer_max;
	tools_port_init(
	    &link->port, &config->port, &config->grant, key, &hooks, link);
	result = tools_io_new(base, &link->port, &link->tools);
	if (result != RESULT_OK)
		tools_link_free(link_r);
	return result;
}

void
tools_link_free(struct tools_link **link)
{
	if (*link == NULL)
		return;
	tools_io_free(&(*link)->tools);
	tools_port_free(&(*link)->port);
	free(*link);
	*link = NULL;
}

void
tools_link_set_peer(struct tools_link *link, struct peer *peer)
{
	link->peer = peer;
}

/* --- from the supervisor ------------------------------------------------ */

bool
tools_link_listen(struct tools_link *link, struct ipc_message *message)
{
	const char *kind =
	    json_string_value(json_object_get(message->body, "kind"));

	return strcmp(kind, "tools") == 0 &&
	       tools_io_listen(link->tools, ipc_message_take_fd(message, 0)) ==
		   RESULT_OK;
}

/* A result is what another gate let pass, or it is none. */
static bool
tools_link_read(struct tools_link *link, int fd, char **bytes_r, size_t *len_r)
{
	return fd >= 0 && fd_is_sealed(fd) &&
	       fd_read_all(fd, link->answer_max, bytes_r, len_r) == RESULT_OK;
}

bool
tools_link_result(struct tools_link *link, struct ipc_message *message)
{
	const char *code =
	    json_string_value(json_object_get(message->body, "code"));
	const char *detail =
	    json_string_value(json_object_get(message->body, "detail"));
	int fd FD_CLEANUP = ipc_message_take_fd(message, 0);
	char *bytes = NULL;
	size_t len = 0;

	if (code[0] == '\0' && !tools_link_read(link, fd, &bytes, &len)) {
		code = "too_long";
		detail = "the tool's result is longer than tool_result_max";
	}
	tools_port_answer(&link->port, message->id, code,
	    detail != NULL ? detail : "", bytes, len, event_loop_now_ms());
	free(bytes);
	tools_io_update(link->tools);
	return true;
}

/* --- the end ------------------------------------------------------------ */

/* Equal codes of different faults are one. */
static void
tools_link_count(json_t *counts, enum tools_fault fault, uint64_t count)
{
	const char *code = tools_fault_row(fault)->code;
	json_int_t before = json_integer_value(json_object_get(counts, code));

	if (count > 0)
		(void)json_object_set_new(
		    counts, code, json_integer(before + (json_int_t)count));
}

void
tools_link_end(struct tools_link *link, json_t *result)
{
	const struct tools_port *port = &link->port;
	json_t *refusals = json_object();
	const char *given = "none";

	tools_port_end(&link->port, event_loop_now_ms());
	if (port->result_given)
		given = port->result_ok ? "ok" : "failed";
	for (int i = 1; i < TOOLS_FAULT_COUNT; i++)
		tools_link_count(
		    refusals, (enum tools_fault)i, port->tally.by_fault[i]);
	(void)json_object_set_new(result, "result", json_string(given));
	(void)json_object_set_new(
	    result, "code", json_string(port->result_code));
	(void)json_object_set_new(
	    result, "tool_calls", json_integer((json_int_t)port->grant->calls));
	(void)json_object_set_new(result, "tool_refusals",
	    json_integer((json_int_t)tools_tally_refused_calls(&port->tally)));
	(void)json_object_set_new(result, "refusals", refusals);
}
