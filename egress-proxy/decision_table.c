/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts decisions until they are flushed. Called by proxy.c and
 * broker.c. Must never
 * lose a count, and never grow.
 */
#include "egress-proxy/decision_table.h"

#include <stdio.h>
#include <string.h>

static const char decision_table_others[] = "(others)";

static struct decision *
decision_table_find(struct decision_table *table, const char *sandbox,
    unsigned code, const char *target)
{
	for (size_t i = 0; i < table->used; i++) {
		struct decision *row = &table->rows[i];

		if (row->code == code && strcmp(row->target, target) == 0 &&
		    strcmp(row->sandbox, sandbox) == 0)
			return row;
	}
	return NULL;
}

/* The last rows are for what finds no room: one per code at most, as long
 * as there is one sandbox; the very last takes everything. */
static struct decision *
decision_table_new(struct decision_table *table, const char **target)
{
	size_t room = DECISION_TABLE_ROWS - table->used;

	if (room <= DECISION_TABLE_CODES_MAX &&
	    *target != decision_table_others)
		return NULL;
	if (room == 0)
		return &table->rows[DECISION_TABLE_ROWS - 1];
	return &table->rows[table->used++];
}

void
decision_table_add(struct decision_table *table, const char *sandbox,
    unsigned code, const char *target, const char *rule, uint64_t number)
{
	struct decision *row;

	row = decision_table_find(table, sandbox, code, target);
	if (row == NULL) {
		row = decision_table_new(table, &target);
		if (row == NULL) {
			decision_table_add(table, sandbox, code,
			    decision_table_others, NULL, number);
			return;
		}
	}
	if (row->count++ > 0)
		return;
	row->code = code;
	row->first = number;
	(void)snprintf(row->sandbox, sizeof(row->sandbox), "%s", sandbox);
	(void)snprintf(row->target, sizeof(row->target), "%s", target);
	(void)snprintf(
	    row->rule, sizeof(row->rule), "%s", rule != NULL ? rule : "");
}

void
decision_table_flush(
    struct decision_table *table, decision_table_send *send, void *context)
{
	size_t sent = 0;

	while (sent < table->used && send(&table->rows[sent], context) == 0)
		sent++;
	table->used -= sent;
	memmove(table->rows, table->rows + sent,
	    table->used * sizeof(table->rows[0]));
	memset(table->rows + table->used, 0, sent * sizeof(table->rows[0]));
}
