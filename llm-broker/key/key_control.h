/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's messages to llm-key: stream (broker, keyring),
 * key_changed, resolver_replace, log_replace, stats. A request that cannot
 * be done is answered with `failed`; one that must not be sent ends the
 * process (common/peer.h).
 */
#ifndef LLM_BROKER_KEY_KEY_CONTROL_H
#define LLM_BROKER_KEY_KEY_CONTROL_H

#include "common/confine.h"
#include "common/peer.h"
#include "llm-broker/key/key_holder.h"

struct key_control {
	struct key_holder *holder;
	struct peer *peer;
	int exit_code; /* valid once the loop was stopped */
};

enum result key_control_init(
    struct key_control *control, struct key_holder *holder);
void key_control_close(struct key_control *control);

/* Say what is in force and that requests may come. */
enum result key_control_ready(
    struct key_control *control, const struct confine_layers *layers);

#endif
