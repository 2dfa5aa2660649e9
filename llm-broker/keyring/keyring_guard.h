/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the helper takes from itself. It is not confined as the others are:
 * libsecret starts threads, opens files and talks to the session's D-Bus.
 * It gets no foreign byte and lives for one job.
 */
#ifndef LLM_BROKER_KEYRING_KEYRING_GUARD_H
#define LLM_BROKER_KEYRING_KEYRING_GUARD_H

#include <jansson.h>

#include "common/result.h"

/* No core dump, not dumpable, no new privileges, no capability, no exec:
 * read back from the kernel. *layers_r (the caller's) is what `ready`
 * reports. */
enum result keyring_guard_enter(json_t **layers_r);

/* While a person is asked, the end of the supervisor is seen on the control
 * socket, so that the terminal can be put in order; otherwise it kills. */
void keyring_guard_die_with_supervisor(int on);

#endif
