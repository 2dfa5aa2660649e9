/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's messages to the broker: grant, listen, stream,
 * sandbox_close, key_changed, log_replace, stats. A request that cannot be
 * done is answered with `failed`; one that must not be sent ends the
 * process (common/peer.h).
 */
#ifndef LLM_BROKER_BROKER_CONTROL_H
#define LLM_BROKER_BROKER_CONTROL_H

#include "common/confine.h"
#include "common/peer.h"
#include "llm-broker/broker.h"

struct broker_control {
	struct broker *broker;
	struct peer *peer;
	int exit_code; /* valid once the loop was stopped */
};

/* Start to serve the control socket; broker is running. */
enum result broker_control_init(
    struct broker_control *control, struct broker *broker);
void broker_control_close(struct broker_control *control);

/* Say what is in force and that requests may come. */
enum result broker_control_ready(
    struct broker_control *control, const struct confine_layers *layers);

#endif
