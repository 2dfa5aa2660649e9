/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of what was used, for people: one row per day, agent, provider
 * and model, bounded, and how it is read. budget.c adds, ledger_budget.c
 * answers `agentnode llm usage` from it.
 */
#ifndef SUPERVISOR_LEDGER_BUDGET_USAGE_H
#define SUPERVISOR_LEDGER_BUDGET_USAGE_H

#include <jansson.h>
#include <stdbool.h>

#include "supervisor/ledger/budget_db.h"
#include "supervisor/ledger/budget_limits.h"

/* Kinds of model an agent has of its own on one day; the others are counted
 * as BUDGET_USAGE_OTHER. */
#define BUDGET_USAGE_MODELS 64
#define BUDGET_USAGE_OTHER "(other)"
#define BUDGET_USAGE_PROVIDER_MAX 65U
#define BUDGET_USAGE_MODEL_MAX 201U

struct budget_usage {
	int64_t day; /* since 1970-01-01, UTC */
	char provider[BUDGET_USAGE_PROVIDER_MAX];
	char model[BUDGET_USAGE_MODEL_MAX];
	struct budget_amounts amounts;
	int64_t calls, served, estimated;
	int64_t unpriced; /* calls whose cost is unknown, and not in amounts */
};

/* From a row of BUDGET_DB_CALL_GET or BUDGET_DB_CALLS: its calls with what
 * they reserved, which usage.amounts get too. */
void budget_usage_of_call(struct budget_query *query,
    struct budget_usage *usage_r, struct budget_amounts *reserved_r);
/* What usage.calls used instead. */
void budget_usage_put_amounts(
    struct budget_usage *usage, const struct budget_amounts *amounts);
/* True: more is of the same day, provider and model, and was added. */
bool budget_usage_join(
    struct budget_usage *usage, const struct budget_usage *more);

/* In a transaction: more calls. */
enum result budget_usage_add(struct budget_db *db, const char *package,
    const struct budget_usage *usage);

/* The rows of a BUDGET_DB_BY_ statement; caller owns the list. */
enum result budget_usage_report(struct budget_db *db,
    enum budget_statement which, int64_t since_day, int64_t limit,
    int64_t offset, json_t **rows_r);

#endif
