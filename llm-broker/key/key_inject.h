/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one place where a key is written: behind the canonical head, as the
 * one field of the host's configuration, then the empty line and as much of
 * the body as there is. It is put together in secret memory, handed to the
 * TLS record layer, and wiped. Called by key_lane_io.c.
 */
#ifndef LLM_BROKER_KEY_KEY_INJECT_H
#define LLM_BROKER_KEY_KEY_INJECT_H

#include <stddef.h>

#include "common/result.h"
#include "common/secret.h"

struct key_inject; /* opaque; one per process */

enum result key_inject_new(struct key_inject **inject_r);
void key_inject_free(struct key_inject **inject);

struct key_inject_parts {
	const char *head; /* checked by key_head.c */
	size_t head_len;
	const char *header, *before, *after; /* of the key's field */
	const struct secret *key;            /* NULL: no field at all */
	const char *body;
	size_t body_len;
};

/* Takes all of it or fails; what it was given is gone when it returns. */
typedef enum result key_inject_write(
    void *context, const void *bytes, size_t len);

/* The result of the last write. */
enum result key_inject_request(struct key_inject *inject,
    const struct key_inject_parts *parts, key_inject_write *write,
    void *context);

#endif
