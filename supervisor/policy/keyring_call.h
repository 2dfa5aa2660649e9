/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's side of agentnode-keyring (llm-broker/keyring/
 * keyring_config.h): one process for one job, and what came of it. No key
 * and no passphrase passes through here, only the descriptors they come
 * from. On a loop, or waited for.
 */
#ifndef SUPERVISOR_POLICY_KEYRING_CALL_H
#define SUPERVISOR_POLICY_KEYRING_CALL_H

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>

#include "common/result.h"
#include "llm-broker/keyring/keyring_words.h"

struct keyring_call; /* opaque */

struct keyring_call_spec {
	enum keyring_op op;
	enum keyring_backend backend;
	enum keyring_kind kind;
	const char *name;    /* NULL for test and fetch */
	const json_t *names; /* fetch: the secrets; borrowed */
	/* Descriptors are borrowed and may be closed after the start. */
	int pair_fd;                           /* read: llm-key's pair, or -1 */
	enum keyring_input source, passphrase; /* and what they come from */
	int source_fd, passphrase_fd;          /* -1: none */
	int block_fd;         /* fetch: what there is already; 0: none */
	unsigned deadline_ms; /* for the keychain; 0: the default */
	bool quiet;           /* no person is asked to unlock */
};

/* What came of it; borrowed for the call. */
struct keyring_answer {
	enum keyring_status status;
	const char *detail; /* one sentence, or "" */
	const char *last4;  /* store; or "" */
	int token_fd;       /* a passphrase was used: the next read's; set it to
			     * -1 to keep it */
	int block_fd;       /* fetch: the sealed memfd; likewise */
};

struct keyring_call_handlers {
	/* Store only: the key is there and good; keyring_call_commit stores
	 * it. Not called when it is not. */
	void (*on_taken)(struct keyring_call *call,
	    const struct keyring_answer *answer, void *context);
	/* Once, never before start returns; the call may be freed inside. */
	void (*on_done)(struct keyring_answer *answer, void *context);
};

enum result keyring_call_start(struct event_base *base,
    const struct keyring_call_spec *spec,
    const struct keyring_call_handlers *handlers, void *context,
    struct keyring_call **call_r);
void keyring_call_commit(struct keyring_call *call);
/* Kills the helper if it still runs, and puts the terminal in order.
 * Accepts NULL, clears. */
void keyring_call_free(struct keyring_call **call);

/* Not for store: on a loop of its own; detail_r is the sentence. */
enum keyring_status keyring_call_wait(
    const struct keyring_call_spec *spec, char *detail_r, size_t detail_size);
/* A fetch, likewise. The caller owns the descriptors; -1: there is none. */
enum keyring_status keyring_call_fetch(const struct keyring_call_spec *spec,
    int *block_r, int *token_r, char *detail_r, size_t detail_size);

/* The terminal of this program, for questions: -1 when there is none, or we
 * are in its background. The caller closes. */
int keyring_call_terminal(void);

#endif
