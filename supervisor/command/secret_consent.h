/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives a package's secrets away: shown, asked, the record, the grant after
 * it. Used by consent add, install and mcp install.
 */
#ifndef SUPERVISOR_COMMAND_SECRET_CONSENT_H
#define SUPERVISOR_COMMAND_SECRET_CONSENT_H

#include "supervisor/command/command_ledger.h"
#include "supervisor/package/secret_need.h"

/* lifetime NULL: 90d. Exit code; the sentence was printed. */
int secret_consent_give(struct command_ledger *ledger,
    const struct secret_need *need, const char *lifetime, const char *lockfile);

/* Which it reads and where it can send them, on standard error. */
void secret_consent_show(const struct secret_need *need);
/* A person at a terminal, or yes. Anything else is no, and says so. */
int secret_consent_ask(bool yes, const char *lifetime);

/* What was installed just now: show, ask, give for 90d, unless there is a
 * consent to it. Without one it stays installed. Exit code. */
int secret_consent_install(struct command_ledger *ledger, const char *slug,
    const json_t *entry, bool yes, const char *lockfile);

/* "until 2026-03-01" or "until it is revoked". */
const char *secret_consent_until(time_t expires, char text_r[40]);

#endif
