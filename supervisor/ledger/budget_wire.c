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
budget_wire_amounts_fault(const struct budget_wire_ask *ask, uint32_t calls)
{
	for (unsigned i = 0; i < BUDGET_WIRE_AMOUNTS; i++) {
		int64_t least = i == BUDGET_COST ? BUDGET_UNKNOWN_COST : 0;

		if (ask->amounts[i] < least ||
		    ask->amounts[i] > BUDGET_AMOUNT_MAX * calls)
			return "an amount is out of range";
	}
	return NULL;
}

static const char *
budget_wire_settle_fault(const struct budget_wire_ask *ask)
{
	if (ask->served > ask->calls || ask->estimated > ask->calls)
		return "more calls are served or estimated than were made";
	return budget_wire_amounts_fault(ask, ask->calls);
}

static const char *
budget_wire_reserve_fault(const struct budget_wire_ask *ask)
{
	if (!budget_wire_is_text(ask->provider, BUDGET_WIRE_PROVIDER_MAX) ||
	    !budget_wire_is_text(ask->model, BUDGET_WIRE_MODEL_MAX))
		return "a provider or model is no text";
	if (ask->calls == 0 || ask->unused != 0)
		return "a reservation is for one call and some ahead";
	if (ask->amounts[BUDGET_REQUESTS] < 1)
		return "amounts.requests is 0, a call is at least one";
	return budget_wire_amounts_fault(ask, 1);
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
	if (ask->calls > BUDGET_WIRE_CALLS_MAX ||
	    ask->unused > BUDGET_WIRE_CALLS_MAX ||
	    ask->calls + ask->unused == 0)
		return "a number of calls is out of range";
	return ask->kind == BUDGET_WIRE_SETTLE ? budget_wire_settle_fault(ask)
					       : budget_wire_reserve_fault(ask);
}

const char *
budget_wire_answer_fault(const struct budget_wire_answer *answer)
{
	if (answer->magic != BUDGET_WIRE_MAGIC)
		return "a record begins with a wrong mark";
	if (answer->kind == BUDGET_WIRE_RESERVED)
		return answer->calls == 0 ||
			       answer->calls > BUDGET_WIRE_CALLS_MAX
			   ? "a number of calls is out of range"
			   : NULL;
	if (answer->kind != BUDGET_WIRE_REFUSED)
		return "a record is neither reserved nor refused";
	return memchr(answer->scope, '\0', sizeof(answer->scope)) == NULL ||
		       memchr(answer->amount, '\0', sizeof(answer->amount)) ==
			   NULL
		   ? "a scope or amount is no text"
		   : NULL;
}
