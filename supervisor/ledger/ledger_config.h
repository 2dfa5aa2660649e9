/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the supervisor's first message tells the ledger: the "options" of
 * `config`: {"uid":N, "log_level":"info", "no_landlock":false,
 * "audit_max_size":bytes, "audit_max_files":N, "audit_key_new":false}, and
 * its descriptors: 0 the log, 1 the ledger's folder, 2 (may be left out:
 * heads are then not sealed) the key of the audit chain.
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
	LEDGER_CONFIG_KEY,
	LEDGER_CONFIG_FDS
};

struct ledger_config {
	uid_t uid; /* 0: the default */
	enum log_level log_level;
	bool no_landlock; /* the host's named override */
	bool has_key;
	bool is_key_new;         /* made in this start of the supervisor */
	uint64_t audit_max_size; /* 0: no rotation */
	unsigned audit_max_files;
};

/* Fill from the message; the fault names what is wrong. */
void ledger_config_read(const struct ipc_message *message,
    struct ledger_config *config_r, struct json_fault *fault);

#endif
