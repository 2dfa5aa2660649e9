/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of a helper: its one job, from what it needs to `done`.
 */
#ifndef LLM_BROKER_KEYRING_KEYRING_JOB_H
#define LLM_BROKER_KEYRING_KEYRING_JOB_H

#include "llm-broker/keyring/keyring_config.h"

/* Do it and say what came of it. A store says `done` "take" when the key is
 * there and good, waits for `commit`, and says `done` "store". */
void keyring_job_run(const struct keyring_config *config);

#endif
