/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Guard would answer to a call of each tool that the entry lists.
 * Private to explain_facts.c.
 */
#ifndef SUPERVISOR_COMMAND_EXPLAIN_GUARD_H
#define SUPERVISOR_COMMAND_EXPLAIN_GUARD_H

#include <jansson.h>

#include "supervisor/package/run_entry.h"

/* Lines "guard" of words, and answer.guard: [{"tool", "answer", "actions",
 * "code"}]; code is "" when the call would be made with nobody to ask. */
void explain_guard_say(json_t *answer, struct run_entry *run);

#endif
