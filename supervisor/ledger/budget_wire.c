/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges records of a pair. Called by both ends for each record before
 * anything is done with it. It must never let a number pass that budget.c
 * could not add up, nor a name that is no text.
 */
#include "supervisor/ledger/budget_wire.h"

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "supervisor/ledger/budget_limits.h"

_Static_assert(BUDGET_WIRE_AMOUNTS == BUDGET_AMOUNT_COUNT,
    "a record has room for each amount");

static bool
budget_wire_is_text(const char *text, size_t max)
{
	size_t len = strnlen(text, max + 1);
	json_t *value;

	if (len == 0 || len > max)
		return false;
	value = json_stringn(text, len); /* NULL: no UTF-8 */
	json_decref(value);
	return value != NULL;
}

static const char *
budget_wire_amounts_fault(const struct budget_wire_ask *ask)
{
	for (unsigned i = 0; i < BUDGET_WIRE_AMOUNTS; i++) {
		int64_t least = i == BUDGET_COST ? BUDGET_UNKNOWN_COST : 0;

		if (ask->amounts[i] < least ||
		    ask->amounts[i] > BUDGET_AMOUNT_MAX)
			return "an amount is out of range";
	}
	return NULL;
}

const char *
budget_wire_fault(const struct budget_wire_ask *ask)
{
	if (ask->magic != BUDGET_WIRE_MAGIC)
		return "a record begins with a wrong mark";
	if (ask->kind != BUDGET_WIRE_RESERVE && ask->kind != BUDGET_WIRE_SETTLE)
		return "a record is neither reserve nor settle";
	if (ask->call == 0 || ask->call > INT64_MAX)
		return "a call's number is out of range";
	if (ask->kind == BUDGET_WIRE_SETTLE)
		return ask->served > 1 || ask->estimated > 1
			   ? "a flag is neither 0 nor 1"
			   : budget_wire_amounts_fault(ask);
	if (!budget_wire_is_text(ask->provider, BUDGET_WIRE_PROVIDER_MAX) ||
	    !budget_wire_is_text(ask->model, BUDGET_WIRE_MODEL_MAX))
		return "a provider or model is no text";
	if (ask->amounts[BUDGET_REQUESTS] < 1)
		return "amounts.requests is 0, a call is at least one";
	return budget_wire_amounts_fault(ask);
}

const char *
budget_wire_answer_fault(const struct budget_wire_answer *answer)
{
	if (answer->magic != BUDGET_WIRE_MAGIC)
		return "a record begins with a wrong mark";
	if (answer->kind == BUDGET_WIRE_RESERVED)
		return NULL;
	if (answer->kind != BUDGET_WIRE_REFUSED)
		return "a record is neither reserved nor refused";
	return memchr(answer->scope, '\0', sizeof(answer->scope)) == NULL ||
		       memchr(answer->amount, '\0', sizeof(answer->amount)) ==
			   NULL
		   ? "a scope or amount is no text"
		   : NULL;
}
