/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The LLM of one sandbox: llm-broker and llm-key, the pairs between them and
 * to the ledger, the keys on their way in. Started beside the sandbox, ready
 * when a call could be served; its end ends the sandbox. Used by agent_run.
 * No key and no byte of a call passes through here.
 */
#ifndef SUPERVISOR_AGENT_LLM_PART_H
#define SUPERVISOR_AGENT_LLM_PART_H

#include <event2/event.h>
#include <jansson.h>

#include "common/result.h"
#include "llm-broker/keyring/keyring_words.h"
#include "supervisor/policy/audit.h"

#define LLM_PART_PROVIDERS_MAX 16U
#define LLM_PART_CA_MAX 5U

/* Decided before anything starts (llm_plan.h); borrowed, must outlive the
 * part. */
struct llm_part_plan {
	json_t *broker_options, *key_options;
	json_t *grant;  /* of `grant`; its owner may replace it by a narrower
			 * one and call llm_part_narrow */
	json_t *limits; /* of `budget_open` */
	/* Providers whose key is to be read. */
	char keys[LLM_PART_PROVIDERS_MAX][KEYRING_PROVIDER_MAX + 1];
	size_t key_count;
	/* CA bundles: key_options' ca_fd 1.. mean these. */
	int ca_fds[LLM_PART_CA_MAX];
	size_t ca_count;
	int passphrase_fd; /* -1: asked for at the terminal */
};

struct llm_part; /* opaque */

struct llm_part_handlers {
	/* Everything but the listener is there, keys included. */
	void (*on_ready)(void *context);
	/* One provider's key: told when it is not there. */
	void (*on_key)(const char *provider, enum keyring_status status,
	    const char *detail, void *context);
	/* Counts for the record of the run: body of `usage`. */
	void (*on_usage)(const json_t *usage, void *context);
	/* After llm_part_close: the last counts were told, the budget is
	 * settled. */
	void (*on_closed)(void *context);
	/* Once: a process of it died, or it could not be started. */
	void (*on_end)(const char *code, const char *detail, void *context);
};

/* run: the sandbox's id. log_fds: broker's, llm-key's; borrowed. */
enum result llm_part_start(struct event_base *base, struct audit *audit,
    const char *run, const char *package, const struct llm_part_plan *plan,
    const int log_fds[2], const struct llm_part_handlers *handlers,
    void *context, struct llm_part **part_r);

/* The sandbox's listener; taken. */
enum result llm_part_listen(struct llm_part *part, int fd);
/* The plan's grant was made narrower: from the next call on, and calls that
 * it would not allow are cut. */
enum result llm_part_narrow(struct llm_part *part);
/* The sandbox ended: open calls are reset; on_closed or on_end follows, the
 * caller waits no longer than a few seconds. */
void llm_part_close(struct llm_part *part);
/* Kill and reap. Accepts NULL, clears. */
void llm_part_free(struct llm_part **part);

#endif
