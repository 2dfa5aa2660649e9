/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an agent did in one run, as counts: calls by how they ended, amounts,
 * tool calls. No word of a prompt, an answer or an error is in it. Pure;
 * used by run_record.c.
 */
#ifndef SUPERVISOR_POLICY_RUN_COUNTS_H
#define SUPERVISOR_POLICY_RUN_COUNTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define RUN_COUNTS_MODELS 8U
#define RUN_COUNTS_NAME_MAX 266U /* provider, slash, model, NUL */

/* The names of the audit record's fields are these, lower case. */
enum run_counts_end {
	RUN_COUNTS_OK,
	RUN_COUNTS_REFUSED_DISABLED, /* provider or path is not granted */
	RUN_COUNTS_REFUSED_LIMIT,    /* a budget, or too many at one time */
	RUN_COUNTS_REFUSED_INPUT,    /* too large */
	RUN_COUNTS_REFUSED_OUTPUT,   /* cut: the run's output is used up */
	RUN_COUNTS_REFUSED_MODEL,
	RUN_COUNTS_REFUSED_REQUEST, /* malformed, or a field is closed */
	RUN_COUNTS_PROVIDER_ERRORS, /* key, network, the provider's own */
	RUN_COUNTS_CANCELLED,       /* the agent went away */
	RUN_COUNTS_ENDS
};

struct run_counts {
	int64_t requests, calls; /* asked for; sent to a provider */
	int64_t ends[RUN_COUNTS_ENDS];
	int64_t input_chars, output_chars, tokens, cost_microusd;
	int64_t estimated, unpriced;
	char models[RUN_COUNTS_MODELS][RUN_COUNTS_NAME_MAX]; /* that served */
	unsigned model_count;
	bool more_models;
	int64_t tool_calls, tool_refusals, tool_errors;
};

/* What a code of llm-broker/call_code.h counts as. */
enum run_counts_end run_counts_end_of(const char *code);
/* The body of one `usage` message. */
void run_counts_usage(struct run_counts *counts, const json_t *usage);
/* refused: it was not run at all. */
void run_counts_tool(struct run_counts *counts, const char *code, bool refused);

/* {"requests":...,"model":...}; caller owns it. */
json_t *run_counts_json(const struct run_counts *counts);

#endif
