/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection to the tools port: bytes in, whole requests out, answers
 * kept until they are written. One request at a time; what comes behind it
 * waits. Knows no descriptor and no clock. Used by tools_port.
 */
#ifndef SUPERVISOR_GATE_TOOLS_CONN_H
#define SUPERVISOR_GATE_TOOLS_CONN_H

#include "common/buffer.h"
#include "supervisor/gate/tools_body.h"

#define TOOLS_CONN_CHUNK 65536U   /* most bytes one read brings */
#define TOOLS_CONN_HEAD_MS 10000U /* from a request's first byte */
#define TOOLS_CONN_BODY_MS 30000U
#define TOOLS_CONN_IDLE_MS 60000U  /* between requests */
#define TOOLS_CONN_STALL_MS 30000U /* a reader that takes nothing */
#define TOOLS_CONN_LINGER_MS 2000U /* so that a refusal is read */

enum tools_conn_state {
	TOOLS_CONN_FREE,
	TOOLS_CONN_HEAD, /* between requests, or in a head */
	TOOLS_CONN_BODY,
	TOOLS_CONN_CALLING, /* a tool runs */
	TOOLS_CONN_LISTING, /* packages are asked for their tools */
	TOOLS_CONN_REPLYING,
	TOOLS_CONN_LINGERING /* answered, the rest of it is thrown away */
};

struct tools_conn {
	enum tools_conn_state state;
	struct tools_request request;
	struct buffer in, body, out;
	char id[MCP_MESSAGE_ID_MAX]; /* of the request, as sent */
	size_t id_len;
	uint64_t call;        /* CALLING: which; 0: none */
	uint64_t since_ms;    /* of the state */
	uint64_t deadline_ms; /* of the state; 0: none */
	bool heavy;           /* out holds what a tool returned */
	bool refused;         /* what it sends on is not read */
};

enum tools_conn_step {
	TOOLS_CONN_MORE,    /* wait for bytes */
	TOOLS_CONN_REQUEST, /* request and body are whole */
	TOOLS_CONN_REFUSED  /* *fault_r says why */
};

void tools_conn_init(struct tools_conn *conn);
/* A client came; and it, or we, went. */
void tools_conn_open(struct tools_conn *conn, size_t out_max, uint64_t now_ms);
void tools_conn_close(struct tools_conn *conn);

/* The one way from state to state; sets the deadline that belongs to it. */
void tools_conn_enter(
    struct tools_conn *conn, enum tools_conn_state state, uint64_t now_ms);

/* May TOOLS_CONN_CHUNK bytes be given to tools_conn_bytes? */
bool tools_conn_wants(const struct tools_conn *conn);
enum result tools_conn_bytes(
    struct tools_conn *conn, const char *bytes, size_t len, uint64_t now_ms);
/* Go on with what is there. body_max: by path. */
enum tools_conn_step tools_conn_read(struct tools_conn *conn, uint16_t port,
    const size_t body_max[TOOLS_PATH_MCP + 1], uint64_t now_ms,
    enum tools_fault *fault_r);
/* A request of it is being served; what comes now waits behind it. */
bool tools_conn_is_served(const struct tools_conn *conn);
/* It is between two requests and has sent nothing. */
bool tools_conn_is_idle(const struct tools_conn *conn);

/* Keep the id and let the body go. */
void tools_conn_keep_id(struct tools_conn *conn, struct mcp_span id);
struct mcp_span tools_conn_id(const struct tools_conn *conn);
/* Bytes held. */
size_t tools_conn_held(const struct tools_conn *conn);

#endif
