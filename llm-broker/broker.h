/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broker: the one sandbox it serves, its grant, the pairs to llm-key
 * and the ledger, and what is owed to the supervisor. broker_control.c turns
 * messages into these calls; broker_listen.c accepts.
 */
#ifndef LLM_BROKER_BROKER_H
#define LLM_BROKER_BROKER_H

#include <event2/event.h>
#include <stdbool.h>

#include "common/peer.h"
#include "egress-proxy/decision_table.h"
#include "llm-broker/broker_config.h"
#include "llm-broker/broker_ledger.h"
#include "llm-broker/broker_listen.h"
#include "llm-broker/broker_usage.h"
#include "llm-broker/call_io.h"
#include "llm-broker/key_table.h"

#define BROKER_RETIRED_MAX 16U /* grants that requests may still point to */

struct broker {
	struct event_base *base;
	struct broker_config config;
	struct call_run run; /* grant NULL: no sandbox is open */
	struct grant *retired[BROKER_RETIRED_MAX];
	size_t retired_count;
	struct broker_listen listen;
	struct broker_ledger ledger;
	struct key_table *keys;
	struct peer *key; /* llm-key; NULL: not there */
	struct event *tick;
	unsigned ticks;
	struct decision_table decisions;
	struct broker_usage usage;
	/* To the supervisor; set by broker_control.c. */
	decision_table_send *send_decision;
	broker_usage_send *send_usage;
	void *send_context;
	struct call_io_shared shared; /* last: it is large */
};

/* config stays in broker. Reads nothing and opens no file. */
enum result broker_init(struct broker *broker, struct event_base *base);
/* The sandbox closed, everything freed. */
void broker_close(struct broker *broker);

/* Takes grant. The first opens the sandbox; a later one has to be narrower:
 * RESULT_REFUSED, and the old one stays. RESULT_EXISTS: another sandbox is
 * open. */
enum result broker_grant(
    struct broker *broker, const char *id, struct grant *grant);

/* Take fd: the end of a pair. RESULT_EXISTS: there is one. */
enum result broker_open_key(struct broker *broker, int fd);
enum result broker_open_ledger(struct broker *broker, int fd);

/* Close the listeners and reset all that is open. */
void broker_close_sandbox(struct broker *broker);

/* Send counted usage and decisions now. */
void broker_flush(struct broker *broker);

/* Deadlines and counts need the clock again. */
void broker_keep_ticking(struct broker *broker);

#endif
