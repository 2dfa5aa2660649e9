/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the helper's job came to: a status, a sentence for a person, and what
 * may be known of a key. Each part that fails writes it here.
 */
#ifndef LLM_BROKER_KEYRING_KEYRING_OUTCOME_H
#define LLM_BROKER_KEYRING_KEYRING_OUTCOME_H

#include "llm-broker/keyring/keyring_words.h"

#define KEYRING_OUTCOME_DETAIL_MAX 512U

struct keyring_outcome {
	enum keyring_status status;
	char detail[KEYRING_OUTCOME_DETAIL_MAX]; /* one sentence; "" */
	char last4[5];                           /* store; "" */
	int token_fd; /* a passphrase was used; owned; -1 */
	int block_fd; /* fetch: the sealed memfd; owned; -1 */
};

void keyring_outcome_set(struct keyring_outcome *outcome,
    enum keyring_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
