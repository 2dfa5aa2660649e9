/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums usage until it is flushed. Called by broker.c. Must never lose a
 * count, and never grow.
 */
#include "llm-broker/broker_usage.h"

#include <stdio.h>
#include <string.h>

static struct broker_usage_row *
broker_usage_find(
    struct broker_usage *usage, const char *provider, const struct call *call)
{
	for (size_t i = 0; i < usage->used; i++) {
		struct broker_usage_row *row = &usage->rows[i];

		if (row->code == call->code &&
		    row->estimated == call->charge.estimated &&
		    strcmp(row->model, call->model) == 0 &&
		    strcmp(row->provider, provider) == 0)
			return row;
	}
	return NULL;
}

static struct broker_usage_row *
broker_usage_new(
    struct broker_usage *usage, const char *provider, const struct call *call)
{
	struct broker_usage_row *row = &usage->rows[BROKER_USAGE_ROWS - 1];
	bool full = usage->used == BROKER_USAGE_ROWS;

	if (!full)
		row = &usage->rows[usage->used++];
	row->code = call->code;
	row->estimated = call->charge.estimated;
	(void)snprintf(row->provider, sizeof(row->provider), "%s",
	    full ? "(others)" : provider);
	(void)snprintf(row->model, sizeof(row->model), "%s",
	    full ? "(others)" : call->model);
	return row;
}

void
broker_usage_add(struct broker_usage *usage, const struct call *call)
{
	const struct call_amounts *used = &call->charge.used;
	const char *provider =
	    call->provider != NULL ? provider_name(call->provider) : "";
	struct broker_usage_row *row = broker_usage_find(usage, provider, call);

	if (row == NULL)
		row = broker_usage_new(usage, provider, call);
	row->count++;
	row->amounts.requests += used->requests;
	row->amounts.input_chars += used->input_chars;
	row->amounts.output_chars += used->output_chars;
	row->amounts.input_tokens += used->input_tokens;
	row->amounts.output_tokens += used->output_tokens;
	row->amounts.cached_tokens += used->cached_tokens;
	if (used->cost > 0)
		row->amounts.cost += used->cost;
}

void
broker_usage_flush(
    struct broker_usage *usage, broker_usage_send *send, void *context)
{
	size_t sent = 0;

	while (sent < usage->used && send(&usage->rows[sent], context) == 0)
		sent++;
	usage->used -= sent;
	memmove(usage->rows, usage->rows + sent,
	    usage->used * sizeof(usage->rows[0]));
	memset(usage->rows + usage->used, 0, sent * sizeof(usage->rows[0]));
}
