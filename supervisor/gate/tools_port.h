/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of the tools port: an agent connects, asks, a call is allowed
 * and handed on or refused, what comes back is its answer. Knows no
 * descriptors and takes the time from its caller, so that tests play
 * scripts against it; tools_io does the reading and writing.
 */
#ifndef SUPERVISOR_GATE_TOOLS_PORT_H
#define SUPERVISOR_GATE_TOOLS_PORT_H

#include "supervisor/gate/tools_answer.h"
#include "supervisor/gate/tools_conn.h"
#include "supervisor/gate/tools_tally.h"

#define TOOLS_PORT_CONNS 64U
#define TOOLS_PORT_CALLS_MAX 32U
#define TOOLS_PORT_REST_MS 1000U
#define TOOLS_PORT_HELD_MAX (64U << 20) /* bytes of all requests together */
#define TOOLS_PORT_BODY_RESERVE 16384U  /* around the arguments */

struct tools_port_options {
	uint16_t port; /* of the listener, for Host and Origin */
	unsigned calls_at_once;
	size_t arguments_max, result_max; /* of a call; of the agent */
	size_t answer_max;                /* what a tool may return */
};

/* One call on its way. */
struct tools_port_call {
	uint64_t id; /* 0: unused */
	bool list;
	size_t package;    /* index in the grant */
	size_t connection; /* TOOLS_PORT_CONNS: a list, for all that wait */
	uint64_t since_ms;
	char tool[MCP_POLICY_TOOL_MAX + 1];
};

/* tools_port's only ways out; never called from tools_port_init. */
struct tools_port_hooks {
	/* Hand a call on; false: it cannot be. arguments: absent for list. */
	bool (*call)(const struct tools_port_call *call, const char *package,
	    struct mcp_span arguments, void *context);
	/* Nobody waits for it any more; its answer, if one comes, is dropped.
	 */
	void (*cancel)(const struct tools_port_call *call, const char *package,
	    void *context);
	/* The agent's result, once. */
	void (*result)(const struct tools_body *result, void *context);
	/* Refusals, counted. */
	tools_tally_tell *refused;
};

struct tools_port {
	struct tools_port_options options;
	struct tools_port_hooks hooks;
	void *context;
	struct tools_grant *grant; /* borrowed */
	struct mcp_json json;
	struct tools_conn conns[TOOLS_PORT_CONNS];
	struct tools_port_call calls[TOOLS_PORT_CALLS_MAX];
	struct tools_listing listings[TOOLS_GRANT_PACKAGES_MAX];
	struct tools_tally tally;
	uint64_t last_id, last_session;
	bool result_given, result_ok;
	char result_code[TOOLS_BODY_CODE_MAX + 1];
};

void tools_port_init(struct tools_port *port,
    const struct tools_port_options *options, struct tools_grant *grant,
    const struct mcp_hash_key *key, const struct tools_port_hooks *hooks,
    void *context);
void tools_port_free(struct tools_port *port);

/* A free connection, or one that was silent for TOOLS_PORT_REST_MS. */
bool tools_port_has_room(const struct tools_port *port, uint64_t now_ms);
/* A client: its connection, TOOLS_PORT_CONNS when there is no room (the
 * one silent for longest makes room: *evicted_r, or TOOLS_PORT_CONNS). */
size_t tools_port_accept(
    struct tools_port *port, size_t *evicted_r, uint64_t now_ms);
void tools_port_bytes(struct tools_port *port, size_t connection,
    const char *bytes, size_t len, uint64_t now_ms);
/* The client is gone, or says that nothing more will come from it, which
 * is the same here: what it asked for is cancelled, who waits moves on. */
void tools_port_gone(
    struct tools_port *port, size_t connection, uint64_t now_ms);
/* Some of an output was written. */
void tools_port_wrote(
    struct tools_port *port, size_t connection, uint64_t now_ms);
/* The answer to a call: code "" and what the package said, else why not. */
void tools_port_answer(struct tools_port *port, uint64_t id, const char *code,
    const char *detail, const char *bytes, size_t len, uint64_t now_ms);
void tools_port_time(struct tools_port *port, uint64_t now_ms);
/* All is over: tell what was not told yet. */
void tools_port_end(struct tools_port *port, uint64_t now_ms);

bool tools_port_wants(const struct tools_port *port, size_t connection);
struct buffer *tools_port_output(struct tools_port *port, size_t connection);
/* False: close its descriptor. */
bool tools_port_is_open(const struct tools_port *port, size_t connection);
/* When tools_port_time is due at the latest; 0: nothing waits. */
uint64_t tools_port_next_ms(const struct tools_port *port);

#endif
