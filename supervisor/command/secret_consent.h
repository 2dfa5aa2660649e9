/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives a package's secrets away: the record first, the grant after it.
 * Used by consent add and mcp install.
 */
#ifndef SUPERVISOR_COMMAND_SECRET_CONSENT_H
#define SUPERVISOR_COMMAND_SECRET_CONSENT_H

#include "supervisor/command/command_ledger.h"
#include "supervisor/package/secret_need.h"

/* lifetime NULL: 90d. Exit code; the sentence was printed. */
int secret_consent_give(struct command_ledger *ledger,
    const struct secret_need *need, const char *lifetime, const char *lockfile);

/* "until 2026-03-01" or "until it is revoked". */
const char *secret_consent_until(time_t expires, char text_r[40]);

#endif
