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

#include "common/result.h"
#include "llm-broker/keyring/keyring_words.h"

#define KEYRING_CHANNEL_DETAIL_MAX 512U

/* What a job came to. */
struct keyring_outcome {
	enum keyring_status status;
	char detail[KEYRING_CHANNEL_DETAIL_MAX]; /* one sentence; "" */
	char last4[5];                           /* store; "" */
	int token_fd; /* read with a passphrase; owned; -1 */
};

void keyring_outcome_set(struct keyring_outcome *outcome,
    enum keyring_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Takes layers. */
void keyring_channel_ready(json_t *layers);

/* `done` {"job":WORD,"result":{"status","detail"?,"last4"?}} and the token
 * when there is one. */
void keyring_channel_done(
    const char *job, const struct keyring_outcome *outcome);

/* Wait for `work` {"job":"commit"}. Anything that must not come ends the
 * process, and so does the end of the supervisor. */
void keyring_channel_wait_commit(void);

/* True when the supervisor is gone; never waits. */
bool keyring_channel_is_over(void);

#endif
