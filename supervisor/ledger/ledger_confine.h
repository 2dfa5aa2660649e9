/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ledger may still do: its loop, and files in its one folder. The
 * table is in ledger_confine.c, a reason per row;
 * tests/confine/test_ledger_confine.c tries both sides of it.
 */
#ifndef SUPERVISOR_LEDGER_LEDGER_CONFINE_H
#define SUPERVISOR_LEDGER_LEDGER_CONFINE_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/confine.h"

/* Owner of the ledger's files where agentnode runs as root and the config
 * names no uid: one that nothing else has. */
#define LEDGER_CONFINE_UID 1879048191

/* dir_fd: the ledger's folder (borrowed). landlock false only by the
 * host's override. */
enum result ledger_confine_enter(uid_t uid, int dir_fd, bool landlock,
    struct confine_layers *layers_r, char *detail_r, size_t detail_size);

#endif
