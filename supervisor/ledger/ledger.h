/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of audit records: they arrive as `audit`, wait for the lock
 * together, are written and synced as one batch, and each is answered with
 * `synced` or `failed`. Used by the ledger's main only.
 */
#ifndef SUPERVISOR_LEDGER_LEDGER_H
#define SUPERVISOR_LEDGER_LEDGER_H

#include <event2/event.h>

#include "common/confine.h"
#include "common/ipc.h"
#include "common/json_field.h"
#include "common/result.h"
#include "common/secret.h"
#include "supervisor/ledger/ledger_config.h"

struct ledger; /* opaque */

/* Open the chain in dir_fd (borrowed) and see that it ends as it should;
 * waits for the lock, a few seconds at most. key (borrowed, may be NULL)
 * seals its end. */
enum result ledger_new(struct event_base *base, int dir_fd,
    const struct ledger_config *config, const struct secret *key,
    struct ledger **ledger_r, struct json_fault *fault);

/* Say ready to the supervisor and take its records. Takes control_fd. */
enum result ledger_serve(
    struct ledger *ledger, int control_fd, const struct confine_layers *layers);

/* Why the loop ended. */
enum ipc_exit ledger_exit_code(const struct ledger *ledger);

void ledger_free(struct ledger **ledger);

#endif
