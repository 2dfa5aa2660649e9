/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decisions on their way to the supervisor, counted: the same verdict on
 * the same target within a flush interval is one message with a count, so
 * that a flood of connections cannot become a flood of messages. Pure; used
 * by proxy.c, and by llm-broker with its own codes.
 */
#ifndef EGRESS_PROXY_DECISION_TABLE_H
#define EGRESS_PROXY_DECISION_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define DECISION_TABLE_ROWS 64U
#define DECISION_TABLE_CODES_MAX 32U /* codes are below this; 0: allowed */
#define DECISION_TABLE_TARGET 264U   /* "host:port" */
#define DECISION_TABLE_RULE 273U

struct decision {
	uint64_t count; /* 0: unused */
	unsigned code;  /* enum deny_code, enum call_code */
	uint64_t first; /* number of the first connection or call of them */
	char sandbox[65];
	char target[DECISION_TABLE_TARGET];
	char rule[DECISION_TABLE_RULE];
};

struct decision_table {
	struct decision rows[DECISION_TABLE_ROWS];
	size_t used;
};

/* Count one decision. When the table is full, it is counted in a row of
 * the same sandbox and code with the target "(others)". Texts longer than
 * their room are cut; rule may be NULL. */
void decision_table_add(struct decision_table *table, const char *sandbox,
    unsigned code, const char *target, const char *rule, uint64_t number);

/* Hand every row to send and forget it; a row for which send says anything
 * but 0 stays, and flushing stops there. */
typedef int decision_table_send(const struct decision *row, void *context);
void decision_table_flush(
    struct decision_table *table, decision_table_send *send, void *context);

#endif
