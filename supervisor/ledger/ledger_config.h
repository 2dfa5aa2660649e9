/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the supervisor's first message tells the ledger: the "options" of
 * `config`: {"uid":N, "log_level":"info", "no_landlock":false}, and its
 * descriptors: 0 the log, 1 the ledger's folder.
 */
#ifndef SUPERVISOR_LEDGER_LEDGER_CONFIG_H
#define SUPERVISOR_LEDGER_LEDGER_CONFIG_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/ipc.h"
#include "common/json_field.h"
#include "common/log.h"

enum ledger_config_fd {
	LEDGER_CONFIG_LOG,
	LEDGER_CONFIG_DIR,
	LEDGER_CONFIG_FDS
};

struct ledger_config {
	uid_t uid; /* 0: the default */
	enum log_level log_level;
	bool no_landlock; /* the host's named override */
};

/* Fill from the message; the fault names what is wrong. */
void ledger_config_read(const struct ipc_message *message,
    struct ledger_config *config_r, struct json_fault *fault);

#endif
