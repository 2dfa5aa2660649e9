/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What agentnode-unpack is told at its start (unpack_jobs.h has the
 * fields). Used by main.c.
 */
#ifndef SUPERVISOR_UNPACK_UNPACK_CONFIG_H
#define SUPERVISOR_UNPACK_UNPACK_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/ipc.h"
#include "common/json_field.h"
#include "supervisor/unpack/unpack_jobs.h"

struct unpack_config {
	int log_fd;                  /* owned */
	int roots[UNPACK_ROOTS_MAX]; /* owned, -1 when empty */
	size_t root_count;
	uid_t uid;        /* 0: the default unprivileged one */
	bool no_landlock; /* the named override of the host config */
	unsigned timeout_s;
};

/* Takes the descriptors out of the config message. */
enum result unpack_config_read(struct ipc_message *message,
    struct unpack_config *config_r, struct json_fault *fault);

#endif
