/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What llm-key may still do once it holds a key: the table is in
 * key_confine.c, a reason per row; common/confine.h has the mechanism.
 * tests/confine/test_key_confine.c tries both sides of it.
 */
#ifndef LLM_BROKER_KEY_KEY_CONFINE_H
#define LLM_BROKER_KEY_KEY_CONFINE_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/confine.h"

/* Used when we start as root and the config names no uid: shared with no
 * other process, so that nobody may signal or inspect this one. */
#define KEY_CONFINE_UID 1879048190U

/* uid 0: KEY_CONFINE_UID. landlock false only by the host's override. */
enum result key_confine_enter(uid_t uid, bool landlock,
    struct confine_layers *layers_r, char *detail_r, size_t detail_size);

#endif
