/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose turn it is to shake hands with a provider: a crowd that does it at
 * one time takes much memory, and who comes behind resumes the sessions of
 * those before. Used by upstream.c alone.
 *
 * Turns are bounded per provider and per address of it, so that an address
 * that accepts and says nothing leaves the others theirs; and a turn that
 * leads nowhere ends earlier while somebody waits for it.
 */
#ifndef LLM_BROKER_KEY_UPSTREAM_TURN_H
#define LLM_BROKER_KEY_UPSTREAM_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "llm-broker/key/upstream.h"

#define UPSTREAM_TURN_MAX 128U     /* of one provider at one time, */
#define UPSTREAM_TURN_ADDRESS 64U  /* of one address of it */
#define UPSTREAM_TURN_LOOK_MS 100U /* how often those that wait look */

void upstream_turn_init(struct upstream_site *site);

/* Its way to the provider is open. True: its turn begins now; else it stands
 * in line, and upstream_turn_next names it later. */
bool upstream_turn_ask(struct upstream *upstream, uint64_t now_ms);
/* Who waits and may begin, no longer in line: NULL for nobody. *stale_r: to
 * be ended first, for it holds what others wait for. */
struct upstream *upstream_turn_next(
    struct upstream_site *site, uint64_t now_ms, struct upstream **stale_r);
/* It is connected, or ends: out of the line, or out of its turn. */
void upstream_turn_leave(struct upstream *upstream);

#endif
