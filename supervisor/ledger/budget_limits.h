/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a budget counts and what limits it: amounts of one call, limits of a
 * run, and the strict reader of the latter from messages. Used by the ledger
 * and its tests. Pure.
 *
 * limits of `budget_open`; an absent number is no limit:
 * {"run":{"requests":20,"concurrent":4,"input_chars":24000,
 *         "output_chars":24000,"tokens":N,"cost_microusd":N},
 *  "agent_day":{...},"host_day":{...}}
 */
#ifndef SUPERVISOR_LEDGER_BUDGET_LIMITS_H
#define SUPERVISOR_LEDGER_BUDGET_LIMITS_H

#include <jansson.h>
#include <stdint.h>

#include "common/json_field.h"

enum budget_scope {
	BUDGET_RUN,
	BUDGET_AGENT_DAY,
	BUDGET_HOST_DAY,
	BUDGET_SCOPE_COUNT
};
enum budget_amount {
	BUDGET_REQUESTS,
	BUDGET_INPUT_CHARS,
	BUDGET_OUTPUT_CHARS,
	BUDGET_TOKENS,
	BUDGET_COST, /* micro-dollars */
	BUDGET_AMOUNT_COUNT
};

/* Of one call, and of a limit: sums of the former never overflow. */
#define BUDGET_AMOUNT_MAX INT64_C(1000000000000)
#define BUDGET_LIMIT_MAX INT64_C(1000000000000000)
#define BUDGET_NO_LIMIT (-1)
#define BUDGET_UNKNOWN_COST (-1) /* refused where cost is limited */

struct budget_amounts {
	int64_t values[BUDGET_AMOUNT_COUNT];
};

struct budget_limits {
	int64_t values[BUDGET_SCOPE_COUNT][BUDGET_AMOUNT_COUNT];
	int64_t concurrent[BUDGET_SCOPE_COUNT];
};

/* "run", "agent_day", "host_day"; "requests", ... "cost_microusd". */
const char *budget_limits_scope_text(enum budget_scope scope);
const char *budget_limits_amount_text(enum budget_amount amount);

/* Unknown keys and numbers out of range are faults with their path. */
void budget_limits_read(const json_t *object, const char *path,
    struct budget_limits *limits_r, struct json_fault *fault);

#endif
