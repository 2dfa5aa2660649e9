/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record of a broker as the ledger judges it: what passes has numbers that
 * can be added up and names that end.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/ledger/budget_limits.h"
#include "supervisor/ledger/budget_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
fuzz_budget_wire_check(const struct budget_wire_ask *ask)
{
	int64_t each = ask->kind == BUDGET_WIRE_SETTLE ? ask->calls : 1;

	if (ask->calls > BUDGET_WIRE_CALLS_MAX ||
	    ask->unused > BUDGET_WIRE_CALLS_MAX ||
	    (ask->calls == 0 && ask->kind == BUDGET_WIRE_RESERVE))
		abort();
	for (unsigned i = 0; i < BUDGET_WIRE_AMOUNTS; i++)
		if (ask->amounts[i] > BUDGET_AMOUNT_MAX * each ||
		    ask->amounts[i] < BUDGET_UNKNOWN_COST)
			abort();
	if (ask->call == 0 ||
	    (ask->served > ask->calls && ask->kind == BUDGET_WIRE_SETTLE))
		abort();
	if (ask->kind == BUDGET_WIRE_RESERVE &&
	    (strnlen(ask->provider, sizeof(ask->provider)) >
		    BUDGET_WIRE_PROVIDER_MAX ||
		strnlen(ask->model, sizeof(ask->model)) >
		    BUDGET_WIRE_MODEL_MAX))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct budget_wire_answer answer = {0};
	struct budget_wire_ask ask = {0};

	memcpy(&ask, data, size < sizeof(ask) ? size : sizeof(ask));
	memcpy(&answer, data, size < sizeof(answer) ? size : sizeof(answer));
	(void)budget_wire_answer_fault(&answer);
	if (budget_wire_fault(&ask) == NULL)
		fuzz_budget_wire_check(&ask);
	return 0;
}
