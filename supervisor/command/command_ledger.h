/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit ledger for commands that change something: started, confined
 * and ready before anything else happens. Used by command_mcp_install.c,
 * command_remove.c and command_image.c.
 */
#ifndef SUPERVISOR_COMMAND_COMMAND_LEDGER_H
#define SUPERVISOR_COMMAND_COMMAND_LEDGER_H

#include <event2/event.h>
#include <jansson.h>

#include "supervisor/policy/audit.h"

struct command_ledger {
	struct event_base *base; /* owned; free for the command's own use */
	struct audit *audit;     /* owned */
};

/* COMMAND_DONE when it is ready; else the exit code, and the sentence was
 * printed. Close in either case. */
int command_ledger_open(struct command_ledger *ledger);
/* One record, synced; takes fields. Exit code as above. */
int command_ledger_write(
    struct command_ledger *ledger, const char *event, json_t *fields);
void command_ledger_close(struct command_ledger *ledger);

#endif
