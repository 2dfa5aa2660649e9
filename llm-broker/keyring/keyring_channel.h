/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper's control socket without an event loop: it says ready, says
 * what came of its job, and waits for the one message it may get. The end
 * of the supervisor ends the helper.
 */
#ifndef LLM_BROKER_KEYRING_KEYRING_CHANNEL_H
#define LLM_BROKER_KEYRING_KEYRING_CHANNEL_H

#include <jansson.h>
#include <stdbool.h>

#include "llm-broker/keyring/keyring_outcome.h"

/* Takes layers. */
void keyring_channel_ready(json_t *layers);

/* `done` {"job":WORD,"result":{"status","detail"?,"last4"?,"token"?,
 * "block"?}}: the last two are indexes of the message's descriptors. */
void keyring_channel_done(
    const char *job, const struct keyring_outcome *outcome);

/* Wait for `work` {"job":"commit"}. Anything that must not come ends the
 * process, and so does the end of the supervisor. */
void keyring_channel_wait_commit(void);

/* True when the supervisor is gone; never waits. */
bool keyring_channel_is_over(void);

#endif
