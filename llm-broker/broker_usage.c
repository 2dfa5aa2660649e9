/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums usage until it is flushed. Called by broker.c. Must never lose a
 * count, and never grow.
 */
#include "llm-broker/broker_usage.h"

#include <stdio.h>
#include <string.h>

#define BROKER_USAGE_OWN (BROKER_USAGE_ROWS - CALL_CODE_COUNT)

_Static_assert(BROKER_USAGE_ROWS > CALL_CODE_COUNT, "a row of others per code");

static const char broker_usage_others[] = "(others)";

static struct broker_usage_row *
broker_usage_find(struct broker_usage *usage, const char *provider,
    const char *model, const struct call *call)
{
	for (size_t i = 0; i < usage->used; i++) {
		struct broker_usage_row *row = &usage->rows[i];

		if (row->code == call->code &&
		    (row->estimated == call->charge.estimated ||
			model == broker_usage_others) &&
		    strcmp(row->model, model) == 0 &&
		    strcmp(row->provider, provider) == 0)
			return row;
	}
	return NULL;
}

/* The row of these names, or a new one. NULL: no room for one. */
static struct broker_usage_row *
broker_usage_row(struct broker_usage *usage, const char *provider,
    const char *model, const struct call *call, size_t max)
{
	struct broker_usage_row *row =
	    broker_usage_find(usage, provider, model, call);

	if (row != NULL || usage->used >= max)
		return row;
	row = &usage->rows[usage->used++];
	row->code = call->code;
	(void)snprintf(row->provider, sizeof(row->provider), "%s", provider);
	(void)snprintf(row->model, sizeof(row->model), "%s", model);
	row->estimated = call->charge.estimated;
	return row;
}

void
broker_usage_add(struct broker_usage *usage, const struct call *call)
{
	const struct call_amounts *used = &call->charge.used;
	const char *provider =
	    call->provider != NULL ? provider_name(call->provider) : "";
	struct broker_usage_row *row = broker_usage_row(
	    usage, provider, call->model, call, BROKER_USAGE_OWN);

	if (row == NULL)
		row = broker_usage_row(usage, broker_usage_others,
		    broker_usage_others, call, BROKER_USAGE_ROWS);
	if (row == NULL)
		return; /* impossible: there is a row per code */
	row->estimated = row->estimated || call->charge.estimated;
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
