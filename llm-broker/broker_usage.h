/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Usage on its way to the supervisor, summed: calls of one provider, model
 * and end within a flush interval are one message with a count. Pure; used
 * by broker.c.
 */
#ifndef LLM_BROKER_BROKER_USAGE_H
#define LLM_BROKER_BROKER_USAGE_H

#include <stddef.h>

#include "llm-broker/call_data.h"

#define BROKER_USAGE_ROWS 64U

struct broker_usage_row {
	uint64_t count;
	char provider[PROVIDER_NAME_MAX + 1], model[GRANT_MODEL_MAX + 1];
	enum call_code code;
	bool estimated;
	struct call_amounts amounts; /* cost: of the known prices */
};

struct broker_usage {
	struct broker_usage_row rows[BROKER_USAGE_ROWS];
	size_t used;
};

/* Add a call that is over. When the table is full, it is added to the row of
 * its code whose names say "(others)". */
void broker_usage_add(struct broker_usage *usage, const struct call *call);

/* Hand every row to send and forget it; a row for which send says anything
 * but 0 stays, and flushing stops there. */
typedef int broker_usage_send(
    const struct broker_usage_row *row, void *context);
void broker_usage_flush(
    struct broker_usage *usage, broker_usage_send *send, void *context);

#endif
