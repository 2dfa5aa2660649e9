/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts of what is left, open and to be told. Called by broker_ledger.c.
 * Must never let two calls take one reservation, nor forget what a call
 * used.
 */
#include "llm-broker/ledger_share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/ledger/budget_limits.h"

void
ledger_share_init(struct ledger_shares *shares)
{
	memset(shares, 0, sizeof(*shares));
	TAILQ_INIT(&shares->fresh);
	TAILQ_INIT(&shares->spent);
}

unsigned
ledger_share_pace(struct ledger_shares *shares, uint64_t now_ms)
{
	uint64_t passed = now_ms - shares->window_ms;
	unsigned most;

	if (passed >= LEDGER_SHARE_WINDOW_MS) {
		shares->before =
		    passed < 2 * LEDGER_SHARE_WINDOW_MS ? shares->now : 0;
		shares->now = 0;
		shares->window_ms = now_ms;
	}
	most = shares->now > shares->before ? shares->now : shares->before;
	shares->now++;
	if (most < LEDGER_SHARE_LEAST)
		return 0;
	return most < BUDGET_WIRE_CALLS_MAX ? most : BUDGET_WIRE_CALLS_MAX - 1;
}

struct ledger_share *
ledger_share_new(struct ledger_shares *shares, const struct call *call,
    const struct budget_wire_ask *ask)
{
	struct ledger_share *share = NULL;

	if (shares->fresh_count < LEDGER_SHARE_MAX)
		share = calloc(1, sizeof(*share));
	if (share == NULL)
		return NULL;
	share->number = ask->call;
	share->provider = call->provider;
	(void)snprintf(share->model, sizeof(share->model), "%s", call->model);
	memcpy(share->most, ask->amounts, sizeof(share->most));
	share->left = ask->calls - 1; /* one is the asking call's */
	share->is_asked = true;
	TAILQ_INSERT_HEAD(&shares->fresh, share, link);
	shares->fresh_count++;
	return share;
}

/* A price that is not known is another one. */
static bool
ledger_share_fits(
    const struct ledger_share *share, const struct budget_wire_ask *ask)
{
	for (unsigned i = 0; i < BUDGET_WIRE_AMOUNTS; i++)
		if (ask->amounts[i] > share->most[i])
			return false;
	return ask->amounts[BUDGET_COST] != BUDGET_UNKNOWN_COST ||
	       share->most[BUDGET_COST] == BUDGET_UNKNOWN_COST;
}

struct ledger_share *
ledger_share_find(struct ledger_shares *shares, const struct call *call,
    const struct budget_wire_ask *ask, bool is_asked)
{
	struct ledger_share *share;

	TAILQ_FOREACH(share, &shares->fresh, link)
	if (share->left > 0 && share->is_asked == is_asked &&
	    share->provider == call->provider &&
	    strcmp(share->model, call->model) == 0 &&
	    ledger_share_fits(share, ask))
		return share;
	return NULL;
}

struct ledger_share *
ledger_share_numbered(struct ledger_shares *shares, uint64_t number)
{
	struct ledger_share *share;

	TAILQ_FOREACH(share, &shares->fresh, link)
	if (share->number == number)
		return share;
	return NULL;
}

/* It has something to tell. */
static bool
ledger_share_owes(const struct ledger_share *share)
{
	return share->done.calls + share->done.unused > 0;
}

/* From the fresh to the spent, and from there away. */
static void
ledger_share_check(struct ledger_shares *shares, struct ledger_share *share)
{
	if (share->left > 0 || share->is_asked || ledger_share_owes(share) ||
	    share->open > 0)
		return;
	TAILQ_REMOVE(&shares->spent, share, link);
	free(share);
}

static void
ledger_share_spend(struct ledger_shares *shares, struct ledger_share *share)
{
	TAILQ_REMOVE(&shares->fresh, share, link);
	shares->fresh_count--;
	TAILQ_INSERT_TAIL(&shares->spent, share, link);
	share->left = 0;
	share->is_asked = false;
}

void
ledger_share_join(struct ledger_share *share)
{
	share->left--;
}

void
ledger_share_answered(
    struct ledger_shares *shares, struct ledger_share *share, unsigned calls)
{
	share->left = calls;
	share->is_asked = false;
	share->is_used = true;
	if (calls > 0)
		return;
	ledger_share_spend(shares, share);
	ledger_share_check(shares, share);
}

void
ledger_share_take(
    struct ledger_shares *shares, struct ledger_share *share, struct call *call)
{
	call->share = share;
	share->open++;
	share->is_used = true;
	if (--share->left == 0)
		ledger_share_spend(shares, share);
}

/* Of a call whose price is not known stays charged what was reserved. */
static int64_t
ledger_share_cost(
    const struct ledger_share *share, const struct budget_wire_ask *ask)
{
	return share->most[BUDGET_COST] == BUDGET_UNKNOWN_COST ||
		       ask->amounts[BUDGET_COST] == BUDGET_UNKNOWN_COST
		   ? share->most[BUDGET_COST]
		   : ask->amounts[BUDGET_COST];
}

void
ledger_share_settle(struct ledger_shares *shares, struct call *call,
    const struct budget_wire_ask *ask)
{
	struct ledger_share *share = call->share;
	struct budget_wire_ask *done = &share->done;
	int64_t cost = ledger_share_cost(share, ask);

	call->share = NULL;
	share->open--;
	if (share->number == 0) { /* the ledger is gone */
		ledger_share_check(shares, share);
		return;
	}
	done->calls += ask->calls;
	done->served += ask->served;
	done->estimated += ask->estimated;
	for (unsigned i = 0; i < BUDGET_COST; i++)
		done->amounts[i] += ask->amounts[i];
	if (cost == BUDGET_UNKNOWN_COST)
		done->amounts[BUDGET_COST] = cost;
	else
		done->amounts[BUDGET_COST] += cost;
}

static void
ledger_share_say(struct ledger_shares *shares, struct ledger_share *share,
    ledger_share_put *put, void *context)
{
	struct budget_wire_ask *done = &share->done;

	if (!ledger_share_owes(share))
		return;
	done->magic = BUDGET_WIRE_MAGIC;
	done->kind = BUDGET_WIRE_SETTLE;
	done->call = share->number;
	(void)put(done, context); /* else its end will be told */
	memset(done, 0, sizeof(*done));
	ledger_share_check(shares, share);
}

static void
ledger_share_say_all(struct ledger_shares *shares,
    struct ledger_share_queue *queue, ledger_share_put *put, void *context)
{
	struct ledger_share *share, *next;

	for (share = TAILQ_FIRST(queue); share != NULL; share = next) {
		next = TAILQ_NEXT(share, link);
		ledger_share_say(shares, share, put, context);
	}
}

void
ledger_share_tell(
    struct ledger_shares *shares, ledger_share_put *put, void *context)
{
	ledger_share_say_all(shares, &shares->spent, put, context);
	ledger_share_say_all(shares, &shares->fresh, put, context);
}

bool
ledger_share_tidy(struct ledger_shares *shares, bool all, ledger_share_put *put,
    void *context)
{
	struct ledger_share *share, *next;

	for (share = TAILQ_FIRST(&shares->fresh); share != NULL; share = next) {
		next = TAILQ_NEXT(share, link);
		if (share->is_asked)
			continue;
		if (all || !share->is_used) {
			share->done.unused += share->left;
			ledger_share_spend(shares, share);
		}
		share->is_used = false;
	}
	ledger_share_tell(shares, put, context);
	return !TAILQ_EMPTY(&shares->fresh);
}

void
ledger_share_lose(struct ledger_shares *shares)
{
	struct ledger_share *share, *next;

	while ((share = TAILQ_FIRST(&shares->fresh)) != NULL)
		ledger_share_spend(shares, share);
	for (share = TAILQ_FIRST(&shares->spent); share != NULL; share = next) {
		next = TAILQ_NEXT(share, link);
		memset(&share->done, 0, sizeof(share->done));
		share->number = 0;
		ledger_share_check(shares, share);
	}
}
