/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rates in the ledger's process: each rate_take of the supervisor is one
 * transaction in rate.db, answered when it is committed. While another
 * ledger writes, it tries again after a pause, until a deadline; without an
 * answer of the database no call passes. Used by ledger.c.
 */
#ifndef SUPERVISOR_LEDGER_LEDGER_RATE_H
#define SUPERVISOR_LEDGER_LEDGER_RATE_H

#include <event2/event.h>

#include "common/ipc.h"
#include "common/result.h"

struct ledger_rate; /* opaque */

/* Send to the supervisor. The message stays the caller's. */
typedef void ledger_rate_send(const struct ipc_message *message, void *context);

/* rate.db in dir_fd (borrowed) is opened with the first question. */
enum result ledger_rate_new(struct event_base *base, int dir_fd,
    ledger_rate_send *send, void *context, struct ledger_rate **rate_r);
/* rate_take, of the supervisor. */
void ledger_rate_take(struct ledger_rate *rate, struct ipc_message *message);
void ledger_rate_free(struct ledger_rate **rate);

#endif
