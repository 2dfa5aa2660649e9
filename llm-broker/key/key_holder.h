/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the process holds: providers with their keys, connections and
 * breakers, the lanes of the broker, the pairs of keyring helpers. Started
 * by main.c; key_control.c tells it what the supervisor wants.
 */
#ifndef LLM_BROKER_KEY_KEY_HOLDER_H
#define LLM_BROKER_KEY_KEY_HOLDER_H

#include <event2/event.h>
#include <jansson.h>

#include "common/ipc.h"
#include "common/peer.h"
#include "common/result.h"
#include "llm-broker/key/key_config.h"
#include "llm-broker/key/key_lane_io.h"

#define KEY_HOLDER_WHY_MAX 192U

struct key_holder {
	struct event_base *base;
	struct key_config config;
	struct upstream_tls_library *library;
	struct key_lane_world world;
	struct peer *broker;
	bool is_broken; /* a pair is of no more use: end */
};

/* Before confinement; config was read. The CA bundles are read from the
 * message's descriptors. why_r gets a sentence. */
enum result key_holder_init(struct key_holder *holder, struct event_base *base,
    struct ipc_message *message, char why_r[KEY_HOLDER_WHY_MAX]);
void key_holder_close(struct key_holder *holder);

/* Ends of pairs, from `stream`; take fd. RESULT_EXISTS: there is a broker. */
enum result key_holder_add_broker(struct key_holder *holder, int fd);
enum result key_holder_add_keyring(struct key_holder *holder, int fd);

/* RESULT_NOT_FOUND: no provider of that name. */
enum result key_holder_key_changed(
    struct key_holder *holder, const char *provider);
enum result key_holder_set_resolver(
    struct key_holder *holder, const char *servers);

/* Counters, for `stats`; NULL: out of memory. */
json_t *key_holder_stats(const struct key_holder *holder);

#endif
