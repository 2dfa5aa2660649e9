/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Budgets in usage.db (SQLite, WAL): what was used and what is reserved, per
 * run, per agent and UTC day, per host and UTC day. A reservation is one
 * transaction that passes only if every amount fits every scope together
 * with what others reserved; it is settled with what was used. Right under
 * concurrent calls and several ledger processes (BEGIN IMMEDIATE);
 * reservations of runs whose lock is free again are settled as used.
 * No libevent in here; used by the ledger's process and by its tests.
 *
 * limits of `budget_open`; an absent number is no limit:
 * {"run":{"requests":20,"concurrent":4,"input_chars":24000,
 *         "output_chars":24000,"tokens":N,"cost_microusd":N},
 *  "agent_day":{...},"host_day":{...}}
 */
#ifndef SUPERVISOR_LEDGER_BUDGET_H
#define SUPERVISOR_LEDGER_BUDGET_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/json_field.h"
#include "common/result.h"

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
#define BUDGET_UNKNOWN_COST (-1) /* refused where cost is limited */

struct budget_amounts {
	int64_t values[BUDGET_AMOUNT_COUNT];
};

struct budget_limits {
	/* -1: no limit */
	int64_t values[BUDGET_SCOPE_COUNT][BUDGET_AMOUNT_COUNT];
	int64_t concurrent[BUDGET_SCOPE_COUNT];
};

struct budget_refusal {
	enum budget_scope scope;
	const char *amount; /* "tokens", "concurrent" */
	int64_t limit, used;
	int64_t retry_after_s; /* 0: waiting does not help */
};

struct budget; /* the open database */

/* dir_fd: the ledger's folder; the file is usage.db, 0600. */
enum result budget_open(
    int dir_fd, struct budget **budget_r, struct json_fault *fault);
void budget_free(struct budget **budget);

void budget_limits_read(const json_t *object, const char *path,
    struct budget_limits *limits_r, struct json_fault *fault);
void budget_amounts_read(const json_t *object, const char *path,
    struct budget_amounts *amounts_r, struct json_fault *fault);

/* A run begins; first settles what dead runs left reserved. */
enum result budget_run_open(struct budget *budget, const char *run,
    const char *package, const struct budget_limits *limits);
enum result budget_run_close(struct budget *budget, const char *run);

/* RESULT_OK: *reservation_r is its number; RESULT_REFUSED: *refusal_r. */
enum result budget_reserve(struct budget *budget, const char *run,
    const char *provider, const char *model,
    const struct budget_amounts *amounts, int64_t *reservation_r,
    struct budget_refusal *refusal_r);
enum result budget_settle(struct budget *budget, int64_t reservation,
    const struct budget_amounts *used, const char *code, bool estimated);

#endif
