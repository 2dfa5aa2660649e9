/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the supervisor's first message tells the keyring helper: the
 * "options" of `config`. One helper does one job.
 *
 * {"op":"read"|"fetch"|"store"|"remove"|"test",
 *  "kind":"key"|"secret",     absent: key; read is for keys, fetch for secrets
 *  "backend":"secret_service"|"credentials"|"file",
 *  "name":NAME,                not for test and fetch
 *  "names":[NAME...],          fetch: 1 to 32
 *  "home_id":"<16 hex>",       tells the keys of two AGENTNODE_HOMEs apart
 *  "bus":"unix:...",           secret_service: the session bus; absent: none
 *  "unlock_ms":N,              secret_service: how long the keychain may
 *                              ask a person to unlock it; 0: not at all
 *  "deadline_ms":N,            for everything that is no person
 *  "source":"terminal"|"pipe",         store: where the key comes from
 *  "passphrase":"none"|"terminal"|"pipe"|"token",        file: likewise
 *  "block_fd":I,               fetch: what there is already (secret_block.h)
 *  "pair_fd":I, "home_fd":I, "credentials_fd":I, "source_fd":I,
 *  "passphrase_fd":I}          which of the message's descriptors is what
 *
 * Descriptor 0 is the log. Needed are: pair_fd for read, home_fd for file,
 * credentials_fd for credentials (absent: there is no such folder),
 * source_fd for store, passphrase_fd unless the passphrase is "none".
 */
#ifndef LLM_BROKER_KEYRING_KEYRING_CONFIG_H
#define LLM_BROKER_KEYRING_KEYRING_CONFIG_H

#include "common/ipc.h"
#include "common/json_field.h"
#include "llm-broker/keyring/keyring_words.h"

#define KEYRING_CONFIG_HOME_ID 16U
#define KEYRING_CONFIG_BUS_MAX 1024U
#define KEYRING_CONFIG_NAMES_MAX 32U
#define KEYRING_CONFIG_DEADLINE_MS 10000U
#define KEYRING_CONFIG_UNLOCK_MAX_MS 120000U

struct keyring_config {
	enum keyring_op op;
	enum keyring_backend backend;
	enum keyring_kind kind;
	char name[KEYRING_NAME_MAX + 1];
	char names[KEYRING_CONFIG_NAMES_MAX][KEYRING_NAME_MAX + 1];
	size_t name_count;
	char home_id[KEYRING_CONFIG_HOME_ID + 1];
	char bus[KEYRING_CONFIG_BUS_MAX + 1]; /* "": there is none */
	unsigned unlock_ms, deadline_ms;
	enum keyring_input source, passphrase;
	/* Taken out of the message; -1: not there. */
	int log_fd, pair_fd, home_fd, credentials_fd, source_fd, passphrase_fd;
	int block_fd;
};

/* Fill from the message; the fault names what is wrong. */
void keyring_config_read(struct ipc_message *message,
    struct keyring_config *config_r, struct json_fault *fault);

#endif
