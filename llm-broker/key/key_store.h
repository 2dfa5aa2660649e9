/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of this process: one per provider, in secret memory, received
 * from keyring helpers over a pair each: a `key` message, then the secret as
 * one datagram of exactly the length that was said, straight into that
 * memory. Whatever else comes ends the pair, and the key is unavailable.
 * Nobody can read a key out but key_inject.c. Used by key_holder.c.
 */
#ifndef LLM_BROKER_KEY_KEY_STORE_H
#define LLM_BROKER_KEY_KEY_STORE_H

#include <event2/event.h>
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "common/result.h"
#include "common/secret.h"

#define KEY_STORE_PAIRS_MAX 32U

enum key_status {
	KEY_STATUS_UNUSED = 0, /* the provider takes none */
	KEY_STATUS_AWAITED,    /* a keyring helper is to bring it */
	KEY_STATUS_FOUND,
	KEY_STATUS_MISSING,     /* none is stored, or nobody came */
	KEY_STATUS_UNAVAILABLE, /* stored, but it cannot be read or used */
};

/* "found"; never NULL. */
const char *key_store_status_text(enum key_status status);

struct key_store; /* opaque */

struct key_store_provider {
	const char *name; /* borrowed; outlives the store */
	int has_key;
};

/* The status of a provider changed (not by time passing). */
typedef void key_store_on_change(size_t provider, void *context);

struct key_store_options {
	const struct key_store_provider *providers; /* copied */
	size_t count;
	uint64_t wait_ms; /* how long a key is awaited */
	key_store_on_change *on_change;
	void *context;
};

/* Every key is awaited at first. */
enum result key_store_new(struct event_base *base,
    const struct key_store_options *options, struct key_store **store_r);
void key_store_free(struct key_store **store);

/* A keyring helper's pair; takes fd. RESULT_TOO_LONG: too many are open. */
enum result key_store_add_pair(struct key_store *store, int fd);

/* The stored key changed: wipe what is held; it is awaited again. Pairs that
 * were open before bring the old one and count no more. */
void key_store_changed(struct key_store *store, size_t provider);

enum key_status key_store_status(
    const struct key_store *store, size_t provider, uint64_t now_ms);
/* Until when an awaited key is awaited, event_loop_now_ms's clock. */
uint64_t key_store_awaited_until(
    const struct key_store *store, size_t provider);
/* Only for key_inject.c: NULL unless it is FOUND. */
const struct secret *key_store_key_borrow(
    const struct key_store *store, size_t provider);
/* key_pattern.h's list; NULL unless it is FOUND. */
const json_t *key_store_patterns_borrow(
    const struct key_store *store, size_t provider);

#endif
