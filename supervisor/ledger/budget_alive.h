/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which runs are alive: each holds the byte of usage.lock that its number
 * says, by a lock of the open file description, which the kernel drops when
 * the process ends in whatever way. Used by budget.c only.
 */
#ifndef SUPERVISOR_LEDGER_BUDGET_ALIVE_H
#define SUPERVISOR_LEDGER_BUDGET_ALIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/result.h"

struct budget_alive {
	int hold_fd; /* our locks; -1: not open */
	int look_fd; /* another description, so that ours show too */
};

enum result budget_alive_open(
    struct budget_alive *alive, int dir_fd, const char *name);
void budget_alive_close(struct budget_alive *alive);

/* RESULT_EXISTS: somebody has it. */
enum result budget_alive_take(struct budget_alive *alive, int64_t number);
void budget_alive_drop(struct budget_alive *alive, int64_t number);
/* True also when it cannot be told. */
bool budget_alive_is_held(const struct budget_alive *alive, int64_t number);

#endif
