/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the ledger for a command; see command_ledger.h. Must never report
 * ready or written before the ledger said so.
 */
#include "supervisor/command/command_ledger.h"

#include <stdio.h>

#include "common/event_loop.h"
#include "supervisor/command/command.h"
#include "supervisor/policy/config.h"

struct command_ledger_ready {
	struct event_base *base;
	enum result result;
	char detail[256];
};

static void
command_ledger_on_ready(enum result result, const char *detail, void *context)
{
	struct command_ledger_ready *ready = context;

	ready->result = result;
	(void)snprintf(ready->detail, sizeof(ready->detail), "%s", detail);
	event_loop_stop(ready->base);
}

int
command_ledger_open(struct command_ledger *ledger)
{
	struct command_ledger_ready ready = {.result = RESULT_INTERNAL};
	struct json_fault fault = {""};
	char home[4096];
	enum result result = config_home(home, sizeof(home), &fault);

	*ledger = (struct command_ledger){NULL, NULL};
	if (result != RESULT_OK)
		return command_fault(result, &fault);
	if (event_loop_new(&ledger->base) == RESULT_OK) {
		ready.base = ledger->base;
		ready.result = audit_start(ledger->base, home,
		    command_ledger_on_ready, &ready, &ledger->audit, &fault);
	}
	if (ready.result == RESULT_OK &&
	    event_loop_run(ledger->base) == RESULT_OK &&
	    ready.result == RESULT_OK)
		return COMMAND_DONE;
	json_field_fault(&fault, "%s",
	    ready.detail[0] == '\0' ? result_text(ready.result) : ready.detail);
	return command_error(COMMAND_INTERNAL,
	    "the audit ledger could not be started: %s", fault.text);
}

int
command_ledger_write(
    struct command_ledger *ledger, const char *event, json_t *fields)
{
	enum result result = RESULT_NO_MEMORY;

	if (fields != NULL)
		result = audit_write(ledger->audit, event, fields);
	json_decref(fields);
	if (result == RESULT_OK)
		return COMMAND_DONE;
	return command_error(COMMAND_INTERNAL,
	    "the audit record '%s' could not be written, so nothing was "
	    "changed: %s",
	    event, result_text(result));
}

void
command_ledger_close(struct command_ledger *ledger)
{
	audit_free(&ledger->audit);
	if (ledger->base != NULL)
		event_base_free(ledger->base);
	ledger->base = NULL;
}
