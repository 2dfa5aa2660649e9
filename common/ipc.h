/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between the host processes: their types, and a strict encoder and
 * decoder against the catalogue (ipc_catalogue.h). One datagram is one JSON
 * object {"v":1,"type":...,"id":N,...} of at most 64 KiB with at most 16
 * descriptors. Decoding is pure and fuzzed. docs/protocol.md is the prose to
 * this header.
 */
#ifndef COMMON_IPC_H
#define COMMON_IPC_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "common/result.h"

#define IPC_VERSION 1
#define IPC_MESSAGE_MAX 65536U
#define IPC_FDS_MAX 16U
#define IPC_CONTROL_FD 3 /* the child's end of its socketpair */
#define IPC_START_TIMEOUT_MS 10000U

/* Exit codes of our own processes (not of the command line). */
enum ipc_exit {
	IPC_EXIT_OK = 0,
	IPC_EXIT_CRASH = 80,      /* a broken invariant */
	IPC_EXIT_BAD_CONFIG = 81, /* first message unusable */
	IPC_EXIT_CONFINE = 82,    /* a layer could not be put in force */
	IPC_EXIT_SUPERVISOR = 83, /* control socket ended: supervisor gone */
	IPC_EXIT_PROTOCOL = 84,   /* the supervisor sent what it must not */
};

enum ipc_role {
	IPC_SUPERVISOR,
	IPC_GATE,
	IPC_LEDGER,
	IPC_UNPACK,
	IPC_PROXY,
	IPC_BROKER,
	IPC_KEY,
	IPC_KEYRING,
	IPC_ROLE_COUNT
};

/* STARTING: nothing but config one way and ready the other. */
enum ipc_state {
	IPC_STARTING = 1,
	IPC_RUNNING = 2,
	IPC_CLOSING = 4
};

/* Fields, descriptors and states of each: ipc_catalogue.c. */
enum ipc_type {
	IPC_CONFIG,         /* supervisor -> child: first message */
	IPC_READY,          /* child -> supervisor: layers in force */
	IPC_SANDBOX_OPEN,   /* supervisor -> proxy: policy of one sandbox */
	IPC_LISTEN,         /* supervisor -> proxy: one listener */
	IPC_STREAM,         /* supervisor -> gate, unpack: one descriptor */
	IPC_POLICY_REPLACE, /* supervisor -> proxy: narrower policy */
	IPC_SANDBOX_CLOSE,  /* supervisor -> proxy */
	IPC_AUDIT,          /* supervisor -> ledger: one record */
	IPC_SYNCED,         /* ledger -> supervisor: it is on disk */
	IPC_FAILED,         /* child -> supervisor: request id failed, why */
	IPC_DECISION,       /* proxy, gate -> supervisor: code, rule, target */
	IPC_STATS,          /* counters, asked for and answered */
	IPC_LOG_REPLACE,    /* supervisor -> child: new log descriptor */
	IPC_RESOLVER_REPLACE, /* supervisor -> proxy: new resolver list */
	IPC_WORK,             /* supervisor -> unpack, gate: one job */
	IPC_DONE,             /* unpack: result of a job; gate: an end */
	IPC_GRANT,            /* supervisor -> broker: effective LLM policy */
	IPC_KEY_SECRET,       /* keyring -> key: the raw secret follows it */
	IPC_KEY_CHANGED,   /* supervisor -> key, broker: drop what you have */
	IPC_KEY_PATTERN,   /* key -> broker: what to redact, hashed */
	IPC_UPSTREAM_OPEN, /* broker -> key: ends of lanes (lane.h) */
	IPC_BUDGET_OPEN,   /* supervisor -> ledger: limits of one run */
	IPC_BUDGET_CLOSE,  /* supervisor -> ledger: the run is over */
	IPC_USAGE,         /* broker -> supervisor: counts, no content */
	IPC_TOOL_CALL,     /* gate -> supervisor: run this tool */
	IPC_TOOL_RESULT,   /* supervisor -> gate: its bounded result */
	IPC_GUARD_ASK,     /* gate -> supervisor: may these calls be made */
	IPC_GUARD_ANSWER,  /* supervisor -> gate: they may, or why not */
	IPC_RATE_TAKE,     /* supervisor -> ledger: count these calls */
	IPC_TYPE_COUNT
};

/* A message in memory. body is the JSON object without v, type, id. */
struct ipc_message {
	enum ipc_type type;
	uint64_t id;          /* 0: no answer expected */
	json_t *body;         /* owned; may be NULL when there is none */
	int fds[IPC_FDS_MAX]; /* owned; -1 once taken */
	size_t fd_count;
};

void ipc_message_init(
    struct ipc_message *message, enum ipc_type type, uint64_t id);
/* Free the body and close descriptors that were not taken. */
void ipc_message_clear(struct ipc_message *message);
/* Take descriptor index out of the message; -1 when there is none. */
int ipc_message_take_fd(struct ipc_message *message, size_t index);

/* Encode into bytes_r (size >= IPC_MESSAGE_MAX); checked against the
 * catalogue too, so that a mistake of ours shows at the sender. */
enum result ipc_encode(const struct ipc_message *message, enum ipc_role sender,
    enum ipc_role receiver, char *bytes_r, size_t size, size_t *len_r,
    char *fault_r, size_t fault_size);

/* Decode one datagram that came with fd_count descriptors. state is the
 * conversation's. message_r was initialised; its descriptors are not touched.
 * On anything but RESULT_OK its body is NULL and fault_r is a sentence. */
enum result ipc_decode(const char *bytes, size_t len, size_t fd_count,
    enum ipc_role sender, enum ipc_role receiver, enum ipc_state state,
    struct ipc_message *message_r, char *fault_r, size_t fault_size);

#endif
