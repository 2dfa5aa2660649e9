/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic of a call's charge. Called by call.c. Must never charge less
 * than what was seen, nor overflow on numbers a provider made up.
 */
#include "llm-broker/call_charge.h"

#include <string.h>

/* Above this a count is no count: a provider's nonsense is not summed. */
#define CALL_CHARGE_COUNT_MAX (UINT64_C(1) << 40)

static uint64_t
call_charge_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t
call_charge_most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void
call_charge_price(struct call_amounts *amounts, const struct grant *grant,
    const char *provider, const char *model)
{
	amounts->cost = grant_cost(grant, provider, model,
	    amounts->input_tokens, amounts->output_tokens);
}

void
call_charge_reserve(struct call_charge *charge, const struct grant *grant,
    const char *provider, const char *model, uint64_t input_chars,
    uint64_t output_tokens)
{
	struct call_amounts *reserve = &charge->reserve;

	memset(charge, 0, sizeof(*charge));
	reserve->requests = 1;
	reserve->input_chars = input_chars;
	reserve->output_chars = 1;
	reserve->input_tokens = usage_scan_estimate(input_chars);
	reserve->output_tokens =
	    call_charge_least(output_tokens, CALL_CHARGE_COUNT_MAX);
	call_charge_price(reserve, grant, provider, model);
}

static void
call_charge_known(struct call_amounts *used, const struct usage_counts *counts)
{
	used->input_tokens =
	    call_charge_least(counts->input_tokens, CALL_CHARGE_COUNT_MAX);
	used->output_tokens =
	    call_charge_least(counts->output_tokens, CALL_CHARGE_COUNT_MAX);
	used->cached_tokens =
	    call_charge_least(counts->cached_tokens, CALL_CHARGE_COUNT_MAX);
}

/* What was seen, was said before the cut, or, when its end was not seen,
 * was reserved: whichever is most. */
static void
call_charge_guess(struct call_charge *charge, const struct usage_counts *counts,
    enum call_charge_end end)
{
	struct call_amounts *used = &charge->used;
	uint64_t seen = used->output_chars;

	charge->estimated = true;
	if (counts != NULL)
		call_charge_known(used, counts);
	used->input_tokens =
	    call_charge_most(used->input_tokens, charge->reserve.input_tokens);
	used->output_tokens =
	    call_charge_most(used->output_tokens, usage_scan_estimate(seen));
	if (end == CALL_CHARGE_CUT && (counts == NULL || !counts->known))
		used->output_tokens = call_charge_most(
		    used->output_tokens, charge->reserve.output_tokens);
}

void
call_charge_settle(struct call_charge *charge, const struct grant *grant,
    const char *provider, const char *model, const struct usage_counts *counts,
    bool is_stream, enum call_charge_end end)
{
	struct call_amounts *used = &charge->used;
	enum call_charge_end seen = end;

	memset(used, 0, sizeof(*used));
	charge->estimated = false;
	if (end == CALL_CHARGE_NOT_SENT)
		return;
	used->requests = 1;
	used->input_chars = charge->reserve.input_chars;
	if (end == CALL_CHARGE_REFUSED)
		return;
	used->output_chars = counts != NULL ? counts->output_chars : 0;
	/* Only a stream may leave out what it used: text was counted. */
	if (counts == NULL || !is_stream || counts->odd)
		seen = CALL_CHARGE_CUT;
	if (counts != NULL && counts->known && end == CALL_CHARGE_ENDED)
		call_charge_known(used, counts);
	else
		call_charge_guess(charge, counts, seen);
	call_charge_price(used, grant, provider, model);
}
