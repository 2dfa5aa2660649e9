/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one command group that agentnode runs itself. Read by
 * command_dispatch.
 */
#include "supervisor/command/command.h"

extern const struct command command_exec_rows[];

const struct command *const command_groups[] = {
    command_exec_rows,
    NULL,
};
