/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a connection knows of its call, and what its run shares. call.c
 * reads and writes these fields; call_io.c (or a test) provides the actions
 * and fills what an event brings. Thousands of streams may be open: the
 * request is given up once it is in the lane, and no buffer is kept empty.
 */
#ifndef LLM_BROKER_CALL_DATA_H
#define LLM_BROKER_CALL_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/buffer.h"
#include "egress-proxy/deadline_wheel.h"
#include "llm-broker/call.h"
#include "llm-broker/call_charge.h"
#include "llm-broker/call_relay.h"
#include "llm-broker/call_request.h"
#include "llm-broker/grant.h"
#include "llm-broker/key_table.h"
#include "llm-broker/lane.h"

#define CALL_OUT_MAX (512U * 1024U)  /* bytes waiting for the agent */
#define CALL_AHEAD_MAX (64U * 1024U) /* bytes of a next request */
#define CALL_LINGER_MS 2000U
#define CALL_BUDGET_MS 5000U /* the ledger waits for others two seconds */
#define CALL_GRACE_MS 2000U  /* llm-key's own limits come first */

/* What a connection counts as in its run; oldest first. */
enum call_list {
	CALL_LIST_WAITING, /* for a request, or for the whole of it */
	CALL_LIST_RUNNING, /* from the ledger to the last byte */
	CALL_LIST_LEAVING,
	CALL_LIST_COUNT
};

TAILQ_HEAD(call_queue, call);

/* What the calls of one sandbox share; broker.c owns it. */
struct call_run {
	char id[65];
	struct grant *grant;
	const struct provider *const *providers; /* NULL-terminated */
	const struct key_table *keys;
	uint16_t port;
	struct call_queue lists[CALL_LIST_COUNT];
	size_t counts[CALL_LIST_COUNT];
	/* against the limits of the run: done, and held by those running */
	uint64_t requests, input_chars, output_chars;
};

struct call_limits {         /* of the process, in milliseconds */
	uint64_t head_ms;    /* from a request's first byte to its head */
	uint64_t request_ms; /* to its last byte */
	uint64_t keep_ms;    /* between calls */
};

/* The ledger's refusal. */
struct call_refusal {
	char scope[16], amount[24];
	int64_t limit, used, retry_after_s;
};

struct call_actions; /* call_actions.h */
struct ledger_share; /* ledger_share.h */

struct call {
	TAILQ_ENTRY(call) link; /* in run->lists[list] */
	struct deadline deadline;
	const struct call_actions *actions;
	const struct call_limits *limits;
	struct deadline_wheel *wheel;
	struct call_run *run;
	struct call_relay_space *space; /* of the process */
	struct call_request *request;   /* from its first byte until sent */
	struct call_relay *relay;       /* from the response's first byte */
	struct buffer out;              /* for the agent */
	struct buffer ahead;            /* read, and not of this call */

	struct http_text given; /* bytes an event brings; borrowed */
	enum lane_failure failure;
	struct call_refusal refusal;

	/* the call that runs, or ran last */
	uint64_t number; /* of the call, and of its reservation; 0: none */
	const struct provider *provider; /* NULL until known */
	const struct provider_path *path;
	char model[GRANT_MODEL_MAX + 1];
	struct call_charge charge;  /* what it may use, and what it used */
	struct ledger_share *share; /* its reservation is one of these */
	uint64_t started_ms, asked_ms, first_ms, active_ms;
	uint64_t in_bytes;   /* of the request, as it came */
	uint64_t down_bytes; /* of the response, that the agent took */
	uint64_t out_bytes;  /* of its content, as it came */
	uint64_t redacted;   /* keys overwritten */
	unsigned upstream_status;
	enum call_code code;
	enum call_state state : 8;
	enum call_list list : 8;
	enum call_end end : 8;
	unsigned keep : 1, /* the agent's connection, after this call */
	    stream : 1, usage_added : 1, is_call_llm : 1,
	    sent : 1,     /* the whole request is in the lane */
	    asked : 1,    /* the ledger's answer is due */
	    reserved : 1, /* by the ledger: must be settled */
	    open : 1,     /* a call runs that was not reported */
	    counted : 1,  /* in the run's counters */
	    has_lane : 1;
};

#endif
