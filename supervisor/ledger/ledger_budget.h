/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of budgets in the ledger's process: pairs to brokers, their
 * reservations and settlements, done in batches of one transaction each and
 * answered only when that is committed. Used by ledger.c.
 *
 *   OPENING --committed--> OPEN --budget_close--> DRAINING --> gone
 *              OPEN --the broker is gone or misbehaves--> ENDED --> gone
 */
#ifndef SUPERVISOR_LEDGER_LEDGER_BUDGET_H
#define SUPERVISOR_LEDGER_LEDGER_BUDGET_H

#include <event2/event.h>

#include "common/ipc.h"
#include "common/result.h"

#define LEDGER_BUDGET_PAIRS 16U

struct ledger_budget; /* opaque */

/* Send to the supervisor. The message stays the caller's. */
typedef void ledger_budget_send(
    const struct ipc_message *message, void *context);

/* Opens nothing: usage.db is opened when the first run comes. dir_fd is
 * borrowed and must stay open as long. */
enum result ledger_budget_new(struct event_base *base, int dir_fd,
    ledger_budget_send *send, void *context, struct ledger_budget **budget_r);

/* budget_open, budget_close or stats from the supervisor. */
void ledger_budget_take(
    struct ledger_budget *budget, struct ipc_message *message);

/* The supervisor is gone: what arrived is done if it can be done at once.
 * What is reserved then stays charged. */
void ledger_budget_free(struct ledger_budget **budget);

#endif
