/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting refusals. Called by tools_port; it must never forget one.
 */
#include "supervisor/gate/tools_tally.h"

#include <stdio.h>
#include <string.h>

static struct tools_tally_row *
tools_tally_find(
    struct tools_tally *tally, enum tools_fault fault, const char *target)
{
	for (size_t i = 0; i < tally->used; i++) {
		if (tally->rows[i].fault == fault &&
		    strcmp(tally->rows[i].target, target) == 0)
			return &tally->rows[i];
	}
	return NULL;
}

/* When only one row is left, it is for everything else. */
static struct tools_tally_row *
tools_tally_row(
    struct tools_tally *tally, enum tools_fault fault, const char *target)
{
	struct tools_tally_row *row = tools_tally_find(tally, fault, target);

	if (row != NULL)
		return row;
	if (tally->used + TOOLS_FAULT_COUNT >= TOOLS_TALLY_ROWS)
		target = TOOLS_TALLY_OTHERS;
	row = tools_tally_find(tally, fault, target);
	if (row != NULL)
		return row;
	row = &tally->rows[tally->used++];
	row->fault = fault;
	row->count = 0;
	(void)snprintf(row->target, sizeof(row->target), "%s", target);
	return row;
}

void
tools_tally_add(struct tools_tally *tally, enum tools_fault fault,
    const char *target, uint64_t now_ms)
{
	tally->by_fault[fault]++;
	if (tally->used == 0)
		tally->due_ms = tally->told_ms + TOOLS_TALLY_MS > now_ms
				    ? tally->told_ms + TOOLS_TALLY_MS
				    : now_ms;
	tools_tally_row(tally, fault, target)->count++;
}

void
tools_tally_flush(struct tools_tally *tally, uint64_t now_ms, bool over,
    tools_tally_tell *tell, void *context)
{
	if (tally->used == 0 || (!over && now_ms < tally->due_ms))
		return;
	for (size_t i = 0; i < tally->used; i++)
		tell(&tally->rows[i], context);
	tally->used = 0;
	tally->due_ms = 0;
	tally->told_ms = now_ms;
}

uint64_t
tools_tally_refused_calls(const struct tools_tally *tally)
{
	return tally->by_fault[TOOLS_FAULT_DENIED] +
	       tally->by_fault[TOOLS_FAULT_MANY_CALLS] +
	       tally->by_fault[TOOLS_FAULT_BUSY] +
	       tally->by_fault[TOOLS_FAULT_ARGUMENTS];
}
