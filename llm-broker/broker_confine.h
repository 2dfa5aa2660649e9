/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the broker may still do once foreign bytes can arrive: the table is
 * in broker_confine.c, a reason per row; common/confine.h has the mechanism.
 * tests/confine/test_broker_confine.c tries both sides of it.
 */
#ifndef LLM_BROKER_BROKER_CONFINE_H
#define LLM_BROKER_BROKER_CONFINE_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/confine.h"

/* Used when we start as root and the config names no uid. */
#define BROKER_CONFINE_UID 65534

/* uid 0: BROKER_CONFINE_UID. landlock false only by the host's override. */
enum result broker_confine_enter(uid_t uid, bool landlock,
    struct confine_layers *layers_r, char *detail_r, size_t detail_size);

#endif
